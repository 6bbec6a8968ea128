//! The batch solver: L-BFGS on the sum over all rows and all classes.
//!
//! An evaluation has two phases. First, in parallel over rows: scores, then the objective, which overwrites the scores
//! with derivatives G. Then, in parallel over features: the gradient XᵀG, each feature summed over its rows in order,
//! with a transposed copy of X. No two threads write to the same place, and no sum depends on the number of threads.
//! Weights are 64-bit floats here, for a gradient precise enough to reach the tolerance.

mod checkpoint;
mod cholesky;
mod curvature;
mod lbfgs;
mod nonzero;

use rayon::prelude::*;

use self::lbfgs::{Function, Lbfgs, Limits, State};
use self::nonzero::Nonzero;
use crate::bound::all_classes::{AllClasses, Scratch};
use crate::data::{Examples, Row};
use crate::error::{Error, Result};
use crate::model::TracePoint;
use crate::options::{BatchOptions, LinearOptions, TrainOptions};
use crate::platform::elementary::ln;
use crate::platform::math::add_rows;
use crate::platform::pool;
use crate::sample::most_frequent;
use crate::scores::{Linear, Scores};
use crate::train::checkpoint as states;
use crate::train::label_weights::LabelWeights;
use crate::train::run::{Outcome, Progress, Run, Start};

/// Maximum number of derivatives in memory (128 MB): rows are processed in blocks of at most this many scores.
const BLOCK: usize = 1 << 24;

/// Number of rows that a task scores, and of features whose gradient a task sums.
const ROWS_PER_TASK: usize = 32;
const FEATURES_PER_TASK: usize = 16;

/// Default penalty, that of the paper and of scikit-learn's `LogisticRegression`: without one, classes that a plane
/// separates have no maximum.
pub(super) const L2: f64 = 1.0;

/// A run of the batch solver.
pub(super) struct Batch<'a> {
    sum: PenalisedSum<'a>,
    minimiser: Lbfgs,
    trace: Vec<TracePoint>,
    options: BatchOptions,
}

/// A run from zero, or from earlier scores.
pub(super) fn run<'a>(
    examples: Examples<'a>,
    options: &TrainOptions,
    linear: &LinearOptions,
    batch: &BatchOptions,
    start: Start<'_>,
) -> Result<Box<dyn Run + 'a>> {
    let start = start.scores.map(|scores| scores.start_for(&examples, linear.cells)).transpose()?;
    Ok(Box::new(Batch::new(examples, options, batch, start.as_deref())))
}

impl<'a> Batch<'a> {
    pub fn new(examples: Examples<'a>, options: &TrainOptions, batch: &BatchOptions, start: Option<&Linear>) -> Self {
        let mut sum = PenalisedSum { full: FullSum::new(examples, options), updates: 0, bound: 0.0 };
        let state = match start {
            // Tolerances are relative to the gradient at zero, so that the end does not depend on the start.
            Some(linear) => {
                let first = sum.full.gradient_at_zero();
                State { first, ..State::new(in_full_precision(linear), &mut sum) }
            }
            None => State::new(vec![0.0; sum.full.weights()], &mut sum),
        };
        let limits = Limits { tolerance: batch.tolerance, iterations: batch.iterations };
        Batch { sum, minimiser: Lbfgs::new(state, limits, false), trace: Vec::new(), options: batch.clone() }
    }

    /// The weights in full precision: (features + 1) × classes, the biases last.
    pub fn weights(&self) -> &[f64] {
        &self.minimiser.state.x
    }

    fn linear(&self) -> Linear {
        let weights = self.minimiser.state.x.iter().map(|&w| w as f32).collect();
        Linear::new(self.sum.full.classes(), weights)
    }
}

