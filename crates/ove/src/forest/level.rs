//! The nodes of one level of a tree: which of its children a row belongs to, for any few of the nodes.
//!
//! Weights are sparse: the feature, then the node, then the child. A feature of a row brings its nodes in one piece, and each node its
//! weights in another ([`Cell`]), those of all its children or pairs of a child and its weight:
//!
//! ```text
//! starts    feature 0: 0          feature 1: 2      …      where its cells start
//! nodes     3      17             17                …      of each cell
//! ends      2      5              7                 …      where its weights end
//! weights   0,.7   .2,0,−.4       2,1.3             …
//! ```

use std::ops::Range;

use rayon::prelude::*;

use super::cell::{self, Cell, Entry};
use crate::data::Row;
use crate::machine::{prefetch, vectorised};
use crate::numbers::Numbers;

/// What every child scores without a feature of the node: the margin of a row that does not belong to it.
pub(crate) const BIAS: f32 = -1.0;

/// Linear scores for the children of some nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Level {
    /// Where the children of each node start among those of all, and where the last ones end.
    children: Vec<usize>,
    parts: Parts,
}

/// The numbers of a level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    /// Where the cells of each feature start, and where the last ones end.
    pub starts: Numbers<u32>,
    /// The node of each cell.
    pub nodes: Numbers<u16>,
    /// Where its weights end.
    pub ends: Numbers<u32>,
    /// The weights of all cells.
    pub weights: Numbers<u16>,
}

/// The same as slices: found once, then read often.
#[derive(Clone, Copy)]
struct View<'a> {
    children: &'a [usize],
    starts: &'a [u32],
    nodes: &'a [u16],
    ends: &'a [u32],
    weights: &'a [u16],
}

/// A cell whose weights a row needs: they are added to the scores of the node's children, times the value of the row's feature.
struct Found {
    cell: usize,
    scores: Range<usize>,
    value: f32,
}

vectorised! {
    /// Adds the weights of these cells, and leaves no cell.
    fn add(view: View<'_>, found: &mut Vec<Found>, scores: &mut [f32]) {
        for cell in &*found {
            let weights = view.weights_of(cell.cell);
            weights.iter().step_by(LINE).chain(weights.last()).for_each(prefetch);
        }
        for Found { cell, scores: range, value } in found.drain(..) {
            Cell::of(view.weights_of(cell), range.len()).add(value, &mut scores[range]);
        }
    }
}

/// Cells are found and their weights asked for, so many at a time, before any of them is added: all weights are too many for the caches,
/// and waiting for one after the other takes most of the time of a prediction.
const FOUND: usize = 64;

/// How many features ahead the nodes of a feature are asked for; twice as many, where they start.
const AHEAD: usize = 4;

/// Nodes, or weights, in a line of the cache.
const LINE: usize = 32;

impl<'a> View<'a> {
    /// Asks for the nodes of a feature.
    #[inline]
    fn expect_nodes(&self, feature: usize) {
        self.nodes[self.cells(feature)].iter().step_by(LINE).take(4).for_each(prefetch);
    }

    #[inline]
    fn cells(&self, feature: usize) -> Range<usize> {
        self.starts[feature] as usize..self.starts[feature + 1] as usize
    }

    #[inline]
    fn weights_of(&self, cell: usize) -> &'a [u16] {
        let start = if cell == 0 { 0 } else { self.ends[cell - 1] };
        &self.weights[start as usize..self.ends[cell] as usize]
    }

    /// How many children a node has.
    #[inline]
    fn width(&self, node: u16) -> usize {
        self.children[usize::from(node) + 1] - self.children[usize::from(node)]
    }

    /// The node of a cell, and its weights.
    fn cell(&self, cell: usize) -> (usize, Cell<'a>) {
        let node = self.nodes[cell];
        (node.into(), Cell::of(self.weights_of(cell), self.width(node)))
    }

    /// Whether the weights of a feature are in order and belong to children that are there.
    fn check(&self, feature: usize) -> Result<(), &'static str> {
        let cells = self.cells(feature);
        if !self.nodes[cells.clone()].is_sorted_by(|a, b| a < b) {
            return Err("a feature whose nodes do not rise");
        }
        for cell in cells {
            let node = self.nodes[cell];
            if usize::from(node) + 1 >= self.children.len() {
                return Err("a node that is not there");
            }
            Cell::check(self.weights_of(cell), self.width(node))?;
        }
        Ok(())
    }
}

