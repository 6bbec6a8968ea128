//! The objectives of embeddings: a label among candidates that are drawn from a fixed distribution.
//!
//! A word x predicts a neighbour y among K words. Its scores are s_m = u_x·v_m. Neighbours are compared with k
//! negatives m, drawn from a distribution q; N draws that many pairs share stand for k each, with the weight w = k/N:
//!
//! ```text
//! one-vs-each         − w Σ_n log(1 + e^{s_n − s_y})
//! sampled-softmax     − log(1 + Z e^{−s_y})                         Z = w Σ_n e^{s_n}
//! normalised          1 − log t + s_y − (Z + e^{s_y}) / t           for every t; it is t = Z_x + e^{s_y}
//! negative-sampling   log σ(s_y) + w Σ_n log σ(−s_n)
//! ```
//!
//! Sampled softmax is the log probability of y among itself and the candidates; one-vs-each bounds it from below, term
//! by term (eq. 4 of the paper); the normalised bound is linear in Z, so that its samples are unbiased, and tight
//! where Z_x is the Z of all words. Its derivatives are those at the t that a step starts with. Negative sampling is
//! the usual objective of word2vec. The maximum of each over all s is at s_y = log p(y|x)/q(y) + c_x: with the bias
//! log q(y), which is not learnt, the softmax over all words is p(y|x).
//!
//! A draw that happens to be y counts as any other: its distribution is q whatever y is, which the above relies on.

use crate::platform::elementary::{exp, ln, ln_1p};
use crate::platform::math::exp_all;
use crate::platform::names::names;
use crate::platform::simd::vectorised;

/// The objective of an embedding, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbeddingObjective {
    /// Pairs of the neighbour and each negative.
    OneVsEach,
    /// The neighbour among all negatives at once.
    SampledSoftmax,
    /// The same with a running mean of the normalising constant of each word.
    Normalised,
    /// The neighbour against nothing, and each negative against nothing, as in word2vec.
    NegativeSampling,
}

names!(EmbeddingObjective, "objective", { OneVsEach => "one-vs-each", SampledSoftmax => "sampled-softmax",
    Normalised => "normalised", NegativeSampling => "negative-sampling" });

/// The scores of one word, which become derivatives.
pub(crate) struct Visit<'a> {
    /// The scores of its neighbours.
    pub labels: &'a mut [f32],
    /// The scores of the shared negatives.
    pub negatives: &'a mut [f32],
    /// How many negatives per neighbour each of them stands for.
    pub weight: f32,
    /// log Z_x, which the normalised objective updates.
    pub log_normaliser: &'a mut f32,
    /// The rate of the running mean of Z_x.
    pub rate: f64,
}

impl EmbeddingObjective {
    /// Overwrites the scores with derivatives, and moves Z_x. The derivatives are those at the moved Z_x.
    pub(crate) fn derivatives(self, visit: Visit<'_>) {
        let Visit { labels, negatives, weight, log_normaliser, rate } = visit;
        if self == EmbeddingObjective::NegativeSampling {
            let pairs = labels.len() as f32;
            sigmoids(negatives);
            negatives.iter_mut().for_each(|score| *score *= -pairs * weight);
            labels.iter_mut().for_each(|score| *score = -*score);
            sigmoids(labels);
            return;
        }
        let largest = labels.iter().chain(negatives.iter()).fold(f32::NEG_INFINITY, |largest, &s| largest.max(s));
        labels.iter_mut().chain(negatives.iter_mut()).for_each(|score| *score -= largest);
        exp_all(labels);
        exp_all(negatives);
        let mut total = weight * negatives.iter().sum::<f32>();
        match self {
            EmbeddingObjective::OneVsEach => pairwise(labels, negatives, weight),
            _ => {
                if self == EmbeddingObjective::Normalised {
                    let estimate = ln(f64::from(total)) + f64::from(largest);
                    let moved = if log_normaliser.is_finite() {
                        running_mean(f64::from(*log_normaliser), estimate, rate)
                    } else {
                        estimate
                    };
                    *log_normaliser = moved as f32;
                    total = exp(moved - f64::from(largest)) as f32;
                }
                let mut share = 0.0;
                for label in labels {
                    let inverse = 1.0 / (*label + total);
                    *label = total * inverse;
                    share += inverse;
                }
                negatives.iter_mut().for_each(|score| *score *= -weight * share);
            }
        }
    }

