//! One pass over the rows of one class, with the scores of all other classes held fixed.
//!
//! As a function of f = w·x, the objective of a row that has the class among its candidates is a sum of logistic terms,
//! with the sign s = 1 if the class is a label of the row and −1 if it is a rival:
//!
//! ```text
//! − Σ_j c_j log(1 + e^{s (o_j − f)})
//!
//! merged, label y:        o = log Σ_{m ∈ R} e^{f_m}
//! merged, rival m:        o_y = log(e^{f_y} + Σ_{m' ∈ R, m' ≠ m} e^{f_m'}) for each label y
//! one-vs-each, label y:   o_m = f_m for each rival m
//! one-vs-each, rival m:   o_y = f_y for each label y
//! ```
//!
//! Steps are implicit: the derivative is evaluated at the end of the step, where the score is f + s r g with
//! r = η ‖x‖². It is the root of
//!
//! ```text
//! g = Σ_j c_j σ(s (o_j − f) − r g)            0 ≤ g ≤ Σ_j c_j
//! ```
//!
//! For any learning rate, weight and row, no step overshoots, and nothing overflows.

use super::candidates::{Candidates, OfClass};
use crate::bound::Objective;
use crate::data::{Examples, Row};
use crate::platform::elementary::exp;
use crate::platform::math::{log_sum_exp, sparse_dot};
use crate::platform::memory::prefetch;
use crate::platform::random::Stream;
use crate::scores::trees::SecondStage;

/// Maximum number of steps to the root, and the error of g, relative to its largest value, that ends them. One to three
/// Newton steps are the rule.
const STEPS: usize = 100;
const TOLERANCE: f64 = 1e-3;

/// Number of rows that are prefetched ahead, and of numbers per cache line.
const AHEAD: usize = 3;
const LINE: usize = 16;

/// What all classes of a wave share.
pub(super) struct Learner<'a> {
    pub examples: Examples<'a>,
    pub objective: Objective,
    /// η.
    pub rate: f32,
    /// The training rows.
    pub rows: &'a [u32],
    pub candidates: &'a Candidates,
    /// The weights to start from.
    pub earlier: Option<&'a SecondStage>,
}

/// The buffers of a thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// The weights of a class, zero before and after a pass.
    pub weights: Vec<f32>,
    order: Vec<u32>,
    terms: Vec<Term>,
}

/// A term c log(1 + e^z) with z = s (o − f).
#[derive(Debug, Clone, Copy)]
struct Term {
    weight: f64,
    z: f64,
}

impl Scratch {
    /// Starts with the earlier weights of a class.
    pub fn start(&mut self, features: usize, earlier: Option<&SecondStage>, class: u32) {
        self.weights.resize(features, 0.0);
        if let Some(earlier) = earlier {
            earlier.weights_of(class).for_each(|(feature, weight)| self.weights[feature as usize] = weight);
        }
    }

    /// w ← w + α x.
    #[inline]
    pub fn add(&mut self, row: Row<'_>, alpha: f32) {
        if alpha != 0.0 {
            for (&feature, &value) in row.indices.iter().zip(row.values) {
                self.weights[feature as usize] += alpha * value;
            }
        }
    }

    #[inline]
    fn score(&self, row: Row<'_>) -> f32 {
        sparse_dot(row.indices, row.values, |feature| self.weights[feature as usize])
    }
}

