//! Which rows are held out of training. Rows of the same content, such as a text that occurs twice, are held out
//! together or not at all: a model that has seen a row says little about rows that it has not.

use rayon::prelude::*;

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
    let count = enough(examples, examples.len() / ONE_IN)?;
    let (mut held_out, train) = hold_out(examples, stream(seed), count);
    held_out.sort_unstable();
    Some((held_out, train))
}

/// A sample of rows that were given for validation; `None` if there are too few.
pub(crate) fn sample_given(examples: &Examples<'_>, seed: u64) -> Option<Vec<u32>> {
    let count = enough(examples, examples.len())?;
    let mut order: Vec<u32> = examples.ids_without_names().map(|id| id as u32).collect();
    stream(seed).shuffle(&mut order);
    order.truncate(count);
    order.sort_unstable();
    Some(order)
}

fn stream(seed: u64) -> Stream {
    Stream::of(&[seed, u64::MAX - 1])
}

fn enough(examples: &Examples<'_>, count: usize) -> Option<usize> {
    let count = count.min(MAX_ROWS).min((MAX_SCORES / examples.classes).max(MIN_ROWS));
    (count >= MIN_ROWS).then_some(count)
}

/// Holds out this many random rows, or fewer where the rows of the same content would be more; returns their ids in
/// random order, and the increasing ids of the others.
///
/// If so many rows are alike that less than half of them could be held out, as with a few categorical features, each
/// row goes its own way.
pub(crate) fn hold_out(examples: &Examples<'_>, mut stream: Stream, count: usize) -> (Vec<u32>, Vec<u32>) {
    // Names of classes, which come last, are trained on.
    let rows = examples.ids_without_names().count();
    let mut order: Vec<u32> = (0..rows as u32).collect();
    stream.shuffle(&mut order);
    let mut group = firsts(examples);
    group.truncate(rows);
    let mut is_held_out = draw(&order, &group, count);
    if is_held_out.iter().filter(|&&is| is).count() < count.div_ceil(2) {
        group = (0..rows as u32).collect();
        is_held_out = draw(&order, &group, count);
    }
    let id = |n: &u32| examples.id(*n as usize) as u32;
    let held_out = order.iter().filter(|&&n| is_held_out[n as usize]).map(id).collect();
    let is_trained_on = |&n: &u32| !is_held_out.get(n as usize).is_some_and(|&is| is);
    let train = (0..examples.len() as u32).filter(is_trained_on).map(|n| id(&n)).collect();
    (held_out, train)
}

/// Whether each row is held out: whole groups, in the order of their first rows, as long as they fit in `count`.
fn draw(order: &[u32], group: &[u32], count: usize) -> Vec<bool> {
    let mut size = vec![0; group.len()];
    group.iter().for_each(|&first| size[first as usize] += 1);
    let (mut left, mut is_drawn) = (count, vec![false; group.len()]);
    for &first in order.iter().filter(|&&n| group[n as usize] == n) {
        let size = size[first as usize];
        if size <= left {
            left -= size;
            is_drawn[first as usize] = true;
        }
        if left == 0 {
            break;
        }
    }
    group.iter().map(|&first| is_drawn[first as usize]).collect()
}

/// For each of these rows, the position of the first one of the same content.
pub(crate) fn firsts(examples: &Examples<'_>) -> Vec<u32> {
    let mut contents: Vec<(u64, u32)> = examples.contents().into_iter().zip(0..).collect();
    contents.par_sort_unstable();
    let mut firsts = vec![0; contents.len()];
    for same in contents.chunk_by(|a, b| a.0 == b.0) {
        same.iter().for_each(|&(_, n)| firsts[n as usize] = same[0].1);
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dataset;
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

    /// Every row of `distinct` this many times, one round after the other.
    fn repeated(distinct: usize, times: usize) -> Dataset {
        let shape = Sparse { rows: distinct, features: 30, classes: 8, entries: 5, signal: 0.5 };
        let once = sparse(shape, 0, 0);
        let mut data = Dataset::new(once.features(), once.classes.clone());
        for _ in 0..times {
            for n in 0..once.len() {
                let row = once.rows().row(n);
                row.indices.iter().zip(row.values).for_each(|(&feature, &value)| data.push_entry(feature, value));
                data.end_row(&once.labels[n]);
            }
        }
        data
    }

    #[test]
    fn rows_of_the_same_content_are_on_one_side() {
        let data = repeated(700, 3);
        let (held_out, train) = split(&Examples::of(&data), 7).unwrap();
        assert!((80..=105).contains(&held_out.len()), "{} rows", held_out.len());
        assert_eq!(held_out.len() + train.len(), 2100);
        let content = |n: &u32| {
            let row = data.rows().row(*n as usize);
            (row.indices.to_vec(), row.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
        };
        let seen: std::collections::HashSet<_> = train.iter().map(content).collect();
        assert!(held_out.iter().all(|n| !seen.contains(&content(n))));
        // A few rows that occur hundreds of times each cannot stay together.
        let (held_out, train) = split(&Examples::of(&repeated(5, 400)), 7).unwrap();
        assert_eq!((held_out.len(), train.len()), (100, 1900));
    }

    /// Positions, not ids: a part of the rows is split as if there were no others.
    #[test]
    fn a_part_of_the_rows_is_split_by_its_own() {
        let data = repeated(100, 3);
        let odd: Vec<u32> = (0..300).filter(|n| n % 2 == 1).collect();
        let (held_out, train) = hold_out(&Examples::of(&data).with_index(&odd), stream(1), 60);
        let mut all: Vec<u32> = held_out.iter().chain(&train).copied().collect();
        all.sort_unstable();
        assert!(all == odd && train.is_sorted() && held_out.len() == 60);
        assert!(held_out.iter().all(|n| !train.contains(&((n + 200) % 300))));
    }
}
