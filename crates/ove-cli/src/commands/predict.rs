//! `ove predict`.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use ove::{Model, Prediction};
use serde_json::json;

use crate::flags::{DataFlags, ThreadFlags};
use crate::terminal::{note, printable};

/// Number of rows that are predicted before their lines are written.
const CHUNK: usize = 1 << 15;

/// Predict the most probable classes of each row (top-k)
///
/// Prints one line per row: class, probability, class, probability, …, separated by tabs, most probable first. Without
/// --top, a model of rows with several labels prints every class whose probability reaches its threshold, which may be
/// none. Before them stands the id of the row, if the data are a table with --id. Control characters of names are
/// escaped, except in JSON.
#[derive(clap::Args)]
#[command(after_help = "Example: ove predict my.model test.svm --top 1 | head")]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Rows, or one text per line for a model that was trained on texts; labels are optional; `-` is stdin
    data: PathBuf,
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
    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
    /// Print the times for reading and predicting to stderr, as a JSON object
    #[arg(long)]
    times: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let start = Instant::now();
    let model = Model::load(&args.model)?;
    let data = args.input.read_for(&model, &args.data, false)?;
    let (read, mut predicted) = (start.elapsed(), Duration::ZERO);
    let mut unknown = 0;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for first in (0..data.len()).step_by(CHUNK) {
        let rows = first..(first + CHUNK).min(data.len());
        let start = Instant::now();
        let by_threshold = args.top.is_none() && (args.threshold.is_some() || model.several_labels().is_some());
        let tops = match by_threshold {
            true => model.predict_within(data.rows(), rows.clone(), args.threshold),
            false => model.top_k_within(data.rows(), rows.clone(), args.top.unwrap_or(5)),
        };
        predicted += start.elapsed();
        for (row, top) in rows.zip(&tops) {
            let is_unknown = model.knows_nothing_of(data.rows().row(row));
            unknown += usize::from(is_unknown);
            write_line(&mut out, &model, data.ids.get(row), top, is_unknown, args.json)?;
        }
    }
    out.flush()?;
    if unknown > 0 {
        let what = if model.card.text.is_some() { "word" } else { "feature" };
        note!("{unknown} of {} rows have no {what} that the model knows; they get the classes' prior", data.len());
    }
    if args.times {
        note!("{}", json!({ "read_seconds": read.as_secs_f64(), "predict_seconds": predicted.as_secs_f64() }));
    }
    Ok(())
}

fn write_line(
    out: &mut impl Write,
    model: &Model,
    id: Option<&String>,
    top: &[Prediction],
    is_unknown: bool,
    as_json: bool,
) -> Result<()> {
    let name = |p: &Prediction| &model.card.classes[p.class as usize];
    if as_json {
        let labels: Vec<_> = top.iter().map(name).collect();
        let probabilities: Vec<_> = top.iter().map(|p| p.probability).collect();
        let mut object = json!({ "labels": labels, "probabilities": probabilities });
        if let Some(id) = id {
            object["id"] = json!(id);
        }
        if is_unknown {
            object["known"] = json!(0);
        }
        writeln!(out, "{object}")?;
    } else {
        let id = id.map(|id| printable(id).into_owned());
        let fields = top.iter().map(|p| format!("{}\t{:.6}", printable(name(p)), p.probability));
        writeln!(out, "{}", id.into_iter().chain(fields).collect::<Vec<_>>().join("\t"))?;
    }
    Ok(())
}

fn probability(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("`threshold` must be between 0 and 1, got {text}"))
}
