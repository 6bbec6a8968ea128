//! The objectives: the log probability of a row's label, or a lower bound on it, as a function of scores.
//!
//! With several labels per row, the objective is the sum over the labels ([`Objective::of_labels`]).
//!
//! A row's scores start with that of its label y: `scores[0]` is f_y, and the others are those of the negatives that
//! are visited. Each function returns the value and overwrites the scores with derivatives, so that value and gradient
//! share one exponential per class and need no second buffer. With d_m = f_m − f_y:
//!
//! ```text
//! softmax       log p(y) =  − log(1 + Σ_m e^{d_m})                                        eq. 1, 3
//! one-vs-each   log p(y) ≥  − Σ_m w_m log(1 + e^{d_m})                                    eq. 4, 15
//! merged        log p(y) ≥  − log(1 + Σ_{m ∈ C} e^{d_m}) − Σ_{m ∉ C} w_m log(1 + e^{d_m})   eq. 6
//! Bouchard      log p(y) ≥  f_y − α − Σ_m log(1 + e^{f_m − α}), y among the m             eq. 12
//! sampled          − log(1 + Σ_m w_m e^{d_m}) over drawn classes: biased, and no bound
//! normalised    log p(y) ≥  1 − u − e^{−u} (1 + Σ_m w_m e^{d_m}) for every u           see [`super::normalised`]
//! ```
//!
//! w_m is the importance weight of a visited negative (see [`crate::sample`]), 1 if all negatives are visited. Merged
//! interpolates: an empty C gives one-vs-each, and C with all negatives gives softmax.
//!
//! ```
//! use ove::bound::objective;
//! let mut scores = [1.2, 0.3, -0.7]; // the label first
//! let exact = objective::softmax(&mut scores.clone());
//! let bound = objective::one_vs_each(&mut scores, &[1.0, 1.0]);
//! assert!(bound < exact);
//! // Now derivatives, which sum to 0: adding a constant to all scores changes nothing.
//! assert!((scores[0] + scores[1] + scores[2]).abs() < 1e-15);
//! ```

use super::normalised::{log_total, normalised};
use crate::platform::elementary::{exp, ln, ln_1p};
use crate::platform::math::{log_sum_exp, softplus_sigmoid};
use crate::platform::names::names;

/// The objective of training, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Objective {
    /// The exact log probability.
    Softmax,
    /// The product of pairwise probabilities: the paper's bound.
    OneVsEach,
    /// The most frequent classes in one logarithm, the others one-vs-each.
    Merged,
    /// Bouchard's bound, with its α optimised per row.
    Bouchard,
    /// Softmax over the label and sampled negatives with importance weights: not a bound.
    SampledSoftmax,
    /// A bound with one number u per label that makes it tight; a sum over classes, so that it can be sampled.
    Normalised,
}

names!(Objective, "objective", { Softmax => "softmax", OneVsEach => "one-vs-each", Merged => "merged", Bouchard => "bouchard",
    SampledSoftmax => "sampled-softmax", Normalised => "normalised" });

impl Objective {
    /// Whether the objective can be estimated from a sample of the negatives.
    pub fn samples_classes(self) -> bool {
        !matches!(self, Objective::Softmax | Objective::Bouchard)
    }

    /// Whether the objective is meant for sampled negatives only: over all classes it is the softmax.
    pub fn is_sampled(self) -> bool {
        matches!(self, Objective::SampledSoftmax | Objective::Normalised)
    }

    /// Whether the objective has a set C of classes that are visited exactly: the most frequent ones for merged, and
    /// with the sampler rivals those of the row.
    pub fn has_inside(self) -> bool {
        matches!(self, Objective::Merged | Objective::Normalised)
    }

    /// Whether the objective is a lower bound on the exact log probability, or equal to it.
    ///
    /// The estimates of a bound during training are unbiased.
    pub fn is_bound(self) -> bool {
        self != Objective::SampledSoftmax
    }

