//! What is maximised: the log probability of a row's own class, exactly or by a lower bound, as a function of scores. With several
//! labels a row, it is the sum over these ([`Objective::of_labels`]).
//!
//! A row's scores come with its *own* class y first: `scores[0]` is f_y and the others belong to the remaining classes that
//! are visited. Each function returns the value and overwrites the scores with its derivatives, so that value and
//! gradient share one exponential a class and need no second buffer. With d_m = f_m − f_y:
//!
//! ```text
//! softmax       log p(y) =  − log(1 + Σ_m e^{d_m})                                        eq. 1, 3
//! one-vs-each   log p(y) ≥  − Σ_m w_m log(1 + e^{d_m})                                    eq. 4, 15
//! merged        log p(y) ≥  − log(1 + Σ_{m ∈ C} e^{d_m}) − Σ_{m ∉ C} w_m log(1 + e^{d_m})   eq. 6
//! Bouchard      log p(y) ≥  f_y − α − Σ_m log(1 + e^{f_m − α}), y among the m             eq. 12
//! sampled          − log(1 + Σ_m w_m e^{d_m}) over drawn classes: biased, and no bound
//! ```
//!
//! The weight w_m says how many remaining classes a visited one stands for (see [`crate::sample`]); it is 1 when all are
//! visited. Merged is the dial: an empty C gives one-vs-each, C with every remaining class gives softmax.
//!
//! ```
//! use ove::bound::objective;
//! let mut scores = [1.2, 0.3, -0.7]; // the own class first
//! let exact = objective::softmax(&mut scores.clone());
//! let bound = objective::one_vs_each(&mut scores, &[1.0, 1.0]);
//! assert!(bound < exact);
//! assert!((scores[0] + scores[1] + scores[2]).abs() < 1e-15); // now derivatives: a shift of all scores changes nothing
//! ```

use crate::platform::math::{log_sum_exp, softplus_sigmoid};
use crate::platform::names::names;

/// The objectives by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Objective {
    /// The exact log probability.
    Softmax,
    /// The product of pairwise probabilities, the paper's bound.
    OneVsEach,
    /// A few classes inside one logarithm, the rest one-vs-each.
    Merged,
    /// Bouchard's bound, with its α optimised for each row.
    Bouchard,
    /// The drawn classes inside one logarithm, each as often as it stands for others: no bound.
    SampledSoftmax,
}

names!(Objective, "objective", { Softmax => "softmax", OneVsEach => "one-vs-each", Merged => "merged", Bouchard => "bouchard",
    SampledSoftmax => "sampled-softmax" });

impl Objective {
    /// Whether a row may visit a sample of the remaining classes instead of all.
    pub fn samples_classes(self) -> bool {
        matches!(self, Objective::OneVsEach | Objective::Merged | Objective::SampledSoftmax)
    }

    /// Whether it is defined by the classes that were drawn, and by nothing else.
    pub fn is_sampled(self) -> bool {
        self == Objective::SampledSoftmax
    }

    /// Whether it is a lower bound on the exact log probability, or that itself, so that the estimates along training
    /// are unbiased estimates of one.
    pub fn is_bound(self) -> bool {
        self != Objective::SampledSoftmax
    }

    /// Its value for one label where all scores are equal, with `remaining` other classes of which `merged` are in C.
    pub fn at_zero(self, remaining: usize, merged: usize) -> f64 {
        let (all, inside) = (remaining as f64, merged.min(remaining) as f64);
        match self {
            Objective::OneVsEach => -all * std::f64::consts::LN_2,
            Objective::Merged => -inside.ln_1p() - (all - inside) * std::f64::consts::LN_2,
            Objective::Softmax | Objective::SampledSoftmax => -all.ln_1p(),
            // Equal scores f: α solves K σ(f − α) = 1, so that e^{f − α} = 1/(K − 1).
            Objective::Bouchard => {
                let classes = all + 1.0;
                -all.max(1.0).ln() - classes * (1.0 / all.max(1.0)).ln_1p()
            }
        }
    }

    /// Value and derivatives for the visited classes of a row: the own class, then `inside` classes of C, then those
    /// outside it with their `weights`. Softmax and Bouchard visit every class and take no weights; a sampled softmax
    /// takes those of all drawn classes, and none is in C.
    #[inline]
    pub fn value_and_gradient(self, scores: &mut [f64], inside: usize, weights: &[f64]) -> f64 {
        match self {
            Objective::Softmax => softmax(scores),
            Objective::OneVsEach => one_vs_each(scores, weights),
            Objective::Merged => merged(scores, inside, weights),
            Objective::Bouchard => bouchard(scores).0,
            Objective::SampledSoftmax => sampled_softmax(scores, weights),
        }
    }
}

