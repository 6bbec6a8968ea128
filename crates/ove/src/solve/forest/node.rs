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
//! A child that a row is far from belonging to (f_c ≤ −1) does not move. The weights of all children of a block lie side by side for each
//! feature, in lines of the cache, so that a row moves through whole vectors.

use std::ops::{ControlFlow, Range};

use bytemuck::{Pod, Zeroable};

use super::{BLOCK, Task};
use crate::data::Row;
use crate::forest::{BIAS, Entry, is_whole};
use crate::machine::{prefetch, zeroed};
use crate::math::{lanes, vectorised};
use crate::random::Stream;

/// Rows between two looks at the watch.
const ROWS_A_REPORT: usize = 4096;

/// The rate falls in a straight line to this part of itself.
const LAST_RATE: f32 = 0.02;

/// Weights are multiples of a common scale, which the penalty shrinks; below this they are multiplied out.
const SMALLEST_SCALE: f32 = 1e-6;

/// Weights smaller than this, for rows of unit length, are not kept, unless enough others of the same feature are. Twice as many weights,
/// for half of this, change precision by less than .001.
const NEGLIGIBLE: f32 = 0.05;

/// Numbers in one line of the cache.
const LINE: usize = 16;

/// A bit for each line of a block.
type Lines = u8;
const _: () = assert!(BLOCK <= LINE * Lines::BITS as usize);

/// Weights that stay in the second-level cache (512 kB).
const IN_CACHE: usize = 1 << 17;

/// The rows that a node sees, each with the children it belongs to.
pub(super) struct Examples {
    pub children: usize,
    rows: Vec<u32>,
    row_weights: Vec<f32>,
    ends: Vec<u32>,
    own: Vec<(u16, f32)>,
}

