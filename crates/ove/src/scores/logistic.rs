//! The probability that a class is one of the labels of a row, where rows may have several: logistic in a log score.
//!
//! ```text
//! p = σ(a + b s)        s = ln v, the log of the votes of trees, or log softmax
//! ```
//!
//! a and b are fitted on held-out rows (`train::logistic`). As b is positive, classes keep their order; as s ≤ 0, no
//! probability exceeds σ(a).

use serde::{Deserialize, Serialize};

use crate::platform::math::softplus_sigmoid;

/// The two numbers that map a log score to a probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Logistic {
    /// a.
    pub intercept: f32,
    /// b.
    pub slope: f32,
}

impl Logistic {
    /// log p of a log score.
    pub(crate) fn log_probability(self, score: f64) -> f64 {
        -softplus_sigmoid(-self.logit(score)).0
    }

    /// p of a log score.
    #[cfg(test)]
    pub(crate) fn probability(self, score: f64) -> f64 {
        softplus_sigmoid(self.logit(score)).1
    }

    /// Whether both numbers are finite and the slope is positive.
    pub(crate) fn is_valid(self) -> bool {
        self.intercept.is_finite() && self.slope.is_finite() && self.slope > 0.0
    }

    fn logit(self, score: f64) -> f64 {
        f64::from(self.intercept) + f64::from(self.slope) * score
    }
}
