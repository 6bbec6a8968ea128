//! The nodes of one level of a tree: which of its children a row belongs to, for any few of the nodes.
//!
//! Weights are sparse: the feature, then the node, then the child, two bytes for the child and two for the weight (bfloat16: the upper
//! half of a 32-bit float). A feature of a row brings its nodes in one piece, and each node its weights in another:
//!
//! ```text
//! starts    feature 0: 0    feature 1: 2      …      where its cells start
//! nodes     3      17       17                …      of each cell
//! ends      1      3        4                 …      where its entries end
//! entries   (0,.7) (0,.2)(5,−.4)  (2, 1.3)    …
//! ```

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use crate::data::Row;
use crate::machine::{prefetch, vectorised};
use crate::numbers::Numbers;

/// What every child scores without a feature of the node: the margin of a row that does not belong to it.
pub(crate) const BIAS: f32 = -1.0;

/// The weight of one child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Entry {
    child: u16,
    /// The upper half of a 32-bit float.
    weight: u16,
}

impl Entry {
    /// Rounds the weight to the nearest of 16 bits.
    pub fn new(child: u16, weight: f32) -> Self {
        let bits = weight.to_bits();
        let to_even = 0x7fff + (bits >> 16 & 1);
        let rounded = Entry { child, weight: (bits.wrapping_add(to_even) >> 16) as u16 };
        // The largest numbers are rounded down, for there is none above them.
        if weight.is_finite() && rounded.weight().is_infinite() {
            Entry { weight: rounded.weight - 1, ..rounded }
        } else {
            rounded
        }
    }

    /// The child.
    #[inline]
    pub fn child(self) -> usize {
        self.child.into()
    }

    /// Its weight.
    #[inline]
    pub fn weight(self) -> f32 {
        f32::from_bits(u32::from(self.weight) << 16)
    }
}

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
    /// Where its entries end.
    pub ends: Numbers<u32>,
    /// The entries.
    pub entries: Numbers<Entry>,
}

/// The same as slices: found once, then read often.
#[derive(Clone, Copy)]
struct View<'a> {
    children: &'a [usize],
    starts: &'a [u32],
    nodes: &'a [u16],
    ends: &'a [u32],
    entries: &'a [Entry],
}

/// A cell whose weights a row needs: they are added to the scores of the node's children, times the value of the row's feature.
struct Found {
    cell: usize,
    scores: Range<usize>,
    value: f32,
}

vectorised! {
    /// Adds the weights of these cells, and leaves no cell. Where all children have a weight, as those of a node have for a frequent feature,
    /// they go in vectors.
    fn add(view: View<'_>, found: &mut Vec<Found>, scores: &mut [f32]) {
        for cell in &*found {
            let entries = view.entries_of(cell.cell);
            [entries.first(), entries.last()].into_iter().flatten().for_each(prefetch);
        }
        for Found { cell, scores: range, value } in found.drain(..) {
            let (entries, scores) = (view.entries_of(cell), &mut scores[range]);
            if entries.len() == scores.len() {
                scores.iter_mut().zip(entries).for_each(|(score, entry)| *score += value * entry.weight());
            } else {
                entries.iter().for_each(|entry| scores[entry.child()] += value * entry.weight());
            }
        }
    }
}

/// Cells are found and their weights asked for, so many at a time, before any of them is added: all weights are too many for the caches,
/// and waiting for one after the other takes most of the time of a prediction.
const FOUND: usize = 64;

/// How many features ahead the nodes of a feature are asked for.
const AHEAD: usize = 4;

