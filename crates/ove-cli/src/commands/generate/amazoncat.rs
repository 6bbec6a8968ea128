//! `ove generate amazoncat-13k`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use indicatif::ProgressBar;
use ove::synthetic::Written;
use ove::synthetic::amazoncat::{AmazonCat, Part};
use serde_json::{Value, json};

use crate::files;
use crate::run::memory::{self, Bytes};
use crate::run::{interrupt, progress};
use crate::terminal::say;

/// Products and their categories, the paper's largest set: 1,186,239 rows, 203,882 features, 2,919 classes; about 1.3
/// GB
///
/// Writes DIR/train.txt and DIR/test.txt in the form of the extreme classification repository. The rows are made up,
/// with the shape of the real set: its numbers of rows, features and classes, its sizes of classes, and features that
/// follow Zipf's law.
#[derive(clap::Args)]
#[command(after_help = "Example: ove generate amazoncat-13k -o amazoncat-13k --scale 0.01")]
pub struct Args {
    /// The folder for train.txt and test.txt
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Seed of everything random; same seed, same bits
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many rows, as a share of those of the real set; below 0.01 there are fewer classes too
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    scale: f64,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// A part that was written, and where to.
struct File {
    part: Part,
    path: PathBuf,
    written: Written,
}

/// Generates.
pub fn run(args: Args) -> Result<()> {
    let start = Instant::now();
    let set = AmazonCat::new(args.seed, args.scale)?;
    files::folder(&args.output)?;
    let rows: usize = Part::ALL.iter().map(|&part| set.rows(part)).sum();
    let bar = progress::bar(rows as u64, "{human_pos} rows  {per_sec}");
    let write = |&part| write(&set, part, &args.output, &bar);
    let files: Result<Vec<File>> = interrupt::held(|| Part::ALL.iter().map(write).collect());
    bar.finish_and_clear();
    let (files, seconds) = (files?, start.elapsed().as_secs_f64());
    if args.json {
        say!("{}", json(&args, &set, &files, seconds))?;
    } else {
        print(&set, &files, seconds)?;
    }
    Ok(())
}

/// Writes a part; Ctrl-C is an error here, for half a file is of no use.
fn write(set: &AmazonCat, part: Part, folder: &Path, bar: &ProgressBar) -> Result<File> {
    let path = folder.join(format!("{part}.txt"));
    let before = bar.position();
    let written = set.write(part, &path, &mut |rows| {
        bar.set_position(before + rows as u64);
        interrupt::flow()
    })?;
    Ok(File { part, path, written })
}

fn json(args: &Args, set: &AmazonCat, files: &[File], seconds: f64) -> Value {
    let mut object = json!({
        "seed": args.seed,
        "scale": args.scale,
        "features": set.features(),
        "classes": set.classes(),
        "seconds": seconds,
        "peak_memory_bytes": memory::peak_bytes(),
    });
    for File { part, path, written } in files {
        object[part.name()] =
            json!({ "path": path, "rows": written.rows, "entries": written.entries, "bytes": written.bytes });
    }
    object
}

fn print(set: &AmazonCat, files: &[File], seconds: f64) -> Result<()> {
    for File { part, path, written } in files {
        let entries = written.entries as f64 / written.rows as f64;
        let size = Bytes(written.bytes);
        say!("{:<17}{} ({} rows, {entries:.1} features per row, {size})", part.name(), path.display(), written.rows)?;
    }
    say!("features         {}", set.features())?;
    say!("classes          {}", set.classes())?;
    say!("seconds          {seconds:.2}")?;
    Ok(())
}
