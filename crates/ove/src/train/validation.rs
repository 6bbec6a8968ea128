//! Which rows are held out of training, by their numbers.

use crate::data::Examples;
use crate::platform::random::Stream;

/// The share of the training rows that is held out where none are given: one in so many.
const ONE_IN: usize = 20;

/// Rows that are held out at least; with fewer, nothing is fitted.
const ENOUGH: usize = 50;

/// Rows that are held out at most, and scores: a few thousand rows tell enough.
const MOST_ROWS: usize = 5000;
const MOST_SCORES: usize = 40_000_000;

/// Rows to hold out of training and rows to train on; `None` of rows that are too few.
pub(crate) fn split(examples: &Examples<'_>, seed: u64) -> Option<(Vec<u32>, Vec<u32>)> {
    let held_out = sample(examples, examples.len() / ONE_IN, seed)?;
    let mut left = held_out.iter().peekable();
    let mut is_trained_on = |id: &u32| left.next_if_eq(&id).is_none();
    let train = examples.ids().map(|id| id as u32).filter(|id| is_trained_on(id)).collect();
    Some((held_out, train))
}

/// As many rows as are needed of those that were never meant for training; `None` if they are too few.
pub(crate) fn sample_given(examples: &Examples<'_>, seed: u64) -> Option<Vec<u32>> {
    sample(examples, examples.len(), seed)
}

fn sample(examples: &Examples<'_>, count: usize, seed: u64) -> Option<Vec<u32>> {
    let count = count.min(MOST_ROWS).min((MOST_SCORES / examples.classes).max(ENOUGH));
    if count < ENOUGH {
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
