//! Fits how the second stage and the votes are combined, on held-out rows.
//!
//! The score of a candidate is s_k = a (ln v_k + κ f_k). The a and κ that maximise the merged bound of the labels
//! against the candidates that are no labels,
//!
//! ```text
//! Σ_n Σ_{y ∈ Y ∩ candidates} − log(1 + Σ_{m no label} e^{s_m − s_y})
//! ```
//!
//! are found by Newton's method: as a function of θ = (a, aκ) this is concave.

use rayon::prelude::*;

use crate::data::{Examples, Row};
use crate::platform::elementary::{exp, ln};
use crate::platform::math::log_sum_exp;
use crate::scores::trees::{Mix, Search, SecondStage, Trees};

/// Minimum number of held-out rows for a fit.
pub(super) const MIN_ROWS: usize = 100;

/// Number of Newton steps.
const STEPS: usize = 20;

/// How much larger the bound must be than without the second stage: what two parameters gain by chance (Akaike).
const WORTHWHILE: f64 = 2.0;

/// Votes of 0 count as this.
const LEAST: f64 = 1e-30;

/// ln v and f of a candidate.
type Features = [f64; 2];

/// A label with its rivals.
struct Choice {
    label: Features,
    rivals: Vec<Features>,
}

/// The mix before it is fitted.
pub(super) fn unfitted(rivals: usize) -> Mix {
    Mix { rivals, kappa: 0.0, sharpness: 1.0 }
}

/// The best mix on these rows; `None` if the second stage does not help.
pub(super) fn fit(trees: &Trees, second: &SecondStage, examples: &Examples<'_>, rows: &[u32]) -> Option<Mix> {
    fit_choices(&choices(trees, second, examples, rows), second.mix().rivals)
}

fn choices(trees: &Trees, second: &SecondStage, examples: &Examples<'_>, ids: &[u32]) -> Vec<Choice> {
    let rows: Vec<Row<'_>> = ids.iter().map(|&id| examples.rows.row(id as usize)).collect();
    trees.search_batches(&rows, Search::Nearest, |batch, found, scratch| {
        found.iter_mut().for_each(|found| trees.calibrate(found));
        let votes: Vec<_> = found.iter().map(|found| trees.votes(found, second.mix().rivals, scratch)).collect();
        let classes: Vec<Vec<u32>> = votes.iter().map(|votes| votes.iter().map(|vote| vote.class).collect()).collect();
        let scores = second.scores(&rows[batch.clone()], &classes, &mut Vec::new());
        let mut choices = Vec::new();
        for ((n, votes), scores) in batch.zip(&votes).zip(&scores) {
            let labels = &examples.labels[ids[n] as usize];
            let features = votes.iter().zip(scores).map(|(v, &f)| (v.class, [ln(v.probability.max(LEAST)), f.into()]));
            let (own, rivals): (Vec<_>, Vec<_>) = features.partition(|(class, _)| labels.contains(class));
            let rivals: Vec<Features> = rivals.into_iter().map(|(_, features)| features).collect();
            if !rivals.is_empty() {
                choices.extend(own.into_iter().map(|(_, label)| Choice { label, rivals: rivals.clone() }));
            }
        }
        choices
    })
}

fn fit_choices(choices: &[Choice], rivals: usize) -> Option<Mix> {
    let without = maximise(choices, [1.0, 0.0], true)?;
    let with = maximise(choices, without.0, false)?;
    let [sharpness, weight] = with.0;
    let mix = Mix { rivals, kappa: (weight / sharpness) as f32, sharpness: sharpness as f32 };
    let is_usable = sharpness > 0.0 && weight > 0.0 && mix.kappa.is_finite();
    (is_usable && with.1 > without.1 + WORTHWHILE).then_some(mix)
}

/// The θ with the largest bound, and this bound; with the second part fixed at 0 if `votes_alone`. `None` if there is
/// no maximum.
fn maximise(choices: &[Choice], start: Features, votes_alone: bool) -> Option<(Features, f64)> {
    let (mut theta, mut bound) = (start, value(choices, start));
    for _ in 0..STEPS {
        let [gradient, curvature] = derivatives(choices, theta);
        let step = newton(gradient, curvature, votes_alone)?;
        let mut length = 1.0;
        loop {
            let next = [theta[0] + length * step[0], theta[1] + length * step[1]];
            let found = value(choices, next);
            if found >= bound {
                (theta, bound) = (next, found);
                break;
            }
            length *= 0.5;
            if length < 1e-6 {
                return Some((theta, bound));
            }
        }
    }
    theta.iter().all(|number| number.is_finite()).then_some((theta, bound))
}

/// The Newton step for a gradient and the upper triangle of the negative Hessian, padded to three numbers.
fn newton(gradient: [f64; 3], [a, b, c]: [f64; 3], votes_alone: bool) -> Option<Features> {
    let [first, second, _] = gradient;
    let step = match votes_alone {
        true => [first / a, 0.0],
        false => {
            let determinant = a * c - b * b;
            [(c * first - b * second) / determinant, (a * second - b * first) / determinant]
        }
    };
    step.iter().all(|number| number.is_finite()).then_some(step)
}