/// Nodes in a line of the cache.
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
    fn entries_of(&self, cell: usize) -> &'a [Entry] {
        let start = if cell == 0 { 0 } else { self.ends[cell - 1] };
        &self.entries[start as usize..self.ends[cell] as usize]
    }

    /// How many children a node has.
    #[inline]
    fn width(&self, node: usize) -> Option<usize> {
        Some(self.children.get(node + 1)? - self.children[node])
    }

    /// Whether the weights of a feature are in order and belong to children that are there.
    fn check(&self, feature: usize) -> Result<(), &'static str> {
        let cells = self.cells(feature);
        if !self.nodes[cells.clone()].is_sorted_by(|a, b| a < b) {
            return Err("a feature whose nodes do not rise");
        }
        for cell in cells {
            let Some(width) = self.width(self.nodes[cell].into()) else { return Err("a node that is not there") };
            let entries = self.entries_of(cell);
            if entries.last().is_some_and(|entry| entry.child() >= width) {
                return Err("a weight of a child that is not there");
            }
            if !entries.is_sorted_by(|a, b| a.child < b.child) {
                return Err("a node whose children do not rise");
            }
            if entries.iter().any(|entry| !entry.weight().is_finite()) {
                return Err("a weight that is not finite");
            }
        }
        Ok(())
    }
}

impl Level {
    /// From its parts, after a check that they fit together. `children` says where the children of each node start.
    pub fn new(children: Vec<usize>, parts: Parts) -> Result<Self, &'static str> {
        let level = Level { children, parts };
        let View { starts, nodes, ends, entries, .. } = level.view();
        let last = |numbers: &[u32]| numbers.last().copied().unwrap_or(0) as usize;
        if starts.first() != Some(&0) || last(starts) != nodes.len() || nodes.len() != ends.len() {
            return Err("features and nodes that do not match");
        }
        if last(ends) != entries.len() {
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
        let Parts { starts, nodes, ends, entries } = &self.parts;
        View { children: &self.children, starts, nodes, ends, entries }
    }

    /// Its numbers.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// All weights, with their features and nodes, in order.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, Entry)> {
        let view = self.view();
        let cells = (0..self.features()).flat_map(move |feature| view.cells(feature).map(move |cell| (feature, cell)));
        cells.flat_map(move |(feature, cell)| {
            view.entries_of(cell).iter().map(move |&entry| (feature, usize::from(view.nodes[cell]), entry))
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
        let (mut starts, mut nodes, mut ends, mut entries) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        for feature in 0..self.features() {
            for cell in view.cells(feature) {
                let before = entries.len();
                let kept = view.entries_of(cell).iter().filter(|entry| entry.weight().abs() >= threshold);
                entries.extend(kept.copied());
                if entries.len() > before {
                    nodes.push(view.nodes[cell]);
                    ends.push(entries.len() as u32);
                }
            }
            starts.push(nodes.len() as u32);
        }
        self.parts = Parts { starts: starts.into(), nodes: nodes.into(), ends: ends.into(), entries: entries.into() };
    }

    /// f_c(x) of the children of some nodes, rising, node after node.
    pub fn scores(&self, nodes: &[u16], row: Row<'_>, scores: &mut Vec<f32>) {
        let view = self.view();
        scores.clear();
        scores.resize(nodes.iter().filter_map(|&node| view.width(node.into())).sum(), BIAS);
        let known = row.indices.partition_point(|&feature| (feature as usize) < self.features());
        let mut found = Vec::with_capacity(FOUND);
        for (at, (&feature, &value)) in row.indices[..known].iter().zip(row.values).enumerate() {
            if let Some(&ahead) = row.indices[..known].get(at + AHEAD) {
                view.expect_nodes(ahead as usize);
            }
            let cells = view.cells(feature as usize);
            let (known_to, mut first) = (&view.nodes[cells.clone()], 0);
            // A frequent feature is known to every node.
            let to_all = known_to.len() == view.children.len() - 1;
            for &node in nodes {
                let last = first + view.children[usize::from(node) + 1] - view.children[usize::from(node)];
                // No search starts where the last one ended: the processor does several at a time.
                let at = if to_all { node.into() } else { known_to.partition_point(|&n| n < node) };
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
                let scores = &mut scores[view.children[usize::from(view.nodes[cell])]..];
                for entry in view.entries_of(cell) {
                    scores[entry.child()] += value * entry.weight();
                }
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
        let entries = view.entries_of(cells.start + at);
        entries.iter().find(|entry| entry.child() == child).map_or(0.0, |entry| entry.weight())
    }
}
