//! `ove evaluate` for a recommender: how many later items are among the recommendations.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use ove::Model;
use ove::data::Interactions;
use ove::model::{Ranking, RankingAt};
use serde_json::Value;

use super::Args;
use crate::run::memory;
use crate::terminal::say;

/// Lengths of the lists.
pub const AT: [usize; 3] = [5, 10, 20];

/// Runs the command.
pub fn run(args: &Args, data: &Path, model: &Model) -> Result<()> {
    if args.report.is_some() {
        bail!("`report` must be left out for recommenders");
    }
    let recommender = model.recommender()?;
    let (users, items) = (&model.card.feature_names, &model.card.classes);
    let test = args.input.read_interactions_of(users, items, data)?;
    let given = match args.seen.as_deref() {
        None => None,
        Some(path) if path == Path::new("none") => {
            let mut nothing = Interactions::new(Vec::new());
            users.iter().for_each(|_| nothing.push("", Vec::new()));
            Some(nothing)
        }
        Some(path) => Some(args.input.read_interactions_of(users, items, path)?),
    };
    let start = Instant::now();
    let ranking = recommender.measure(&test, given.as_ref().unwrap_or(recommender.seen()), &AT);
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        let mut object = ranking.by_name();
        object.insert("items".into(), items.len().into());
        object.insert("predict_seconds".into(), seconds.into());
        object.insert("peak_memory_bytes".into(), memory::peak_bytes().into());
        say!("{}", Value::Object(object))?;
        return Ok(());
    }
    say!("users            {} ({seconds:.2} s)", ranking.users)?;
    print(&ranking)
}

/// Prints the metrics as text.
pub fn print(ranking: &Ranking) -> Result<()> {
    say!("at               recall           ndcg             precision        map              coverage")?;
    for RankingAt { k, recall, ndcg, precision, map, coverage, .. } in &ranking.at {
        let means = [recall, ndcg, precision, map].map(|mean| format!("{:.4} ± {:.4}", mean.value, mean.se));
        say!("{k:<16} {}  {coverage:.4}", means.join("  "))?;
    }
    say!("± is the standard error over users")?;
    Ok(())
}