impl Examples {
    pub fn new(children: usize) -> Self {
        Examples { children, rows: Vec::new(), row_weights: Vec::new(), ends: Vec::new(), own: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row that is being built belongs to a child, which counts so often.
    pub fn own(&mut self, child: u16, weight: f32) {
        self.own.push((child, weight));
    }

    pub fn end_row(&mut self, row: u32, weight: f32) {
        self.rows.push(row);
        self.row_weights.push(weight);
        self.ends.push(self.own.len() as u32);
    }

    /// The children that example `n` belongs to, rising.
    fn own_of(&self, n: usize) -> &[(u16, f32)] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.own[start as usize..self.ends[n] as usize]
    }
}

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
        let local = Local::new(self, numbers);
        let examples = self.examples(&local);
        let order = (0..examples.len() as u32).collect();
        let block = self.descend(random, &examples, local.features.len(), order, report);
        self.keep(&local.features, &block)
    }

    /// Trains on its rows but one of `part`, and gives the objective of those that were left out, without the penalty.
    pub fn held_out_loss(&self, random: Stream, part: usize, numbers: &mut Vec<u32>) -> f64 {
        let local = Local::new(self, numbers);
        let examples = self.examples(&local);
        let all = 0..examples.len() as u32;
        let (held_out, order): (Vec<u32>, Vec<u32>) = all.partition(|&n| (n as usize).is_multiple_of(part));
        let go_on = &mut |_| ControlFlow::Continue(());
        let mut block = self.descend(random, &examples, local.features.len(), order, go_on);
        held_out.into_iter().map(|n| self.loss(&mut block, &examples[n as usize])).sum()
    }

    /// Its examples with the node's own numbers of features.
    fn examples<'a>(&'a self, local: &'a Local) -> Vec<Example<'a>> {
        let of = |n: u32| {
            let row = self.row(n);
            let indices = local.numbered.as_ref().map_or(row.indices, |numbered| numbered.row(n));
            let weight = self.examples.row_weights[n as usize];
            Example { row: Row { indices, ..row }, own: self.examples.own_of(n as usize), weight }
        };
        (0..self.examples.len() as u32).map(of).collect()
    }

    /// w_n Σ_c c_n max(0, 1 − y_nc f_c(x_n))² of an example.
    fn loss(&self, block: &mut Block, example: &Example<'_>) -> f64 {
        block.score(example.row);
        let scores = &flat(&block.scores)[..self.children.len()];
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
        let mut block = Block::new(self.children.len().div_ceil(LINE), features);
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
                    self.step(&mut block, &examples[n as usize], rate / self.task.square);
                    block.shrink(1.0 - rate * shrink);
                }
                if report(chunk.len()).is_break() {
                    break 'passes;
                }
            }
        }
        block
    }

    /// The row of example `n`.
    fn row(&self, n: u32) -> Row<'_> {
        self.task.problem.rows.row(self.examples.rows[n as usize] as usize)
    }

    /// Moves the weights against the derivative of one example.
    fn step(&self, block: &mut Block, example: &Example<'_>, rate: f32) {
        block.score(example.row);
        // The ways of its own children need their scores, which those of the others overwrite.
        block.own.clear();
        let length = squares(example.row.values);
        let pull = |weight: f32| 2.0 * weight / (1.0 + 2.0 * weight * rate * length);
        let (scores, own) = (flat(&block.scores), example.own_within(&self.children));
        block.own.extend(own.map(|(child, weight)| (child, pull(weight) * (1.0 - scores[child]).max(0.0))));
        away(&mut block.scores, pull(example.weight));
        let ways: &mut [f32] = bytemuck::cast_slice_mut(&mut block.scores);
        block.own.iter().for_each(|&(child, way)| ways[child] = way);
        block.climb(example.row, rate / block.scale);
    }

    fn keep(&self, features: &[u32], block: &Block) -> Weights {
        let first = self.children.start as u16;
        let negligible = NEGLIGIBLE / self.task.square.sqrt();
        // What is no number is kept too, to be found.
        let counts = |w: f32| w.is_nan() || w.abs() >= negligible;
        let mut kept = Weights::default();
        for (&feature, lines) in features.iter().zip(block.weights.chunks(block.width)) {
            let weights = flat(lines)[..self.children.len()].iter().map(|w| w * block.scale);
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

/// An example with all that a step needs of it, in a line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Example<'a> {
    row: Row<'a>,
    own: &'a [(u16, f32)],
    weight: f32,
}

impl Example<'_> {
    /// Which of these children it belongs to, each with how often it counts.
    fn own_within(&self, children: &Range<usize>) -> impl Iterator<Item = (usize, f32)> {
        let own = self.own.iter().map(|&(child, weight)| (usize::from(child), weight));
        own.filter(|(child, _)| children.contains(child)).map(|(child, weight)| (child - children.start, weight))
    }
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

/// What a job learned: the features with weights, rising, each with how many it has.
#[derive(Default)]
pub(super) struct Weights {
    pub features: Vec<(u32, u32)>,
    pub entries: Vec<Entry>,
}

/// The features of a node's examples under numbers of their own, or all features where most of them occur.
struct Local {
    /// Rising.
    features: Vec<u32>,
    numbered: Option<Numbered>,
}

/// The features of examples by their numbers, one example after another.
struct Numbered {
    indices: Vec<u32>,
    ends: Vec<usize>,
}

impl Local {
    /// `numbers` is room for the number of each feature.
    fn new(job: &Job<'_>, numbers: &mut Vec<u32>) -> Self {
        let all = job.task.problem.rows.features();
        numbers.resize(all, u32::MAX);
        let rows = || (0..job.examples.len() as u32).map(|n| job.row(n).indices);
        let mut features = Vec::new();
        for &feature in rows().flatten() {
            if std::mem::replace(&mut numbers[feature as usize], 0) == u32::MAX {
                features.push(feature);
            }
        }
        let most = features.len() * 4 > all * 3;
        let numbered = (!most).then(|| {
            features.sort_unstable();
            features.iter().zip(0..).for_each(|(&feature, number)| numbers[feature as usize] = number);
            let mut indices = Vec::with_capacity(rows().map(<[u32]>::len).sum());
            let mut ends = Vec::with_capacity(job.examples.len());
            for row in rows() {
                indices.extend(row.iter().map(|&feature| numbers[feature as usize]));
                ends.push(indices.len());
            }
            Numbered { indices, ends }
        });
        features.iter().for_each(|&feature| numbers[feature as usize] = u32::MAX);
        Local { features: if most { (0..all as u32).collect() } else { features }, numbered }
    }
}

impl Numbered {
    /// The features of example `n`.
    fn row(&self, n: u32) -> &[u32] {
        let n = n as usize;
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.indices[start..self.ends[n]]
    }
}

/// Numbers of children side by side.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// The numbers one by one.
fn flat(lines: &[Line]) -> &[f32] {
    bytemuck::cast_slice(lines)
}

/// Takes the first of some lines.
#[inline(always)]
fn next(lines: &mut Lines) -> Option<usize> {
    let first = (*lines != 0).then(|| lines.trailing_zeros() as usize);
    *lines &= lines.wrapping_sub(1);
    first
}

/// The weights of a block of children, feature-major, each to be multiplied by `scale`.
struct Block {
    /// Lines of a feature.
    width: usize,
    weights: Vec<Line>,
    scale: f32,
    scores: Vec<Line>,
    /// The children of the row at hand, with the ways that they go.
    own: Vec<(usize, f32)>,
}

impl Block {
    fn new(width: usize, features: usize) -> Self {
        let (weights, scores) = (zeroed(features * width), vec![Line::default(); width]);
        Block { width, weights, scale: 1.0, scores, own: Vec::new() }
    }

    /// Asks for the weights of the next row, if they do not stay in the cache anyway.
    fn expect(&self, indices: &[u32]) {
        if self.weights.len() * LINE > IN_CACHE {
            for &feature in indices {
                let start = feature as usize * self.width;
                self.weights[start..start + self.width].iter().for_each(prefetch);
            }
        }
    }

    /// f_c(x) of all children.
    fn score(&mut self, row: Row<'_>) {
        scores(&self.weights, row.indices, row.values, self.scale, &mut self.scores);
    }

    /// Moves the children on their ways, which stand in the place of their scores. Most children of most rows do not move.
    fn climb(&mut self, row: Row<'_>, rate: f32) {
        let moving = moving(&self.scores);
        climb(&mut self.weights, row.indices, row.values, rate, &self.scores, moving);
    }

    fn shrink(&mut self, factor: f32) {
        self.scale *= factor;
        if self.scale < SMALLEST_SCALE {
            self.weights.iter_mut().flat_map(|line| &mut line.0).for_each(|w| *w *= self.scale);
            self.scale = 1.0;
        }
    }
}

vectorised! {
    /// f_c(x) of all children: as many at a time as registers hold the sums of, then the rest.
    fn scores(weights: &[Line], indices: &[u32], values: &[f32], scale: f32, scores: &mut [Line]) {
        let product = Product { weights, width: scores.len(), indices, values, scale };
        let rest = product.fill::<4>(scores);
        let rest = product.fill::<2>(rest);
        product.fill::<1>(rest);
    }
}

/// A row times the weights of the children of a block.
struct Product<'a> {
    weights: &'a [Line],
    width: usize,
    indices: &'a [u32],
    values: &'a [f32],
    scale: f32,
}

