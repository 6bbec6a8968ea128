//! f_k(x; w) while it learns, as the two phases of a batch need it.
//!
//! The stochastic solver knows nothing of the scores but this. A new kind of scores is a new implementation, never a new
//! solver.

use std::ops::Range;

use crate::data::{Examples, Row, Rows};
use crate::error::{Error, Result};
use crate::scores::Scores;
use crate::train::checkpoint::{State, StateReader, Table};
use crate::train::optimizer::Pace;
use crate::train::stochastic::visit::Visit;

/// Scores that learn.
pub(super) trait ScoreFunction: Send + Sync {
    /// What a row keeps between the phases: where its weights are, or its embedding and the gradient in it.
    type Hidden: Default + Clone + Send + Sync;

    /// Number of weights that a row with so many entries and visited classes touches.
    fn touched(&self, entries: f64, classes: f64) -> f64;

    /// Cuts the weights into ranges for so many threads, each of which owns one in the second phase.
    fn share(&mut self, examples: &Examples<'_>, threads: usize);

    /// Finds the weights of a row, without reading them: this is done a batch ahead.
    fn locate(&self, row: Row<'_>, hidden: &mut Self::Hidden);

    /// Prefetches what [`ScoreFunction::scores`] will read.
    fn prefetch(&self, row: Row<'_>, hidden: &Self::Hidden, classes: &[u32]);

    /// Phase one: the scores of some classes, in place of what `scores` holds. In parallel over rows.
    fn scores(&self, row: Row<'_>, hidden: &mut Self::Hidden, classes: &[u32], scores: &mut Vec<f64>);

    /// Still phase one: takes the derivatives of the objective in these scores back to what the row keeps.
    fn pull_back(&self, hidden: &mut Self::Hidden, classes: &[u32], derivatives: &[f64]);

    /// The scores of all classes for any row.
    fn all_scores(&self, row: Row<'_>, scores: &mut [f32]);

    /// Begins a batch with this rate and this share of the penalty.
    fn advance(&mut self, rate: f64, shrink: f64);

    /// Phase two: each range of weights takes the rows in order and moves what it owns. So every weight sees the same
    /// moves in the same order for any number of threads.
    fn update(&mut self, rows: Rows<'_>, visits: &[Visit<Self::Hidden>]);

    /// How far the weights and the biases have come.
    fn paces(&self) -> [Pace; 2];

    fn tables(&self) -> Vec<Table<'_>>;

    fn restore(&mut self, state: &dyn StateReader, paces: [Pace; 2]) -> Result<()>;

    /// The mean of these weights and those of others; `shares` sum to 1, the own one first.
    fn merge(&mut self, others: &[State], shares: &[f64]) -> Result<()>;

    /// A copy of the scores as they are now.
    fn snapshot(&self) -> Scores;

    /// The scores at the end.
    fn freeze(self) -> Scores;
}

/// The mean of a table and the same tables of others, summed in their order.
pub(super) fn merge_tables(name: &str, own: &mut [f32], others: &[State], shares: &[f64]) -> Result<()> {
    let mut sums: Vec<f64> = own.iter().map(|&number| shares[0] * f64::from(number)).collect();
    for (other, share) in others.iter().zip(&shares[1..]) {
        let reader: &dyn StateReader = other;
        let numbers: Vec<f32> = reader.read(name)?;
        if numbers.len() != sums.len() {
            let (other, own) = (numbers.len(), sums.len());
            return Err(Error::Mismatch(format!("the other run has {other} numbers in `{name}`, this one {own}")));
        }
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += share * f64::from(number));
    }
    own.iter_mut().zip(sums).for_each(|(own, sum)| *own = sum as f32);
    Ok(())
}

/// Cuts the features into ranges that rows have about equally often.
pub(super) fn feature_ranges(examples: &Examples<'_>, ranges: usize) -> Vec<Range<usize>> {
    let features = examples.rows.features();
    let (mut counts, mut entries) = (vec![0usize; features], 0);
    examples.each(|_, row| {
        entries += row.indices.len();
        row.indices.iter().for_each(|&feature| counts[feature as usize] += 1);
    });
    cut(&counts, entries, ranges)
}

/// Cuts numbers into ranges with about equal sums of their counts.
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
