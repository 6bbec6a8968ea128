//! The validation split: which rows are held out of training.

use crate::data::Examples;
use crate::platform::random::Stream;

/// One training row in this many is held out, if no validation rows are given.
const ONE_IN: usize = 20;

/// Minimum number of validation rows; with fewer, nothing is chosen or calibrated.
const MIN_ROWS: usize = 50;

/// Maximum number of validation rows, and of their scores: a few thousand rows are precise enough.
const MAX_ROWS: usize = 5000;
const MAX_SCORES: usize = 40_000_000;

/// The validation rows and the rows to train on; `None` if there are too few rows.
pub(crate) fn split(examples: &Examples<'_>, seed: u64) -> Option<(Vec<u32>, Vec<u32>)> {
    let held_out = sample(examples, examples.len() / ONE_IN, seed)?;
    let mut left = held_out.iter().peekable();
    let mut is_trained_on = |id: &u32| left.next_if_eq(&id).is_none();
    let train = examples.ids().map(|id| id as u32).filter(|id| is_trained_on(id)).collect();
    Some((held_out, train))
}

/// A sample of rows that were given for validation; `None` if there are too few.
pub(crate) fn sample_given(examples: &Examples<'_>, seed: u64) -> Option<Vec<u32>> {
    sample(examples, examples.len(), seed)
}

fn sample(examples: &Examples<'_>, count: usize, seed: u64) -> Option<Vec<u32>> {
    let count = count.min(MAX_ROWS).min((MAX_SCORES / examples.classes).max(MIN_ROWS));
    if count < MIN_ROWS {
        return None;
    }
    let mut order: Vec<u32> = examples.ids().map(|id| id as u32).collect();
    Stream::of(&[seed, u64::MAX - 1]).shuffle(&mut order);
    order.truncate(count);
    order.sort_unstable();
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Sparse, sparse};

    #[test]
    fn a_split_has_every_row_once() {
        let shape = Sparse { rows: 2000, features: 30, classes: 8, entries: 5, signal: 0.5 };
        let data = sparse(shape, 0, 0);
        let (held_out, train) = split(&Examples::of(&data), 7).unwrap();
        assert_eq!((held_out.len(), train.len()), (100, 1900));
        let mut all: Vec<u32> = held_out.iter().chain(&train).copied().collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..2000) && train.is_sorted() && held_out.is_sorted());
        let (other, _) = split(&Examples::of(&data), 8).unwrap();
        assert_ne!(other, held_out);
        assert!(split(&Examples::of(&sparse(Sparse { rows: 900, ..shape }, 0, 0)), 7).is_none());
    }
}
