//! `ove predict`.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ove::Model;
use ove::io::atomic;
use ove::io::write::predictions::{PredictedRow, PredictionFormat, Predictions};
use serde_json::json;

use crate::files;
use crate::flags::{DataFlags, ThreadFlags};
use crate::terminal::{note, printable};

/// Number of classes per row, unless there is a threshold.
const TOP: usize = 5;

/// Number of rows that are predicted before their lines are written.
const CHUNK: usize = 1 << 15;

/// Predict the most probable classes of each row (top-k)
///
/// Prints one line per row: class, probability, class, probability, …, separated by tabs, most probable first. Without
/// --top, a model of rows with several labels prints every class whose probability reaches its threshold, which may be
/// none. Before them stands the id of the row, if the data are a table with --id. Control characters of names are
/// escaped, except in JSON. With --output they go to a table.
#[derive(clap::Args)]
#[command(after_help = "Example: ove predict my.model test.svm --top 1 | head")]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Rows, or one text per line for a model that was trained on texts; labels are optional; `-` is stdin
    data: PathBuf,
    /// Write the predictions to this file, .csv or .jsonl, instead of printing them
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// Number of classes per row [default: 5; with several labels per row, every class above the threshold]
    #[arg(long, value_name = "K", conflicts_with = "threshold")]
    top: Option<usize>,
    /// Print every class with at least this probability [default with several labels per row: the one that held-out rows
    /// chose for F1]
    #[arg(long, value_name = "T", value_parser = probability)]
    threshold: Option<f64>,
    #[command(flatten)]
    input: DataFlags,
    #[command(flatten)]
    pub threads: ThreadFlags,
    /// Print the name of each class after it, for a model with --label-names; an empty field if it has none
    #[arg(long)]
    names: bool,
    /// Print one JSON object per row; with the names of the classes, if the model has any
    #[arg(long)]
    json: bool,
    /// Print the times for reading and predicting to stderr, as a JSON object
    #[arg(long)]
    times: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let inputs = [("the model", Some(&args.model)), ("the data", Some(&args.data))];
    files::separate(&[("--output", args.output.as_ref())], &inputs)?;
    let format = args.output.as_deref().map(PredictionFormat::of).transpose()?;
    let start = Instant::now();
    let model = Model::load(&args.model)?;
    if format == Some(PredictionFormat::Csv) && args.by_threshold(&model) {
        bail!(
            "--output: a row above the threshold has any number of classes, which .csv has no columns for; give --top or a .jsonl file"
        );
    }
    let mut predicted = Duration::ZERO;
    match args.output.as_deref().zip(format) {
        Some((path, format)) => {
            atomic::write_beside(path, |place| write_table(&args, &model, (path, place), format, &mut predicted))?;
        }
        None => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            predict(&args, &model, &mut predicted, |rows| {
                rows.iter().try_for_each(|row| write_line(&mut out, row, &args))
            })?;
            out.flush()?;
        }
    }
    if args.times {
        let read = start.elapsed().saturating_sub(predicted);
        note!("{}", json!({ "read_seconds": read.as_secs_f64(), "predict_seconds": predicted.as_secs_f64() }));
    }
    Ok(())
}

impl Args {
    /// Whether classes are printed by their probability, not by their number.
    fn by_threshold(&self, model: &Model) -> bool {
        self.top.is_none() && (self.threshold.is_some() || model.several_labels().is_some())
    }
}

/// Predicts the rows in the order of the file, and adds the time that takes.
fn predict<E: From<ove::Error>>(
    args: &Args,
    model: &Model,
    predicted: &mut Duration,
    mut write: impl FnMut(&[PredictedRow]) -> Result<(), E>,
) -> Result<(), E> {
    let (mut rows_so_far, mut unknown) = (0, 0);
    args.input.each_piece::<E>(model, &args.data, |data| {
        for first in (0..data.len()).step_by(CHUNK) {
            let rows = first..(first + CHUNK).min(data.len());
            let start = Instant::now();
            let tops = match args.by_threshold(model) {
                true => model.predict_within(data.rows(), rows.clone(), args.threshold),
                false => model.top_k_within(data.rows(), rows.clone(), args.top.unwrap_or(TOP)),
            };
            *predicted += start.elapsed();
            let named = |top: &Vec<ove::Prediction>| {
                top.iter().map(|p| (model.card.classes[p.class as usize].as_str(), p.probability)).collect()
            };
            let names = |top: &Vec<ove::Prediction>| match model.card.label_names.is_empty() {
                true => Vec::new(),
                false => top.iter().map(|p| model.card.label_name(p.class).unwrap_or_default()).collect(),
            };
            let row = |(row, top)| PredictedRow {
                id: data.ids.get(row).map(String::as_str),
                top: named(top),
                names: names(top),
                is_unknown: model.knows_nothing_of(data.rows().row(row)),
            };
            let rows: Vec<_> = rows.zip(&tops).map(row).collect();
            unknown += rows.iter().filter(|row| row.is_unknown).count();
            write(&rows)?;
        }
        rows_so_far += data.len();
        Ok(())
    })?;
    if unknown > 0 {
        let what = if model.card.text.is_some() { "word" } else { "feature" };
        note!("{unknown} of {rows_so_far} rows have no {what} that the model knows; they get the classes' prior");
    }
    Ok(())
}

/// Writes the predictions to `place`, which becomes `path`.
fn write_table(
    args: &Args,
    model: &Model,
    (path, place): (&Path, &Path),
    format: PredictionFormat,
    predicted: &mut Duration,
) -> ove::Result<()> {
    let mut table = Predictions::create(path, place, format, args.top.unwrap_or(TOP).min(model.classes()))?;
    predict(args, model, predicted, |rows| table.write(rows))?;
    table.finish()
}

fn write_line(out: &mut impl Write, row: &PredictedRow, args: &Args) -> Result<()> {
    if args.json {
        writeln!(out, "{}", row.json())?;
    } else {
        let id = row.id.map(|id| printable(id).into_owned());
        let field = |(n, (label, probability)): (usize, &(&str, f64))| {
            let label = printable(label);
            match args.names {
                true => {
                    let name = row.names.get(n).copied().unwrap_or_default();
                    format!("{label}\t{}\t{probability:.6}", printable(name))
                }
                false => format!("{label}\t{probability:.6}"),
            }
        };
        let fields = row.top.iter().enumerate().map(field);
        writeln!(out, "{}", id.into_iter().chain(fields).collect::<Vec<_>>().join("\t"))?;
    }
    Ok(())
}

fn probability(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("`threshold` must be between 0 and 1, got {text}"))
}
