//! `ove generate shape`.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use ove::Error;
use ove::synthetic::{Sparse, write_sparse};
use serde_json::json;

use crate::run::memory::{self, Bytes};
use crate::run::{interrupt, progress};
use crate::terminal::say;

/// Data with any number of rows, features and classes, for tests of scale
///
/// Classes and features follow Zipf's law, and half of a row's features depend on its class. The first rows have the
/// classes in order, so that each class has a row if there are enough rows.
#[derive(clap::Args)]
#[command(after_help = "Example: ove generate shape --rows 100000 --features 50000 --classes 10000 -o made.txt")]
pub struct Args {
    /// Number of rows
    #[arg(long, value_name = "N")]
    rows: usize,
    /// Number of features
    #[arg(long, value_name = "D")]
    features: usize,
    /// Number of classes
    #[arg(long, value_name = "K")]
    classes: usize,
    /// Maximum number of features per row
    #[arg(long, value_name = "N", default_value_t = 20)]
    per_row: usize,
    /// File to write, in the format of the extreme classification repository
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Seed of the random numbers; the same seed gives the same bits
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    check(&args)?;
    let Args { rows, features, classes, per_row, .. } = args;
    let shape = Sparse { rows, features, classes, entries: per_row, signal: 0.5 };
    let start = Instant::now();
    let bar = progress::bar(rows as u64, "{human_pos} rows  {per_sec}");
    let written = interrupt::held(|| {
        write_sparse(shape, args.seed, &args.output, &mut |rows| {
            bar.set_position(rows as u64);
            interrupt::flow()
        })
    });
    bar.finish_and_clear();
    let (written, seconds) = (written?, start.elapsed().as_secs_f64());
    if args.json {
        let object = json!({
            "path": args.output,
            "seed": args.seed,
            "rows": written.rows,
            "features": features,
            "classes": classes,
            "entries": written.entries,
            "bytes": written.bytes,
            "seconds": seconds,
            "peak_memory_bytes": memory::peak_bytes(),
        });
        say!("{object}")?;
        return Ok(());
    }
    let (entries, size) = (written.entries as f64 / rows as f64, Bytes(written.bytes));
    say!("rows             {} ({rows} rows, {entries:.1} features per row, {size})", args.output.display())?;
    say!("features         {features}")?;
    say!("classes          {classes}")?;
    say!("seconds          {seconds:.2}")?;
    Ok(())
}

fn check(args: &Args) -> Result<(), Error> {
    for (name, value) in
        [("rows", args.rows), ("features", args.features), ("classes", args.classes), ("per-row", args.per_row)]
    {
        if value == 0 || value > u32::MAX as usize {
            return Err(Error::setting(name, format!("be between 1 and {}", u32::MAX), value));
        }
    }
    Ok(())
}
