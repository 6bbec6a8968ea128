//! Fits the logistic calibration of log scores and the threshold, for rows with several labels, on held-out rows.
//!
//! The pairs are the top classes of each row: nearly all of their labels, and the tail of what is not one. Targets are
//! those of Platt (1999), (N₊ + 1)/(N₊ + 2) for the N₊ labels and 1/(N₋ + 2) for the others, so that scores that
//! separate the pairs do not become certainties.

use crate::data::{Examples, Row};
use crate::platform::elementary::ln;
use crate::platform::math::softplus_sigmoid;
use crate::scores::{Logistic, Prediction, Scores, log_score};

/// Maximum number of classes per row.
pub(super) const TOP: usize = 100;

/// Maximum number of Newton steps, and the decrease of the loss per pair at which they stop.
const STEPS: usize = 50;
const SMALL: f64 = 1e-10;

/// The calibration of linear and factored scores on held-out rows.
pub(super) fn of_softmax(scores: &Scores, rows: &Examples<'_>) -> Option<Logistic> {
    fit(&pairs(scores, rows), rows.ids().map(|id| rows.labels[id].len()).sum())
}

/// The log softmax of the top classes of each row, and whether they are labels.
pub(super) fn pairs(scores: &Scores, rows: &Examples<'_>) -> Vec<(f64, bool)> {
    let all: Vec<Row<'_>> = rows.ids().map(|id| rows.rows.row(id)).collect();
    let tops = scores.top_k(&all, TOP);
    let of_row = |(id, top): (usize, Vec<Prediction>)| {
        let pair = |found: Prediction| (log_score(found.probability), rows.labels[id].contains(&found.class));
        top.into_iter().map(pair).collect::<Vec<_>>()
    };
    rows.ids().zip(tops).flat_map(of_row).collect()
}

/// Without held-out rows: the odds are those of the softmax times the mean number of labels.
pub(super) fn default(examples: &Examples<'_>) -> Logistic {
    let labels: usize = examples.ids().map(|id| examples.labels[id].len()).sum();
    let intercept = ln((labels as f64 / examples.len() as f64).max(1.0)) as f32;
    Logistic { intercept, slope: 1.0, threshold: 0.3 }
}

/// The minimum of the log loss over pairs of a log score and whether the class is a label, and the threshold with the
/// largest micro F1 if there are `labels` in all; `None` if the slope is not positive, or if all or none of the pairs
/// are labels.
pub(super) fn fit(pairs: &[(f64, bool)], labels: usize) -> Option<Logistic> {
    let positive = pairs.iter().filter(|(_, is_label)| *is_label).count() as f64;
    let negative = pairs.len() as f64 - positive;
    if positive == 0.0 || negative == 0.0 {
        return None;
    }
    let targets = [1.0 / (negative + 2.0), (positive + 1.0) / (positive + 2.0)];
    // −Σ t log p + (1 − t) log(1 − p) = Σ softplus(z) − t z, its gradient, and the matrix of second derivatives.
    let moments = |a: f64, b: f64| {
        let mut sums = [0.0; 6];
        for &(score, is_label) in pairs {
            let (z, target) = (a + b * score, targets[usize::from(is_label)]);
            let (softplus, p) = softplus_sigmoid(z);
            let (slope, curvature) = (p - target, p * (1.0 - p));
            let of_pair =
                [softplus - target * z, slope, slope * score, curvature, curvature * score, curvature * score * score];
            sums.iter_mut().zip(of_pair).for_each(|(sum, of)| *sum += of);
        }
        sums
    };
    let (mut a, mut b) = (0.0, 1.0);
    let mut now = moments(a, b);
    for _ in 0..STEPS {
        let [loss, g_a, g_b, h_aa, h_ab, h_bb] = now;
        let determinant = h_aa * h_bb - h_ab * h_ab;
        if determinant <= 0.0 {
            break;
        }
        let step = [(h_bb * g_a - h_ab * g_b) / determinant, (h_aa * g_b - h_ab * g_a) / determinant];
        // Halved until the loss falls.
        let mut length = 1.0;
        let next = loop {
            let next = moments(a - length * step[0], b - length * step[1]);
            if next[0] <= loss || length < SMALL {
                break next;
            }
            length /= 2.0;
        };
        if next[0] > loss {
            break;
        }
        (a, b, now) = (a - length * step[0], b - length * step[1], next);
        if loss - now[0] <= SMALL * pairs.len() as f64 {
            break;
        }
    }
    let fitted = Logistic { intercept: a as f32, slope: b as f32, threshold: 0.0 };
    let fitted = Some(fitted).filter(|fitted| fitted.is_valid())?;
    let threshold = fitted.probability(best_cut(pairs, labels)) as f32;
    Some(Logistic { threshold, ..fitted })
}

/// The score from which on predicting the class gives the largest micro F1, 2 TP / (predicted + labels).
fn best_cut(pairs: &[(f64, bool)], labels: usize) -> f64 {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut hits, mut best, mut cut) = (0, 0.0, 0.0);
    for (n, &(score, is_label)) in sorted.iter().enumerate() {
        hits += usize::from(is_label);
        let next = sorted.get(n + 1).map(|&(next, _)| next);
        let f1 = 2.0 * f64::from(hits as u32) / (n + 1 + labels) as f64;
        // Equal scores are predicted together. In the middle, so that rounding does not matter.
        if f1 > best && next != Some(score) {
            (best, cut) = (f1, next.map_or(score, |next| 0.5 * (score + next)));
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Stream;

    #[test]
    fn the_truth_is_found_again() {
        let (truth, mut random) = (Logistic { intercept: 1.2, slope: 0.7, threshold: 0.0 }, Stream::of(&[4]));
        let mut pair = |_| {
            let score = -8.0 * random.uniform();
            (score, random.uniform() < truth.probability(score))
        };
        let pairs: Vec<(f64, bool)> = (0..200_000).map(&mut pair).collect();
        let labels = pairs.iter().filter(|(_, is_label)| *is_label).count();
        let found = fit(&pairs, labels).unwrap();
        assert!((found.intercept - 1.2).abs() < 0.03 && (found.slope - 0.7).abs() < 0.01, "{found:?}");
        // The sum of the probabilities is the number of labels, up to the targets: the gradient for a.
        let sum: f64 = pairs.iter().map(|&(score, _)| found.probability(score)).sum();
        assert!((sum / labels as f64 - 1.0).abs() < 1e-4, "{sum} {labels}");
        // No other threshold has a larger F1.
        let f1 = |threshold: f64| {
            let is_predicted = |pair: &&(f64, bool)| found.probability(pair.0) >= threshold;
            let predicted = pairs.iter().filter(is_predicted).count();
            let hits = pairs.iter().filter(is_predicted).filter(|pair| pair.1).count();
            2.0 * hits as f64 / (predicted + labels) as f64
        };
        let best = f1(found.threshold.into());
        assert!((0..100).all(|n| f1(f64::from(n) / 100.0) <= best + 1e-9), "{found:?}");
    }

    #[test]
    fn separated_scores_are_no_certainties() {
        let pairs: Vec<(f64, bool)> = (0..100).map(|n| (f64::from(n) / 10.0 - 10.0, n >= 50)).collect();
        let found = fit(&pairs, 60).unwrap();
        assert!(found.slope < 3.0 && found.probability(0.0) < 0.99999 && found.probability(-10.0) > 1e-5);
        assert_eq!(fit(&pairs[..50], 0), None);
        let reversed: Vec<_> = pairs.iter().map(|&(score, is_label)| (score, !is_label)).collect();
        assert_eq!(fit(&reversed, 50), None);
    }
}
