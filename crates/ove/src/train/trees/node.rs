//! Trains the scores of a node's children: one-vs-rest with the squared hinge loss, by stochastic gradient descent.
//!
//! ```text
//! Σ_n w_n Σ_c c_n max(0, 1 − y_nc f_c(x_n))²  +  λ/2 Σ_c ‖w_c‖²          y_nc = 1 for positives, −1 for negatives
//! ```
//!
//! Steps are implicit: the derivative 2 w (1 − y f) is evaluated at the end of the step, which divides it by
//! 1 + 2 w η ‖x‖². For any learning rate, weight and row, no step overshoots the margin.
//!
//! Learning rate, penalty and pruning threshold refer to rows of unit length: with m the mean ‖x‖², w_c is replaced by
//! w_c √m and x by x/√m. Rows in other units thus get the same scores.
//!
//! A negative outside the margin (f_c ≤ −1) has no gradient.
//!
//! A node that has weights v_c of earlier rows is trained further on new ones with the penalty κλ/2 Σ_c ‖w_c − v_c‖²
//! instead (`continuation`).

use std::ops::Range;
use std::sync::Arc;

use super::block::{Block, LINE};
use super::node_examples::{Example, LocalExamples, NodeExamples};
use super::{L2, Task};
use crate::platform::math::lanes;
use crate::platform::memory::prefetch;
use crate::platform::random::Stream;
use crate::platform::simd::vectorised;
use crate::scores::sparse::{Entry, is_whole};
use crate::train::validation::firsts;

/// The learning rate decays linearly to this fraction of itself.
const LAST_RATE: f32 = 0.02;

/// Weights smaller than this, for rows of unit length and the default penalty, are pruned, unless enough others of the
/// same feature are kept. Half of this gives twice as many weights and changes precision by less than .001.
const NEGLIGIBLE: f32 = 0.05;

/// The threshold for a penalty: a larger one makes all weights of rare features smaller in proportion. One node with λ
/// = 1 has precision@1 .670 with .05, .674 with .01 (mean of three samples of 500 rows of 20 newsgroups).
fn negligible(l2: f64) -> f32 {
    NEGLIGIBLE * (L2 / l2.max(L2)) as f32
}

/// κ: how much more a change of earlier weights costs than weights in a new node.
///
/// With the last tenth of 150,000 titles, P@1, 3, 5 on development rows are .283 .172 .126 with 1, .293 .179 .131 with
/// 10 and .297 .181 .132 with 100, where the earlier trees have .294 .179 .130 and those of all rows .302 .184 .134.
const STIFFNESS: f64 = 100.0;

/// A block of children of one node, to be trained.
#[derive(Clone)]
pub(super) struct Job {
    pub examples: Arc<NodeExamples>,
    pub children: Range<usize>,
    pub epochs: usize,
    /// The weight of negatives beside that of positives.
    pub negatives: f32,
    /// The weights of earlier rows, if the node is trained further.
    pub earlier: Option<Arc<Weights>>,
}

/// A job in progress, which can be paused after any row.
pub(super) struct NodeRun<'a> {
    task: Task<'a>,
    job: Job,
    local: LocalExamples<'a>,
    random: Stream,
    /// The order of the examples in this epoch.
    order: Vec<u32>,
    /// Epochs done, examples of this epoch done, and examples done in all epochs.
    epoch: usize,
    at: usize,
    passed: usize,
    block: Block,
    positives: Vec<(usize, f32)>,
}

