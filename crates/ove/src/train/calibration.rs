//! Temperature scaling: calibrates the confidence of a softmax on held-out rows.
//!
//! With sampled negatives, or before the optimum is reached, probabilities are over- or underconfident; a temperature T
//! corrects most of it:
//!
//! ```text
//! p(k | x) = e^{f_k/T} / Σ_m e^{f_m/T}        T maximises the probability of the held-out labels
//! ```
//!
//! Epochs and learning rates are also compared at their best T, so that the choice does not depend on their confidence.

use rayon::prelude::*;

use crate::data::{Examples, Row};
use crate::platform::elementary::{exp, ln};

/// Maximum number of Newton steps, and the relative step at which they stop.
const STEPS: usize = 30;
const SMALL: f64 = 1e-5;

/// Computes the scores of all classes for a row.
pub(crate) type ScoresOf<'a> = dyn Fn(Row<'_>, &mut [f32]) + Sync + 'a;

/// The optimal temperature on some rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Temperature {
    /// T.
    pub temperature: f64,
    /// −log p(label) at this temperature, averaged over all labels.
    pub nlpd: f64,
}

/// Fits the temperature of scores on rows.
///
/// −Σ log p is convex in β = 1/T and is minimised by Newton's method:
///
/// ```text
/// d/dβ = Σ_n (E_p[f] − f_y)        d²/dβ² = Σ_n Var_p[f]
/// ```
pub(crate) fn fit_temperature(rows: &Examples<'_>, scores: &ScoresOf<'_>) -> Temperature {
    // Scored once: a step of Newton's method costs much less than the scores. `validation` limits their number.
    fit_to_scores(&scores_of_rows(rows, scores), rows.classes, &|n| &rows.labels[rows.id(n)])
}

/// The scores of all classes, row by row.
pub(crate) fn scores_of_rows(rows: &Examples<'_>, scores: &ScoresOf<'_>) -> Vec<f32> {
    let mut all = vec![0.0; rows.len() * rows.classes];
    all.par_chunks_mut(rows.classes).enumerate().for_each(|(n, out)| scores(rows.rows.row(rows.id(n)), out));
    all
}

/// The labels of the `n`-th row.
pub(crate) type LabelsOf<'a> = dyn Fn(usize) -> &'a [u32] + Sync + 'a;

/// [`fit_temperature`] from the scores of all classes, row by row.
pub(crate) fn fit_to_scores<'a>(all: &[f32], classes: usize, labels: &LabelsOf<'a>) -> Temperature {
    let mut beta = 1.0;
    for _ in 0..STEPS {
        let [_, slope, curvature, _] = moments(all, classes, labels, beta);
        if curvature <= 0.0 {
            break;
        }
        let next = (beta - slope / curvature).clamp(beta / 3.0, beta * 3.0);
        let step = (next / beta - 1.0).abs();
        beta = next;
        if step < SMALL {
            break;
        }
    }
    let [loss, _, _, count] = moments(all, classes, labels, beta);
    Temperature { temperature: 1.0 / beta, nlpd: loss / count }
}

