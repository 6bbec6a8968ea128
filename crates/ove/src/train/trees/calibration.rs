//! Fits the temperature and the vote power of trees on held-out rows.

use rayon::prelude::*;

use crate::data::{Examples, Row};
use crate::platform::elementary::{exp, ln, powf};
use crate::scores::Prediction;
use crate::scores::trees::{BeamScores, Calibration, Paths, Search, Trees};

/// The default, with too few rows for a fit: between the optimum for titles and the optimum for legal documents.
const DEFAULT: Calibration = Calibration { temperature: 1.5, vote_power: None };

/// The default γ, with too few rows for a fit.
const DEFAULT_POWER: f32 = 1.0;

/// Minimum number of rows for a fit.
const MIN_ROWS: usize = 100;

/// The search range, and the number of golden sections.
const RANGE: (f32, f32) = (0.1, 10.0);
const SECTIONS: usize = 12;

/// Number of top classes per row whose votes are calibrated.
const TOP: usize = 5;

/// The calibration before the fit; whether there is a vote power depends on whether rows have several labels.
pub(super) fn unfitted(examples: &Examples<'_>) -> Calibration {
    let several = examples.ids().any(|id| examples.labels[id].len() > 1);
    Calibration { vote_power: several.then_some(DEFAULT_POWER), ..DEFAULT }
}

/// The calibration that maximises the probability of the labels of these rows; `trees` have the unfitted one.
pub(super) fn fit(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Calibration {
    if rows.len() < MIN_ROWS {
        return trees.calibration;
    }
    let paths = paths(trees, examples, rows);
    let temperature = minimise(|tau| nlpd(&paths, tau));
    let vote_power = trees.calibration.vote_power.map(|_| {
        let votes = votes(trees, examples, rows);
        minimise(|power| log_loss(&votes, power))
    });
    Calibration { temperature, vote_power }
}

/// The paths to the labels of these rows.
fn paths(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Vec<Paths> {
    let row = rows_of(examples, rows);
    let of_row = |(at, scores): (usize, &mut BeamScores)| {
        let labels = examples.labels[rows[at] as usize].iter();
        labels.map(|&label| trees.paths(row[at], scores, label)).collect::<Vec<_>>()
    };
    trees.search_batches(&row, Search::Nearest, |batch, found, _| batch.zip(found).flat_map(of_row).collect())
}

/// −Σ log p(label).
fn nlpd(paths: &[Paths], temperature: f32) -> f64 {
    // Collected first, so that the order of the sum does not depend on the threads.
    -paths.par_iter().map(|paths| paths.log_probability(temperature)).collect::<Vec<_>>().iter().sum::<f64>()
}

/// The votes for the top classes of these rows, and whether they are labels.
fn votes(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Vec<(f64, bool)> {
    let all = rows_of(examples, rows);
    trees.search_batches(&all, Search::Nearest, |batch, found, scratch| {
        let ranked = trees.ranked(&all[batch.clone()], found, trees.candidates().max(TOP), scratch);
        let of_row = |(at, votes): (usize, Vec<Prediction>)| {
            let labels = &examples.labels[rows[at] as usize];
            let is_label = |vote: Prediction| (vote.probability.min(1.0), labels.contains(&vote.class));
            votes.into_iter().take(TOP).map(is_label).collect::<Vec<_>>()
        };
        batch.zip(ranked).flat_map(of_row).collect()
    })
}

fn rows_of<'a>(examples: &Examples<'a>, rows: &[u32]) -> Vec<Row<'a>> {
    rows.iter().map(|&n| examples.rows.row(n as usize)).collect()
}

/// The log loss of the probability v^γ that a class is a label.
fn log_loss(votes: &[(f64, bool)], power: f32) -> f64 {
    let of = |&(vote, is_label): &(f64, bool)| {
        let p = powf(vote, power.into());
        // A vote of 1 may be wrong.
        -ln((if is_label { p } else { 1.0 - p }).max(1e-6))
    };
    votes.iter().map(of).sum()
}

/// The minimum of a unimodal function of a positive number, by golden-section search in its logarithm.
fn minimise(of: impl Fn(f32) -> f64) -> f32 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let of = |log: f64| of(exp(log) as f32);
    let (mut low, mut high) = (ln(RANGE.0.into()), ln(RANGE.1.into()));
    let (mut a, mut b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_a, mut at_b) = (of(a), of(b));
    for _ in 0..SECTIONS {
        if at_a < at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - GOLDEN * (high - low);
            at_a = of(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + GOLDEN * (high - low);
            at_b = of(b);
        }
    }
    exp(0.5 * (low + high)) as f32
}
