//! `ove generate`.

mod amazoncat;
mod shape;

use anyhow::Result;

/// Make a data set that cannot be shipped
///
/// The rows are made up from a seed, and written in the form of the extreme classification repository.
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

/// Generates.
pub fn run(args: Args) -> Result<()> {
    match args.set {
        Set::AmazonCat13k(args) => amazoncat::run(args),
        Set::Shape(args) => shape::run(args),
    }
}
