//! Rows that training does not see. They tell how sure a linear model may be, when to stop, and which learning rate to take.
//!
//! Sampled classes and a run that is short of its maximum leave probabilities that are too sure or not sure enough; a temperature T mends
//! most of it:
//!
//! ```text
//! p(k | x) = e^{f_k/T} / Σ_m e^{f_m/T}        T makes the held-out labels most probable
//! ```
//!
//! Runs and rates are compared by that maximum too, so that none wins by being rightly unsure.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::data::{Dataset, Row, Rows};
use crate::error::Result;
use crate::labels::Labels;
use crate::linear::Linear;
use crate::random::Stream;
use crate::solve::{Problem, in_pool};

/// The share of the training rows that is held out where none are given: one in so many.
const ONE_IN: usize = 20;

/// Rows that are held out at least; with fewer, nothing is fitted.
const ENOUGH: usize = 50;

/// Rows that are held out at most, and scores: a few thousand rows tell enough.
const MOST_ROWS: usize = 5000;
const MOST_SCORES: usize = 40_000_000;

/// Newton steps at most, and when they are small enough.
const STEPS: usize = 30;
const SMALL: f64 = 1e-5;

/// Scores of all classes for a row.
pub type Scores<'a> = dyn Fn(Row<'_>, &mut [f32]) + Sync + 'a;

/// Rows that training does not see.
#[derive(Debug, Clone, Copy)]
pub struct HeldOut<'a> {
    /// The rows.
    pub rows: Rows<'a>,
    /// Their classes; rows that have none are left out.
    pub labels: &'a Labels,
    /// K.
    pub classes: usize,
}

/// What held-out rows say of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// T.
    pub temperature: f64,
    /// −log p(label) under it, averaged over all labels.
    pub nlpd: f64,
}

/// Rows of a problem to hold out, drawn by the seed; none of a problem with too few.
pub fn draw(problem: &Problem<'_>, seed: u64) -> Vec<u32> {
    sample(problem, problem.rows.len() / ONE_IN, seed)
}

/// As many rows as a verdict needs of those that were never meant for training; none if they are too few.
pub fn draw_given(problem: &Problem<'_>, seed: u64) -> Vec<u32> {
    sample(problem, problem.rows.len(), seed)
}

fn sample(problem: &Problem<'_>, count: usize, seed: u64) -> Vec<u32> {
    let rows = problem.rows.len();
    let count = count.min(MOST_ROWS).min((MOST_SCORES / problem.classes).max(ENOUGH));
    if count < ENOUGH {
        return Vec::new();
    }
    let mut order: Vec<u32> = (0..rows as u32).collect();
    Stream::of(&[seed, u64::MAX - 1]).shuffle(&mut order);
    order.truncate(count);
    order.sort_unstable();
    order
}

/// The row weights of a problem, where some rows do not count.
pub fn weights_without<'a>(problem: &Problem<'a>, rows: &[u32]) -> Cow<'a, [f64]> {
    if rows.is_empty() {
        return Cow::Borrowed(problem.row_weights);
    }
    let mut weights = problem.row_weights.to_vec();
    weights.resize(problem.rows.len(), 1.0);
    rows.iter().for_each(|&n| weights[n as usize] = 0.0);
    Cow::Owned(weights)
}

/// Some rows of a problem, copied.
pub fn copy(problem: &Problem<'_>, rows: &[u32]) -> Dataset {
    let mut data = Dataset::new(problem.rows.features(), Vec::new());
    for n in rows.iter().map(|&n| n as usize) {
        let row = problem.rows.row(n);
        row.indices.iter().zip(row.values).for_each(|(&feature, &value)| data.push_entry(feature, value));
        if let Some(&weight) = problem.row_weights.get(n) {
            data.weigh_row(weight);
        }
        data.end_row(&problem.labels[n]);
    }
    data
}

impl<'a> HeldOut<'a> {
    /// All rows of a data set.
    pub fn of(data: &'a Dataset, classes: usize) -> Self {
        HeldOut { rows: data.rows(), labels: &data.labels, classes }
    }

    /// What the rows say of a model, found with so many threads.
    pub fn judge(&self, linear: &Linear, threads: usize) -> Result<Verdict> {
        in_pool(threads, || Ok(self.verdict(&|row, scores| linear.scores(row, scores))))
    }

    /// What they say of these scores. −Σ log p is convex in β = 1/T, and Newton's steps find its minimum:
    ///
    /// ```text
    /// d/dβ = Σ_n (E_p[f] − f_y)        d²/dβ² = Σ_n Var_p[f]
    /// ```
    pub fn verdict(&self, scores: &Scores<'_>) -> Verdict {
        let mut beta = 1.0;
        for _ in 0..STEPS {
            let [_, slope, curvature, _] = self.moments(scores, beta);
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
        let [surprise, _, _, labels] = self.moments(scores, beta);
        Verdict { temperature: 1.0 / beta, nlpd: surprise / labels }
    }

    /// −Σ log p(label), its two derivatives, and how many labels there are.
    fn moments(&self, scores: &Scores<'_>, beta: f64) -> [f64; 4] {
        let of_row = |room: &mut Vec<f32>, n: usize| {
            let labels = &self.labels[n];
            scores(self.rows.row(n), room);
            let largest = f64::from(room.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
            for &score in &*room {
                // Beside the largest, so that nothing overflows.
                let lack = f64::from(score) - largest;
                let e = (beta * lack).exp();
                (sum, first, second) = (sum + e, first + e * lack, second + e * lack * lack);
            }
            let (mean, count) = (first / sum, labels.len() as f64);
            let own: f64 = labels.iter().map(|&label| f64::from(room[label as usize]) - largest).sum();
            let surprise = count * sum.ln() - beta * own;
            [surprise, count * mean - own, count * (second / sum - mean * mean), count]
        };
        let rows = (0..self.rows.len()).into_par_iter();
        let all: Vec<[f64; 4]> = rows.map_init(|| vec![0.0; self.classes], of_row).collect();
        // Summed in order: the same bits for any number of threads.
        all.iter().fold([0.0; 4], |sum, of| std::array::from_fn(|i| sum[i] + of[i]))
    }
}
