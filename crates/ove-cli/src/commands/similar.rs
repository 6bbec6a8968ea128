//! `ove similar`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use ove::Model;
use serde_json::json;

use crate::terminal::{printable, say};

/// Find the items, or users, of a recommender that are most similar to one
///
/// Prints one line per item: its name and the cosine of the two vectors, separated by a tab, the most similar first.
#[derive(clap::Args)]
#[command(after_help = "Example: ove similar my.model tea --top 5")]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// The item
    #[arg(required_unless_present = "user")]
    item: Option<String>,
    /// Find the users that are most similar to this user instead
    #[arg(long, value_name = "USER", conflicts_with = "item")]
    user: Option<String>,
    /// Number of items
    #[arg(long, value_name = "K", default_value_t = 10)]
    top: usize,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let model = Model::load(&args.model)?;
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
