//! The weights of a block of children, and what a row does to them.
//!
//! For each feature the weights of all children lie side by side, in lines of the cache, so that a row moves through whole vectors.

use bytemuck::{Pod, Zeroable};

use super::BLOCK;
use crate::data::Row;
use crate::platform::memory::{prefetch, zeroed};
use crate::platform::simd::vectorised;
use crate::scores::sparse::BIAS;

/// MappedSlice in one line of the cache.
pub(super) const LINE: usize = 16;

/// A bit for each line of a block.
type Lines = u8;
const _: () = assert!(BLOCK <= LINE * Lines::BITS as usize);

/// Weights that stay in the second-level cache (512 kB).
const IN_CACHE: usize = 1 << 17;

/// Weights are multiples of a common scale, which the penalty shrinks; below this they are multiplied out.
const SMALLEST_SCALE: f32 = 1e-6;

/// MappedSlice of children side by side.
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
pub(super) struct Block {
    /// Lines of a feature.
    width: usize,
    weights: Vec<Line>,
    pub scale: f32,
    scores: Vec<Line>,
}

impl Block {
    pub fn new(children: usize, features: usize) -> Self {
        let width = children.div_ceil(LINE);
        Block { width, weights: zeroed(features * width), scale: 1.0, scores: vec![Line::default(); width] }
    }

    /// The weights of each feature, to be multiplied by `scale`, with zeros to the end of their last line.
    pub fn weights(&self) -> impl Iterator<Item = &[f32]> {
        self.weights.chunks(self.width).map(flat)
    }

    /// Prefetches the weights of the next row, if they do not stay in the cache anyway.
    pub fn prefetch(&self, indices: &[u32]) {
        if self.weights.len() * LINE > IN_CACHE {
            for &feature in indices {
                let start = feature as usize * self.width;
                self.weights[start..start + self.width].iter().for_each(prefetch);
            }
        }
    }

    /// f_c(x) of all children.
    pub fn scores(&mut self, row: Row<'_>) -> &[f32] {
        scores(&self.weights, row.indices, row.values, self.scale, &mut self.scores);
        flat(&self.scores)
    }

    /// Moves the children of the row whose scores were last asked for: its own by these ways, the others away, by `pull` for each unit
    /// that they lack. Most children of most rows do not move.
    pub fn step(&mut self, row: Row<'_>, own: &[(usize, f32)], pull: f32, rate: f32) {
        let ways: &mut [f32] = bytemuck::cast_slice_mut(&mut self.scores);
        away(ways, pull);
        own.iter().for_each(|&(child, way)| ways[child] = way);
        let moving = moving(&self.scores);
        climb(&mut self.weights, row.indices, row.values, rate / self.scale, &self.scores, moving);
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
    /// In place of scores, the way that the other children have to go, against max(0, 1 + f).
    fn away(scores: &mut [f32], pull: f32) {
        for score in scores {
            *score = -pull * (*score - BIAS).max(0.0);
        }
    }
}

vectorised! {
    /// The lines in which at least one child moves. Which do is as good as random: without a branch. From the last line to the first, each
    /// shifting those after it, the compiler takes a line at a time as vectors; from the first on, it takes numbers of many lines crosswise.
    fn moving(ways: &[Line]) -> Lines {
        let mut lines = 0;
        for line in ways.iter().rev() {
            let mut moves = false;
            for &way in &line.0 {
                moves |= way != 0.0;
            }
            lines = lines << 1 | Lines::from(moves);
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
