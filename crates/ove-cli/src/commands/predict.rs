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
/// Prints one line per row: class, probability, class, probability, …, separated by tabs, most probable first; before
/// them the id of the row, if the data are a table with --id. Control characters of names are escaped, except in JSON.
#[derive(clap::Args)]
#[command(after_help = "Example: ove predict my.model test.svm --top 1 | head")]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Rows, or one text per line for a model that was trained on texts; labels are optional; `-` is stdin
    data: PathBuf,
    /// Number of classes per row
    #[arg(long, value_name = "K", default_value_t = 5)]
    top: usize,
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
    let mut out = BufWriter::new(std::io::stdout().lock());
    for first in (0..data.len()).step_by(CHUNK) {
        let rows = first..(first + CHUNK).min(data.len());
        let start = Instant::now();
        let tops = model.top_k_within(data.rows(), rows.clone(), args.top);
        predicted += start.elapsed();
        for (row, top) in rows.zip(&tops) {
            write_line(&mut out, &model, data.ids.get(row), top, args.json)?;
        }
    }
    out.flush()?;
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
        writeln!(out, "{object}")?;
    } else {
        let id = id.map(|id| printable(id).into_owned());
        let fields = top.iter().map(|p| format!("{}\t{:.6}", printable(name(p)), p.probability));
        writeln!(out, "{}", id.into_iter().chain(fields).collect::<Vec<_>>().join("\t"))?;
    }
    Ok(())
}
