//! One node learns which of its children a row belongs to: one-vs-rest with the squared hinge, by stochastic descent.
//!
//! ```text
//! Σ_n w_n Σ_c c_n max(0, 1 − y_nc f_c(x_n))²  +  λ/2 Σ_c ‖w_c‖²          y_nc = 1 for its children, −1 for the others
//! ```
//!
//! Steps are implicit: the derivative 2 w (1 − y f) is taken where the step leads to, which divides it by 1 + 2 w η ‖x‖². However large a
//! rate, a weight or a row is, no step goes beyond the margin.
//!
//! Rates, penalties and small weights are meant for rows of unit length: with m the mean ‖x‖², w_c √m takes the place of w_c, and x/√m that
//! of x. So rows in other units get the same scores.
//!
//! A child that a row is far from belonging to (f_c ≤ −1) does not move.

use std::ops::Range;
use std::sync::Arc;

use super::Task;
use super::block::{Block, LINE};
use super::node_examples::{Example, LocalExamples, NodeExamples};
use crate::platform::math::lanes;
use crate::platform::memory::prefetch;
use crate::platform::random::Stream;
use crate::platform::simd::vectorised;
use crate::scores::sparse::{Entry, is_whole};

/// The rate falls in a straight line to this part of itself.
const LAST_RATE: f32 = 0.02;

/// Weights smaller than this, for rows of unit length, are not kept, unless enough others of the same feature are. Twice
/// as many weights, for half of this, change precision by less than .001.
const NEGLIGIBLE: f32 = 0.05;

/// A block of children of one node, to be trained.
#[derive(Clone)]
pub(super) struct Job {
    pub examples: Arc<NodeExamples>,
    pub children: Range<usize>,
    pub passes: usize,
}

/// A job that is under way: it can be stopped after any row and taken up again.
pub(super) struct NodeRun<'a> {
    task: Task<'a>,
    job: Job,
    local: LocalExamples<'a>,
    random: Stream,
    /// The order of the examples in this pass.
    order: Vec<u32>,
    /// Passes done, examples of this pass done, and examples done in all.
    pass: usize,
    at: usize,
    passed: usize,
    block: Block,
    own: Vec<(usize, f32)>,
}

impl Job {
    /// Begins the job. `numbers` is room for a number of each feature.
    pub fn start<'a>(&self, task: Task<'a>, random: Stream, numbers: &mut Vec<u32>) -> NodeRun<'a> {
        NodeRun::new(task, self.clone(), random, numbers, |_| true)
    }

    /// Trains on all rows but one of `part`, and gives the objective of those that were left out, without the penalty.
    pub fn held_out_loss(&self, task: Task<'_>, random: Stream, part: usize, numbers: &mut Vec<u32>) -> f64 {
        let is_held_out = |n: u32| (n as usize).is_multiple_of(part);
        let mut run = NodeRun::new(task, self.clone(), random, numbers, |n| !is_held_out(n));
        run.advance(usize::MAX);
        let held_out = (0..run.local.len() as u32).filter(|&n| is_held_out(n));
        held_out.collect::<Vec<_>>().into_iter().map(|n| run.loss(n)).sum()
    }
}

impl<'a> NodeRun<'a> {
    fn new(
        task: Task<'a>,
        job: Job,
        random: Stream,
        numbers: &mut Vec<u32>,
        is_trained_on: impl Fn(u32) -> bool,
    ) -> Self {
        let local = LocalExamples::new(task.examples.rows, job.examples.clone(), numbers);
        let block = Block::new(job.children.len(), local.features.len());
        let order = (0..local.len() as u32).filter(|&n| is_trained_on(n)).collect();
        NodeRun { task, job, local, random, order, pass: 0, at: 0, passed: 0, block, own: Vec::new() }
    }

    /// Whether all passes are done.
    pub fn is_done(&self) -> bool {
        self.pass == self.job.passes || self.order.is_empty()
    }

