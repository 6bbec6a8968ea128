//! The nodes of one level of a tree: which of its children a row belongs to, for any few of the nodes.
//!
//! Weights are sparse: the node, then the feature, then the child. A node is one piece of memory, which many rows can use while a cache
//! holds it. Each of its features has its weights in a [`Cell`], those of all children or pairs of a child and its weight:
//!
//! ```text
//! starts    node 0: 0             node 1: 2         …      where its cells start
//! features  3      17             17                …      of each cell
//! ends      2      5              7                 …      where its weights end
//! weights   0,.7   .2,0,−.4       2,1.3             …
//! ```
//!
//! A node with cells for all features, empty ones too, is one whose cells have the numbers of the features.

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

/// The tensor that only sparse weights have.
pub(crate) const CELL_WEIGHTS: &str = "cell_weights";

/// What every child scores without a feature of the node: the margin of a row that does not belong to it.
pub(crate) const BIAS: f32 = -1.0;

/// Linear scores for the children of some nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseBlocks {
    /// D.
    features: usize,
    /// Where the children of each node start among those of all, and where the last ones end.
    children: Vec<usize>,
    parts: Parts,
}

/// The numbers of a level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    /// Where the cells of each node start, and where the last ones end.
    pub starts: MappedSlice<u32>,
    /// The feature of each cell.
    pub features: MappedSlice<u32>,
    /// Where its weights end.
    pub ends: MappedSlice<u32>,
    /// The weights of all cells.
    pub weights: MappedSlice<u16>,
}

/// The same as slices: found once, then read often.
#[derive(Clone, Copy)]
struct View<'a> {
    children: &'a [usize],
    starts: &'a [u32],
    features: &'a [u32],
    ends: &'a [u32],
    weights: &'a [u16],
}

/// A cell whose weights a row needs: they are added to the row's scores, times the value of its feature.
#[derive(Clone, Copy, Default)]
struct Found {
    cell: usize,
    scores: usize,
    value: f32,
}

vectorised! {
    /// Adds the weights of these cells of a node with so many children.
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

/// Cells are found and their weights asked for, so many at a time, before any of them is added: all weights are too many for the caches,
/// and waiting for one after the other takes most of the time of a prediction.
const FOUND: usize = 64;

/// Weights in a line of the cache.
const LINE: usize = 32;

/// A search takes as long as putting so many features into an [`RankBitmap`].
const SEARCHED: usize = 16;

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

    /// How many children a node has.
    fn width(&self, node: usize) -> usize {
        self.children[node + 1] - self.children[node]
    }

    /// The features of a node, each with its weights.
    fn node(self, node: usize) -> impl Iterator<Item = (u32, Cell<'a>)> {
        let width = self.width(node);
        self.cells(node).map(move |cell| (self.features[cell], Cell::of(self.weights_of(cell), width)))
    }

    /// Whether the weights of a node are in order and belong to features and children that are there.
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

/// How the cells of a node are found.
trait Find {
    /// Where the cell of a feature is among those of the node, and whether there is one. Which features have one is as good as random:
    /// without a branch, if that is possible.
    fn find(&self, feature: u32) -> (usize, bool);
}

/// In a node with a cell for every feature.
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
        self.place(feature)
    }
}

/// By a search among the features.
impl Find for [u32] {
    #[inline(always)]
    fn find(&self, feature: u32) -> (usize, bool) {
        self.binary_search(&feature).map_or((0, false), |at| (at, true))
    }
}

/// The way to the cells of a node that suits the rows.
enum Finder<'a> {
    All,
    RankBitmap(&'a RankBitmap),
    Search(&'a [u32]),
}

vectorised! {
    /// Adds the weights of the cells that a node has for the features of some rows.
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
    let (mut found, mut count) = ([Found::default(); FOUND], 0);
    for (row, start) in rows.iter().zip((0..).step_by(width)) {
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            let (at, is_there) = finder.find(feature);
            if let Some(end) = view.ends.get(first + at) {
                prefetch(end);
            }
            found[count] = Found { cell: first + at, scores: start, value };
            count += usize::from(is_there);
            if count == FOUND {
                add(view, width, &found, scores);
                count = 0;
            }
        }
    }
    add(view, width, &found[..count], scores);
}