impl Level {
    /// From its parts, after a check that they fit together. `children` says where the children of each node start.
    pub fn new(children: Vec<usize>, parts: Parts) -> Result<Self, &'static str> {
        let level = Level { children, parts };
        let View { starts, nodes, ends, weights, .. } = level.view();
        let last = |numbers: &[u32]| numbers.last().copied().unwrap_or(0) as usize;
        if starts.first() != Some(&0) || last(starts) != nodes.len() || nodes.len() != ends.len() {
            return Err("features and nodes that do not match");
        }
        if last(ends) != weights.len() {
            return Err("nodes and weights that do not match");
        }
        if !starts.is_sorted() || !ends.is_sorted() {
            return Err("weights that do not follow each other");
        }
        let view = level.view();
        (0..level.features()).into_par_iter().with_min_len(4096).try_for_each(|feature| view.check(feature))?;
        Ok(level)
    }

    fn view(&self) -> View<'_> {
        let Parts { starts, nodes, ends, weights } = &self.parts;
        View { children: &self.children, starts, nodes, ends, weights }
    }

    /// Its numbers.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// How many weights are not zero.
    pub fn weights(&self) -> usize {
        let view = self.view();
        let of_feature = |feature| view.cells(feature).map(|cell| view.cell(cell).1.count()).sum::<usize>();
        (0..self.features()).into_par_iter().with_min_len(4096).map(of_feature).sum()
    }

    /// All weights that are not zero, with their features and nodes, in order.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, Entry)> {
        let view = self.view();
        let cells = (0..self.features()).flat_map(move |feature| view.cells(feature).map(move |cell| (feature, cell)));
        cells.flat_map(move |(feature, cell)| {
            let (node, cell) = view.cell(cell);
            cell.entries().map(move |entry| (feature, node, entry))
        })
    }

    /// D.
    pub fn features(&self) -> usize {
        self.parts.starts.len() - 1
    }

    /// Where the children of each node start among those of all, and where the last ones end.
    pub fn children(&self) -> &[usize] {
        &self.children
    }

    /// Drops the weights below a threshold.
    pub fn prune(&mut self, threshold: f32) {
        let view = self.view();
        let (mut builder, mut kept) = (Builder::new(self.children.clone()), Vec::new());
        for feature in 0..self.features() {
            for cell in view.cells(feature) {
                let (node, cell) = view.cell(cell);
                kept.clear();
                kept.extend(cell.entries().filter(|entry| entry.weight().abs() >= threshold));
                builder.push(node, &kept);
            }
            builder.end_feature();
        }
        *self = builder.build().expect("no more weights than there were");
    }

    /// f_c(x) of the children of some nodes, rising, node after node.
    pub fn scores(&self, nodes: &[u16], row: Row<'_>, scores: &mut Vec<f32>) {
        let view = self.view();
        scores.clear();
        scores.resize(nodes.iter().map(|&node| view.width(node)).sum(), BIAS);
        let known = row.indices.partition_point(|&feature| (feature as usize) < self.features());
        let mut found = Vec::with_capacity(FOUND);
        for (at, (&feature, &value)) in row.indices[..known].iter().zip(row.values).enumerate() {
            if let Some(&ahead) = row.indices[..known].get(at + 2 * AHEAD) {
                prefetch(&view.starts[ahead as usize]);
            }
            if let Some(&ahead) = row.indices[..known].get(at + AHEAD) {
                view.expect_nodes(ahead as usize);
            }
            let cells = view.cells(feature as usize);
            let (known_to, mut first) = (&view.nodes[cells.clone()], 0);
            let missing = view.children.len() - 1 - known_to.len();
            for &node in nodes {
                let last = first + view.width(node);
                // A frequent feature is known to nearly every node, so that few can be missing before this one. No search starts where the
                // last one ended: the processor does several at a time.
                let before = usize::from(node).saturating_sub(missing)..known_to.len().min(node.into());
                let at = before.start + known_to[before].partition_point(|&n| n < node);
                if known_to.get(at) == Some(&node) {
                    let cell = cells.start + at;
                    prefetch(&view.ends[cell]);
                    found.push(Found { cell, scores: first..last, value });
                    if found.len() == FOUND {
                        add(view, &mut found, scores);
                    }
                }
                first = last;
            }
        }
        add(view, &mut found, scores);
    }

    /// Adds w_c·x to the scores of the children of all nodes.
    pub fn add_all(&self, row: Row<'_>, scores: &mut [f32]) {
        let view = self.view();
        let known = row.indices.partition_point(|&feature| (feature as usize) < self.features());
        for (&feature, &value) in row.indices[..known].iter().zip(row.values) {
            for cell in view.cells(feature as usize) {
                let (node, cell) = view.cell(cell);
                cell.add(value, &mut scores[view.children[node]..view.children[node + 1]]);
            }
        }
    }

    /// −E_c(x) of the children of some nodes, rising, node after node.
    pub fn energies(&self, nodes: &[u16], row: Row<'_>, out: &mut Vec<f32>) {
        self.scores(nodes, row, out);
        for score in out {
            let lack = (1.0 - *score).max(0.0);
            *score = -lack * lack;
        }
    }

    /// Adds the weights of a child to the sums of its features.
    pub fn add_weights_of(&self, node: usize, child: usize, sums: &mut [f32]) {
        for (feature, sum) in sums.iter_mut().enumerate() {
            *sum += self.weight_of(feature, node, child);
        }
    }

    /// The weight of a feature for a child of a node.
    pub fn weight_of(&self, feature: usize, node: usize, child: usize) -> f32 {
        let view = self.view();
        let cells = view.cells(feature);
        let Ok(at) = view.nodes[cells.clone()].binary_search(&(node as u16)) else { return 0.0 };
        view.cell(cells.start + at).1.weight_of(child)
    }
}