    /// Passes over as many rows, or as are left; their number.
    pub fn advance(&mut self, rows: usize) -> usize {
        let total = (self.order.len() * self.job.passes) as f32;
        let shrink = (self.task.l2 / self.order.len() as f64) as f32;
        let before = self.passed;
        while self.passed - before < rows && !self.is_done() {
            if self.at == 0 {
                self.random.shuffle(&mut self.order);
            }
            let end = self.order.len().min(self.at.saturating_add(rows - (self.passed - before)));
            for at in self.at..end {
                self.prefetch(at + 1);
                let rate = self.task.learning_rate * (1.0 - self.passed as f32 / total).max(LAST_RATE);
                self.passed += 1;
                self.step(self.order[at], rate / self.task.square);
                self.block.shrink(1.0 - rate * shrink);
            }
            self.at = end;
            if end == self.order.len() {
                (self.at, self.pass) = (0, self.pass + 1);
            }
        }
        self.passed - before
    }

    /// Moves the weights against the derivative of one example.
    fn step(&mut self, n: u32, rate: f32) {
        let NodeRun { local, block, own, job, .. } = self;
        let example = local.get(n);
        let row = local.row(example);
        let length = squares(row.values);
        let pull = |weight: f32| 2.0 * weight / (1.0 + 2.0 * weight * rate * length);
        let scores = block.scores(row);
        let way = |(child, weight): (usize, f32)| (child, pull(weight) * (1.0 - scores[child]).max(0.0));
        own.clear();
        own.extend(local.own_within(example, &job.children).map(way));
        block.step(row, own, pull(example.weight), rate);
    }

    /// Prefetches the weights of the next example, the features of the one after it, and what says where those of a
    /// later one are: in a random order, each would have to be waited for.
    fn prefetch(&self, next: usize) {
        let coming = |ahead: usize| self.order.get(next + ahead).map(|&n| self.local.get(n));
        if let Some(example) = coming(3) {
            prefetch(example);
        }
        if let Some(example) = coming(1) {
            let row = self.local.row(example);
            row.indices.iter().step_by(LINE).for_each(prefetch);
            row.values.iter().step_by(LINE).for_each(prefetch);
            self.local.first_own(example).into_iter().for_each(prefetch);
        }
        if let Some(example) = coming(0) {
            self.block.prefetch(self.local.row(example).indices);
        }
    }

    /// w_n Σ_c c_n max(0, 1 − y_nc f_c(x_n))² of an example.
    fn loss(&mut self, n: u32) -> f64 {
        let NodeRun { local, block, job, .. } = self;
        let example: &Example<'_> = local.get(n);
        let scores = &block.scores(local.row(example))[..job.children.len()];
        let lack = |margin: f32| f64::from((1.0 - margin).max(0.0)).powi(2);
        let weight = f64::from(example.weight);
        let others: f64 = scores.iter().map(|&f| weight * lack(-f)).sum();
        let own = local.own_within(example, &job.children).map(|(child, own)| (scores[child], f64::from(own)));
        others + own.map(|(f, own)| own * lack(f) - weight * lack(-f)).sum::<f64>()
    }

    /// The weights as they are now.
    pub fn weights(&self) -> Weights {
        let (children, block) = (&self.job.children, &self.block);
        let first = children.start as u16;
        let negligible = NEGLIGIBLE / self.task.square.sqrt();
        // What is no number is kept too, to be found.
        let counts = |w: f32| w.is_nan() || w.abs() >= negligible;
        let mut kept = Weights::default();
        for (&feature, weights) in self.local.features.iter().zip(block.weights()) {
            let weights = weights[..children.len()].iter().map(|w| w * block.scale);
            let count: usize = weights.clone().map(|w| usize::from(counts(w))).sum();
            if count == 0 {
                continue;
            }
            let (before, whole) = (kept.entries.len(), is_whole(count, children.len()));
            kept.entries
                .extend(weights.zip(first..).filter(|&(w, _)| whole || counts(w)).map(|(w, c)| Entry::new(c, w)));
            kept.features.push((feature, (kept.entries.len() - before) as u32));
        }
        kept
    }
}

/// What a job learned: the features with weights, rising, each with how many it has.
#[derive(Default)]
pub(super) struct Weights {
    pub features: Vec<(u32, u32)>,
    pub entries: Vec<Entry>,
}

