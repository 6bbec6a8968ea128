//! The interface of the stochastic solver to a score function f_k(x; w) in training.
//!
//! A new kind of scores is a new implementation of this trait, not a new solver.

use std::ops::Range;

use bytemuck::Pod;

use crate::data::{Examples, Row, Rows};
use crate::error::{Error, Result};
use crate::scores::Scores;
use crate::train::checkpoint::{State, StateReader, Table};
use crate::train::optimizer::Pace;
use crate::train::stochastic::visit::Visit;

/// A score function in training.
pub(super) trait ScoreFunction: Send + Sync {
    /// The state of a row between the phases: the offsets of its weights, or its embedding and gradient.
    type Hidden: Default + Clone + Send + Sync;

    /// Number of weights that a row with this number of entries and candidates updates.
    fn touched(&self, entries: f64, classes: f64) -> f64;

    /// Partitions the weights into one range per thread, which that thread owns in the second phase.
    fn share(&mut self, examples: &Examples<'_>, threads: usize);

    /// Computes the offsets of the weights of a row without reading them, one batch ahead.
    fn locate(&self, row: Row<'_>, hidden: &mut Self::Hidden);

    /// Prefetches the weights that [`ScoreFunction::scores`] will read.
    fn prefetch(&self, row: Row<'_>, hidden: &Self::Hidden, classes: &[u32]);

    /// Phase one, in parallel over rows: overwrites `scores` with the scores of the given classes.
    fn scores(&self, row: Row<'_>, hidden: &mut Self::Hidden, classes: &[u32], scores: &mut Vec<f64>);

    /// Also phase one: propagates the derivatives with respect to the scores back to the hidden state.
    fn backward(&self, hidden: &mut Self::Hidden, classes: &[u32], derivatives: &[f64]);

    /// The scores of all classes for any row.
    fn all_scores(&self, row: Row<'_>, scores: &mut [f32]);

    /// Begins a batch with its learning rate and its share of the penalty.
    fn advance(&mut self, rate: f64, shrink: f64);

    /// Phase two: each range of weights processes the rows in order and updates the weights that it owns, so that every
    /// weight gets the same updates in the same order for any number of threads.
    fn update(&mut self, rows: Rows<'_>, visits: &[Visit<Self::Hidden>]);

    /// The paces of the weights and of the biases.
    fn paces(&self) -> [Pace; 2];

    fn tables(&self) -> Vec<Table<'_>>;

    fn restore(&mut self, state: &dyn StateReader, paces: [Pace; 2]) -> Result<()>;

    /// Averages the weights with those of other runs, each including the penalty that is still due.
    fn merge(&mut self, others: &[Merged<'_>], own_share: f64) -> Result<()>;

    /// A copy of the current scores.
    fn snapshot(&self) -> Scores;

    /// The final scores.
    fn freeze(self) -> Scores;
}

/// Another run that this one is merged with; all shares sum to 1.
pub(super) struct Merged<'a> {
    pub state: &'a State,
    pub paces: [Pace; 2],
    pub share: f64,
}

impl Merged<'_> {
    /// A table of the other run, of this length.
    pub fn table<T: Pod>(&self, name: &str, length: usize) -> Result<Vec<T>> {
        let reader: &dyn StateReader = self.state;
        let numbers: Vec<T> = reader.read(name)?;
        match numbers.len() == length {
            true => Ok(numbers),
            false => {
                let other = numbers.len();
                Err(Error::Mismatch(format!("the other run has {other} numbers in `{name}`, this one {length}")))
            }
        }
    }
}

/// The weighted mean of numbers of several runs, summed in order.
pub(super) fn mean(own: impl Iterator<Item = f32>, own_share: f64, others: &[(Vec<f32>, f64)]) -> Vec<f32> {
    let of = |(at, own): (usize, f32)| {
        let sum = others
            .iter()
            .fold(own_share * f64::from(own), |sum, (numbers, share)| sum + share * f64::from(numbers[at]));
        sum as f32
    };
    own.enumerate().map(of).collect()
}

/// Partitions the features into ranges with about equal numbers of entries.
pub(super) fn feature_ranges(examples: &Examples<'_>, ranges: usize) -> Vec<Range<usize>> {
    let features = examples.rows.features();
    let (mut counts, mut entries) = (vec![0usize; features], 0);
    examples.each(|_, row| {
        entries += row.indices.len();
        row.indices.iter().for_each(|&feature| counts[feature as usize] += 1);
    });
    cut(&counts, entries, ranges)
}

/// Partitions indices into ranges with about equal sums of counts.
pub(super) fn cut(counts: &[usize], total: usize, ranges: usize) -> Vec<Range<usize>> {
    let mut out = Vec::with_capacity(ranges);
    let (mut start, mut seen) = (0, 0);
    for (at, count) in counts.iter().enumerate() {
        seen += count;
        if out.len() + 1 < ranges && seen * ranges >= total * (out.len() + 1) {
            out.push(start..at + 1);
            start = at + 1;
        }
    }
    out.push(start..counts.len());
    out
}
