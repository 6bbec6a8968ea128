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

/// Data like AmazonCat-13K, the paper's largest data set: 1,186,239 rows, 203,882 features, 2,919 classes; 1.3 GB
///
/// Writes DIR/train.txt and DIR/test.txt in the format of the extreme classification repository. The rows are
/// synthetic, with the shape of the real data: the numbers of rows, features and classes, the class sizes, and features
/// that follow Zipf's law.
#[derive(clap::Args)]
#[command(after_help = "Example: ove generate amazoncat-13k -o amazoncat-13k --scale 0.01")]
pub struct Args {
    /// Folder to write train.txt and test.txt to
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Seed of the random numbers; the same seed gives the same bits
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of rows relative to the real data; below 0.01 there are fewer classes as well
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    scale: f64,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// A part that was written.
struct File {
    part: Part,
    path: PathBuf,
    written: Written,
}

/// Runs the command.
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

/// Writes a part; Ctrl-C is an error here, since an incomplete file is useless.
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