vectorised! {
    /// ‖x‖².
    fn squares(values: &[f32]) -> f32 {
        lanes(values, values, |a, b| a * b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Examples, Labels, Rows};
    use crate::scores::sparse::BIAS;
    use crate::synthetic::{Sparse, sparse};

    const CHILDREN: usize = 20;
    const FEATURES: usize = 30;
    const L2: f64 = 0.5;

    /// Σ_n Σ_c max(0, 1 − y_nc f_c(x_n))² + λ/2 ‖w‖² and its gradient, for weights feature by feature.
    fn objective(rows: Rows<'_>, labels: &Labels, l2: f64, weights: &[f64]) -> (f64, Vec<f64>) {
        let mut sum = l2 / 2.0 * weights.iter().map(|w| w * w).sum::<f64>();
        let mut gradient: Vec<f64> = weights.iter().map(|w| l2 * w).collect();
        for n in 0..rows.len() {
            let row = rows.row(n);
            let entries =
                || row.indices.iter().map(|&d| d as usize * CHILDREN).zip(row.values.iter().map(|&x| f64::from(x)));
            for child in 0..CHILDREN {
                let y = if labels[n].contains(&(child as u32)) { 1.0 } else { -1.0 };
                let score = f64::from(BIAS) + entries().map(|(at, x)| weights[at + child] * x).sum::<f64>();
                let lack = (1.0 - y * score).max(0.0);
                sum += lack * lack;
                entries().for_each(|(at, x)| gradient[at + child] -= 2.0 * y * lack * x);
            }
        }
        (sum, gradient)
    }

    /// The bottom of the objective by plain descent, which looks at all rows and all children in every step.
    #[test]
    fn a_node_comes_to_the_bottom_of_its_objective() {
        let shape = Sparse { rows: 200, features: FEATURES, classes: CHILDREN, entries: 6, signal: 0.7 };
        let data = sparse(shape, 0, 0);
        let mut examples = NodeExamples::new(CHILDREN);
        for n in 0..data.labels.len() {
            data.labels[n].iter().for_each(|&label| examples.own(label as u16, 1.0));
            examples.end_row(n as u32, 1.0);
        }
        let task = Task { examples: Examples::of(&data), learning_rate: 0.7, l2: L2, seed: 0, square: 1.0 };
        let job = Job { examples: Arc::new(examples), children: 0..CHILDREN, passes: 48 };
        let mut run = job.start(task, Stream::of(&[1]), &mut Vec::new());
        assert_eq!(
            run.local.features.len(),
            FEATURES,
            "every feature occurs, so that local numbers are those of the data"
        );
        // In pieces of any length: the same as in one go.
        while !run.is_done() {
            run.advance(77);
        }
        let scale = run.block.scale;
        let of_feature = |weights: &[f32]| weights[..CHILDREN].iter().map(|w| f64::from(w * scale)).collect::<Vec<_>>();
        let learned: Vec<f64> = run.block.weights().flat_map(of_feature).collect();
        let mut whole = job.start(task, Stream::of(&[1]), &mut Vec::new());
        assert_eq!(whole.advance(usize::MAX), 200 * 48);
        assert!(whole.block.weights().eq(run.block.weights()));

        let at = |weights: &[f64]| objective(data.rows(), &data.labels, L2, weights);
        let mut weights = vec![0.0; FEATURES * CHILDREN];
        for _ in 0..3000 {
            let (_, gradient) = at(&weights);
            weights.iter_mut().zip(gradient).for_each(|(w, g)| *w -= 0.01 * g);
        }
        let (lacks, _) = objective(data.rows(), &data.labels, 0.0, &learned);
        let losses: f64 = (0..200).map(|n| run.loss(n)).sum();
        assert!((losses - lacks).abs() < 1e-4 * lacks, "{losses}, not {lacks}");

        let (bottom, gradient) = at(&weights);
        assert!(gradient.iter().all(|g| g.abs() < 1e-6));
        let (reached, _) = at(&learned);
        assert!(reached < 1.005 * bottom, "{reached}, not {bottom}");
    }
}
