//! `ove similar`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use ove::Model;
use ove::model::{SimilarWord, WordVectors};
use serde_json::json;

use crate::flags;
use crate::terminal::{printable, say};

/// Find the items, or users, of a recommender, or the words of an embedding that are most similar to one
///
/// Prints one line per item or word: its name and the cosine of the two vectors, separated by a tab, the most similar
/// first.
#[derive(clap::Args)]
#[command(after_help = "Example: ove similar my.model tea --top 5\n         ove similar vectors.model france")]
pub struct Args {
    /// Model file, or word vectors in a form of word2vec or GloVe
    model: PathBuf,
    /// The item or word
    #[arg(required_unless_present = "user")]
    item: Option<String>,
    /// Find the users that are most similar to this user instead
    #[arg(long, value_name = "USER", conflicts_with = "item")]
    user: Option<String>,
    /// Number of items or words
    #[arg(long, value_name = "K", value_parser = flags::top, default_value_t = 10)]
    top: usize,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if !WordVectors::is_model(&args.model)? {
        return similar_words(&WordVectors::open(&args.model)?, &args);
    }
    let model = Model::load(&args.model)?;
    if model.card.embedding.is_some() {
        return similar_words(&model.word_vectors()?, &args);
    }
    let recommender = model.recommender()?;
    let card = &model.card;
    let (key, names, wanted) = match (&args.item, &args.user) {
        (Some(item), _) => ("items", &card.classes, item),
        (None, Some(user)) => ("users", &card.feature_names, user),
        (None, None) => unreachable!("one of them is required"),
    };
    let Some(number) = names.iter().position(|name| name == wanted) else {
        bail!("`{wanted}` is not one of the model's {} {key}", names.len());
    };
    // One more, since the first is usually the item itself.
    let count = args.top.saturating_add(1);
    let mut similar = match key {
        "items" => recommender.similar_items(number as u32, count),
        _ => recommender.similar_users(number as u32, count),
    };
    similar.retain(|one| one.item != number as u32);
    similar.truncate(args.top);
    if args.json {
        let found: Vec<&str> = similar.iter().map(|one| names[one.item as usize].as_str()).collect();
        let scores: Vec<f32> = similar.iter().map(|one| one.score).collect();
        say!("{}", json!({ key: found, "scores": scores }))?;
        return Ok(());
    }
    for one in similar {
        say!("{}\t{:.4}", printable(&names[one.item as usize]), one.score)?;
    }
    Ok(())
}

fn similar_words(vectors: &WordVectors, args: &Args) -> Result<()> {
    let Some(word) = &args.item else { bail!("`user` is for recommenders; word vectors need a word") };
    print_words(vectors, &vectors.most_similar(&[word], &[], args.top)?, args.json)
}

/// Prints words with their cosines.
pub(super) fn print_words(vectors: &WordVectors, found: &[SimilarWord], as_json: bool) -> Result<()> {
    let word = |one: &SimilarWord| vectors.words()[one.word as usize].as_str();
    if as_json {
        let words: Vec<&str> = found.iter().map(word).collect();
        let scores: Vec<f32> = found.iter().map(|one| one.score).collect();
        say!("{}", json!({ "words": words, "scores": scores }))?;
        return Ok(());
    }
    for one in found {
        say!("{}\t{:.4}", printable(word(one)), one.score)?;
    }
    Ok(())
}