/// The exact log probability log p(y), eq. 3.
pub fn softmax(scores: &mut [f64]) -> f64 {
    let inside = scores.len() - 1;
    merged(scores, inside, &[])
}

/// The one-vs-each bound on log p(y), eq. 4, with a weight for each visited class. Its derivatives are those of eq. 16:
/// w_m σ(f_m − f_y) for the own class, the same with a minus for class m.
#[inline]
pub fn one_vs_each(scores: &mut [f64], weights: &[f64]) -> f64 {
    merged(scores, 0, weights)
}

/// The merged bound on log p(y), eq. 6: `scores[1..=inside]` belong to C, the classes that share one logarithm.
#[inline]
pub fn merged(scores: &mut [f64], inside: usize, weights: &[f64]) -> f64 {
    let (own, others) = scores.split_first_mut().expect("a row has a class of its own");
    let (together, apart) = others.split_at_mut(inside);
    assert_eq!(apart.len(), weights.len(), "a weight for each class outside C");
    let (mut value, mut pull) = log_share(*own, together);
    for (score, &weight) in apart.iter_mut().zip(weights) {
        let (softplus, sigmoid) = softplus_sigmoid(*score - *own);
        value -= weight * softplus;
        pull += weight * sigmoid;
        *score = -weight * sigmoid;
    }
    *own = pull;
    value
}

/// The sampled softmax −log(1 + Σ w_m e^{d_m}) over drawn classes, as `w_m e^{f_m} = e^{f_m + log w_m}`.
///
/// The sum is an unbiased estimate of that over all classes, but its logarithm is not: it is too small on average
/// (Jensen), less so the more classes are drawn. So this is no bound.
pub fn sampled_softmax(scores: &mut [f64], weights: &[f64]) -> f64 {
    assert_eq!(scores.len(), weights.len() + 1, "a weight for each drawn class");
    scores[1..].iter_mut().zip(weights).for_each(|(score, weight)| *score += weight.ln());
    softmax(scores)
}

/// −log(1 + Σ e^{f_m − f_y}) with its derivative in f_y; the scores f_m become derivatives.
fn log_share(own: f64, scores: &mut [f64]) -> (f64, f64) {
    // The own class counts as d = 0, so the shift is never negative and the largest exponential is 1.
    let shift = scores.iter().fold(0.0, |largest: f64, &f| largest.max(f - own));
    let mut sum = 0.0;
    for score in &mut *scores {
        *score = (*score - own - shift).exp();
        sum += *score;
    }
    let total = (-shift).exp() + sum;
    for score in &mut *scores {
        *score = -*score / total;
    }
    // With shift 0 the logarithm is that of 1 + sum, where the sum may be tiny.
    let log = if shift == 0.0 { sum.ln_1p() } else { shift + total.ln() };
    (-log, sum / total)
}

/// Bouchard's bound on log p(y), eq. 12, at its best α, and that α. By the envelope theorem the derivatives are those at fixed
/// α: [m = y] − σ(f_m − α).
pub fn bouchard(scores: &mut [f64]) -> (f64, f64) {
    let alpha = bouchard_alpha(scores);
    (bouchard_at(scores, alpha), alpha)
}

/// Bouchard's bound at a given α.
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

/// The α that makes Bouchard's bound tightest: the root of Σ σ(f_m − α) = 1.
pub fn bouchard_alpha(scores: &[f64]) -> f64 {
    bouchard_alpha_from(scores, f64::NAN)
}

/// [`bouchard_alpha`] from any start (one that is not a number means the middle of the bracket).
///
/// With the largest score f_max on the other side, the root is that of A = B, A = Σ_{m ≠ max} σ(f_m − α), B = σ(α − f_max): no
/// cancellation, however sure the model is. Newton's method on log A − log B, which is nearly straight, takes a few
/// steps. The root lies between the second largest score, where B ≤ ½ ≤ A, and log Σ exp, where Σ σ < Σ exp = 1; a step that
/// would leave what is left of this bracket becomes a bisection.
pub fn bouchard_alpha_from(scores: &[f64], start: f64) -> f64 {
    assert!(scores.len() > 1, "Bouchard's bound needs two classes");
    let (largest, second) = two_largest(scores);
    let (mut low, mut high) = (scores[second], log_sum_exp(scores.iter().copied()));
    let mut alpha = start;
    // Each step at worst halves the bracket; 200 halvings exhaust the doubles.
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
        let step = (a / b).ln() / (a_slope / a + (1.0 - b));
        if step.abs() <= 4.0 * f64::EPSILON * alpha.abs().max(1.0) || high <= low {
            break;
        }
        alpha += step;
    }
    alpha
}

/// The places of the largest and the second largest score.
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
