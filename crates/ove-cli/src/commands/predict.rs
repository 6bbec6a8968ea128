//! `ove predict`.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ove::Model;
use ove::io::atomic;
use ove::io::read::Pieces;
use ove::io::write::predictions::{PredictedRow, PredictionFormat, Predictions};
use serde_json::json;

use crate::files;
use crate::flags::{self, DataFlags, ThreadFlags};
use crate::terminal::{note, printable};

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
    /// Write the predictions to this file instead of printing them: .csv, .jsonl, .parquet, .feather or .arrow
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// Number of classes per row [default: 5; with several labels per row, every class above the threshold]
    #[arg(long, value_name = "K", value_parser = flags::top, conflicts_with = "threshold")]
    top: Option<usize>,
    /// Print every class with at least this probability [default with several labels per row: the one that held-out
    /// rows chose for F1]
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

/// The number of classes per row, unless there is a threshold.
const TOP: usize = 5;

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let inputs = [("the model", Some(&args.model)), ("the data", Some(&args.data))];
    files::separate(&[("--output", args.output.as_ref())], &inputs)?;
    let format = args.output.as_deref().map(PredictionFormat::of).transpose()?;
    let start = Instant::now();
    let model = Model::load(&args.model)?;
    model.check_predicts_rows()?;
    let pieces = args.input.pieces(&model, &args.data)?;
    let mut run = Run::new(&args, &model);
    match args.output.as_deref().zip(format) {
        Some((path, format)) => {
            if run.by_threshold && format == PredictionFormat::Csv {
                bail!(
                    "--top must be given for CSV, which has columns for a number of classes; .jsonl and .parquet take \
                     any number"
                );
            }
            atomic::write_beside(path, |place| run.write_table(pieces, path, place, format))?;
        }
        None => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            run.predict(pieces, |rows| rows.iter().try_for_each(|row| write_line(&mut out, row, &args)))?;
            out.flush()?;
        }
    }
    if run.unknown > 0 {
        let what = if model.card.text.is_some() { "word" } else { "feature" };
        let (unknown, rows) = (run.unknown, run.rows);
        note!("{unknown} of {rows} rows have no {what} that the model knows; they get the classes' prior");
    }
    if args.times {
        let read = start.elapsed().saturating_sub(run.predicted).as_secs_f64();
        note!("{}", json!({ "read_seconds": read, "predict_seconds": run.predicted.as_secs_f64() }));
    }
    Ok(())
}

/// A run, and what it counts.
struct Run<'a> {
    args: &'a Args,
    model: &'a Model,
    /// Whether every class above a threshold is predicted.
    by_threshold: bool,
    /// The time that predicting took.
    predicted: Duration,
    rows: usize,
    /// Rows without a known feature.
    unknown: usize,
}

impl<'a> Run<'a> {
    fn new(args: &'a Args, model: &'a Model) -> Self {
        let by_threshold = args.top.is_none() && (args.threshold.is_some() || model.several_labels().is_some());
        Run { args, model, by_threshold, predicted: Duration::ZERO, rows: 0, unknown: 0 }
    }

    /// Predicts the rows in the order of the file.
    fn predict<E: From<ove::Error>>(
        &mut self,
        pieces: Pieces,
        mut write: impl FnMut(&[PredictedRow]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Run { args, model, .. } = *self;
        DataFlags::each_piece(pieces, model, &args.data, |data| {
            for first in (0..data.len()).step_by(CHUNK) {
                let rows = first..(first + CHUNK).min(data.len());
                let start = Instant::now();
                let tops = match self.by_threshold {
                    true => model.predict_within(data.rows(), rows.clone(), args.threshold),
                    false => model.top_k_within(data.rows(), rows.clone(), args.top.unwrap_or(TOP)),
                };
                self.predicted += start.elapsed();
                let row = |(row, top): (usize, &Vec<ove::Prediction>)| PredictedRow {
                    id: data.ids.get(row).map(String::as_str),
                    top: top.iter().map(|p| (model.card.classes[p.class as usize].as_str(), p.probability)).collect(),
                    names: match model.card.label_names.is_empty() {
                        true => Vec::new(),
                        false => top.iter().map(|p| model.card.label_name(p.class)).collect(),
                    },
                    is_known: !model.knows_nothing_of(data.rows().row(row)),
                };
                let rows: Vec<PredictedRow> = rows.zip(&tops).map(row).collect();
                self.rows += rows.len();
                self.unknown += rows.iter().filter(|row| !row.is_known).count();
                write(&rows)?;
            }
            Ok(())
        })
    }

    /// Writes the predictions to `place`, which becomes `path`.
    fn write_table(&mut self, pieces: Pieces, path: &Path, place: &Path, format: PredictionFormat) -> ove::Result<()> {
        let top = self.args.top.unwrap_or(TOP).min(self.model.classes());
        let mut table = Predictions::create(path, place, format, top, !self.model.card.label_names.is_empty())?;
        self.predict(pieces, |rows| table.write(rows))?;
        table.finish()
    }
}

fn write_line(out: &mut impl Write, row: &PredictedRow, args: &Args) -> Result<()> {
    if args.json {
        writeln!(out, "{}", row.json())?;
    } else {
        let id = row.id.map(|id| printable(id).into_owned());
        let field = |(n, (label, probability)): (usize, &(&str, f64))| {
            let label = printable(label);
            let name = row.names.get(n).copied().flatten().unwrap_or_default();
            match args.names {
                true => format!("{label}\t{}\t{probability:.6}", printable(name)),
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
