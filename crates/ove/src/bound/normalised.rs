//! The normalised bound: with one number u per label it is tight, and it is a sum over classes.
//!
//! From log x ≤ u − 1 + x e^{−u}, with equality at u = log x, and x = 1/p(y) = 1 + G, G = Σ_m e^{d_m}, d_m = f_m − f_y:
//!
//! ```text
//! log p(y) ≥ 1 − u − e^{−u} (1 + Σ_m w_m e^{d_m})          for every u; equal at u = log(1 + G) = − log p(y)
//! ```
//!
//! With importance weights w_m ([`crate::sample`]) it may be sampled: for each u, value and gradient are unbiased. The
//! derivative with respect to f_m is −w_m e^{d_m − u}, the softmax probability of m if u is right. So u replaces the
//! normalising constant, and is learned beside the weights: e^u is a running mean of its estimates (Augment and Reduce;
//! Ruiz, Titsias, Dieng and Blei 2018),
//!
//! ```text
//! e^u ← (1 − ρ) e^u + ρ (1 + Ĝ)          Ĝ = Σ_m w_m e^{d_m}
//! ```
//!
//! The gradient is taken at the new u, which contains the same Ĝ: no weight e^{d_m − u} exceeds 1/ρ, however stale u
//! is. The value is that of the old u, which does not depend on the classes drawn now, so that its estimate is
//! unbiased.

use super::label_sum::sum_over_labels;
use crate::platform::elementary::{exp, ln, ln_1p};

/// The normalised bound at `u`; overwrites the scores with derivatives, as [`super::objective`] describes.
///
/// The classes in C, `scores[1..=inside]`, have weight 1.
///
/// # Panics
/// If `scores` has no room for the label and `inside` classes, or there is not one weight per class outside C.
pub fn normalised(scores: &mut [f64], inside: usize, weights: &[f64], u: f64) -> f64 {
    let value = value(log_total(scores, inside, weights), u);
    derivatives(scores, inside, weights, u);
    value
}

/// log(1 + Σ_m w_m e^{d_m}): the u at which the bound is tightest, minus its value there.
///
/// # Panics
/// As [`normalised`].
pub fn log_total(scores: &[f64], inside: usize, weights: &[f64]) -> f64 {
    let (label, negatives) = scores.split_first().expect("the score of the label");
    let (merged, others) = negatives.split_at(inside);
    assert_eq!(others.len(), weights.len(), "a weight per class outside C");
    let shift = negatives.iter().fold(0.0, |largest: f64, &f| largest.max(f - label));
    let inside: f64 = merged.iter().map(|f| exp(f - label - shift)).sum();
    let sum = others.iter().zip(weights).fold(inside, |sum, (f, weight)| sum + weight * exp(f - label - shift));
    // With a shift of 0 the total is 1 + sum, where the sum may be tiny.
    if shift == 0.0 { ln_1p(sum) } else { shift + ln(exp(-shift) + sum) }
}

/// 1 − u − e^{−u} (1 + G), from log(1 + G).
fn value(log_total: f64, u: f64) -> f64 {
    // The two ones cancel exactly where the bound is tight.
    -u - (exp(log_total - u) - 1.0)
}

fn derivatives(scores: &mut [f64], inside: usize, weights: &[f64], u: f64) {
    let (label, negatives) = scores.split_first_mut().expect("the score of the label");
    let base = *label + u;
    let weights = std::iter::repeat_n(&1.0, inside).chain(weights);
    *label = negatives.iter_mut().zip(weights).fold(0.0, |sum, (score, weight)| {
        *score = -weight * exp(*score - base);
        sum - *score
    });
}

/// The visit of a row with a number u for each of its labels.
pub(crate) struct Visited<'a> {
    /// The weight of each label.
    pub label_weights: &'a [f64],
    /// Number of classes in C.
    pub inside: usize,
    /// The importance weights of the classes outside C.
    pub weights: &'a [f64],
    /// The rate ρ of the running mean.
    pub rate: f64,
}

/// Returns the value at the numbers u of the labels, updates these, and overwrites `scores`, laid out as in
/// [`Objective::of_labels`](super::Objective::of_labels), with derivatives at the new numbers.
pub(crate) fn update_labels(scores: &mut [f64], visited: &Visited<'_>, us: &mut [f64], scratch: &mut Vec<f64>) -> f64 {
    let Visited { label_weights, inside, weights, rate } = *visited;
    sum_over_labels(scores, label_weights, scratch, |label, scores| {
        let (log_total, u) = (log_total(scores, inside, weights), &mut us[label]);
        let value = value(log_total, *u);
        *u = running_mean(*u, log_total, rate);
        derivatives(scores, inside, weights, *u);
        value
    })
}