    /// The value for one label if all scores are equal, with `remaining` negatives of which `merged` are in C.
    pub fn at_zero(self, remaining: usize, merged: usize) -> f64 {
        let (all, inside) = (remaining as f64, merged.min(remaining) as f64);
        match self {
            Objective::OneVsEach => -all * std::f64::consts::LN_2,
            Objective::Merged => -ln_1p(inside) - (all - inside) * std::f64::consts::LN_2,
            Objective::Softmax | Objective::SampledSoftmax | Objective::Normalised => -ln_1p(all),
            // Equal scores f: α solves K σ(f − α) = 1, so that e^{f − α} = 1/(K − 1).
            Objective::Bouchard => {
                let classes = all + 1.0;
                -ln(all.max(1.0)) - classes * ln_1p(1.0 / all.max(1.0))
            }
        }
    }

    /// Returns the value and overwrites `scores` with derivatives.
    ///
    /// `scores` are those of the label, then of the `inside` classes in C, then of the classes outside it with their
    /// `weights`. Softmax and Bouchard visit every class and take no weights; a sampled softmax takes the weights of
    /// all drawn classes, and C is empty. The normalised bound is that with the u at which it is tightest for these
    /// classes.
    ///
    /// # Panics
    /// If `scores` is empty, or the number of weights does not match.
    #[inline]
    pub fn value_and_gradient(self, scores: &mut [f64], inside: usize, weights: &[f64]) -> f64 {
        match self {
            Objective::Softmax => softmax(scores),
            Objective::OneVsEach => one_vs_each(scores, weights),
            Objective::Merged => merged(scores, inside, weights),
            Objective::Bouchard => bouchard(scores).0,
            Objective::SampledSoftmax => sampled_softmax(scores, weights),
            Objective::Normalised => normalised(scores, inside, weights, log_total(scores, inside, weights)),
        }
    }
}

/// The exact log probability log p(y), eq. 3.
///
/// # Panics
/// If `scores` is empty.
pub fn softmax(scores: &mut [f64]) -> f64 {
    let inside = scores.len() - 1;
    merged(scores, inside, &[])
}

/// The one-vs-each bound on log p(y), eq. 4, with a weight per visited class.
///
/// The derivatives are those of eq. 16: Σ_m w_m σ(f_m − f_y) for the label, −w_m σ(f_m − f_y) for class m.
///
/// # Panics
/// If there is not one weight per score after the first.
#[inline]
pub fn one_vs_each(scores: &mut [f64], weights: &[f64]) -> f64 {
    merged(scores, 0, weights)
}

/// The merged bound on log p(y), eq. 6: `scores[1..=inside]` belong to C, the classes that share one logarithm.
///
/// # Panics
/// If `scores` has no room for the label and `inside` classes, or there is not one weight per class outside C.
#[inline]
pub fn merged(scores: &mut [f64], inside: usize, weights: &[f64]) -> f64 {
    let (label, negatives) = scores.split_first_mut().expect("the score of the label");
    let (merged, others) = negatives.split_at_mut(inside);
    assert_eq!(others.len(), weights.len(), "a weight per class outside C");
    let (mut value, mut gradient) = log_share(*label, merged);
    for (score, &weight) in others.iter_mut().zip(weights) {
        let (softplus, sigmoid) = softplus_sigmoid(*score - *label);
        value -= weight * softplus;
        gradient += weight * sigmoid;
        *score = -weight * sigmoid;
    }
    *label = gradient;
    value
}

/// The sampled softmax −log(1 + Σ w_m e^{d_m}) over drawn classes, with w_m e^{f_m} = e^{f_m + log w_m}.
///
/// The sum is an unbiased estimate of the sum over all classes, but its logarithm is biased: too small on average
/// (Jensen's inequality), less so the more classes are drawn. This is therefore not a bound.
///
/// # Panics
/// If there is not one weight per score after the first.
pub fn sampled_softmax(scores: &mut [f64], weights: &[f64]) -> f64 {
    assert_eq!(scores.len(), weights.len() + 1, "a weight per drawn class");
    scores[1..].iter_mut().zip(weights).for_each(|(score, weight)| *score += ln(*weight));
    softmax(scores)
}

