//! The weights of a block of children, with vectorised scores and updates.
//!
//! The weights of a feature for all children are adjacent and aligned to cache lines, so that kernels run over whole
//! vectors.

use bytemuck::{Pod, Zeroable};

use super::BLOCK;
use crate::data::Row;
use crate::platform::memory::{prefetch, zeroed};
use crate::platform::simd::vectorised;
use crate::scores::sparse::BIAS;

/// Number of values per cache line.
pub(super) const LINE: usize = 16;

/// A bitmask of the lines of a block.
type Lines = u8;
const _: () = assert!(BLOCK <= LINE * Lines::BITS as usize);

/// Number of weights that fit in the second-level cache (512 kB).
const IN_CACHE: usize = 1 << 17;

/// Weights are multiplied by a common scale, which the penalty decreases; below this they are rescaled.
const SMALLEST_SCALE: f32 = 1e-6;

/// A cache line with one value per child.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// The values of some lines.
fn flat(lines: &[Line]) -> &[f32] {
    bytemuck::cast_slice(lines)
}

/// Removes the first line from a bitmask.
#[inline(always)]
fn next(lines: &mut Lines) -> Option<usize> {
    let first = (*lines != 0).then(|| lines.trailing_zeros() as usize);
    *lines &= lines.wrapping_sub(1);
    first
}

/// The weights of a block of children, feature-major, each to be multiplied by `scale`.
///
/// In a node that is trained further, they are the change from its earlier weights.
pub(super) struct Block {
    /// Number of lines per feature.
    width: usize,
    weights: Vec<Line>,
    pub scale: f32,
    /// The earlier weights; empty if there are none.
    earlier: Vec<Line>,
    scores: Vec<Line>,
}

impl Block {
    pub fn new(children: usize, features: usize) -> Self {
        let width = children.div_ceil(LINE);
        let (weights, scores) = (zeroed(features * width), vec![Line::default(); width]);
        Block { width, weights, scale: 1.0, earlier: Vec::new(), scores }
    }

    /// Starts from earlier weights, given by feature and child.
    pub fn start_from(&mut self, earlier: impl Iterator<Item = (usize, usize, f32)>) {
        self.earlier = zeroed(self.weights.len());
        for (feature, child, weight) in earlier {
            self.earlier[feature * self.width + child / LINE].0[child % LINE] = weight;
        }
    }

    /// The weights of a feature, padded with zeros to whole lines.
    pub fn weights_of(&self, feature: usize) -> impl Iterator<Item = f32> + Clone {
        let lines = feature * self.width..(feature + 1) * self.width;
        let changes = flat(&self.weights[lines.clone()]).iter().map(|w| w * self.scale);
        let earlier = self.earlier.get(lines).map_or(&[][..], flat).iter().copied();
        changes.zip(earlier.chain(std::iter::repeat(0.0))).map(|(change, earlier)| earlier + change)
    }

    /// Prefetches the weights of the next row, unless the whole block fits in the cache.
    pub fn prefetch(&self, indices: &[u32]) {
        if self.weights.len() * LINE > IN_CACHE {
            for &feature in indices {
                let start = feature as usize * self.width;
                self.weights[start..start + self.width].iter().for_each(prefetch);
                self.earlier.get(start..start + self.width).into_iter().flatten().for_each(prefetch);
            }
        }
    }

    /// f_c(x) of all children.
    pub fn scores(&mut self, row: Row<'_>) -> &[f32] {
        self.scores.fill(Line([BIAS; LINE]));
        if !self.earlier.is_empty() {
            add_scores(&self.earlier, row.indices, row.values, 1.0, &mut self.scores);
        }
        add_scores(&self.weights, row.indices, row.values, self.scale, &mut self.scores);
        flat(&self.scores)
    }

