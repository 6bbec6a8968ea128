//! The value of an objective over all negatives of a row, without derivatives, for several labels at once.
//!
//! These are the values of [`Objective::of_labels`] if every class is visited once; a property test compares the two.
//! The exponentials e_m = e^{f_m − s} of the negatives are shared by all labels: with r = e^{s − f_y},
//!
//! ```text
//! Σ_m log(1 + e^{f_m − f_y}) = Σ_m log(1 + r e_m)
//! ```
//!
//! takes one product per class, and one logarithm for the product of many factors.

use super::negatives::Negatives;
use super::objective::Objective;
use crate::platform::elementary::exp;
use crate::platform::math::{log_sum_exp, softplus_sigmoid, sum_log_1p};

/// Largest s − f_y for which a product of two factors cannot overflow.
const MAX_SHIFT: f64 = 300.0;

/// An objective with its set C.
pub(crate) struct Values {
    objective: Objective,
    /// C, in class order.
    merged: Vec<u32>,
}

impl Values {
    pub fn new(objective: Objective, merged: Vec<u32>) -> Self {
        Values { objective, merged }
    }

    /// The sum over labels with the given scores. In `scores`, of all classes, those of the labels are −∞; C is removed
    /// from `negatives`.
    pub fn of_labels(&self, labels: &[f64], scores: &[f32], negatives: &mut Negatives) -> f64 {
        match self.objective {
            // The normalised bound is tight at the best u of each label.
            Objective::Softmax | Objective::SampledSoftmax | Objective::Normalised => {
                labels.iter().map(|&label| negatives.log_probability(label)).sum()
            }
            Objective::OneVsEach | Objective::Merged => self.merged(labels, scores, negatives),
            Objective::Bouchard => self.bouchard(labels, scores),
        }
    }

    fn merged(&self, labels: &[f64], scores: &[f32], negatives: &mut Negatives) -> f64 {
        self.merged.iter().for_each(|&class| negatives.exps[class as usize] = 0.0);
        // Not from the exponentials, which underflow to 0 for scores far below the largest.
        let log_merged = log_sum_exp(self.merged.iter().map(|&class| f64::from(scores[class as usize])));
        let of_label = |&label: &f64| -softplus_sigmoid(log_merged - label).0 - self.outside(label, scores, negatives);
        labels.iter().map(of_label).sum()
    }

    /// Σ log(1 + e^{f_m − f_y}) over the negatives outside C.
    fn outside(&self, label: f64, scores: &[f32], negatives: &Negatives) -> f64 {
        if negatives.shift - label <= MAX_SHIFT {
            return sum_log_1p(exp(negatives.shift - label), &negatives.exps);
        }
        let outside = (0..).zip(scores).filter(|(class, _)| self.merged.binary_search(class).is_err());
        outside.map(|(_, &score)| softplus_sigmoid(f64::from(score) - label).0).sum()
    }

    fn bouchard(&self, labels: &[f64], scores: &[f32]) -> f64 {
        let remaining = || scores.iter().filter(|score| **score > f32::NEG_INFINITY);
        let mut visited = Vec::with_capacity(scores.len());
        let of_label = |&label: &f64| {
            visited.clear();
            visited.push(label);
            visited.extend(remaining().map(|&score| f64::from(score)));
            self.objective.of_labels(&mut visited, &[1.0], 0, &[], &mut Vec::new())
        };
        if remaining().next().is_none() { 0.0 } else { labels.iter().map(of_label).sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::all_classes::{AllClasses, Scratch};
    use proptest::prelude::*;

    fn check(objective: Objective, merged: &[u32], scores: &[f32], labels: &[u32]) {
        let mut all: Vec<f64> = scores.iter().map(|&score| score.into()).collect();
        let full = AllClasses::new(objective, merged, scores.len());
        let expected = full.value_and_gradient(labels, &vec![1.0; labels.len()], &mut all, &mut Scratch::default());

        let own: Vec<f64> = labels.iter().map(|&label| scores[label as usize].into()).collect();
        let mut others = scores.to_vec();
        labels.iter().for_each(|&label| others[label as usize] = f32::NEG_INFINITY);
        let mut negatives = Negatives::default();
        negatives.fill(&others);
        let values = Values::new(objective, merged.to_vec());
        let found = values.of_labels(&own, &others, &mut negatives);
        assert!(
            (found - expected).abs() <= 1e-11 * expected.abs().max(1.0),
            "{objective}, labels {labels:?}: {found}, not {expected}"
        );
    }

    proptest! {
        /// The objective of the solvers, class by class, and that of the evaluation, with shared exponentials, are the
        /// same function, even if scores differ by thousands.
        #[test]
        fn values_are_those_of_the_objective_over_all_classes(
            scores in prop::collection::vec(-9.0f32..9.0, 2..24),
            scale in prop::sample::select(vec![1.0f32, 30.0, 1000.0]),
            merged in prop::collection::btree_set(0u32..24, 0..24),
            picks in prop::collection::btree_set(0u32..24, 1..4),
        ) {
            let scores: Vec<f32> = scores.iter().map(|score| scale * score).collect();
            let merged: Vec<u32> = merged.into_iter().filter(|&class| (class as usize) < scores.len()).collect();
            let labels: Vec<u32> = picks.into_iter().filter(|&label| (label as usize) < scores.len()).collect();
            prop_assume!(!labels.is_empty());
            for &objective in Objective::ALL {
                // If all classes are drawn, their weights are 1, and a sampled softmax is the softmax.
                let objective = if objective.is_sampled() { Objective::Softmax } else { objective };
                // A row that has every class but one leaves Bouchard's bound two classes; with none left it has no
                // value.
                let merged = if objective == Objective::Merged { &merged[..] } else { &[] };
                check(objective, merged, &scores, &labels);
            }
        }
    }
}
