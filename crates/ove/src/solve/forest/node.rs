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

use std::ops::{ControlFlow, Range};

use super::Task;
use super::block::{Block, LINE};
use super::examples::{Example, Examples, Local};
use crate::forest::{Entry, is_whole};
use crate::machine::prefetch;
use crate::math::{lanes, vectorised};
use crate::random::Stream;

/// Rows between two looks at the watch.
const ROWS_A_REPORT: usize = 4096;

/// The rate falls in a straight line to this part of itself.
const LAST_RATE: f32 = 0.02;

/// Weights smaller than this, for rows of unit length, are not kept, unless enough others of the same feature are. Twice as many weights,
/// for half of this, change precision by less than .001.
const NEGLIGIBLE: f32 = 0.05;

/// A block of children of one node.
pub(super) struct Job<'a> {
    pub task: Task<'a>,
    pub examples: &'a Examples,
    pub children: Range<usize>,
    pub passes: usize,
}

impl Job<'_> {
    /// Trains. `numbers` is room for a number of each feature; `report` hears how many rows were passed.
    pub fn train(
        &self,
        random: Stream,
        numbers: &mut Vec<u32>,
        report: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Weights {
        let local = Local::new(self.task.problem.rows, self.examples, numbers);
        let examples = local.examples(self.task.problem.rows, self.examples);
        let order = (0..examples.len() as u32).collect();
        let block = self.descend(random, &examples, local.features.len(), order, report);
        self.keep(&local.features, &block)
    }

    /// Trains on its rows but one of `part`, and gives the objective of those that were left out, without the penalty.
    pub fn held_out_loss(&self, random: Stream, part: usize, numbers: &mut Vec<u32>) -> f64 {
        let local = Local::new(self.task.problem.rows, self.examples, numbers);
        let examples = local.examples(self.task.problem.rows, self.examples);
        let all = 0..examples.len() as u32;
        let (held_out, order): (Vec<u32>, Vec<u32>) = all.partition(|&n| (n as usize).is_multiple_of(part));
        let go_on = &mut |_| ControlFlow::Continue(());
        let mut block = self.descend(random, &examples, local.features.len(), order, go_on);
        held_out.into_iter().map(|n| self.loss(&mut block, &examples[n as usize])).sum()
    }

    /// w_n Σ_c c_n max(0, 1 − y_nc f_c(x_n))² of an example.
    fn loss(&self, block: &mut Block, example: &Example<'_>) -> f64 {
        let scores = &block.scores(example.row)[..self.children.len()];
        let lack = |margin: f32| f64::from((1.0 - margin).max(0.0)).powi(2);
        let weight = f64::from(example.weight);
        let others: f64 = scores.iter().map(|&f| weight * lack(-f)).sum();
        let own = example.own_within(&self.children).map(|(child, own)| (scores[child], f64::from(own)));
        others + own.map(|(f, own)| own * lack(f) - weight * lack(-f)).sum::<f64>()
    }

    fn descend(
        &self,
        mut random: Stream,
        examples: &[Example<'_>],
        features: usize,
        mut order: Vec<u32>,
        report: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Block {
        let (mut block, mut own) = (Block::new(self.children.len(), features), Vec::new());
        let total = (order.len() * self.passes) as f32;
        let shrink = (self.task.options.l2 / order.len() as f64) as f32;
        let mut passed = 0;
        'passes: for _ in 0..self.passes {
            random.shuffle(&mut order);
            for chunk in order.chunks(ROWS_A_REPORT) {
                for (at, &n) in chunk.iter().enumerate() {
                    expect(&chunk[at + 1..], examples, &block);
                    let rate = self.task.options.learning_rate as f32 * (1.0 - passed as f32 / total).max(LAST_RATE);
                    passed += 1;
                    self.step(&mut block, &examples[n as usize], rate / self.task.square, &mut own);
                    block.shrink(1.0 - rate * shrink);
                }
                if report(chunk.len()).is_break() {
                    break 'passes;
                }
            }
        }
        block
    }

    /// Moves the weights against the derivative of one example. `own` is room for its own children.
    fn step(&self, block: &mut Block, example: &Example<'_>, rate: f32, own: &mut Vec<(usize, f32)>) {
        let length = squares(example.row.values);
        let pull = |weight: f32| 2.0 * weight / (1.0 + 2.0 * weight * rate * length);
        let scores = block.scores(example.row);
        let way = |(child, weight): (usize, f32)| (child, pull(weight) * (1.0 - scores[child]).max(0.0));
        own.clear();
        own.extend(example.own_within(&self.children).map(way));
        block.step(example.row, own, pull(example.weight), rate);
    }

    fn keep(&self, features: &[u32], block: &Block) -> Weights {
        let first = self.children.start as u16;
        let negligible = NEGLIGIBLE / self.task.square.sqrt();
        // What is no number is kept too, to be found.
        let counts = |w: f32| w.is_nan() || w.abs() >= negligible;
        let mut kept = Weights::default();
        for (&feature, weights) in features.iter().zip(block.weights()) {
            let weights = weights[..self.children.len()].iter().map(|w| w * block.scale);
            let count: usize = weights.clone().map(|w| usize::from(counts(w))).sum();
            if count == 0 {
                continue;
            }
            let (before, whole) = (kept.entries.len(), is_whole(count, self.children.len()));
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

/// Asks for the weights of the next example, for the features of the one after it, and for what tells where those of a later one are: in a
/// random order, each would have to be waited for.
fn expect(coming: &[u32], examples: &[Example<'_>], block: &Block) {
    if let Some(&n) = coming.get(3) {
        prefetch(&examples[n as usize]);
    }
    if let Some(&n) = coming.get(1) {
        let Example { row, own, .. } = &examples[n as usize];
        row.indices.iter().step_by(LINE).for_each(prefetch);
        row.values.iter().step_by(LINE).for_each(prefetch);
        own.first().into_iter().for_each(prefetch);
    }
    if let Some(&n) = coming.first() {
        block.expect(examples[n as usize].row.indices);
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
    use crate::data::Rows;
    use crate::forest::BIAS;
    use crate::options::ForestOptions;
    use crate::solve::Problem;
    use crate::synthetic::{Sparse, sparse};

    const CHILDREN: usize = 20;
    const FEATURES: usize = 30;

    /// Σ_n Σ_c max(0, 1 − y_nc f_c(x_n))² + λ/2 ‖w‖² and its gradient, for weights feature by feature.
    fn objective(rows: Rows<'_>, labels: &crate::Labels, l2: f64, weights: &[f64]) -> (f64, Vec<f64>) {
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
        let mut examples = Examples::new(CHILDREN);
        for n in 0..data.labels.len() {
            data.labels[n].iter().for_each(|&label| examples.own(label as u16, 1.0));
            examples.end_row(n as u32, 1.0);
        }
        let options = ForestOptions { l2: 0.5, ..ForestOptions::default() };
        let task = Task { problem: &Problem::of(&data), options: &options, square: 1.0 };
        let job = Job { task, examples: &examples, children: 0..CHILDREN, passes: 48 };
        let local = Local::new(data.rows(), &examples, &mut Vec::new());
        assert_eq!(local.features.len(), FEATURES, "every feature occurs, so that local numbers are those of the data");
        let own = local.examples(data.rows(), &examples);
        let order = (0..examples.len() as u32).collect();
        let mut block = job.descend(Stream::of(&[1]), &own, FEATURES, order, &mut |_| ControlFlow::Continue(()));
        let of_feature =
            |weights: &[f32]| weights[..CHILDREN].iter().map(|w| f64::from(w * block.scale)).collect::<Vec<_>>();
        let learned: Vec<f64> = block.weights().flat_map(of_feature).collect();

        let at = |weights: &[f64]| objective(data.rows(), &data.labels, options.l2, weights);
        let mut weights = vec![0.0; FEATURES * CHILDREN];
        for _ in 0..3000 {
            let (_, gradient) = at(&weights);
            weights.iter_mut().zip(gradient).for_each(|(w, g)| *w -= 0.01 * g);
        }
        let (lacks, _) = objective(data.rows(), &data.labels, 0.0, &learned);
        let losses: f64 = own.iter().map(|example| job.loss(&mut block, example)).sum();
        assert!((losses - lacks).abs() < 1e-4 * lacks, "{losses}, not {lacks}");

        let (bottom, gradient) = at(&weights);
        assert!(gradient.iter().all(|g| g.abs() < 1e-6));
        let (reached, _) = at(&learned);
        assert!(reached < 1.005 * bottom, "{reached}, not {bottom}");
    }
}
