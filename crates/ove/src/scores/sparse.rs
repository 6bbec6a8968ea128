//! Sparse linear scores for the children of nodes: one level of a tree, or blocks of classes.
//!
//! Weights are ordered by node, then feature, then child, so that a node is contiguous and can be used for many rows
//! while it is in a cache. The weights of a node for one feature form a cell, which has the weights of all children or
//! pairs of a child and its weight:
//!
//! ```text
//! starts    node 0: 0             node 1: 2         …      first cell of each node
//! features  3      17             17                …      feature of each cell
//! ends      2      5              7                 …      end of its weights
//! weights   0,.7   .2,0,−.4       2,1.3             …
//! ```
//!
//! In a node with a cell for every feature, empty ones included, the feature is the index of its cell.

mod entries;
mod rank_bitmap;

use std::ops::Range;

use rayon::prelude::*;

use self::entries::Cell;
pub use self::entries::Entry;
pub(crate) use self::entries::is_whole;
pub use self::rank_bitmap::RankBitmap;
use crate::data::Row;
use crate::io::tensors::Tensor;
use crate::platform::mapped_slice::MappedSlice;
use crate::platform::memory::prefetch;
use crate::platform::simd::vectorised;

/// Name of the tensor with the weights; only sparse scores have it.
pub(crate) const CELL_WEIGHTS: &str = "cell_weights";

/// The bias of every child of a tree node: the margin of a negative row.
pub(crate) const BIAS: f32 = -1.0;

/// Sparse linear scores for the children of nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseBlocks {
    /// Number of features.
    features: usize,
    /// The first child of each node among the children of all, and the end of the last.
    children: Vec<usize>,
    parts: Parts,
}

/// The arrays of [`SparseBlocks`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    /// The first cell of each node, and the end of the last.
    pub starts: MappedSlice<u32>,
    /// The feature of each cell.
    pub features: MappedSlice<u32>,
    /// The end of the weights of each cell.
    pub ends: MappedSlice<u32>,
    /// The weights of all cells.
    pub weights: MappedSlice<u16>,
}

/// The same arrays as slices, dereferenced once.
#[derive(Clone, Copy)]
struct View<'a> {
    children: &'a [usize],
    starts: &'a [u32],
    features: &'a [u32],
    ends: &'a [u32],
    weights: &'a [u16],
}

/// A cell of a feature of a row: its weights are added to the row's scores, times the value of the feature.
#[derive(Clone, Copy, Default)]
struct Found {
    cell: usize,
    scores: usize,
    value: f32,
}

vectorised! {
    /// Adds the weights of cells of a node with the given number of children.
    fn add(view: View<'_>, children: usize, found: &[Found], scores: &mut [f32]) {
        for found in found {
            for weights in view.weights_of(found.cell).chunks(LINE) {
                prefetch(&weights[0]);
            }
        }
        for &Found { cell, scores: start, value } in found {
            Cell::of(view.weights_of(cell), children).add(value, &mut scores[start..start + children]);
        }
    }
}

/// Number of cells whose weights are prefetched before any of them is added.
///
/// The weights do not fit in the caches, and waiting for them one by one takes most of the time of a prediction.
const PREFETCHED: usize = 64;

/// Number of weights per cache line.
const LINE: usize = 32;

/// Cost of a binary search, in features inserted into a [`RankBitmap`].
const SEARCH_COST: usize = 16;

impl<'a> View<'a> {
    /// The cells of a node.
    #[inline]
    fn cells(&self, node: usize) -> Range<usize> {
        self.starts[node] as usize..self.starts[node + 1] as usize
    }

    #[inline]
    fn weights_of(&self, cell: usize) -> &'a [u16] {
        let start = if cell == 0 { 0 } else { self.ends[cell - 1] };
        &self.weights[start as usize..self.ends[cell] as usize]
    }

    /// Number of children of a node.
    fn width(&self, node: usize) -> usize {
        self.children[node + 1] - self.children[node]
    }

    /// The features of a node, each with its weights.
    fn node(self, node: usize) -> impl Iterator<Item = (u32, Cell<'a>)> {
        let width = self.width(node);
        self.cells(node).map(move |cell| (self.features[cell], Cell::of(self.weights_of(cell), width)))
    }

    /// Checks that the weights of a node are in order and belong to existing features and children.
    fn check(&self, node: usize, features: usize) -> Result<(), &'static str> {
        let own = &self.features[self.cells(node)];
        if !own.is_sorted_by(|a, b| a < b) {
            return Err("a node whose features do not rise");
        }
        if own.last().is_some_and(|&last| last as usize >= features) {
            return Err("a feature that is not there");
        }
        self.cells(node).try_for_each(|cell| Cell::check(self.weights_of(cell), self.width(node)))
    }
}

