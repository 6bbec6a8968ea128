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
use crate::platform::math::{softplus_sigmoid, sum_log_1p};

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
            Objective::Softmax | Objective::SampledSoftmax => {
                labels.iter().map(|&label| negatives.log_probability(label)).sum()
            }
            Objective::OneVsEach | Objective::Merged => self.merged(labels, scores, negatives),
            Objective::Bouchard => self.bouchard(labels, scores),
        }
    }

    fn merged(&self, labels: &[f64], scores: &[f32], negatives: &mut Negatives) -> f64 {
        let mut merged = 0.0;
        for &class in &self.merged {
            merged += std::mem::take(&mut negatives.exps[class as usize]);
        }
        let log_merged = negatives.shift + merged.ln();
        let of_label = |&label: &f64| -softplus_sigmoid(log_merged - label).0 - self.outside(label, scores, negatives);
        labels.iter().map(of_label).sum()
    }

    /// Σ log(1 + e^{f_m − f_y}) over the negatives outside C.
    fn outside(&self, label: f64, scores: &[f32], negatives: &Negatives) -> f64 {
        if negatives.shift - label <= MAX_SHIFT {
            return sum_log_1p((negatives.shift - label).exp(), &negatives.exps);
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
