//! `ove analogy`.

use std::path::PathBuf;

use anyhow::Result;
use ove::model::WordVectors;

use super::similar::print_words;
use crate::flags;

/// Answer an analogy by word vectors: A is to B as C is to …
///
/// Prints one line per word: the word and its cosine with B − A + C, separated by a tab, the most similar first.
#[derive(clap::Args)]
#[command(after_help = "Example: ove analogy vectors.model man king woman")]
pub struct Args {
    /// Model file, or vectors in a form of word2vec or GloVe
    model: PathBuf,
    /// The first word
    a: String,
    /// What it is to the second
    b: String,
    /// The word to which the answer is the same
    c: String,
    /// Number of answers
    #[arg(long, value_name = "K", value_parser = flags::top, default_value_t = 10)]
    top: usize,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let vectors = WordVectors::open(&args.model)?;
    let found = vectors.most_similar(&[&args.b, &args.c], &[&args.a], args.top)?;
    print_words(&vectors, &found, args.json)
}
