//! The full sum: value and gradient over all rows and all classes, maximised by [`super::lbfgs`].
//!
//! An evaluation has two halves. First, in parallel over rows: scores, then the objective, which leaves the derivatives G in
//! the place of the scores. Then, in parallel over features: the gradient XᵀG, each feature summed over its rows in
//! order by way of a transposed copy of X. No two threads write to one place, and no sum depends on how many there are. Weights are
//! 64-bit floats here, so that the gradient can be followed down to the tolerance.

mod cholesky;
mod curvature;
mod kept;
mod nonzero;

use std::cell::Cell;

use rayon::prelude::*;

use self::nonzero::Nonzero;
use super::all_classes::{AllClasses, Scratch};
use super::label_weights::LabelWeights;
use super::lbfgs::{self, Function, Limits, State};
use super::{Begin, Fit, Problem, Progress, Watch};
use crate::data::Row;
use crate::error::{Error, Result};
use crate::linear::Linear;
use crate::math::add_rows;
use crate::model::TracePoint;
use crate::options::Options;

/// Derivatives kept at a time: rows are taken in blocks whose N × K derivatives take at most this many numbers (128 MB).
const BLOCK: usize = 1 << 24;

/// Rows that one task scores, and features whose gradient one task sums.
const ROWS_A_TASK: usize = 32;
const FEATURES_A_TASK: usize = 16;

/// Maximises the penalised sum.
pub fn train(begin: Begin<'_>, problem: &Problem<'_>, options: &Options, watch: &mut Watch<'_>) -> Result<Fit> {
    let solution = maximise(begin, problem, options, watch)?;
    let updates = solution.trace.last().map_or(0, |point| point.updates) * problem.rows.len() as u64;
    let linear = linear(problem.classes, &solution.weights);
    if linear.table().iter().any(|w| !w.is_finite()) {
        return Err(Error::Diverged { epoch: solution.trace.len(), learning_rate: 0.0 });
    }
    Ok(Fit { linear, trace: solution.trace, finished: solution.converged, updates })
}

fn linear(classes: usize, weights: &[f64]) -> Linear {
    Linear::new(classes, weights.iter().map(|&w| w as f32).collect())
}

/// The maximum in full precision.
pub(crate) struct Solution {
    /// (D + 1) × K, the biases last.
    pub weights: Vec<f64>,
    pub trace: Vec<TracePoint>,
    pub converged: bool,
}

pub(crate) fn maximise(
    begin: Begin<'_>,
    problem: &Problem<'_>,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Solution> {
    let nonzero = Nonzero::of(problem.rows);
    let visited = Problem { rows: nonzero.as_ref().map_or(problem.rows, Nonzero::rows), ..*problem };
    let full = FullSum::new(&visited, options);
    let weights = (problem.rows.features() + 1) * problem.classes;
    let limits = Limits { tolerance: options.tolerance, iterations: options.iterations };

    let (updates, bound) = (Cell::new(0u64), Cell::new(0.0));
    let mut function = Counted { full: &full, updates: &updates, bound: &bound };
    let (state, mut trace) = match (begin.saved, begin.start) {
        (Some(saved), _) => kept::restore(saved, weights, full.numbers_of_curvature())?,
        // From wherever it starts, a run ends where one from zero would.
        (None, Some(linear)) => {
            let first = full.gradient_at_zero();
            (State { first, ..State::new(in_full_precision(linear), &mut function) }, Vec::new())
        }
        (None, None) => (State::new(vec![0.0; weights], &mut function), Vec::new()),
    };
    if let Some(last) = trace.last() {
        updates.set(last.updates);
        bound.set(last.bound);
    }
    let report = |iteration: lbfgs::Iteration<'_>| {
        let (updates, bound) = (updates.get(), bound.get());
        trace.push(TracePoint { updates, bound });
        // The gradient falls about geometrically, so the share of decades behind us is the share of work done.
        let decades = iteration.gradient.max(f64::MIN_POSITIVE).log10() / options.tolerance.log10();
        let counted = iteration.number as f64 / options.iterations as f64;
        watch(&Progress {
            done: decades.max(counted).clamp(0.0, 1.0),
            epoch: iteration.number,
            epochs: iteration.number as f64,
            updates,
            bound,
            learning_rate: 0.0,
            snapshot: &|| linear(problem.classes, iteration.x),
            save: &|path| kept::save(begin, path, (problem, options), iteration.state, &trace),
        })
    };
    let minimum = lbfgs::minimise(state, &mut function, limits, report);
    if trace.last().is_some_and(|last| !last.bound.is_finite()) {
        return Err(Error::Diverged { epoch: trace.len(), learning_rate: 0.0 });
    }
    Ok(Solution { weights: minimum.x, trace, converged: minimum.converged })
}

/// The value of the objective summed over all rows, without the penalty.
pub fn bound(problem: &Problem<'_>, options: &Options, linear: &Linear) -> f64 {
    let full = FullSum::new(problem, options);
    let weights = in_full_precision(linear);
    full.blocks.iter().map(|block| full.derivatives(block, &weights).1).sum()
}

fn in_full_precision(linear: &Linear) -> Vec<f64> {
    linear.table().iter().map(|&w| f64::from(w)).collect()
}

/// The penalised sum with its sign turned, and what the last evaluation told.
struct Counted<'a> {
    full: &'a FullSum<'a>,
    updates: &'a Cell<u64>,
    bound: &'a Cell<f64>,
}