impl<'a> Learner<'a> {
    fn row(&self, n: u32) -> Row<'a> {
        self.examples.rows.row(self.rows[n as usize] as usize)
    }

    /// Trains a class for a pass over its rows, in random order; returns its new α and scores.
    ///
    /// The scores are those of the weights at the end. A score from the step of its row would be too good: the
    /// objective that is reported would fall with the learning rate.
    pub fn pass(
        &self,
        own: OfClass<'_>,
        class: u32,
        mut random: Stream,
        scratch: &mut Scratch,
    ) -> (Vec<f32>, Vec<f32>) {
        scratch.start(self.examples.rows.features(), self.earlier, class);
        own.rows.iter().zip(own.alphas).for_each(|(&n, &alpha)| scratch.add(self.row(n), alpha));
        let mut alphas = own.alphas.to_vec();
        let mut order = std::mem::take(&mut scratch.order);
        order.clear();
        order.extend(0..own.slots.len() as u32);
        random.shuffle(&mut order);
        for (i, &at) in order.iter().enumerate() {
            if let Some(&ahead) = order.get(i + AHEAD) {
                self.prefetch(own.rows[ahead as usize]);
            }
            let at = at as usize;
            alphas[at] += self.step(own.slots[at] as usize, own.rows[at], scratch);
        }
        let scores = self.end(own, class, scratch);
        scratch.order = order;
        (alphas, scores)
    }

    /// The scores of a class by its earlier weights.
    pub fn scores(&self, own: OfClass<'_>, class: u32, scratch: &mut Scratch) -> Vec<f32> {
        scratch.start(self.examples.rows.features(), self.earlier, class);
        self.end(own, class, scratch)
    }

    /// The scores of the rows of a class; clears its weights.
    fn end(&self, own: OfClass<'_>, class: u32, scratch: &mut Scratch) -> Vec<f32> {
        let scores = own.rows.iter().map(|&n| scratch.score(self.row(n))).collect();
        own.rows.iter().flat_map(|&n| self.row(n).indices).for_each(|&d| scratch.weights[d as usize] = 0.0);
        let earlier = self.earlier.iter().flat_map(|earlier| earlier.weights_of(class));
        earlier.for_each(|(feature, _)| scratch.weights[feature as usize] = 0.0);
        scores
    }

    /// Prefetches a row and the scores of its candidates.
    fn prefetch(&self, n: u32) {
        let row = self.row(n);
        row.indices.iter().step_by(LINE).for_each(prefetch);
        row.values.iter().step_by(LINE).for_each(prefetch);
        prefetch(&self.candidates.scores[self.candidates.of_row(n as usize).start]);
    }

    /// Takes an implicit step for a row; returns the change of α.
    fn step(&self, slot: usize, n: u32, scratch: &mut Scratch) -> f32 {
        let row = self.row(n);
        let f = scratch.score(row);
        let is_label = self.set_terms(slot, n as usize, f.into(), &mut scratch.terms);
        let length = row.values.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>();
        let g = root(&scratch.terms, f64::from(self.rate) * length);
        let step = (f64::from(self.rate) * if is_label { g } else { -g }) as f32;
        scratch.add(row, step);
        step
    }

    /// Sets the terms of a row for a candidate with the score f; returns whether it is a label.
    fn set_terms(&self, slot: usize, n: usize, f: f64, terms: &mut Vec<Term>) -> bool {
        let (labels, rivals) = (self.candidates.labels(n), self.candidates.rivals(n));
        let score = |slot: usize| f64::from(self.candidates.scores[slot]);
        let weight = |slot: usize| f64::from(self.candidates.weights[slot]);
        terms.clear();
        let is_label = slot < labels.end;
        match (self.objective, is_label) {
            (Objective::OneVsEach, true) => {
                terms.extend(rivals.map(|rival| Term { weight: weight(slot), z: score(rival) - f }));
            }
            (Objective::OneVsEach, false) => {
                terms.extend(labels.map(|label| Term { weight: weight(label), z: f - score(label) }));
            }
            (_, true) => {
                // −∞ without a rival: nothing moves.
                terms.push(Term { weight: weight(slot), z: log_sum_exp(rivals.map(score)) - f });
            }
            (_, false) => {
                let others = log_sum_exp(rivals.filter(|&rival| rival != slot).map(score));
                let offset = |label: usize| log_sum_exp([score(label), others].into_iter());
                terms.extend(labels.map(|label| Term { weight: weight(label), z: f - offset(label) }));
            }
        }
        is_label
    }
}