/// log((1 − ρ) e^u + ρ e^v).
fn running_mean(u: f64, v: f64, rate: f64) -> f64 {
    let largest = u.max(v);
    largest + ln((1.0 - rate) * exp(u - largest) + rate * exp(v - largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::objective::softmax;
    use proptest::prelude::*;

    fn cases() -> impl Strategy<Value = (Vec<f64>, usize)> {
        prop::collection::vec(-20.0..20.0, 2..9).prop_flat_map(|scores| {
            let most = scores.len() - 1;
            (Just(scores), 0..=most)
        })
    }

    proptest! {
        /// A bound for every u, and equal to the log probability at the best one.
        #[test]
        fn it_is_a_bound_for_every_u((scores, inside) in cases(), u in -30.0..40.0) {
            let ones = vec![1.0; scores.len() - 1 - inside];
            let exact = softmax(&mut scores.clone());
            let at = normalised(&mut scores.clone(), inside, &ones, u);
            prop_assert!(at <= exact + 1e-12 * exact.abs().max(1.0), "{at} above {exact}");
            let best = normalised(&mut scores.clone(), inside, &ones, -exact);
            prop_assert!((best - exact).abs() <= 1e-12 * exact.abs().max(1.0), "{best}, not {exact}");
            prop_assert!((u + exact).abs() < 1e-3 || at < best);
        }

        /// For each u, the estimate from one class drawn uniformly is right on average, value and gradient alike.
        #[test]
        fn a_sample_is_unbiased_for_every_u((scores, _) in cases(), u in -3.0..20.0) {
            let negatives = scores.len() - 1;
            let mut all = scores.clone();
            let value = normalised(&mut all, 0, &vec![1.0; negatives], u);
            let (mut mean, mut gradient) = (0.0, vec![0.0; scores.len()]);
            for m in 1..scores.len() {
                let mut drawn = [scores[0], scores[m]];
                mean += normalised(&mut drawn, 0, &[negatives as f64], u) / negatives as f64;
                gradient[0] += drawn[0] / negatives as f64;
                gradient[m] += drawn[1] / negatives as f64;
            }
            let scale = 1.0 + value.abs();
            prop_assert!((mean - value).abs() <= 1e-11 * scale, "{mean}, not {value}");
            for (found, expected) in gradient.iter().zip(&all) {
                prop_assert!((found - expected).abs() <= 1e-11 * scale, "{found}, not {expected}");
            }
        }

        /// Derivatives at a given u by finite differences.
        #[test]
        fn the_gradient_is_right((scores, inside) in cases(), u in 0.0..10.0, weight in 0.5..20.0) {
            let scores: Vec<f64> = scores.iter().map(|f| f / 5.0).collect();
            let weights = vec![weight; scores.len() - 1 - inside];
            let mut gradient = scores.clone();
            normalised(&mut gradient, inside, &weights, u);
            for m in 0..scores.len() {
                let moved = |by: f64| {
                    let mut scores = scores.clone();
                    scores[m] += by;
                    normalised(&mut scores, inside, &weights, u)
                };
                let h = 1e-3;
                let numeric = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
                let tolerance = 1e-8 * moved(0.0).abs().max(1.0);
                prop_assert!((numeric - gradient[m]).abs() <= tolerance, "class {m}: {} and {numeric}", gradient[m]);
            }
        }

        /// However stale u is and however far scores are apart, derivatives are at most 1/ρ.
        #[test]
        fn derivatives_are_bounded(scores in prop::collection::vec(-1e4..1e4, 2..9), u in 0.0..50.0, rate in 0.01..1.0) {
            let weights = vec![1e5; scores.len() - 1];
            let visited = Visited { label_weights: &[1.0], inside: 0, weights: &weights, rate };
            let (mut moved, mut us) = (scores.clone(), [u]);
            update_labels(&mut moved, &visited, &mut us, &mut Vec::new());
            prop_assert!(moved.iter().all(|d| d.abs() <= 1.0001 / rate), "{moved:?}");
            prop_assert!(moved.iter().sum::<f64>().abs() <= 1e-9 / rate);
            prop_assert!(us[0].is_finite());
        }
    }

    /// With all classes visited and ρ = 1, u is right at once: derivatives and value are those of the softmax.
    #[test]
    fn with_all_classes_it_is_the_softmax_of_each_label() {
        let scores = [0.3, -1.0, 2.0, 0.1, 1.5];
        let (mut found, mut us) = (scores, [5.0, 5.0]);
        let visited = Visited { label_weights: &[1.0, 2.0], inside: 1, weights: &[1.0, 1.0], rate: 1.0 };
        let bound = update_labels(&mut found, &visited, &mut us, &mut Vec::new());
        let mut expected = scores;
        let value = crate::bound::Objective::Softmax.of_labels(&mut expected, &[1.0, 2.0], 3, &[], &mut Vec::new());
        assert!((us[0] + 2.0 * us[1] + value).abs() < 1e-14);
        assert!(bound < value, "at the numbers before");
        found.iter().zip(expected).for_each(|(found, expected)| assert!((found - expected).abs() < 1e-14));
    }
}