impl Run for Batch<'_> {
    fn step(&mut self) -> Result<Option<Progress>> {
        let Some(iteration) = self.minimiser.step(&mut self.sum) else { return Ok(None) };
        let (updates, bound) = (self.sum.updates, self.sum.bound);
        self.trace.push(TracePoint { updates, bound });
        if !bound.is_finite() {
            return Err(Error::Diverged { epoch: self.trace.len(), learning_rate: 0.0 });
        }
        // The gradient decreases about geometrically, so its logarithm measures the work done.
        let decades = ln(iteration.gradient.max(f64::MIN_POSITIVE)) / ln(self.options.tolerance);
        let counted = iteration.number as f64 / self.options.iterations as f64;
        Ok(Some(Progress {
            done: decades.max(counted).clamp(0.0, 1.0),
            epoch: iteration.number,
            epochs: iteration.number as f64,
            updates,
            bound: Some(bound),
            likelihood: None,
            learning_rate: None,
        }))
    }

    fn state(&self) -> (String, Vec<states::Table<'_>>) {
        checkpoint::state(&self.minimiser.state, &self.trace)
    }

    fn restore(&mut self, state: &dyn states::StateReader) -> Result<()> {
        let full = &self.sum.full;
        let (restored, trace) = checkpoint::restore(state, full.weights(), full.numbers_of_curvature())?;
        if let Some(last) = trace.last() {
            (self.sum.updates, self.sum.bound) = (last.updates, last.bound);
        }
        let limits = Limits { tolerance: self.options.tolerance, iterations: self.options.iterations };
        let reported = !trace.is_empty();
        (self.minimiser, self.trace) = (Lbfgs::new(restored, limits, reported), trace);
        Ok(())
    }

    fn merge(&mut self, _: &[states::State]) -> Result<()> {
        Err(Error::Mismatch("runs of the batch solver cannot be merged: each of its steps uses all rows".into()))
    }

    fn snapshot(&self) -> Option<Scores> {
        Some(Scores::Linear(self.linear()))
    }

    fn finish(self: Box<Self>) -> Result<Outcome> {
        let linear = self.linear();
        if linear.table().iter().any(|w| !w.is_finite()) {
            return Err(Error::Diverged { epoch: self.trace.len(), learning_rate: 0.0 });
        }
        let updates = self.sum.updates * self.sum.full.examples.len() as u64;
        let converged = self.minimiser.converged;
        Ok(Outcome {
            scores: Scores::Linear(linear),
            trace: self.trace,
            likelihood: Vec::new(),
            finished: converged,
            updates,
            epochs: None,
        })
    }
}

/// The objective summed over all rows, without the penalty.
///
/// # Panics
/// If the shape of `linear` does not match the examples.
pub fn bound(examples: &Examples<'_>, options: &TrainOptions, linear: &Linear) -> f64 {
    pool::run(|| {
        let full = FullSum::new(*examples, options);
        let weights = in_full_precision(linear);
        full.blocks.iter().map(|block| full.derivatives(block, &weights).1).sum()
    })
}

fn in_full_precision(linear: &Linear) -> Vec<f64> {
    linear.table().iter().map(|&w| f64::from(w)).collect()
}

/// The negative of the penalised objective, and the result of its last evaluation.
struct PenalisedSum<'a> {
    full: FullSum<'a>,
    updates: u64,
    bound: f64,
}

impl Function for PenalisedSum<'_> {
    fn evaluate(&mut self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        let (bound, penalty) = self.full.evaluate(weights, gradient);
        (self.updates, self.bound) = (self.updates + 1, bound);
        penalty - bound
    }

    fn curvature(&mut self, weights: &[f64], curvature: &mut [f64]) {
        self.full.curvature(weights, curvature);
    }

    fn numbers_of_curvature(&self) -> usize {
        self.full.numbers_of_curvature()
    }

    fn is_due(&self, step: usize) -> bool {
        self.full.curvature_is_due(step)
    }

    fn divide(&self, curvature: &[f64], r: &mut [f64]) {
        self.full.divide_by_curvature(curvature, r);
    }
}

struct FullSum<'a> {
    examples: Examples<'a>,
    /// The rows without zeros, if there are many.
    nonzero: Option<Nonzero>,
    objective: AllClasses,
    l2: f64,
    penalty_on_bias: bool,
    label_weights: LabelWeights<'a>,
    blocks: Vec<Block>,
}

/// Some rows and their transpose: the entries of feature d are `offsets[d]..offsets[d + 1]`, in row order. The bias is
/// the last feature, 1 in every row.
struct Block {
    first: usize,
    rows: usize,
    offsets: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl Block {
    fn new<'a>(features: usize, first: usize, rows: usize, row: impl Fn(usize) -> Row<'a>) -> Self {
        let bias = features;
        let mut offsets = vec![0; bias + 2];
        for n in first..first + rows {
            for (feature, _) in terms(row(n)) {
                offsets[feature + 1] += 1;
            }
        }
        offsets[bias + 1] = rows;
        for d in 0..=bias {
            offsets[d + 1] += offsets[d];
        }
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0.0); offsets[bias + 1]];
        for n in 0..rows {
            for (feature, value) in terms(row(first + n)).chain([(bias, 1.0)]) {
                let at = &mut next[feature];
                entries[*at] = (n as u32, value);
                *at += 1;
            }
        }
        Block { first, rows, offsets, entries }
    }

    fn entries_of(&self, feature: usize) -> &[(u32, f32)] {
        &self.entries[self.offsets[feature]..self.offsets[feature + 1]]
    }
}

/// The features of a row with their values.
fn terms(row: Row<'_>) -> impl Iterator<Item = (usize, f32)> + Clone {
    row.indices.iter().zip(row.values).map(|(&feature, &value)| (feature as usize, value))
}