/// The root g of g = Σ c σ(z − r g), by Newton's method, or by bisection where that makes too little progress.
///
/// Where σ is flat, Newton's method alone goes from one end of the bracket to the other and back: with one term of
/// weight 1, z = 8.8 and r = 100 it alternates between 0 and .985, and the root is .109.
fn root(terms: &[Term], r: f64) -> f64 {
    let largest = terms.iter().map(|term| term.weight).sum::<f64>();
    let (mut low, mut high) = (0.0, largest);
    let (mut g, mut error) = (0.0, f64::INFINITY);
    for _ in 0..STEPS {
        let (mut sum, mut slope) = (0.0, 0.0);
        for &Term { weight, z } in terms {
            let x = z - r * g;
            let e = exp(-x.abs());
            let sigmoid = if x >= 0.0 { 1.0 } else { e } / (1.0 + e);
            sum += weight * sigmoid;
            slope += weight * sigmoid * (1.0 - sigmoid);
        }
        // The difference has a slope of at least 1.
        let before = std::mem::replace(&mut error, (g - sum).abs());
        if error <= TOLERANCE * largest {
            break;
        }
        if g < sum {
            low = g
        } else {
            high = g
        }
        g += (sum - g) / (1.0 + r * slope);
        if error > 0.5 * before || !(low..=high).contains(&g) {
            g = low + 0.5 * (high - low);
        }
    }
    g
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Examples};
    use crate::train::trees::second_stage::candidates::ByClass;

    /// A row with one feature and these labels, and its candidates with the given scores.
    fn learner_of<'a>(data: &'a Dataset, candidates: &'a Candidates, objective: Objective, rate: f32) -> Learner<'a> {
        Learner { examples: Examples::of(data), objective, rate, rows: &[0], candidates, earlier: None }
    }

    fn one_row(labels: &[u32]) -> Dataset {
        let mut data = Dataset::new(2, (0..9).map(|k| k.to_string()).collect());
        data.push_entry(1, 2.0);
        data.end_row(labels);
        data
    }

    fn candidates(labels: &[u32], weights: &[f64], found: &[u32], scores: &[f32]) -> Candidates {
        let mut candidates = Candidates::new(1);
        candidates.push(labels, weights, found);
        candidates.scores.copy_from_slice(scores);
        candidates
    }

    /// The derivative of the objective of a row by the score of a candidate is ± Σ c σ(z) of its terms.
    #[test]
    fn terms_have_the_derivatives_of_the_objective() {
        let (labels, weights, found) = ([3, 5], [1.0, 2.5], [5, 1, 0, 7]);
        let scores = [0.3, -0.8, 1.1, 0.2, -2.0];
        let data = one_row(&labels);
        for objective in [Objective::Merged, Objective::OneVsEach] {
            let at = candidates(&labels, &weights, &found, &scores);
            for slot in 0..scores.len() {
                let value = |h: f32| {
                    let mut moved = scores;
                    moved[slot] += h;
                    candidates(&labels, &weights, &found, &moved).objective(0, objective)
                };
                let expected = (value(1e-2) - value(-1e-2)) / 2e-2;
                let learner = learner_of(&data, &at, objective, 1.0);
                let mut terms = Vec::new();
                let is_label = learner.set_terms(slot, 0, scores[slot].into(), &mut terms);
                let sum: f64 = terms.iter().map(|term| term.weight / (1.0 + exp(-term.z))).sum();
                let derivative = if is_label { sum } else { -sum };
                assert!((derivative - expected).abs() < 1e-4, "{objective} {slot}: {derivative} {expected}");
                assert_eq!(is_label, slot < 2);
            }
        }
    }

    #[test]
    fn steps_solve_their_equation_and_never_overshoot() {
        let mut random = Stream::of(&[8]);
        for r in [0.0, 0.1, 1.0, 2.0, 5.0, 20.0, 100.0, 1000.0, 1e30] {
            for _ in 0..200 {
                let term = |random: &mut Stream| Term { weight: random.uniform(), z: 20.0 * random.normal() };
                let terms: Vec<Term> = (0..1 + random.below(20)).map(|_| term(&mut random)).collect();
                let all: f64 = terms.iter().map(|term| term.weight).sum();
                let at = |g: f64| terms.iter().map(|term| term.weight / (1.0 + exp(r * g - term.z))).sum::<f64>();
                let (mut low, mut high) = (0.0, all);
                for _ in 0..200 {
                    let middle = 0.5 * (low + high);
                    if at(middle) > middle { low = middle } else { high = middle }
                }
                let found = root(&terms, r);
                assert!((0.0..=all).contains(&found), "{r}: {found}");
                assert!((found - low).abs() <= 1.01e-3 * all, "{r}: {found}, not {low}");
            }
        }
        let found = root(&[Term { weight: 1.0, z: 8.8 }], 100.0);
        assert!((found - 0.109).abs() < 1e-3, "{found}");
        assert_eq!(root(&[], 1.0), 0.0);
        let extreme = [Term { weight: 1.0, z: f64::NEG_INFINITY }, Term { weight: 0.0, z: 1e300 }];
        assert_eq!(root(&extreme, f64::MAX), 0.0);
    }

    /// All classes that were found are labels, or there are none: no 0/0, and no weight changes.
    #[test]
    fn a_row_without_a_rival_moves_nothing() {
        for (labels, found) in [(&[3, 5][..], &[5, 3][..]), (&[3], &[]), (&[], &[2, 4]), (&[], &[])] {
            let data = one_row(labels);
            for objective in [Objective::Merged, Objective::OneVsEach] {
                let all =
                    candidates(labels, &vec![1.0; labels.len()], found, &vec![0.0; labels.len().max(found.len())]);
                let by_class = ByClass::of(&all, 9);
                let learner = learner_of(&data, &all, objective, 5.0);
                for class in 0..9 {
                    let own = by_class.of_one(class);
                    let (alphas, scores) = learner.pass(own, class, Stream::of(&[1]), &mut Scratch::default());
                    assert!(alphas.iter().chain(&scores).all(|&number| number == 0.0), "{labels:?} {class}");
                }
                assert_eq!(all.objective(0, objective), 0.0);
            }
        }
    }

    /// Labels rise and rivals fall; the scores that a pass returns are those of its weights.
    #[test]
    fn a_pass_moves_labels_up_and_rivals_down() {
        let data = one_row(&[3]);
        for objective in [Objective::Merged, Objective::OneVsEach] {
            let all = candidates(&[3], &[2.0], &[3, 6], &[0.0, 0.0]);
            let by_class = ByClass::of(&all, 9);
            let learner = learner_of(&data, &all, objective, 0.5);
            let moved = |class| learner.pass(by_class.of_one(class), class, Stream::of(&[1]), &mut Scratch::default());
            let ((up, label), (down, rival)) = (moved(3), moved(6));
            assert!(up[0] > 0.1 && up[0] == -down[0], "{up:?} {down:?}");
            assert!((label[0] - 4.0 * up[0]).abs() < 1e-6 && (rival[0] + label[0]).abs() < 1e-6, "{label:?} {rival:?}");
        }
    }
}