    /// The value, from the scores of neighbours and negatives.
    pub(crate) fn value(self, labels: &[f32], negatives: &[f32], weight: f64, log_normaliser: f32) -> f64 {
        let wide = |score: &f32| f64::from(*score);
        let softplus = |x: f64| x.max(0.0) + ln_1p(exp(-x.abs()));
        let log_total = || ln(weight) + crate::platform::math::log_sum_exp(negatives.iter().map(wide));
        let sum = |term: &dyn Fn(f64) -> f64| labels.iter().map(wide).map(term).sum::<f64>();
        match self {
            EmbeddingObjective::OneVsEach => {
                sum(&|y| -weight * negatives.iter().map(|n| softplus(wide(n) - y)).sum::<f64>())
            }
            EmbeddingObjective::SampledSoftmax => {
                let z = log_total();
                sum(&|y| -softplus(z - y))
            }
            EmbeddingObjective::Normalised => {
                let z = log_total();
                let kept = if log_normaliser.is_finite() { f64::from(log_normaliser) } else { z };
                let log_add = |a: f64, b: f64| a + softplus(b - a);
                sum(&|y| 1.0 + y - log_add(kept, y) - exp(log_add(z, y) - log_add(kept, y)))
            }
            EmbeddingObjective::NegativeSampling => {
                let against = weight * negatives.iter().map(|n| softplus(wide(n))).sum::<f64>();
                sum(&|y| -softplus(-y) - against)
            }
        }
    }
}

/// log((1 − ρ) eᵃ + ρ eᵇ).
fn running_mean(a: f64, b: f64, rate: f64) -> f64 {
    let largest = a.max(b);
    largest + ln((1.0 - rate) * exp(a - largest) + rate * exp(b - largest))
}

/// Replaces scores by σ(s) = 1/(1 + e⁻ˢ).
fn sigmoids(scores: &mut [f32]) {
    const AT_ONCE: usize = 16;
    let mut powers = [0.0; AT_ONCE];
    for scores in scores.chunks_mut(AT_ONCE) {
        let powers = &mut powers[..scores.len()];
        powers.iter_mut().zip(&*scores).for_each(|(power, score)| *power = -score.abs());
        exp_all(powers);
        for (score, power) in scores.iter_mut().zip(powers) {
            *score = if *score >= 0.0 { 1.0 } else { *power } / (1.0 + *power);
        }
    }
}

/// The largest number of neighbours of a word.
pub(crate) const MOST_LABELS: usize = 256;