impl<'a> FullSum<'a> {
    fn new(examples: Examples<'a>, options: &TrainOptions) -> Self {
        let bound = options.bound().cloned().unwrap_or_default();
        let merged = most_frequent(&examples.mass(), bound.objective, bound.merge);
        let rows = (BLOCK / examples.classes).max(1);
        let mut full = FullSum {
            examples,
            nonzero: Nonzero::of(examples.rows),
            objective: AllClasses::new(bound.objective, &merged, examples.classes),
            l2: options.l2.unwrap_or(0.0),
            penalty_on_bias: bound.penalty_on_bias,
            label_weights: LabelWeights::new(&examples, &options.class_weight),
            blocks: Vec::new(),
        };
        let block = |first| Block::new(full.features(), first, rows.min(examples.len() - first), |n| full.row(n));
        full.blocks = (0..examples.len()).step_by(rows).map(block).collect();
        full
    }

    fn features(&self) -> usize {
        self.examples.rows.features()
    }

    fn classes(&self) -> usize {
        self.examples.classes
    }

    /// Number of weights, including the biases.
    fn weights(&self) -> usize {
        (self.features() + 1) * self.classes()
    }

    /// The `n`-th row.
    fn row(&self, n: usize) -> Row<'_> {
        let id = self.examples.id(n);
        self.nonzero.as_ref().map_or_else(|| self.examples.rows.row(id), |nonzero| nonzero.row(id))
    }

    fn entries(&self) -> usize {
        self.nonzero.as_ref().map_or(self.examples.rows.entries(), Nonzero::entries)
    }

    /// Returns the bound and the penalty, and computes the gradient of penalty − bound.
    fn evaluate(&self, weights: &[f64], gradient: &mut [f64]) -> (f64, f64) {
        let bound = self.blocks.iter().enumerate().map(|(b, block)| {
            let (derivatives, bound) = self.derivatives(block, weights);
            self.add_products(block, &derivatives, gradient, b == 0, |x| -x);
            bound
        });
        let bound = bound.sum();
        (bound, self.add_penalty(weights, gradient))
    }

    /// ‖∇‖ at w = 0.
    fn gradient_at_zero(&self) -> f64 {
        let zero = vec![0.0; self.weights()];
        let mut gradient = zero.clone();
        self.evaluate(&zero, &mut gradient);
        lbfgs::dot(&gradient, &gradient).sqrt()
    }

    /// The derivatives of a block's bound with respect to its scores, and the bound.
    fn derivatives(&self, block: &Block, weights: &[f64]) -> (Vec<f64>, f64) {
        let classes = self.classes();
        let mut derivatives = vec![0.0; block.rows * classes];
        let mut values = vec![0.0; block.rows];
        derivatives
            .par_chunks_mut(ROWS_PER_TASK * classes)
            .zip(values.par_chunks_mut(ROWS_PER_TASK))
            .enumerate()
            .for_each(|(task, (scores, values))| {
                let (mut scratch, mut label_weights) = (Scratch::default(), Vec::new());
                let first = block.first + task * ROWS_PER_TASK;
                for ((n, scores), value) in (first..).zip(scores.chunks_mut(classes)).zip(values) {
                    self.scores(n, weights, scores);
                    let id = self.examples.id(n);
                    let labels = &self.examples.labels[id];
                    self.label_weights.of_row(id, labels, &mut label_weights);
                    *value = self.objective.value_and_gradient(labels, &label_weights, scores, &mut scratch);
                }
            });
        let bound = values.iter().sum();
        (derivatives, bound)
    }

    fn scores(&self, n: usize, weights: &[f64], scores: &mut [f64]) {
        let classes = self.classes();
        scores.copy_from_slice(&weights[weights.len() - classes..]);
        add_rows(weights, terms(self.row(n)).map(|(feature, x)| (feature, f64::from(x))), scores);
    }

    /// Adds Σ_n factor(x) · derivatives over a block's rows to each feature, starting from 0 if `begin` is set. The
    /// factor −x gives −XᵀG.
    fn add_products(
        &self,
        block: &Block,
        derivatives: &[f64],
        gradient: &mut [f64],
        begin: bool,
        factor: impl Fn(f64) -> f64 + Sync,
    ) {
        let classes = self.classes();
        gradient.par_chunks_mut(FEATURES_PER_TASK * classes).enumerate().for_each(|(task, gradient)| {
            for (feature, gradient) in (task * FEATURES_PER_TASK..).zip(gradient.chunks_mut(classes)) {
                if begin {
                    gradient.fill(0.0);
                }
                let terms = block.entries_of(feature).iter().map(|&(n, x)| (n as usize, factor(f64::from(x))));
                add_rows(derivatives, terms, gradient);
            }
        });
    }

    /// Adds λw to the gradient; returns λ/2·‖w‖².
    fn add_penalty(&self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        let l2 = self.l2;
        let penalised = match self.penalty_on_bias {
            true => weights.len(),
            false => weights.len() - self.classes(),
        };
        gradient[..penalised].par_iter_mut().zip(weights).with_min_len(4096).for_each(|(g, w)| *g += l2 * w);
        0.5 * l2 * lbfgs::dot(&weights[..penalised], &weights[..penalised])
    }
}
