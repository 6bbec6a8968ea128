//! Fits the probabilities of trees on held-out rows.

use rayon::prelude::*;

use crate::data::{Examples, Row};
use crate::platform::elementary::exp;
use crate::scores::trees::{BeamScores, Calibration, Evidence, Search, Trees};
use crate::scores::{Logistic, Prediction, log_score};
use crate::train::{logistic, simplex};

/// The defaults, with too few rows for a fit: between those of titles and of legal documents.
const EVIDENCE: Evidence = Evidence { root: 0.45, leaf: 0.8, power: 2.8, tail: 0.12 };
const LOGISTIC: Logistic = Logistic { intercept: 1.8, slope: 1.3, threshold: 0.3 };

/// Minimum number of rows for a fit.
pub(super) const MIN_ROWS: usize = 100;

/// The range of the parameters, in their logarithms around the default; and the size of the first steps.
const RANGE: f64 = 4.0;
const STEP: f64 = 0.2;

/// The calibration without a fit.
pub(super) fn default(examples: &Examples<'_>) -> Calibration {
    match examples.ids().any(|id| examples.labels[id].len() > 1) {
        true => Calibration::Logistic(LOGISTIC),
        false => Calibration::Normalised(EVIDENCE),
    }
}

/// Trees, and rows that they were not trained on.
pub(crate) type Part<'a> = (&'a Trees, &'a [u32]);

/// The calibration that maximises the probability of the labels of the rows of all parts; the default with too few.
pub(crate) fn fit(parts: &[Part<'_>], examples: &Examples<'_>) -> Calibration {
    let rows = || parts.iter().flat_map(|(_, rows)| *rows);
    let default = default(examples);
    if rows().count() < MIN_ROWS {
        return default;
    }
    match default {
        Calibration::Normalised(start) => Calibration::Normalised(evidence(parts, examples, start)),
        Calibration::Logistic(start) => {
            let labels = rows().map(|&row| examples.labels[row as usize].len()).sum();
            let votes: Vec<_> = parts.iter().flat_map(|(trees, rows)| votes(trees, examples, rows)).collect();
            Calibration::Logistic(logistic::fit(&votes, labels).unwrap_or(start))
        }
    }
}

/// The calibration of trees with a second stage: as it corrects the votes of rows with several labels, their logistic
/// function is fitted anew. Those of rows with one label keep what they have together.
pub(super) fn refit(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Calibration {
    match trees.calibration {
        Calibration::Logistic(_) if trees.second_stage().is_some() => fit(&[(trees, rows)], examples),
        calibration => calibration,
    }
}

/// Minimises −Σ log p(label) + ½‖θ‖² over the logarithms θ of the four numbers, relative to the defaults. Without their
/// prior they would grow without end where trees make no error on the rows, and p would be 0 or 1 for all others.
fn evidence(parts: &[Part<'_>], examples: &Examples<'_>, start: Evidence) -> Evidence {
    let label = |id: u32| examples.labels[id as usize].first().copied();
    let mut rows = Vec::new();
    for &(trees, ids) in parts {
        let of_ids = rows_of(examples, ids);
        let found = trees.search_batches(&of_ids, Search::Nearest, |batch, found, _| {
            let labels: Vec<Vec<u32>> = ids[batch.clone()].iter().map(|&id| label(id).into_iter().collect()).collect();
            trees.score_leaves_of(&of_ids[batch], found, Some(&labels));
            found.to_vec()
        });
        rows.extend(ids.iter().zip(found).map(|(&id, found)| (trees, id, found)));
    }
    let scaled = |by: &[f64; 4]| {
        let times = |number: f32, log: f64| (f64::from(number) * exp(log)) as f32;
        Evidence {
            root: times(start.root, by[0]),
            leaf: times(start.leaf, by[1]),
            power: times(start.power, by[2]),
            tail: times(start.tail, by[3]),
        }
    };
    let loss = |by: &[f64; 4]| {
        let evidence = scaled(by);
        if by.iter().any(|log| log.abs() > RANGE) || !evidence.is_valid() {
            return f64::INFINITY;
        }
        let calibration = Calibration::Normalised(evidence);
        let of_row = |calibrated: &mut BeamScores, (trees, id, found): &(&Trees, u32, BeamScores)| {
            calibrated.clone_from(found);
            evidence.calibrate(calibrated);
            let row = examples.rows.row(*id as usize);
            label(*id).map_or(0.0, |label| -trees.log_probability(row, calibrated, label, &calibration))
        };
        // Collected first, so that the order of the sum does not depend on the threads.
        let losses: Vec<f64> = rows.par_iter().map_init(Default::default, of_row).collect();
        losses.iter().sum::<f64>() + 0.5 * by.iter().map(|log| log * log).sum::<f64>()
    };
    scaled(&simplex::minimise(loss, [0.0; 4], STEP))
}

/// The log votes for the top classes of these rows, and whether they are labels.
fn votes(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Vec<(f64, bool)> {
    let of_row = |(at, votes): (usize, Vec<Prediction>)| {
        let labels = &examples.labels[rows[at] as usize];
        let pair = |vote: Prediction| (log_score(vote.probability), labels.contains(&vote.class));
        votes.into_iter().map(pair).collect::<Vec<_>>()
    };
    let all = rows_of(examples, rows);
    let count = trees.second_stage().map_or(0, |mix| mix.rivals).max(logistic::TOP);
    trees.search_batches(&all, Search::Nearest, |batch, found, scratch| {
        let votes = trees.ranked(&all[batch.clone()], found, count, scratch);
        batch.zip(votes).flat_map(of_row).collect()
    })
}

fn rows_of<'a>(examples: &Examples<'a>, rows: &[u32]) -> Vec<Row<'a>> {
    rows.iter().map(|&n| examples.rows.row(n as usize)).collect()
}