/// −Σ log p(label), its first two derivatives with respect to β, and the number of labels, from the scores of all rows.
fn moments<'a>(scores: &[f32], classes: usize, labels: &LabelsOf<'a>, beta: f64) -> [f64; 4] {
    let of_row = |(n, scores): (usize, &[f32])| {
        let labels = labels(n);
        let largest = f64::from(scores.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for &score in scores {
            // Relative to the largest, so that nothing overflows.
            let score = f64::from(score) - largest;
            let e = exp(beta * score);
            (sum, first, second) = (sum + e, first + e * score, second + e * score * score);
        }
        let (mean, count) = (first / sum, labels.len() as f64);
        let own: f64 = labels.iter().map(|&label| f64::from(scores[label as usize]) - largest).sum();
        let loss = count * ln(sum) - beta * own;
        [loss, count * mean - own, count * (second / sum - mean * mean), count]
    };
    let all = scores.par_chunks(classes).enumerate().map(of_row);
    // Summed in order: the same bits for any number of threads.
    all.collect::<Vec<[f64; 4]>>().iter().fold([0.0; 4], |sum, of| std::array::from_fn(|i| sum[i] + of[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::platform::random::Stream;
    use crate::scores::{Linear, probabilities};
    use crate::with_threads;

    const FEATURES: usize = 6;
    const CLASSES: usize = 8;

    /// Weights between −2 and 2, times a factor.
    fn truth(factor: f32) -> Linear {
        let mut random = Stream::of(&[5]);
        let weight = |_| factor * (4.0 * random.uniform() as f32 - 2.0);
        Linear::new(CLASSES, (0..(FEATURES + 1) * CLASSES).map(weight).collect())
    }

    /// Rows whose classes are drawn from the probabilities of the truth.
    fn data(rows: usize) -> Dataset {
        let (truth, mut random) = (truth(1.0), Stream::of(&[0, 3]));
        let mut data = Dataset::new(FEATURES, (0..CLASSES).map(|k| k.to_string()).collect());
        let indices: Vec<u32> = (0..FEATURES as u32).collect();
        let mut scores = vec![0.0; CLASSES];
        for _ in 0..rows {
            let values: Vec<f32> = (0..FEATURES).map(|_| 2.0 * random.uniform() as f32 - 1.0).collect();
            values.iter().zip(0..).for_each(|(&value, feature)| data.push_entry(feature, value));
            truth.scores(Row { indices: &indices, values: &values }, &mut scores);
            let (mut left, mut label) = (random.uniform(), 0);
            for p in probabilities(&scores) {
                left -= p;
                if left < 0.0 {
                    break;
                }
                label += 1;
            }
            data.end_row(&[label.min(CLASSES as u32 - 1)]);
        }
        data
    }

    #[test]
    fn the_temperature_undoes_a_factor() {
        let data = data(20_000);
        let rows = Examples::of(&data);
        let fit = |linear: &Linear| fit_temperature(&rows, &|row, out| linear.scores(row, out));
        let right = fit(&truth(1.0));
        assert!((right.temperature - 1.0).abs() < 0.03, "{right:?}");
        for factor in [0.2, 3.0, 20.0] {
            let scaled = truth(factor);
            let found = fit(&scaled);
            let temperature = found.temperature / f64::from(factor) / right.temperature;
            assert!((temperature - 1.0).abs() < 1e-3, "{factor}: {found:?}");
            assert!((found.nlpd - right.nlpd).abs() < 1e-5, "{factor}: {found:?}");
            assert_eq!(with_threads(1, || fit(&scaled)).unwrap(), with_threads(3, || fit(&scaled)).unwrap());
        }
        // By hand: −log p of the labels under the truth.
        let (truth, mut scores) = (truth(1.0), vec![0.0; CLASSES]);
        let of_row = |n: usize| {
            truth.scores(data.rows().row(n), &mut scores);
            -probabilities(&scores)[data.labels[n][0] as usize].ln()
        };
        let nlpd = (0..data.len()).map(of_row).sum::<f64>() / data.len() as f64;
        assert!(right.nlpd <= nlpd && nlpd - right.nlpd < 1e-3, "{nlpd} {right:?}");
    }

    /// The derivatives of −Σ log p by finite differences, of rows with one label, several or none.
    #[test]
    fn moments_are_the_derivatives() {
        let (linear, plain) = (truth(2.0), data(30));
        let mut data = Dataset::new(FEATURES, plain.classes.clone());
        for n in 0..plain.len() {
            let row = plain.rows().row(n);
            row.indices.iter().zip(row.values).for_each(|(&d, &x)| data.push_entry(d, x));
            data.end_row(&[0, 3, plain.labels[n][0]][n % 4..]);
        }
        let rows = Examples::of(&data);
        let mut scores = vec![0.0; data.len() * CLASSES];
        scores.chunks_mut(CLASSES).enumerate().for_each(|(n, out)| linear.scores(data.rows().row(n), out));
        for beta in [0.3, 1.0, 2.5] {
            let at = |beta: f64| moments(&scores, rows.classes, &|n| &rows.labels[rows.id(n)], beta);
            let [_, slope, curvature, labels] = at(beta);
            let nearby = [at(beta + 1e-4), at(beta - 1e-4)];
            let difference = |of: usize| (nearby[0][of] - nearby[1][of]) / 2e-4;
            assert!((slope - difference(0)).abs() < 1e-5 * slope.abs().max(1.0), "{slope} {}", difference(0));
            assert!((curvature - difference(1)).abs() < 1e-5 * curvature, "{curvature} {}", difference(1));
            assert_eq!(labels, data.labels.total() as f64);
        }
    }
}
