//! The largest weights of a class, in memory that depends on how many are asked for and not on the number of features.

use std::cmp::Ordering;

/// A feature and its weight.
type Weight = (u32, f32);

/// The weights of the largest magnitude on one side of zero.
pub(crate) struct Largest {
    count: usize,
    /// At most twice `count` candidates; `count` of them are the largest so far.
    kept: Vec<Weight>,
    /// No candidate from here on can be among the largest.
    bound: f32,
}

impl Largest {
    /// Of no weights; `count` are asked for.
    pub fn new(count: usize) -> Self {
        Largest { count, kept: Vec::new(), bound: 0.0 }
    }

    /// Takes a weight by its magnitude.
    #[inline]
    pub fn push(&mut self, feature: u32, magnitude: f32) {
        if magnitude > self.bound && self.count > 0 {
            self.kept.push((feature, magnitude));
            if self.kept.len() / 2 >= self.count {
                self.shrink();
            }
        }
    }

    /// Drops all but the largest. Features arrive in increasing order, so a later weight has to exceed all that are
    /// kept to take the place of one.
    #[cold]
    fn shrink(&mut self) {
        self.bound = self.kept.select_nth_unstable_by(self.count - 1, order).1.1;
        self.kept.truncate(self.count);
    }

    /// The largest, in decreasing order, ties by feature.
    pub fn finish(mut self) -> Vec<Weight> {
        self.kept.sort_unstable_by(order);
        self.kept.truncate(self.count);
        self.kept
    }
}

fn order(a: &Weight, b: &Weight) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Stream;

    #[test]
    fn they_are_the_first_of_all_in_order() {
        let mut random = Stream::of(&[3]);
        // Few different weights, so that many are equal.
        let weights: Vec<Weight> = (0..1000).map(|feature| (feature, 1.0 + random.below(200) as f32)).collect();
        let mut sorted = weights.clone();
        sorted.sort_by(order);
        for count in [0, 1, 2, 10, 499, 500, 501, 999, 1000, 1001, usize::MAX] {
            let mut largest = Largest::new(count);
            for &(feature, weight) in &weights {
                largest.push(feature, weight);
                assert!(largest.kept.len() < count.saturating_mul(2).max(1), "{count}");
            }
            assert_eq!(largest.finish(), sorted[..count.min(1000)], "{count}");
        }
    }
}
