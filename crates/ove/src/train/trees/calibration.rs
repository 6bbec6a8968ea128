//! Fits what makes probabilities of energies and votes, on rows that no node saw.

use rayon::prelude::*;

use crate::data::{Examples, Row};
use crate::scores::Prediction;
use crate::scores::trees::{BeamScores, Calibration, Scratch, Search, Trees, Ways};

/// Without enough rows to fit on: between the best for titles and the best for legal documents.
pub(super) const USUAL: Calibration = Calibration { temperature: 1.5, vote_power: None };

/// γ without enough rows to fit it on.
const USUAL_POWER: f32 = 1.0;

/// Rows that a fit needs.
const ENOUGH: usize = 100;

/// Where the best value is looked for, and in how many golden sections.
const RANGE: (f32, f32) = (0.1, 10.0);
const SECTIONS: usize = 12;

/// The best classes of a row whose votes are to become probabilities.
const TOP: usize = 5;

/// The calibration under which the labels of these rows are most probable.
pub(super) fn fit(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Calibration {
    let several = examples.ids().any(|id| examples.labels[id].len() > 1);
    if rows.len() < ENOUGH {
        return Calibration { vote_power: several.then_some(USUAL_POWER), ..USUAL };
    }
    let ways = ways(trees, examples, rows);
    let temperature = smallest(|tau| nlpd(&ways, tau));
    let vote_power = several.then(|| {
        let votes = votes(trees, examples, rows);
        smallest(|power| surprise(&votes, power))
    });
    Calibration { temperature, vote_power }
}

/// The ways to the labels of these rows, which every temperature weighs anew.
fn ways(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Vec<Ways> {
    let found = rows_of(examples, rows);
    let of_row = |(at, scores): (usize, &mut BeamScores)| {
        let labels = examples.labels[rows[at] as usize].iter();
        labels.map(|&label| trees.ways(found[at], scores, label)).collect::<Vec<_>>()
    };
    trees.search_batches(&found, Search::Nearest, |piece, found, _| piece.zip(found).flat_map(of_row).collect())
}

/// −Σ log p(label).
fn nlpd(ways: &[Ways], temperature: f32) -> f64 {
    // Collected first: the order of the sum does not depend on threads.
    -ways.par_iter().map(|ways| ways.log_probability(temperature)).collect::<Vec<_>>().iter().sum::<f64>()
}

/// The votes for the best classes of these rows, and whether they are labels.
fn votes(trees: &Trees, examples: &Examples<'_>, rows: &[u32]) -> Vec<(f64, bool)> {
    let of_row = |at: usize, found: &BeamScores, scratch: &mut Scratch| {
        let labels = &examples.labels[rows[at] as usize];
        let is_label = |vote: Prediction| (vote.probability, labels.contains(&vote.class));
        trees.votes(found, TOP, scratch).into_iter().map(is_label).collect::<Vec<_>>()
    };
    trees.search_batches(&rows_of(examples, rows), Search::Nearest, |piece, found, scratch| {
        piece.zip(found).flat_map(|(at, found)| of_row(at, found, scratch)).collect()
    })
}

fn rows_of<'a>(examples: &Examples<'a>, rows: &[u32]) -> Vec<Row<'a>> {
    rows.iter().map(|&n| examples.rows.row(n as usize)).collect()
}

/// −Σ log of the probability of what is so: v^γ of labels, 1 − v^γ of others.
fn surprise(votes: &[(f64, bool)], power: f32) -> f64 {
    let of = |&(vote, is_label): &(f64, bool)| {
        let p = vote.powf(power.into());
        // A vote may be one, and be wrong.
        -(if is_label { p } else { 1.0 - p }).max(1e-6).ln()
    };
    votes.iter().map(of).sum()
}

/// Where a function of a positive number with one valley is smallest, by golden sections of its logarithm.
fn smallest(of: impl Fn(f32) -> f64) -> f32 {
    const GOLDEN: f32 = 0.618_034;
    let of = |log: f32| of(log.exp());
    let (mut low, mut high) = (RANGE.0.ln(), RANGE.1.ln());
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
    (0.5 * (low + high)).exp()
}
