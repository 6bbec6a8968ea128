//! `ove export`.

use std::path::PathBuf;

use anyhow::Result;
use ove::io::vectors::VectorFormat;
use ove::model::WordVectors;

use crate::files;
use crate::flags::choice;

/// Write word vectors in a form of word2vec or GloVe
///
/// The vectors of words with n-grams are the means that `ove similar` uses too.
#[derive(clap::Args)]
#[command(after_help = "Example: ove export vectors.model -o vectors.txt --format word2vec")]
pub struct Args {
    /// Model file, or vectors in another form
    model: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Form: word2vec and glove are text, with and without a first line `words numbers`
    #[arg(long, value_parser = choice!(VectorFormat), default_value_t = VectorFormat::Word2vec)]
    format: VectorFormat,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    files::separate(&[("--output", Some(&args.output))], &[("the model", Some(&args.model))])?;
    Ok(WordVectors::open(&args.model)?.export(&args.output, args.format)?)
}