impl Job {
    /// Starts the job. `numbers` is a buffer with a number per feature.
    pub fn start<'a>(&self, task: Task<'a>, random: Stream, numbers: &mut Vec<u32>) -> NodeRun<'a> {
        NodeRun::new(task, self.clone(), random, numbers, |_| true)
    }

    /// Trains on all but one row in `one_in`, and returns the loss of the held-out rows without the penalty. Rows of
    /// the same content stay together.
    pub fn held_out_loss(&self, task: Task<'_>, random: Stream, one_in: usize, numbers: &mut Vec<u32>) -> f64 {
        let group = firsts(&task.examples.with_index(self.examples.rows()));
        let is_held_out = |n: u32| (group[n as usize] as usize).is_multiple_of(one_in);
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
        let local = LocalExamples::new(&task.examples, task.view, job.examples.clone(), numbers);
        let mut block = Block::new(job.children.len(), local.features.len());
        if let Some(earlier) = &job.earlier {
            block.start_from(of_features(earlier, &local.features, job.children.start));
        }
        let order = (0..local.len() as u32).filter(|&n| is_trained_on(n)).collect();
        NodeRun { task, job, local, random, order, epoch: 0, at: 0, passed: 0, block, positives: Vec::new() }
    }

    /// Whether all epochs are done.
    pub fn is_done(&self) -> bool {
        self.epoch == self.job.epochs || self.order.is_empty()
    }

    /// Trains on the next `rows` rows, or those that are left; returns their number.
    pub fn advance(&mut self, rows: usize) -> usize {
        let total = (self.order.len() * self.job.epochs) as f32;
        let l2 = if self.job.earlier.is_some() { STIFFNESS * self.task.l2 } else { self.task.l2 };
        let shrink = (l2 / self.order.len() as f64) as f32;
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
                (self.at, self.epoch) = (0, self.epoch + 1);
            }
        }
        self.passed - before
    }

    /// Takes a gradient step for one example.
    fn step(&mut self, n: u32, rate: f32) {
        let NodeRun { local, block, positives, job, .. } = self;
        let example = local.get(n);
        let row = local.row(example);
        let length = squares(row.values);
        let slope = |weight: f32| 2.0 * weight / (1.0 + 2.0 * weight * rate * length);
        let scores = block.scores(row);
        let step = |(child, weight): (usize, f32)| (child, slope(weight) * (1.0 - scores[child]).max(0.0));
        positives.clear();
        positives.extend(local.positives_within(example, &job.children).map(step));
        block.step(row, positives, slope(example.weight * self.job.negatives), rate);
    }

    /// Prefetches the weights of the next example, the features of the one after it, and the [`Example`] of a later
    /// one: in random order, none of them is in a cache.
    fn prefetch(&self, next: usize) {
        let example_at = |ahead: usize| self.order.get(next + ahead).map(|&n| self.local.get(n));
        if let Some(example) = example_at(3) {
            prefetch(example);
        }
        if let Some(example) = example_at(1) {
            let row = self.local.row(example);
            row.indices.iter().step_by(LINE).for_each(prefetch);
            row.values.iter().step_by(LINE).for_each(prefetch);
            self.local.first_positive(example).into_iter().for_each(prefetch);
        }
        if let Some(example) = example_at(0) {
            self.block.prefetch(self.local.row(example).indices);
        }
    }

    /// w_n Σ_c c_n max(0, 1 − y_nc f_c(x_n))² of an example.
    fn loss(&mut self, n: u32) -> f64 {
        let NodeRun { local, block, job, .. } = self;
        let example: &Example = local.get(n);
        let scores = &block.scores(local.row(example))[..job.children.len()];
        let squared_hinge = |margin: f32| f64::from((1.0 - margin).max(0.0)).powi(2);
        let weight = f64::from(example.weight);
        // As if all children were negatives, corrected for the positives.
        let negatives: f64 = scores.iter().map(|&f| weight * squared_hinge(-f)).sum();
        let positives = local.positives_within(example, &job.children);
        let positives = positives.map(|(child, own)| (scores[child], f64::from(own)));
        negatives + positives.map(|(f, own)| own * squared_hinge(f) - weight * squared_hinge(-f)).sum::<f64>()
    }

    /// The current weights, pruned.
    pub fn weights(&self) -> Weights {
        let (children, block) = (&self.job.children, &self.block);
        let first = children.start as u16;
        let negligible = negligible(self.task.l2) / self.task.square.sqrt();
        // NaN is kept, so that divergence is detected.
        let is_kept = |w: f32| w.is_nan() || w.abs() >= negligible;
        // Features that do not occur in the rows keep their weights.
        let (mut kept, mut earlier) = (Weights::default(), self.job.earlier.as_deref().map(Weights::cells));
        let mut earlier = earlier.iter_mut().flatten().peekable();
        for (local, &feature) in self.local.features.iter().enumerate() {
            while let Some((other, entries)) = earlier.next_if(|&(other, _)| other < feature) {
                kept.push(other, entries);
            }
            earlier.next_if(|&(other, _)| other == feature);
            let weights = block.weights_of(local).take(children.len());
            let count: usize = weights.clone().map(|w| usize::from(is_kept(w))).sum();
            if count == 0 {
                continue;
            }
            let (before, whole) = (kept.entries.len(), is_whole(count, children.len()));
            kept.entries
                .extend(weights.zip(first..).filter(|&(w, _)| whole || is_kept(w)).map(|(w, c)| Entry::new(c, w)));
            kept.features.push((feature, (kept.entries.len() - before) as u32));
        }
        earlier.for_each(|(feature, entries)| kept.push(feature, entries));
        kept
    }
}