vectorised! {
    /// From the exponentials of scores to the derivatives of one-vs-each: σ(s_n − s_y) = e^{s_n} / (e^{s_n} + e^{s_y}).
    fn pairwise(labels: &mut [f32], negatives: &mut [f32], weight: f32) {
        let mut sums = [0.0; MOST_LABELS];
        let sums = &mut sums[..labels.len()];
        let (blocks, rest) = negatives.as_chunks_mut::<8>();
        for block in blocks {
            let mut against = [0.0; 8];
            for (label, sum) in labels.iter().zip(&mut *sums) {
                let mut shares = [0.0; 8];
                for i in 0..8 {
                    shares[i] = block[i] / (block[i] + label);
                    against[i] += shares[i];
                }
                *sum += shares.iter().sum::<f32>();
            }
            for i in 0..8 {
                block[i] = -weight * against[i];
            }
        }
        for negative in rest {
            let mut against = 0.0;
            for (label, sum) in labels.iter().zip(&mut *sums) {
                let share = *negative / (*negative + label);
                against += share;
                *sum += share;
            }
            *negative = -weight * against;
        }
        labels.iter_mut().zip(sums).for_each(|(label, sum)| *label = weight * *sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Stream;

    /// log Z_x of the normalised objective at which values and derivatives are compared.
    const KEPT: f32 = 1.3;

    fn scores(count: usize, seed: u64) -> Vec<f32> {
        let mut random = Stream::of(&[seed]);
        (0..count).map(|_| 2.0 * random.normal() as f32).collect()
    }

    /// The normalised bound at one t per label.
    fn normalised_at(ts: &[f64], labels: &[f32], negatives: &[f32], weight: f64) -> f64 {
        let z = weight * negatives.iter().map(|&n| f64::from(n).exp()).sum::<f64>();
        let terms = labels.iter().map(|&y| f64::from(y)).zip(ts);
        terms.map(|(y, t)| 1.0 - t.ln() + y - (z + y.exp()) / t).sum()
    }

    /// Derivatives beside finite differences of the value in 64 bits, also with many and with few negatives.
    #[test]
    fn derivatives_are_those_of_the_value() {
        for objective in EmbeddingObjective::ALL.iter().copied() {
            for (pairs, draws) in [(1, 3), (6, 16), (10, 29)] {
                let (labels, negatives) = (scores(pairs, 1), scores(draws, 2));
                let weight = 5.0 / draws as f32;
                let (mut d_labels, mut d_negatives, mut kept) = (labels.clone(), negatives.clone(), KEPT);
                // At the rate 0 the running mean stays where the value is measured.
                objective.derivatives(Visit {
                    labels: &mut d_labels,
                    negatives: &mut d_negatives,
                    weight,
                    log_normaliser: &mut kept,
                    rate: 0.0,
                });
                assert!((kept - KEPT).abs() < 1e-6);
                let ts: Vec<f64> = labels.iter().map(|&y| f64::from(KEPT).exp() + f64::from(y).exp()).collect();
                let value = |labels: &[f32], negatives: &[f32]| match objective {
                    EmbeddingObjective::Normalised => normalised_at(&ts, labels, negatives, f64::from(weight)),
                    _ => objective.value(labels, negatives, f64::from(weight), KEPT),
                };
                let reported = objective.value(&labels, &negatives, f64::from(weight), KEPT);
                assert!((value(&labels, &negatives) - reported).abs() < 1e-9, "{objective}");
                let h = 1e-2;
                for at in 0..pairs + draws {
                    let moved = |by: f32| {
                        let (mut labels, mut negatives) = (labels.clone(), negatives.clone());
                        *labels.iter_mut().chain(&mut negatives).nth(at).unwrap() += by;
                        value(&labels, &negatives)
                    };
                    let expected = (moved(h) - moved(-h)) / f64::from(2.0 * h);
                    let found = f64::from(*d_labels.iter().chain(&d_negatives).nth(at).unwrap());
                    assert!(
                        (found - expected).abs() < 2e-3 * (1.0 + expected.abs()),
                        "{objective} {pairs} {draws} {at}: {found} {expected}"
                    );
                }
            }
        }
    }

    /// One-vs-each is below sampled softmax, and so is the normalised bound, which is equal at its best Z_x.
    #[test]
    fn bounds_are_below_the_sampled_softmax() {
        let (labels, negatives) = (scores(4, 3), scores(8, 4));
        let of = |objective: EmbeddingObjective, kept| objective.value(&labels, &negatives, 1.0, kept);
        let softmax = of(EmbeddingObjective::SampledSoftmax, 0.0);
        assert!(of(EmbeddingObjective::OneVsEach, 0.0) < softmax);
        let exact = crate::platform::math::log_sum_exp(negatives.iter().map(|&n| f64::from(n))) as f32;
        assert!((of(EmbeddingObjective::Normalised, exact) - softmax).abs() < 1e-5);
        for kept in [exact - 1.0, exact + 0.7] {
            assert!(of(EmbeddingObjective::Normalised, kept) < softmax);
        }
    }

    #[test]
    fn the_normaliser_is_a_running_mean() {
        let mut kept = f32::NAN;
        for draws in [vec![0.0f32, 1.0], vec![2.0, -1.0]] {
            let (mut labels, mut negatives) = (vec![0.5f32], draws);
            EmbeddingObjective::Normalised.derivatives(Visit {
                labels: &mut labels,
                negatives: &mut negatives,
                weight: 1.0,
                log_normaliser: &mut kept,
                rate: 0.25,
            });
        }
        let (first, second) = (1.0 + 1f64.exp(), 2f64.exp() + (-1f64).exp());
        assert!((f64::from(kept) - (0.75 * first + 0.25 * second).ln()).abs() < 1e-5);
    }
}
