//! The negatives of a row, the classes that are no labels of it, with one exponential each: the exact log probability and
//! the bound of every label follow from these.

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

    /// K_eff = (Σ σ_m)² / Σ σ_m² for the score of a label, with σ_m = σ(f_m − f_y): as many equal rivals would weigh as much in the gradient
    /// of eq. 16 as the remaining classes do. 0 where none remains.
    pub fn effective_rivals(&self, label: f64) -> f64 {
        // σ_m = e_m / (e_m + a), a = e^{f_y − shift}. A common factor cancels, and 1 + a makes the largest σ one: no sum over- or
        // underflows, however sure the model is.
        let a = (label - self.shift).exp().clamp(f64::MIN_POSITIVE, 1e300);
        let (sum, squares) = sums_of_sigmoids(a, &self.exps);
        if squares == 0.0 { 0.0 } else { sum * sum / squares }
    }
}

vectorised! {
    /// Σ s and Σ s² of s = e (1 + a)/(e + a), each in eight lanes.
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
    fn equal_rivals_count_one_each_however_sure_the_model_is() {
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