/// Finds the cells of a node.
trait Find {
    /// The index of the cell of a feature within the node, and whether it exists. Which features have a cell is hard to
    /// predict, so this should not branch.
    fn find(&self, feature: u32) -> (usize, bool);
}

/// For a node with a cell for every feature.
struct All;

impl Find for All {
    #[inline(always)]
    fn find(&self, feature: u32) -> (usize, bool) {
        (feature as usize, true)
    }
}

impl Find for RankBitmap {
    #[inline(always)]
    fn find(&self, feature: u32) -> (usize, bool) {
        self.rank(feature)
    }
}

/// By binary search among the features.
impl Find for [u32] {
    #[inline(always)]
    fn find(&self, feature: u32) -> (usize, bool) {
        self.binary_search(&feature).map_or((0, false), |at| (at, true))
    }
}

/// The fastest way to find the cells of a node, for the given rows.
enum Finder<'a> {
    All,
    RankBitmap(&'a RankBitmap),
    Search(&'a [u32]),
}

vectorised! {
    /// Adds the weights of a node for the features of some rows.
    fn add_rows(view: View<'_>, node: usize, finder: Finder<'_>, rows: &[Row<'_>], scores: &mut [f32]) {
        match finder {
            Finder::All => add_found(view, node, &All, rows, scores),
            Finder::RankBitmap(index) => add_found(view, node, index, rows, scores),
            Finder::Search(features) => add_found(view, node, features, rows, scores),
        }
    }
}

#[inline(always)]
fn add_found(view: View<'_>, node: usize, finder: &(impl Find + ?Sized), rows: &[Row<'_>], scores: &mut [f32]) {
    let (first, width) = (view.cells(node).start, view.width(node));
    let (mut found, mut count) = ([Found::default(); PREFETCHED], 0);
    for (row, start) in rows.iter().zip((0..).step_by(width)) {
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            let (at, is_there) = finder.find(feature);
            if let Some(end) = view.ends.get(first + at) {
                prefetch(end);
            }
            found[count] = Found { cell: first + at, scores: start, value };
            count += usize::from(is_there);
            if count == PREFETCHED {
                add(view, width, &found, scores);
                count = 0;
            }
        }
    }
    add(view, width, &found[..count], scores);
}

