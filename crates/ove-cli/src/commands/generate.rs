//! `ove generate`.

mod amazoncat;
mod shape;

use anyhow::Result;

/// Generate synthetic data
///
/// The rows are generated from a seed and written in the format of the extreme classification (XMC) repository.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    set: Set,
}

#[derive(clap::Subcommand)]
enum Set {
    #[command(name = "amazoncat-13k")]
    AmazonCat13k(amazoncat::Args),
    Shape(shape::Args),
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    match args.set {
        Set::AmazonCat13k(args) => amazoncat::run(args),
        Set::Shape(args) => shape::run(args),
    }
}
