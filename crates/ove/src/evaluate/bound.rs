//! The objective of a row's labels, for all remaining classes and without derivatives.
//!
//! The exponentials e_m = e^{f_m − s} of the remaining classes serve every label: with r = e^{s − f_y},
//!
//! ```text
//! Σ_m log(1 + e^{f_m − f_y}) = Σ_m log(1 + r e_m)
//! ```
//!
//! takes a product a class and, as the logarithm of many factors is taken at once, few logarithms.

use super::rest::Rest;
use crate::math::{softplus_sigmoid, sum_log_1p};
use crate::model::Card;
use crate::objective::Objective;
use crate::options::Options;
use crate::solve::all_classes::most_frequent;

/// Beyond this s − f_y the product of two factors might overflow.
const GREATEST: f64 = 300.0;

/// The objective that a model was trained with.
pub(super) struct Bound {
    objective: Objective,
    /// C, in class order.
    merged: Vec<u32>,
}

impl Bound {
    pub fn new(card: &Card, options: &Options) -> Self {
        let mass: Vec<f64> = card.counts.iter().map(|&count| count as f64).collect();
        Bound { objective: options.objective, merged: most_frequent(&mass, options) }
    }

    /// Its sum over labels with these scores. Among the `scores` of all classes those of the labels are −∞; `rest` loses C.
    pub fn of_labels(&self, labels: &[f64], scores: &[f32], rest: &mut Rest) -> f64 {
        match self.objective {
            Objective::Softmax => labels.iter().map(|&label| rest.log_probability(label)).sum(),
            Objective::OneVsEach | Objective::Merged => self.merged(labels, scores, rest),
            Objective::Bouchard => self.bouchard(labels, scores),
        }
    }

    fn merged(&self, labels: &[f64], scores: &[f32], rest: &mut Rest) -> f64 {
        let mut together = 0.0;
        for &class in &self.merged {
            together += std::mem::take(&mut rest.exps[class as usize]);
        }
        let log_together = rest.shift + together.ln();
        let of_label = |&label: &f64| -softplus_sigmoid(log_together - label).0 - self.apart(label, scores, rest);
        labels.iter().map(of_label).sum()
    }

    /// Σ log(1 + e^{f_m − f_y}) over the remaining classes outside C.
    fn apart(&self, label: f64, scores: &[f32], rest: &Rest) -> f64 {
        if rest.shift - label <= GREATEST {
            return sum_log_1p((rest.shift - label).exp(), &rest.exps);
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
