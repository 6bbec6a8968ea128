//! The class of every row.
//!
//! By rank k, from 1, the shares of the classes are
//!
//! ```text
//! q_1 = 0.19        q_k ∝ k^−a · exp(−k/400)   for k > 1,   with a such that q_1 + … + q_15 = ½
//! ```
//!
//! Of N training rows, each of the K classes has one; the other N − K are distributed by q, so that class k has
//! 1 + round(Q_k·(N − K)) − round(Q_{k−1}·(N − K)) with Q_k = q_1 + … + q_k. The test rows are an even selection of the
//! same list, so that a rare class may have none.

use super::{CLASSES, Part, Purpose, stream};
use crate::platform::elementary::{exp, powf};

/// q_1.
const LARGEST: f64 = 0.19;
/// a. The first 15 shares sum to slightly more than ½, since rows are moved to classes that would have none.
const POWER: f64 = 0.8944;
/// The rank from which the sizes decrease faster than by the power law, so that some classes have one row.
const CUTOFF: f64 = 400.0;
/// Minimum mean number of rows per class; with fewer rows there are fewer classes.
const ROWS_PER_CLASS: usize = 4;

/// The classes of all rows.
#[derive(Debug, Clone)]
pub(super) struct Labels {
    train: Vec<u32>,
    test: Vec<u32>,
    numbers: Vec<u32>,
}

impl Labels {
    pub fn new(seed: u64, train_rows: usize, test_rows: usize) -> Self {
        let classes = train_rows.div_ceil(ROWS_PER_CLASS).min(CLASSES);
        let mut train = by_size(train_rows, classes);
        let mut test: Vec<u32> = (0..test_rows).map(|n| train[(2 * n + 1) * train_rows / (2 * test_rows)]).collect();
        let mut numbers: Vec<u32> = (0..classes as u32).collect();
        stream(seed, Purpose::ClassNumbers, &[]).shuffle(&mut numbers);
        stream(seed, Purpose::Order, &[Part::Train as u64]).shuffle(&mut train);
        stream(seed, Purpose::Order, &[Part::Test as u64]).shuffle(&mut test);
        Labels { train, test, numbers }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.numbers.len()
    }

    /// The class of each row as a rank, 0 for the largest class.
    pub fn ranks(&self, part: Part) -> &[u32] {
        match part {
            Part::Train => &self.train,
            Part::Test => &self.test,
        }
    }

    /// The class number of a rank.
    pub fn number(&self, rank: usize) -> u32 {
        self.numbers[rank]
    }
}

/// The ranks of the training rows, largest class first.
fn by_size(rows: usize, classes: usize) -> Vec<u32> {
    let free = (rows - classes) as f64;
    let mut ranks = Vec::with_capacity(rows);
    let (mut sum, mut distributed) = (0.0, 0);
    for (rank, share) in shares(classes).into_iter().enumerate() {
        sum += share;
        let until = if rank + 1 == classes { rows - classes } else { (sum * free).round() as usize };
        ranks.extend(std::iter::repeat_n(rank as u32, 1 + until - distributed));
        distributed = until;
    }
    ranks
}

/// The shares q.
fn shares(classes: usize) -> Vec<f64> {
    let weight = |k: usize| powf(k as f64, -POWER) * exp(-(k as f64) / CUTOFF);
    let sum: f64 = (2..=classes).map(weight).sum();
    let rest = (2..=classes).map(|k| (1.0 - LARGEST) * weight(k) / sum);
    std::iter::once(LARGEST).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::amazoncat::{TEST_ROWS, TRAIN_ROWS};

    fn sizes(ranks: &[u32], classes: usize) -> Vec<usize> {
        let mut sizes = vec![0; classes];
        ranks.iter().for_each(|&rank| sizes[rank as usize] += 1);
        sizes
    }

    #[test]
    fn sizes_of_the_real_set() {
        let labels = Labels::new(0, TRAIN_ROWS, TEST_ROWS);
        assert_eq!([labels.train.len(), labels.test.len()], [TRAIN_ROWS, TEST_ROWS]);
        for part in [Part::Train, Part::Test] {
            let sizes = sizes(labels.ranks(part), CLASSES);
            let rows: usize = sizes.iter().sum();
            assert_eq!((100.0 * sizes[0] as f64 / rows as f64).round(), 19.0, "{part}");
            assert!(2 * sizes[..14].iter().sum::<usize>() < rows, "{part}");
            assert!(2 * sizes[..15].iter().sum::<usize>() >= rows, "{part}");
        }
        let train = sizes(&labels.train, CLASSES);
        assert!(train.iter().all(|&size| size > 0));
        assert!(train.iter().filter(|&&size| size == 1).count() > 500);
    }

    #[test]
    fn fewer_rows_have_fewer_classes() {
        for (rows, classes) in [(118, 30), (1186, 297), (11_862, CLASSES)] {
            let labels = Labels::new(3, rows, rows / 4);
            assert_eq!(labels.classes(), classes);
            assert_eq!(labels.train.len(), rows);
            assert!(sizes(&labels.train, classes).iter().all(|&size| size > 0));
        }
    }
}