    /// Takes a gradient step for the row of the last [`Block::scores`]: positives with the given negative gradients,
    /// negatives with −`slope` times their margin violation. Most children of most rows have no violation.
    pub fn step(&mut self, row: Row<'_>, positives: &[(usize, f32)], slope: f32, rate: f32) {
        let steps: &mut [f32] = bytemuck::cast_slice_mut(&mut self.scores);
        negative_steps(steps, slope);
        positives.iter().for_each(|&(child, step)| steps[child] = step);
        let nonzero = nonzero_lines(&self.scores);
        add_steps(&mut self.weights, row.indices, row.values, rate / self.scale, &self.scores, nonzero);
    }

    /// Multiplies all weights by a factor.
    pub fn shrink(&mut self, factor: f32) {
        self.scale *= factor;
        if self.scale < SMALLEST_SCALE {
            self.weights.iter_mut().flat_map(|line| &mut line.0).for_each(|w| *w *= self.scale);
            self.scale = 1.0;
        }
    }
}

vectorised! {
    /// Adds w_c·x to the scores of all children, as many at a time as there are registers for the sums, then the rest.
    fn add_scores(weights: &[Line], indices: &[u32], values: &[f32], scale: f32, scores: &mut [Line]) {
        let product = Product { weights, width: scores.len(), indices, values, scale };
        let rest = product.fill::<4>(scores);
        let rest = product.fill::<2>(rest);
        product.fill::<1>(rest);
    }
}

/// The product of a row with the weights of a block.
struct Product<'a> {
    weights: &'a [Line],
    width: usize,
    indices: &'a [u32],
    values: &'a [f32],
    scale: f32,
}

impl Product<'_> {
    /// Adds to the last lines of all scores, `N` at a time; returns the rest.
    #[inline(always)]
    fn fill<'s, const N: usize>(&self, scores: &'s mut [Line]) -> &'s mut [Line] {
        let first = self.width - scores.len();
        let (whole, rest) = scores.as_chunks_mut::<N>();
        for (scores, at) in whole.iter_mut().zip(0..) {
            self.add_to(first + at * N, scores);
        }
        rest
    }

    /// Adds to `N` lines of scores.
    #[inline(always)]
    fn add_to<const N: usize>(&self, first: usize, scores: &mut [Line; N]) {
        let mut sums = *scores;
        for (&feature, &value) in self.indices.iter().zip(self.values) {
            let start = feature as usize * self.width + first;
            for (sums, weights) in sums.iter_mut().zip(&self.weights[start..start + N]) {
                sums.add(value * self.scale, weights);
            }
        }
        *scores = sums;
    }
}

impl Line {
    /// Adds another line times a value.
    #[inline(always)]
    fn add(&mut self, value: f32, others: &Line) {
        for (number, other) in self.0.iter_mut().zip(&others.0) {
            *number += value * other;
        }
    }
}

vectorised! {
    /// Replaces scores by the steps of negatives, −slope · max(0, 1 + f).
    fn negative_steps(scores: &mut [f32], slope: f32) {
        for score in scores {
            *score = -slope * (*score - BIAS).max(0.0);
        }
    }
}

vectorised! {
    /// The lines with at least one non-zero step, which is hard to predict, so this does not branch. From the last line
    /// to the first, the compiler vectorises within a line; from first to last, it transposes values of many lines.
    fn nonzero_lines(steps: &[Line]) -> Lines {
        let mut lines = 0;
        for line in steps.iter().rev() {
            let mut nonzero = false;
            for &step in &line.0 {
                nonzero |= step != 0.0;
            }
            lines = lines << 1 | Lines::from(nonzero);
        }
        lines
    }
}

vectorised! {
    /// w_c ← w_c + rate · step_c · x, for the lines with non-zero steps.
    fn add_steps(
        weights: &mut [Line],
        indices: &[u32],
        values: &[f32],
        rate: f32,
        steps: &[Line],
        nonzero: Lines,
    ) {
        for (&feature, &value) in indices.iter().zip(values) {
            let weights = &mut weights[feature as usize * steps.len()..][..steps.len()];
            let mut lines = nonzero;
            while let Some(line) = next(&mut lines) {
                weights[line].add(value * rate, &steps[line]);
            }
        }
    }
}