impl SparseBlocks {
    /// From arrays, after a check that they are consistent. `children` is the first child of each node, and the end of
    /// the last.
    pub fn new(features: usize, children: Vec<usize>, parts: Parts) -> Result<Self, &'static str> {
        let level = SparseBlocks { features, children, parts };
        let view = level.view();
        let last = |numbers: &[u32]| numbers.last().copied().unwrap_or(0) as usize;
        if view.starts.first() != Some(&0)
            || view.starts.len() != level.children.len()
            || last(view.starts) != view.features.len()
            || view.features.len() != view.ends.len()
        {
            return Err("nodes and features that do not match");
        }
        if last(view.ends) != view.weights.len() {
            return Err("features and weights that do not match");
        }
        if !view.starts.is_sorted() || !view.ends.is_sorted() {
            return Err("weights that are not in order");
        }
        (0..level.nodes()).into_par_iter().try_for_each(|node| view.check(node, features))?;
        Ok(level)
    }

    fn view(&self) -> View<'_> {
        let Parts { starts, features, ends, weights } = &self.parts;
        View { children: &self.children, starts, features, ends, weights }
    }

    /// Number of non-zero weights.
    pub fn weights(&self) -> usize {
        let view = self.view();
        (0..self.nodes()).into_par_iter().map(|node| view.node(node).map(|(_, cell)| cell.count()).sum::<usize>()).sum()
    }

    /// All non-zero weights with their nodes and features, in order.
    pub fn entries(&self) -> impl Iterator<Item = (usize, u32, Entry)> {
        let view = self.view();
        (0..self.nodes()).flat_map(move |node| {
            view.node(node).flat_map(move |(feature, cell)| cell.entries().map(move |entry| (node, feature, entry)))
        })
    }

    /// The features of a node in increasing order, each with its non-zero weights by child.
    pub(crate) fn cells(&self, node: usize) -> impl Iterator<Item = (u32, impl Iterator<Item = Entry>)> {
        self.view().node(node).map(|(feature, cell)| (feature, cell.entries()))
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.children.len() - 1
    }

    /// The first child of each node among the children of all, and the end of the last.
    pub fn children(&self) -> &[usize] {
        &self.children
    }

    /// Drops the weights below a threshold.
    pub fn prune(&mut self, threshold: f32) {
        let view = self.view();
        let (mut builder, mut kept) = (Builder::new(self.features, self.children.clone()), Vec::new());
        for node in 0..self.nodes() {
            let whole = view.cells(node).len() == self.features;
            for (feature, cell) in view.node(node) {
                kept.clear();
                kept.extend(cell.entries().filter(|entry| entry.weight().abs() >= threshold));
                if whole || !kept.is_empty() {
                    builder.push(feature, &kept);
                }
            }
            builder.end_node();
        }
        *self = builder.build().expect("no more weights than there were");
    }

    /// Multiplies all weights by a factor.
    pub fn scale(&mut self, factor: f32) {
        let view = self.view();
        let (mut builder, mut scaled) = (Builder::new(self.features, self.children.clone()), Vec::new());
        for node in 0..self.nodes() {
            for (feature, cell) in view.node(node) {
                scaled.clear();
                scaled.extend(cell.entries().map(|entry| Entry::new(entry.child() as u16, entry.weight() * factor)));
                builder.push(feature, &scaled);
            }
            builder.end_node();
        }
        *self = builder.build().expect("as many weights as there were");
    }

    /// The arrays of several levels, concatenated as tensors.
    ///
    /// ```text
    /// starts       nodes + levels   first cell of each node of a level, and the end of the last
    /// features     cells            feature of each cell
    /// ends         cells            end of the weights of each cell within its level
    /// cell_weights weights          16 bits each: if a cell has as many as its node has children, their weights as
    ///                               bf16; otherwise a child, its weight, the next child, …
    /// ```
    pub(crate) fn tensors<'a>(all: &[&'a SparseBlocks]) -> Vec<Tensor<'a>> {
        fn joined<'a, T: bytemuck::Pod>(
            name: &'static str,
            dtype: &'static str,
            all: &[&'a SparseBlocks],
            of: impl Fn(&'a Parts) -> &'a [T],
        ) -> Tensor<'a> {
            let lists: Vec<&[T]> = all.iter().map(|blocks| of(&blocks.parts)).collect();
            let shape = vec![lists.iter().map(|list| list.len()).sum()];
            let pieces = lists.into_iter().map(|list| bytemuck::cast_slice(list).into()).collect();
            Tensor { name: name.into(), dtype, shape, pieces }
        }
        vec![
            joined("starts", "U32", all, |parts| &parts.starts),
            joined("features", "U32", all, |parts| &parts.features),
            joined("ends", "U32", all, |parts| &parts.ends),
            joined(CELL_WEIGHTS, "U16", all, |parts| &parts.weights),
        ]
    }

    /// Adds w_c·x to the scores of the children of a node, row by row. All features of the rows must be in range.
    pub fn add(&self, node: usize, rows: &[Row<'_>], index: &mut RankBitmap, scores: &mut [f32]) {
        let view = self.view();
        let own = &view.features[view.cells(node)];
        let entries: usize = rows.iter().map(|row| row.indices.len()).sum();
        let finder = if own.len() == self.features {
            Finder::All
        } else if entries * SEARCH_COST > own.len() + self.features / 64 {
            index.fill(own, self.features);
            Finder::RankBitmap(index)
        } else {
            Finder::Search(own)
        };
        add_rows(view, node, finder, rows, scores);
    }

    /// Negative energies −E_c(x) of the children of a node, row by row: E = (margin violation)² = max(0, 1 − f)².
    pub fn energies(&self, node: usize, rows: &[Row<'_>], index: &mut RankBitmap, out: &mut Vec<f32>) {
        out.clear();
        out.resize(rows.len() * self.view().width(node), BIAS);
        self.add(node, rows, index, out);
        for score in out {
            let violation = (1.0 - *score).max(0.0);
            *score = -violation * violation;
        }
    }

    /// Adds the weights of a child to a dense vector.
    pub fn add_weights_of(&self, node: usize, child: usize, sums: &mut [f32]) {
        for (feature, cell) in self.view().node(node) {
            sums[feature as usize] += cell.weight_of(child);
        }
    }

    /// The weight of a feature for a child of a node.
    pub fn weight_of(&self, feature: u32, node: usize, child: usize) -> f32 {
        let view = self.view();
        let cells = view.cells(node);
        let Ok(at) = view.features[cells.clone()].binary_search(&feature) else { return 0.0 };
        Cell::of(view.weights_of(cells.start + at), view.width(node)).weight_of(child)
    }
}

/// Builds [`SparseBlocks`] node by node, with the features of a node and the children of a feature in increasing order.
pub struct Builder {
    of: usize,
    children: Vec<usize>,
    starts: Vec<u32>,
    features: Vec<u32>,
    ends: Vec<u32>,
    weights: Vec<u16>,
}

impl Builder {
    /// Starts without nodes. `children` is the first child of each node, and the end of the last.
    pub fn new(features: usize, children: Vec<usize>) -> Self {
        let (starts, features_of_cells, ends, weights) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        Builder { of: features, children, starts, features: features_of_cells, ends, weights }
    }

    /// Adds the weights of a feature for the children of the current node.
    pub fn push(&mut self, feature: u32, entries: &[Entry]) {
        let node = self.starts.len() - 1;
        if !entries.is_empty() {
            entries::write(entries, self.children[node + 1] - self.children[node], &mut self.weights);
        }
        self.features.push(feature);
        self.ends.push(self.weights.len() as u32);
    }

    /// Ends the current node.
    pub fn end_node(&mut self) {
        self.starts.push(self.features.len() as u32);
    }

    /// Whether there are more weights than fit in 32-bit offsets.
    pub fn is_full(&self) -> bool {
        u32::try_from(self.weights.len().max(self.features.len())).is_err()
    }

    /// The blocks; `None` if [full](Self::is_full).
    pub fn build(self) -> Option<SparseBlocks> {
        if self.is_full() {
            return None;
        }
        let Builder { of, children, starts, features, ends, weights } = self;
        let parts =
            Parts { starts: starts.into(), features: features.into(), ends: ends.into(), weights: weights.into() };
        Some(SparseBlocks::new(of, children, parts).expect("weights come in order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Stream;

    /// Nodes of 1, 2, 3, … children, with features from those in no node to those in all. The last node has all cells.
    fn level(nodes: usize, features: usize) -> SparseBlocks {
        let mut random = Stream::of(&[3]);
        let mut builder = Builder::new(features, (0..=nodes).map(|node| node * (node + 1) / 2).collect());
        for node in 0..nodes {
            for feature in 0..features {
                let mut is_in = |part: usize| random.below(features as u64) < part as u64;
                let entries: Vec<Entry> = (0..=node as u16)
                    .filter(|&child| is_in(feature) && is_in(features / 2 + usize::from(child)))
                    .map(|child| Entry::new(child, f32::from(child) - 2.5))
                    .collect();
                if node == nodes - 1 || !entries.is_empty() {
                    builder.push(feature as u32, &entries);
                }
            }
            builder.end_node();
        }
        builder.build().unwrap()
    }

    /// The scores, weight by weight.
    fn slow_scores(level: &SparseBlocks, node: usize, row: Row<'_>) -> Vec<f32> {
        let entries = || row.indices.iter().zip(row.values);
        let score =
            |child| entries().fold(BIAS, |sum, (&feature, value)| sum + value * level.weight_of(feature, node, child));
        (0..=node).map(score).collect()
    }

    #[test]
    fn scores_are_those_of_weight_by_weight_also_after_pruning() {
        let (nodes, features) = (40, 30);
        let mut level = level(nodes, features);
        let indices: Vec<u32> = (0..features as u32).collect();
        let values: Vec<f32> = indices.iter().map(|&feature| 0.25 + feature as f32 / 64.0).collect();
        // Few features for a binary search, many for a rank bitmap.
        let rows = [0..2, 3..30, 20..21, 30..30].map(|r| Row { indices: &indices[r.clone()], values: &values[r] });
        let (before, mut index) = (level.weights(), RankBitmap::default());
        for threshold in [0.0, 2.0, 20.0] {
            level.prune(threshold);
            for node in 0..nodes {
                let slow: Vec<f32> = rows.iter().flat_map(|&row| slow_scores(&level, node, row)).collect();
                let mut together = vec![BIAS; slow.len()];
                level.add(node, &rows, &mut index, &mut together);
                assert_eq!(together, slow, "{threshold} {node}");
                let mut each = vec![BIAS; slow.len()];
                let alone = rows.iter().zip(each.chunks_mut(node + 1));
                alone.for_each(|(&row, scores)| level.add(node, &[row], &mut index, scores));
                assert_eq!(each, slow, "{threshold} {node}");
            }
            assert!(level.entries().all(|(_, _, entry)| entry.weight().abs() >= threshold));
            assert_eq!(level.weights(), level.entries().count());
        }
        assert!(before > 5000 && (1..before / 2).contains(&level.entries().count()), "{before}");
    }
}
