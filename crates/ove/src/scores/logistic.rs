//! The probability that a class is one of the labels of a row, where rows may have several: logistic in a log score.
//!
//! ```text
//! p = σ(a + b s)        s = ln v, the log of the votes of trees, or log softmax
//! ```
//!
//! A class is predicted if its p reaches a threshold. a, b and the threshold are fitted on held-out rows
//! (`train::logistic`). As b is positive, classes keep their order; as s ≤ 0, no probability exceeds σ(a).

use serde::{Deserialize, Serialize};

use crate::platform::elementary::{exp, ln};
use crate::platform::math::softplus_sigmoid;

/// What maps a log score to a probability, and the probability from which on a class is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Logistic {
    /// a.
    pub intercept: f32,
    /// b.
    pub slope: f32,
    /// The threshold with the largest micro F1.
    pub threshold: f32,
}

impl Logistic {
    /// log p of a log score.
    pub(crate) fn log_probability(self, score: f64) -> f64 {
        -softplus_sigmoid(-self.logit(score)).0
    }

    /// p of a log score.
    pub(crate) fn probability(self, score: f64) -> f64 {
        softplus_sigmoid(self.logit(score)).1
    }

    /// e^s of a probability.
    pub(crate) fn inverse(self, probability: f64) -> f64 {
        let logit = ln(probability) - ln(1.0 - probability);
        exp((logit - f64::from(self.intercept)) / f64::from(self.slope)).min(1.0)
    }

    /// Whether all are finite, the slope positive and the threshold a probability.
    pub(crate) fn is_valid(self) -> bool {
        let numbers = self.intercept.is_finite() && self.slope.is_finite() && self.slope > 0.0;
        numbers && (0.0..=1.0).contains(&self.threshold)
    }

    fn logit(self, score: f64) -> f64 {
        f64::from(self.intercept) + f64::from(self.slope) * score
    }
}
