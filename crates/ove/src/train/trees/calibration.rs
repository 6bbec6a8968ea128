//! Fits the probabilities of trees on held-out rows.

use rayon::prelude::*;

use crate::data::{Examples, Row};
use crate::platform::elementary::exp;
use crate::scores::trees::{BeamScores, Calibration, Evidence, Scratch, Search, Trees};
use crate::scores::{Logistic, Prediction, log_score};
use crate::train::{logistic, simplex};

/// The defaults, with too few rows for a fit: between those of titles and of legal documents.
const EVIDENCE: Evidence = Evidence { root: 0.45, leaf: 0.8, power: 2.8, tail: 0.12 };
const LOGISTIC: Logistic = Logistic { intercept: 1.8, slope: 1.3, threshold: 0.3 };

/// Minimum number of rows for a fit.
const MIN_ROWS: usize = 100;

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

/// The calibration that maximises the probability of the labels of these rows; `trees` have the default.
pub(super) fn fit(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Calibration {
    if rows.len() < MIN_ROWS {
        return trees.calibration;
    }
    match trees.calibration {
        Calibration::Normalised(start) => Calibration::Normalised(evidence(trees, examples, rows, start)),
        Calibration::Logistic(default) => {
            let labels = rows.iter().map(|&row| examples.labels[row as usize].len()).sum();
            let fitted = logistic::fit(&votes(trees, examples, rows), labels);
            Calibration::Logistic(fitted.unwrap_or(default))
        }
    }
}

/// Minimises −Σ log p(label) over the logarithms of the four numbers.
fn evidence(trees: &Trees, examples: &Examples<'_>, rows: &[u32], start: Evidence) -> Evidence {
    let row = rows_of(examples, rows);
    let label = |at: usize| examples.labels[rows[at] as usize].first().copied();
    let found = trees.search_batches(&row, Search::Nearest, |batch, found, _| {
        let labels: Vec<Vec<u32>> = batch.clone().map(|at| label(at).into_iter().collect()).collect();
        trees.score_leaves_of(&row[batch], found, Some(&labels));
        found.to_vec()
    });
    let scaled = |by: &[f64; 4]| {
        let times = |number: f32, log: f64| (f64::from(number) * exp(log)) as f32;
        Evidence {
            root: times(start.root, by[0]),
            leaf: times(start.leaf, by[1]),
            power: times(start.power, by[2]),
            tail: times(start.tail, by[3]),
        }
    };
    let nlpd = |by: &[f64; 4]| {
        let evidence = scaled(by);
        if by.iter().any(|log| log.abs() > RANGE) || !evidence.is_valid() {
            return f64::INFINITY;
        }
        let of_row = |calibrated: &mut BeamScores, (at, found): (usize, &BeamScores)| {
            calibrated.clone_from(found);
            evidence.calibrate(calibrated);
            let calibration = Calibration::Normalised(evidence);
            label(at).map_or(0.0, |label| -trees.log_probability(row[at], calibrated, label, &calibration))
        };
        // Collected first, so that the order of the sum does not depend on the threads.
        let losses: Vec<f64> =
            found.par_iter().enumerate().map_init(Default::default, |c, (at, f)| of_row(c, (at, f))).collect();
        losses.iter().sum()
    };
    scaled(&simplex::minimise(nlpd, [0.0; 4], STEP))
}

/// The log votes for the top classes of these rows, and whether they are labels.
fn votes(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Vec<(f64, bool)> {
    let of_row = |at: usize, found: &BeamScores, scratch: &mut Scratch| {
        let labels = &examples.labels[rows[at] as usize];
        let pair = |vote: Prediction| (log_score(vote.probability), labels.contains(&vote.class));
        trees.votes(found, logistic::TOP, scratch).into_iter().map(pair).collect::<Vec<_>>()
    };
    trees.search_batches(&rows_of(examples, rows), Search::Nearest, |batch, found, scratch| {
        batch.zip(found).flat_map(|(at, found)| of_row(at, found, scratch)).collect()
    })
}

fn rows_of<'a>(examples: &Examples<'a>, rows: &[u32]) -> Vec<Row<'a>> {
    rows.iter().map(|&n| examples.rows.row(n as usize)).collect()
}