fn score(theta: Features, features: &Features) -> f64 {
    theta[0] * features[0] + theta[1] * features[1]
}

fn value(choices: &[Choice], theta: Features) -> f64 {
    let of_choice = |choice: &Choice| {
        let label = score(theta, &choice.label);
        let rivals = choice.rivals.iter().map(|rival| score(theta, rival));
        label - log_sum_exp(rivals.chain([label]))
    };
    // Collected first, so that the order of the sum does not depend on the threads.
    choices.par_iter().map(of_choice).collect::<Vec<_>>().iter().sum()
}

/// The gradient, and the upper triangle of the negative Hessian.
fn derivatives(choices: &[Choice], theta: Features) -> [[f64; 3]; 2] {
    let of_choice = |choice: &Choice| {
        let label = score(theta, &choice.label);
        let total = log_sum_exp(choice.rivals.iter().map(|rival| score(theta, rival)).chain([label]));
        let (mut mean, mut square) = ([0.0; 2], [0.0; 3]);
        for features @ &[x, y] in choice.rivals.iter().chain([&choice.label]) {
            let p = exp(score(theta, features) - total);
            mean = [mean[0] + p * x, mean[1] + p * y];
            square = [square[0] + p * x * x, square[1] + p * x * y, square[2] + p * y * y];
        }
        let [x, y] = mean;
        let gradient = [choice.label[0] - x, choice.label[1] - y, 0.0];
        [gradient, [square[0] - x * x, square[1] - x * y, square[2] - y * y]]
    };
    let mut sums = [[0.0; 3]; 2];
    for of_one in choices.par_iter().map(of_choice).collect::<Vec<_>>() {
        sums.iter_mut().flatten().zip(of_one.iter().flatten()).for_each(|(sum, part)| *sum += part);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Stream;

    /// Labels drawn with p ∝ e^{s}, s = a (ln v + κ f).
    fn drawn(count: usize, a: f64, kappa: f64) -> Vec<Choice> {
        let mut random = Stream::of(&[11]);
        let draw = |_| {
            let mut all: Vec<Features> = (0..20).map(|_| [-4.0 * random.uniform(), 3.0 * random.normal()]).collect();
            let s: Vec<f64> = all.iter().map(|[v, f]| a * (v + kappa * f)).collect();
            let total = log_sum_exp(s.iter().copied());
            let mut left = random.uniform();
            let drawn = s.iter().position(|s| {
                left -= exp(s - total);
                left < 0.0
            });
            Choice { label: all.swap_remove(drawn.unwrap_or(19)), rivals: all }
        };
        (0..count).map(draw).collect()
    }

    #[test]
    fn the_mix_that_labels_were_drawn_with_is_found() {
        for (a, kappa) in [(1.0, 0.3), (0.5, 1.0), (2.0, 0.1)] {
            let mix = fit_choices(&drawn(20_000, a, kappa), 20).unwrap();
            assert!((f64::from(mix.sharpness) - a).abs() < 0.05 * a, "{mix:?}");
            assert!((f64::from(mix.kappa) - kappa).abs() < 0.05 * kappa, "{mix:?}");
        }
    }

    #[test]
    fn scores_without_information_are_not_used() {
        assert_eq!(fit_choices(&drawn(2000, 1.0, 0.0), 20), None);
        assert_eq!(fit_choices(&drawn(2000, 1.0, -0.5), 20), None, "scores that speak against the labels");
        assert_eq!(fit_choices(&[], 20), None);
        // Every label has the most votes: no finite θ is the best.
        let label = Choice { label: [0.0, 1.0], rivals: vec![[-1.0, 0.0]; 3] };
        let _ = fit_choices(&[label], 20);
    }

    #[test]
    fn derivatives_are_those_of_the_value() {
        let (choices, theta, h) = (drawn(50, 1.0, 0.4), [0.7, 0.2], 1e-5);
        let [gradient, curvature] = derivatives(&choices, theta);
        let moved = |d: Features| [theta[0] + h * d[0], theta[1] + h * d[1]];
        let slope = |d: Features| (value(&choices, moved(d)) - value(&choices, moved([-d[0], -d[1]]))) / (2.0 * h);
        assert!((slope([1.0, 0.0]) - gradient[0]).abs() < 1e-6);
        assert!((slope([0.0, 1.0]) - gradient[1]).abs() < 1e-6);
        let bend = |i: usize, d: Features| {
            (derivatives(&choices, moved(d))[0][i] - derivatives(&choices, moved([-d[0], -d[1]]))[0][i]) / (-2.0 * h)
        };
        for (found, expected) in [bend(0, [1.0, 0.0]), bend(0, [0.0, 1.0]), bend(1, [0.0, 1.0])].iter().zip(curvature) {
            assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{found} {expected}");
        }
    }
}
