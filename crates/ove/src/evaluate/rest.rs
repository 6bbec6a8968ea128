//! The classes that are no labels of a row, with one exponential each: log-likelihood and bound of every label follow from these.

use crate::math::softplus_sigmoid;

/// The remaining classes of one row.
#[derive(Default)]
pub(super) struct Rest {
    /// Their largest score.
    pub shift: f64,
    /// e^{f_m − shift} of each class, 0 for the labels.
    pub exps: Vec<f64>,
    /// log Σ_m e^{f_m} over the remaining classes.
    pub log_sum: f64,
}

impl Rest {
    /// Takes the scores of a row. Those of its labels are −∞: e^{−∞} = 0.
    pub fn fill(&mut self, scores: &[f32]) {
        let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // A row that has every class leaves none: any shift will do.
        self.shift = if largest == f32::NEG_INFINITY { 0.0 } else { f64::from(largest) };
        let shift = self.shift;
        self.exps.clear();
        self.exps.extend(scores.iter().map(|&score| (f64::from(score) - shift).exp()));
        self.log_sum = shift + self.exps.iter().sum::<f64>().ln();
    }

    /// log p(y | y and the remaining classes) for the score of a label.
    pub fn log_probability(&self, label: f64) -> f64 {
        -softplus_sigmoid(self.log_sum - label).0
    }
}
