//! The negatives of a row, the classes that are not its labels, with one exponential each.
//!
//! The exact log probability and the bound of every label follow from these exponentials.

use crate::platform::elementary::{exp, ln};
use crate::platform::math::softplus_sigmoid;
use crate::platform::simd::vectorised;

/// The negatives of one row.
#[derive(Default)]
pub(crate) struct Negatives {
    /// Their largest score.
    pub shift: f64,
    /// e^{f_m − shift} of each class, 0 for the labels.
    pub exps: Vec<f64>,
    /// log Σ_m e^{f_m} over the negatives.
    pub log_sum: f64,
}

impl Negatives {
    /// Sets the scores of a row, in which those of the labels are −∞: e^{−∞} = 0.
    pub fn fill(&mut self, scores: &[f32]) {
        let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // If every class is a label, any shift will do.
        self.shift = if largest == f32::NEG_INFINITY { 0.0 } else { f64::from(largest) };
        let shift = self.shift;
        self.exps.clear();
        self.exps.extend(scores.iter().map(|&score| exp(f64::from(score) - shift)));
        self.log_sum = shift + ln(self.exps.iter().sum::<f64>());
    }

    /// log p(y | y and the negatives) for the score of a label.
    pub fn log_probability(&self, label: f64) -> f64 {
        -softplus_sigmoid(self.log_sum - label).0
    }

    /// The effective number of rivals K_eff = (Σ σ_m)² / Σ σ_m² for the score of a label, with σ_m = σ(f_m − f_y).
    ///
    /// K_eff equally likely negatives would have the weight in the gradient of eq. 16 that all negatives have. 0 if
    /// there are no negatives.
    pub fn effective_rivals(&self, label: f64) -> f64 {
        // σ_m = e_m / (e_m + a), a = e^{f_y − shift}. A common factor cancels, and 1 + a scales the largest σ to one:
        // no sum overflows or underflows, however confident the model is.
        let a = exp(label - self.shift).clamp(f64::MIN_POSITIVE, 1e300);
        let (sum, squares) = sums_of_sigmoids(a, &self.exps);
        if squares == 0.0 { 0.0 } else { sum * sum / squares }
    }
}

vectorised! {
    /// Σ s and Σ s² of s = e (1 + a)/(e + a), in eight lanes each.
    fn sums_of_sigmoids(a: f64, exps: &[f64]) -> (f64, f64) {
        let (mut sums, mut squares) = ([0.0; 8], [0.0; 8]);
        let (lanes, rest) = exps.as_chunks::<8>();
        for exps in lanes.iter().map(|lane| lane.as_slice()).chain([rest]) {
            for ((sum, square), e) in sums.iter_mut().zip(&mut squares).zip(exps) {
                let s = e * ((1.0 + a) / (e + a));
                *sum += s;
                *square += s * s;
            }
        }
        (sums.iter().sum(), squares.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective_rivals(scores: &[f32], label: f64) -> f64 {
        let mut negatives = Negatives::default();
        negatives.fill(scores);
        negatives.effective_rivals(label)
    }

    #[test]
    fn equal_rivals_count_one_each_at_any_confidence() {
        const NONE: f32 = f32::NEG_INFINITY;
        for label in [-2000.0, -3.0, 0.0, 40.0, 2000.0] {
            assert!((effective_rivals(&[1.0, 1.0, NONE, 1.0, -9000.0], label) - 3.0).abs() < 1e-12, "{label}");
            assert_eq!(effective_rivals(&[NONE, 1.0], label), 1.0);
            assert_eq!(effective_rivals(&[NONE, NONE], label), 0.0);
        }
    }

    #[test]
    fn effective_rivals_by_the_formula() {
        let scores: Vec<f32> = (0..29).map(|i| (i as f32 * 0.7).sin() * 3.0).collect();
        let sigmas = || scores.iter().map(|&f| softplus_sigmoid(f64::from(f) - 0.5).1);
        let expected = sigmas().sum::<f64>().powi(2) / sigmas().map(|s| s * s).sum::<f64>();
        assert!((effective_rivals(&scores, 0.5) - expected).abs() < 1e-12 * expected);
    }
}