/// −log(1 + Σ e^{f_m − f_y}) and its derivative with respect to f_y; overwrites the scores f_m with derivatives.
fn log_share(label: f64, scores: &mut [f64]) -> (f64, f64) {
    // The label has d = 0, so the shift is never negative and the largest exponential is 1.
    let shift = scores.iter().fold(0.0, |largest: f64, &f| largest.max(f - label));
    let mut sum = 0.0;
    for score in &mut *scores {
        *score = exp(*score - label - shift);
        sum += *score;
    }
    let total = exp(-shift) + sum;
    for score in &mut *scores {
        *score = -*score / total;
    }
    // With a shift of 0 the total is 1 + sum, where the sum may be tiny.
    let log = if shift == 0.0 { ln_1p(sum) } else { shift + ln(total) };
    (-log, sum / total)
}

/// Bouchard's bound on log p(y), eq. 12, at its optimal α, and that α.
///
/// By the envelope theorem the derivatives are those at fixed α: \[m = y\] − σ(f_m − α).
///
/// # Panics
/// If there are fewer than two scores.
pub fn bouchard(scores: &mut [f64]) -> (f64, f64) {
    let alpha = bouchard_alpha(scores);
    (bouchard_at(scores, alpha), alpha)
}

/// Bouchard's bound at a given α.
///
/// # Panics
/// If `scores` is empty.
pub fn bouchard_at(scores: &mut [f64], alpha: f64) -> f64 {
    let mut value = scores[0] - alpha;
    for score in &mut *scores {
        let (softplus, sigmoid) = softplus_sigmoid(*score - alpha);
        value -= softplus;
        *score = -sigmoid;
    }
    scores[0] += 1.0;
    value
}

/// The α at which Bouchard's bound is tightest: the root of Σ σ(f_m − α) = 1.
///
/// # Panics
/// If there are fewer than two scores.
pub fn bouchard_alpha(scores: &[f64]) -> f64 {
    bouchard_alpha_from(scores, f64::NAN)
}

/// [`bouchard_alpha`] from any start; NaN means the middle of the bracket.
///
/// With the largest score f_max on the other side, the root is that of A = B with A = Σ_{m ≠ max} σ(f_m − α) and
/// B = σ(α − f_max), without cancellation at any confidence. Newton's method on log A − log B, which is nearly linear,
/// takes a few steps. The root lies between the second largest score, where B ≤ ½ ≤ A, and log Σ exp, where
/// Σ σ < Σ exp = 1; a step that would leave the current bracket becomes a bisection.
///
/// # Panics
/// If there are fewer than two scores.
pub fn bouchard_alpha_from(scores: &[f64], start: f64) -> f64 {
    assert!(scores.len() > 1, "Bouchard's bound needs at least two classes");
    let (largest, second) = two_largest(scores);
    let (mut low, mut high) = (scores[second], log_sum_exp(scores.iter().copied()));
    let mut alpha = start;
    // In the worst case each step halves the bracket; 200 halvings exhaust the precision of f64.
    for _ in 0..200 {
        if !(low..=high).contains(&alpha) {
            alpha = low + (high - low) / 2.0;
        }
        let (mut a, mut a_slope) = (0.0, 0.0);
        for (m, &f) in scores.iter().enumerate() {
            if m != largest {
                let sigmoid = softplus_sigmoid(f - alpha).1;
                a += sigmoid;
                a_slope += sigmoid * (1.0 - sigmoid);
            }
        }
        let b = softplus_sigmoid(alpha - scores[largest]).1;
        // Equal also where both underflow to zero: there the bound is flat to the last bit.
        if a == b {
            break;
        }
        if a > b {
            low = alpha;
        } else {
            high = alpha;
        }
        let step = ln(a / b) / (a_slope / a + (1.0 - b));
        if step.abs() <= 4.0 * f64::EPSILON * alpha.abs().max(1.0) || high <= low {
            break;
        }
        alpha += step;
    }
    alpha
}

/// The indices of the largest and the second largest score.
fn two_largest(scores: &[f64]) -> (usize, usize) {
    let (mut first, mut second) = if scores[0] >= scores[1] { (0, 1) } else { (1, 0) };
    for (m, &f) in scores.iter().enumerate().skip(2) {
        if f > scores[first] {
            (first, second) = (m, first);
        } else if f > scores[second] {
            second = m;
        }
    }
    (first, second)
}