impl Product<'_> {
    /// The last lines of all scores, `N` at a time; gives back those that are left.
    #[inline(always)]
    fn fill<'s, const N: usize>(&self, scores: &'s mut [Line]) -> &'s mut [Line] {
        let first = self.width - scores.len();
        let (whole, rest) = scores.as_chunks_mut::<N>();
        for (scores, at) in whole.iter_mut().zip(0..) {
            *scores = self.sums(first + at * N);
        }
        rest
    }

    /// `N` lines of scores.
    #[inline(always)]
    fn sums<const N: usize>(&self, first: usize) -> [Line; N] {
        let mut sums = [Line([BIAS; LINE]); N];
        for (&feature, &value) in self.indices.iter().zip(self.values) {
            let start = feature as usize * self.width + first;
            for (sums, weights) in sums.iter_mut().zip(&self.weights[start..start + N]) {
                sums.add(value * self.scale, weights);
            }
        }
        sums
    }
}

impl Line {
    /// Adds others, times a value.
    #[inline(always)]
    fn add(&mut self, value: f32, others: &Line) {
        for (number, other) in self.0.iter_mut().zip(&others.0) {
            *number += value * other;
        }
    }
}

vectorised! {
    /// ‖x‖².
    fn squares(values: &[f32]) -> f32 {
        lanes(values, values, |a, b| a * b)
    }
}

vectorised! {
    /// In place of scores, the way that the other children have to go, against max(0, 1 + f).
    fn away(scores: &mut [Line], pull: f32) {
        for line in scores {
            for score in &mut line.0 {
                *score = -pull * (*score - BIAS).max(0.0);
            }
        }
    }
}

vectorised! {
    /// The lines in which at least one child moves. Which do is as good as random: without a branch.
    fn moving(ways: &[Line]) -> Lines {
        let mut lines = 0;
        for (at, line) in ways.iter().enumerate() {
            let mut moves = false;
            for &way in &line.0 {
                moves |= way != 0.0;
            }
            lines |= Lines::from(moves) << at;
        }
        lines
    }
}

vectorised! {
    /// w_c ← w_c + rate · (its way) · x, for the lines that move.
    fn climb(
        weights: &mut [Line],
        indices: &[u32],
        values: &[f32],
        rate: f32,
        ways: &[Line],
        moving: Lines,
    ) {
        for (&feature, &value) in indices.iter().zip(values) {
            let weights = &mut weights[feature as usize * ways.len()..][..ways.len()];
            let mut moving = moving;
            while let Some(line) = next(&mut moving) {
                weights[line].add(value * rate, &ways[line]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
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
        let local = Local::new(&job, &mut Vec::new());
        assert_eq!(local.features.len(), FEATURES, "every feature occurs, so that local numbers are those of the data");
        let own = job.examples(&local);
        let order = (0..examples.len() as u32).collect();
        let mut block = job.descend(Stream::of(&[1]), &own, FEATURES, order, &mut |_| ControlFlow::Continue(()));
        let learned: Vec<f64> = block
            .weights
            .chunks(block.width)
            .flat_map(|weights| flat(weights)[..CHILDREN].iter().map(|w| f64::from(w * block.scale)))
            .collect();

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