impl Function for Counted<'_> {
    fn evaluate(&mut self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        let (bound, penalty) = self.full.evaluate(weights, gradient);
        self.updates.set(self.updates.get() + 1);
        self.bound.set(bound);
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
    problem: &'a Problem<'a>,
    options: &'a Options,
    objective: AllClasses,
    label_weights: LabelWeights<'a>,
    blocks: Vec<Block>,
}

/// Some rows, and their transpose: the entries of feature d are `offsets[d]..offsets[d + 1]`, rows rising. The bias is the last
/// feature, 1 in every row.
struct Block {
    first: usize,
    rows: usize,
    offsets: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl Block {
    fn new(problem: &Problem<'_>, first: usize, rows: usize) -> Self {
        let bias = problem.rows.features();
        let mut offsets = vec![0; bias + 2];
        for row in problem.rows.iter(first..first + rows) {
            for (feature, _) in terms(row) {
                offsets[feature + 1] += 1;
            }
        }
        offsets[bias + 1] = rows;
        for d in 0..=bias {
            offsets[d + 1] += offsets[d];
        }
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0.0); offsets[bias + 1]];
        for (n, row) in problem.rows.iter(first..first + rows).enumerate() {
            for (feature, value) in terms(row).chain([(bias, 1.0)]) {
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
    fn new(problem: &'a Problem<'a>, options: &'a Options) -> Self {
        let rows = (BLOCK / problem.classes).max(1);
        let blocks = (0..problem.rows.len())
            .step_by(rows)
            .map(|first| Block::new(problem, first, rows.min(problem.rows.len() - first)))
            .collect();
        FullSum {
            problem,
            options,
            objective: AllClasses::new(options, &problem.mass()),
            label_weights: LabelWeights::new(problem, &options.class_weight),
            blocks,
        }
    }

    /// The bound and the penalty; the gradient of penalty − bound.
    fn evaluate(&self, weights: &[f64], gradient: &mut [f64]) -> (f64, f64) {
        let bound = self.blocks.iter().enumerate().map(|(b, block)| {
            let (derivatives, bound) = self.derivatives(block, weights);
            self.add_products(block, &derivatives, gradient, b == 0, |x| -x);
            bound
        });
        let bound = bound.sum();
        (bound, self.add_penalty(weights, gradient))
    }

    /// ‖∇‖ where all weights are zero.
    fn gradient_at_zero(&self) -> f64 {
        let zero = vec![0.0; (self.problem.rows.features() + 1) * self.problem.classes];
        let mut gradient = zero.clone();
        self.evaluate(&zero, &mut gradient);
        lbfgs::dot(&gradient, &gradient).sqrt()
    }

    /// The derivatives of the block's part of the bound in its scores, and that part.
    fn derivatives(&self, block: &Block, weights: &[f64]) -> (Vec<f64>, f64) {
        let classes = self.problem.classes;
        let mut derivatives = vec![0.0; block.rows * classes];
        let mut values = vec![0.0; block.rows];
        derivatives.par_chunks_mut(ROWS_A_TASK * classes).zip(values.par_chunks_mut(ROWS_A_TASK)).enumerate().for_each(
            |(task, (scores, values))| {
                let (mut scratch, mut label_weights) = (Scratch::default(), Vec::new());
                let first = block.first + task * ROWS_A_TASK;
                for ((n, scores), value) in (first..).zip(scores.chunks_mut(classes)).zip(values) {
                    self.scores(n, weights, scores);
                    let labels = &self.problem.labels[n];
                    self.label_weights.of_row(n, labels, &mut label_weights);
                    *value = self.objective.value_and_gradient(labels, &label_weights, scores, &mut scratch);
                }
            },
        );
        let bound = values.iter().sum();
        (derivatives, bound)
    }

    fn scores(&self, n: usize, weights: &[f64], scores: &mut [f64]) {
        let classes = self.problem.classes;
        scores.copy_from_slice(&weights[weights.len() - classes..]);
        add_rows(weights, terms(self.problem.rows.row(n)).map(|(feature, x)| (feature, f64::from(x))), scores);
    }

    /// Adds Σ_n factor(x) · derivatives of a block's rows to each feature, or begins these sums: −XᵀG with factor −x.
    fn add_products(
        &self,
        block: &Block,
        derivatives: &[f64],
        gradient: &mut [f64],
        begin: bool,
        factor: impl Fn(f64) -> f64 + Sync,
    ) {
        let classes = self.problem.classes;
        gradient.par_chunks_mut(FEATURES_A_TASK * classes).enumerate().for_each(|(task, gradient)| {
            for (feature, gradient) in (task * FEATURES_A_TASK..).zip(gradient.chunks_mut(classes)) {
                if begin {
                    gradient.fill(0.0);
                }
                let terms = block.entries_of(feature).iter().map(|&(n, x)| (n as usize, factor(f64::from(x))));
                add_rows(derivatives, terms, gradient);
            }
        });
    }

    /// Adds λw to the gradient; λ/2·‖w‖².
    fn add_penalty(&self, weights: &[f64], gradient: &mut [f64]) -> f64 {
        let l2 = self.options.l2;
        let penalised = match self.options.penalty_on_bias {
            true => weights.len(),
            false => weights.len() - self.problem.classes,
        };
        gradient[..penalised].par_iter_mut().zip(weights).with_min_len(4096).for_each(|(g, w)| *g += l2 * w);
        0.5 * l2 * lbfgs::dot(&weights[..penalised], &weights[..penalised])
    }
}