/// The weights of some features, by the index of the feature and the number of the child in a block.
fn of_features<'a>(
    weights: &'a Weights,
    features: &'a [u32],
    first: usize,
) -> impl Iterator<Item = (usize, usize, f32)> + 'a {
    let of_cell = move |(feature, entries): (u32, &'a [Entry])| {
        let local = features.binary_search(&feature).ok();
        let each = move |local| entries.iter().map(move |entry| (local, entry.child() - first, entry.weight()));
        local.into_iter().flat_map(each)
    };
    weights.cells().flat_map(of_cell)
}

/// The weights of a job: features in increasing order, each with its number of entries.
#[derive(Default)]
pub(super) struct Weights {
    pub features: Vec<(u32, u32)>,
    pub entries: Vec<Entry>,
}

impl Weights {
    /// Appends the weights of a feature, unless there are none.
    pub fn push(&mut self, feature: u32, entries: &[Entry]) {
        if !entries.is_empty() {
            self.features.push((feature, entries.len() as u32));
            self.entries.extend_from_slice(entries);
        }
    }

    /// The features, each with its weights.
    pub fn cells(&self) -> impl Iterator<Item = (u32, &[Entry])> {
        let mut rest = &self.entries[..];
        let cell = move |&(feature, count): &(u32, u32)| {
            (feature, rest.split_off(..count as usize).expect("as many as were counted"))
        };
        self.features.iter().map(cell)
    }
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
    use crate::data::{Examples, Labels, Rows, View};
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
                let violation = (1.0 - y * score).max(0.0);
                sum += violation * violation;
                entries().for_each(|(at, x)| gradient[at + child] -= 2.0 * y * violation * x);
            }
        }
        (sum, gradient)
    }

    /// Compares with the minimum by plain gradient descent on all rows and all children.
    #[test]
    fn a_node_reaches_the_minimum_of_its_objective() {
        let shape = Sparse { rows: 200, features: FEATURES, classes: CHILDREN, entries: 6, signal: 0.7 };
        let data = sparse(shape, 0, 0);
        let mut examples = NodeExamples::new(CHILDREN);
        for n in 0..data.labels.len() {
            data.labels[n].iter().for_each(|&label| examples.push_positive(label as u16, 1.0));
            examples.end_row(n as u32, 1.0);
        }
        let task =
            Task { examples: Examples::of(&data), learning_rate: 0.7, l2: L2, seed: 0, square: 1.0, view: View::ALL };
        let job =
            Job { examples: Arc::new(examples), children: 0..CHILDREN, epochs: 48, negatives: 1.0, earlier: None };
        let mut run = job.start(task, Stream::of(&[1]), &mut Vec::new());
        assert_eq!(
            run.local.features.len(),
            FEATURES,
            "every feature occurs, so that local numbers are those of the data"
        );
        // In steps of any length: the same as at once.
        while !run.is_done() {
            run.advance(77);
        }
        let learned_by = |run: &NodeRun<'_>| -> Vec<f64> {
            let of_feature = |feature| run.block.weights_of(feature).take(CHILDREN).map(f64::from).collect::<Vec<_>>();
            (0..FEATURES).flat_map(of_feature).collect()
        };
        let learned = learned_by(&run);
        let mut whole = job.start(task, Stream::of(&[1]), &mut Vec::new());
        assert_eq!(whole.advance(usize::MAX), 200 * 48);
        assert_eq!(learned_by(&whole), learned);

        let at = |weights: &[f64]| objective(data.rows(), &data.labels, L2, weights);
        let mut weights = vec![0.0; FEATURES * CHILDREN];
        for _ in 0..3000 {
            let (_, gradient) = at(&weights);
            weights.iter_mut().zip(gradient).for_each(|(w, g)| *w -= 0.01 * g);
        }
        let (expected, _) = objective(data.rows(), &data.labels, 0.0, &learned);
        let losses: f64 = (0..200).map(|n| run.loss(n)).sum();
        assert!((losses - expected).abs() < 1e-4 * expected, "{losses}, not {expected}");

        let (minimum, gradient) = at(&weights);
        assert!(gradient.iter().all(|g| g.abs() < 1e-6));
        let (reached, _) = at(&learned);
        assert!(reached < 1.005 * minimum, "{reached}, not {minimum}");
    }
}