/// A level that is being built: feature by feature, the nodes of each rising, and the children of each node.
pub struct Builder {
    children: Vec<usize>,
    starts: Vec<u32>,
    nodes: Vec<u16>,
    ends: Vec<u32>,
    weights: Vec<u16>,
}

impl Builder {
    /// With no feature yet; `children` says where the children of each node start, and where the last ones end.
    pub fn new(children: Vec<usize>) -> Self {
        Builder { children, starts: vec![0], nodes: Vec::new(), ends: Vec::new(), weights: Vec::new() }
    }

    /// Adds the weights of a node for the feature at hand; without any, the node does not know the feature.
    pub fn push(&mut self, node: usize, entries: &[Entry]) {
        if !entries.is_empty() {
            cell::write(entries, self.children[node + 1] - self.children[node], &mut self.weights);
            self.nodes.push(node as u16);
            self.ends.push(self.weights.len() as u32);
        }
    }

    /// Goes to the next feature.
    pub fn end_feature(&mut self) {
        self.starts.push(self.nodes.len() as u32);
    }

    /// Whether there are more weights than can be counted.
    pub fn is_full(&self) -> bool {
        u32::try_from(self.weights.len()).is_err()
    }

    /// The level, if its weights can be counted.
    pub fn build(self) -> Option<Level> {
        if self.is_full() {
            return None;
        }
        let Builder { children, starts, nodes, ends, weights } = self;
        let parts = Parts { starts: starts.into(), nodes: nodes.into(), ends: ends.into(), weights: weights.into() };
        Some(Level::new(children, parts).expect("weights come in order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Nodes of 1, 2, 3, … children; features from those that no node knows to those that all know.
    fn level(nodes: usize, features: usize) -> Level {
        let mut random = Stream::of(&[3]);
        let mut builder = Builder::new((0..=nodes).map(|node| node * (node + 1) / 2).collect());
        for feature in 0..features {
            for node in 0..nodes {
                let mut is_in = |part: usize| random.below(features as u64) < part as u64;
                let entries: Vec<Entry> = (0..=node as u16)
                    .filter(|&child| is_in(feature) && is_in(features / 2 + usize::from(child)))
                    .map(|child| Entry::new(child, f32::from(child) - 2.5))
                    .collect();
                builder.push(node, &entries);
            }
            builder.end_feature();
        }
        builder.build().unwrap()
    }

    /// The same, weight by weight.
    fn slow_scores(level: &Level, nodes: &[u16], row: Row<'_>) -> Vec<f32> {
        let children =
            nodes.iter().flat_map(|&node| (0..=usize::from(node)).map(move |child| (usize::from(node), child)));
        let score = |(node, child)| {
            let known =
                row.indices.iter().zip(row.values).filter(|(feature, _)| (**feature as usize) < level.features());
            known.fold(BIAS, |sum, (&feature, value)| sum + value * level.weight_of(feature as usize, node, child))
        };
        children.map(score).collect()
    }

    #[test]
    fn scores_are_those_of_weight_by_weight_also_after_pruning() {
        let (nodes, features) = (40, 30);
        let mut level = level(nodes, features);
        let indices: Vec<u32> = (0..features as u32 + 5).collect();
        let values: Vec<f32> = indices.iter().map(|&feature| 0.25 + feature as f32 / 64.0).collect();
        let (row, mut scores) = (Row { indices: &indices, values: &values }, Vec::new());
        let before = level.weights();
        for threshold in [0.0, 2.0, 20.0] {
            level.prune(threshold);
            for chosen in [&[0][..], &[39], &[3, 4, 17, 31], &(0..40).collect::<Vec<u16>>()] {
                level.scores(chosen, row, &mut scores);
                assert_eq!(scores, slow_scores(&level, chosen, row), "{threshold} {chosen:?}");
            }
            let mut all = vec![BIAS; nodes * (nodes + 1) / 2];
            level.add_all(row, &mut all);
            assert_eq!(all, scores, "{threshold}");
            assert!(level.entries().all(|(_, _, entry)| entry.weight().abs() >= threshold));
            assert_eq!(level.weights(), level.entries().count());
        }
        assert!(before > 5000 && (1..before / 2).contains(&level.entries().count()), "{before}");
    }
}