impl SparseBlocks {
    /// From its parts, after a check that they fit together, for so many features. `children` says where the children of each node start.
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
            return Err("weights that do not follow each other");
        }
        (0..level.nodes()).into_par_iter().try_for_each(|node| view.check(node, features))?;
        Ok(level)
    }

    fn view(&self) -> View<'_> {
        let Parts { starts, features, ends, weights } = &self.parts;
        View { children: &self.children, starts, features, ends, weights }
    }

    /// Its numbers.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// How many weights are not zero.
    pub fn weights(&self) -> usize {
        let view = self.view();
        (0..self.nodes()).into_par_iter().map(|node| view.node(node).map(|(_, cell)| cell.count()).sum::<usize>()).sum()
    }

    /// All weights that are not zero, with their nodes and features, in order.
    pub fn entries(&self) -> impl Iterator<Item = (usize, u32, Entry)> {
        let view = self.view();
        (0..self.nodes()).flat_map(move |node| {
            view.node(node).flat_map(move |(feature, cell)| cell.entries().map(move |entry| (node, feature, entry)))
        })
    }

    /// D.
    pub fn features(&self) -> usize {
        self.features
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.children.len() - 1
    }

    /// Where the children of each node start among those of all, and where the last ones end.
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

    /// Multiplies all weights by a number.
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

    /// Some of these as tensors, one after the other.
    ///
    /// ```text
    /// starts       nodes + levels   where the cells of each node start, and where the last ones end, from the first on
    /// features     cells            the feature of each cell
    /// ends         cells            where the weights of each cell end, from the first on
    /// cell_weights all              16 bits: if as many as its node has children, their weights; otherwise a child,
    ///                               its weight, the next child, … (weights are bfloat16)
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

    /// Adds w_c·x to the scores of the children of a node for some rows, row after row. The rows have no features but the level's.
    pub fn add(&self, node: usize, rows: &[Row<'_>], index: &mut RankBitmap, scores: &mut [f32]) {
        let view = self.view();
        let own = &view.features[view.cells(node)];
        let entries: usize = rows.iter().map(|row| row.indices.len()).sum();
        let finder = if own.len() == self.features {
            Finder::All
        } else if entries * SEARCHED > own.len() + self.features / 64 {
            index.fill(own, self.features);
            Finder::RankBitmap(index)
        } else {
            Finder::Search(own)
        };
        add_rows(view, node, finder, rows, scores);
    }

    /// −E_c(x) of the children of a node for some rows, row after row.
    pub fn energies(&self, node: usize, rows: &[Row<'_>], index: &mut RankBitmap, out: &mut Vec<f32>) {
        out.clear();
        out.resize(rows.len() * self.view().width(node), BIAS);
        self.add(node, rows, index, out);
        for score in out {
            let lack = (1.0 - *score).max(0.0);
            *score = -lack * lack;
        }
    }

    /// Adds the weights of a child to the sums of its features.
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

/// A level that is being built: node by node, the features of each rising, and the children of each feature.
pub struct Builder {
    of: usize,
    children: Vec<usize>,
    starts: Vec<u32>,
    features: Vec<u32>,
    ends: Vec<u32>,
    weights: Vec<u16>,
}

impl Builder {
    /// Over so many features, with no node yet; `children` says where the children of each node start, and where the last ones end.
    pub fn new(features: usize, children: Vec<usize>) -> Self {
        let (starts, features_of_cells, ends, weights) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        Builder { of: features, children, starts, features: features_of_cells, ends, weights }
    }

    /// Adds the weights of a feature for the children of the node at hand.
    pub fn push(&mut self, feature: u32, entries: &[Entry]) {
        let node = self.starts.len() - 1;
        if !entries.is_empty() {
            entries::write(entries, self.children[node + 1] - self.children[node], &mut self.weights);
        }
        self.features.push(feature);
        self.ends.push(self.weights.len() as u32);
    }

    /// Goes to the next node.
    pub fn end_node(&mut self) {
        self.starts.push(self.features.len() as u32);
    }

    /// Whether there are more weights than can be counted.
    pub fn is_full(&self) -> bool {
        u32::try_from(self.weights.len().max(self.features.len())).is_err()
    }

    /// The level, if its weights can be counted.
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

    /// Nodes of 1, 2, 3, … children; features from those that no node knows to those that all know. The last node has cells for all.
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

    /// The same, weight by weight.
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
        // Few features for a search of each, many for an index.
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
