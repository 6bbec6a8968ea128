//! The most frequent confusions.

use std::collections::HashMap;

use super::per_row::Outcome;
use crate::data::Labels;
use crate::model::Confused;

/// Maximum number of pairs.
const PAIRS: usize = 20;

/// The most frequent pairs of a label and a wrong top class, ties in class order. A row with several labels counts for
/// each.
pub(super) fn pairs(outcomes: &[Outcome], labels: &Labels, classes: &[String]) -> Vec<Confused> {
    let mut counts: HashMap<(u32, u32), usize> = HashMap::new();
    for (outcome, labels) in outcomes.iter().zip(labels.iter()).filter(|(outcome, _)| !outcome.hits[0]) {
        labels.iter().for_each(|&label| *counts.entry((label, outcome.best)).or_default() += 1);
    }
    let mut pairs: Vec<((u32, u32), usize)> = counts.into_iter().collect();
    pairs.sort_unstable_by_key(|&(pair, rows)| (std::cmp::Reverse(rows), pair));
    pairs.truncate(PAIRS);
    let name = |class: u32| classes[class as usize].clone();
    pairs.into_iter().map(|((label, best), rows)| Confused { label: name(label), best: name(best), rows }).collect()
}
