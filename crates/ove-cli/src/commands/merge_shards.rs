//! `ove merge-shards`.

use std::path::PathBuf;

use anyhow::Result;
use ove::Model;

use crate::files;

/// Join the shards of a model in one file
///
/// Every command that reads a model reads the index of its shards too, without joining them; one file is easier to
/// move.
#[derive(clap::Args)]
#[command(after_help = "Example: ove merge-shards titles.index -o titles.model")]
pub struct Args {
    /// Index of the shards, which are beside it
    index: PathBuf,
    /// Model file to write
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    files::separate(&[("--output", Some(&args.output))], &[("the index", Some(&args.index))])?;
    Ok(Model::merge_shards(&args.index, &args.output)?)
}
