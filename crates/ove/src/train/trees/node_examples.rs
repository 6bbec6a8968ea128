//! The training rows of a node, each with its positive children.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::data::{Examples, Kind, Row, View};

/// The training rows of a node by number, each with its positive children in increasing order.
pub(super) struct NodeExamples {
    pub children: usize,
    rows: Vec<u32>,
    row_weights: Vec<f32>,
    ends: Vec<u32>,
    positives: Vec<(u16, f32)>,
}

impl NodeExamples {
    pub fn new(children: usize) -> Self {
        NodeExamples { children, rows: Vec::new(), row_weights: Vec::new(), ends: Vec::new(), positives: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The ids of the rows, increasing.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Adds a positive child of the current row, with its weight.
    pub fn push_positive(&mut self, child: u16, weight: f32) {
        self.positives.push((child, weight));
    }

    pub fn end_row(&mut self, row: u32, weight: f32) {
        self.rows.push(row);
        self.row_weights.push(weight);
        self.ends.push(self.positives.len() as u32);
    }

    /// The range of the positive children of example `n`.
    fn positives_of(&self, n: usize) -> Range<u32> {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        start..self.ends[n]
    }
}

/// An example with all data of a step, in one cache line.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Example {
    /// The range of its features among those of all examples, and the start of its values.
    indices: Range<usize>,
    values: usize,
    /// The range of its positive children among those of all examples.
    positives: Range<u32>,
    pub weight: f32,
}

/// The examples of a node, prepared for training.
///
/// Features are renumbered within the node, unless most features occur in it.
pub(super) struct LocalExamples<'a> {
    node: Arc<NodeExamples>,
    /// The features of the node, in increasing order.
    pub features: Vec<u32>,
    /// The local feature numbers of all examples, concatenated.
    indices: Cow<'a, [u32]>,
    /// The values of all examples, or of all rows.
    values: Cow<'a, [f32]>,
    examples: Vec<Example>,
}

impl<'a> LocalExamples<'a> {
    /// Of the terms of a view. `numbers` is a buffer for the local number of each feature.
    pub fn new(all: &Examples<'a>, view: View, node: Arc<NodeExamples>, numbers: &mut Vec<u32>) -> Self {
        if view != View::ALL && !all.kinds.is_empty() {
            return LocalExamples::of_view(all, view, node, numbers);
        }
        let rows = all.rows;
        let all = rows.features();
        numbers.resize(all, u32::MAX);
        let indices_of = |&row: &u32| rows.row(row as usize).indices;
        let mut features = Vec::new();
        for &feature in node.rows.iter().flat_map(indices_of) {
            if std::mem::replace(&mut numbers[feature as usize], 0) == u32::MAX {
                features.push(feature);
            }
        }
        let most = features.len() * 4 > all * 3;
        let (indices, starts): (Cow<'a, [u32]>, Vec<usize>) = match most {
            true => {
                let starts = node.rows.iter().map(|&row| rows.entries_from(row as usize)).collect();
                (Cow::Borrowed(rows.all_indices()), starts)
            }
            false => {
                features.sort_unstable();
                features.iter().zip(0..).for_each(|(&feature, number)| numbers[feature as usize] = number);
                let entries = node.rows.iter().map(|row| indices_of(row).len()).sum();
                let (mut local, mut starts) = (Vec::with_capacity(entries), Vec::with_capacity(node.len()));
                for row in &node.rows {
                    starts.push(local.len());
                    local.extend(indices_of(row).iter().map(|&feature| numbers[feature as usize]));
                }
                (Cow::Owned(local), starts)
            }
        };
        features.iter().for_each(|&feature| numbers[feature as usize] = u32::MAX);
        let features = if most { (0..all as u32).collect() } else { features };
        let example = |(n, start): (usize, usize)| {
            let row = node.rows[n] as usize;
            Example {
                indices: start..start + rows.row(row).values.len(),
                values: rows.values_from(row),
                positives: node.positives_of(n),
                weight: node.row_weights[n],
            }
        };
        let examples = starts.into_iter().enumerate().map(example).collect();
        LocalExamples { node, features, indices, values: Cow::Borrowed(rows.all_values()), examples }
    }

    /// A copy of the entries that the view shows.
    fn of_view(all: &Examples<'a>, view: View, node: Arc<NodeExamples>, numbers: &mut Vec<u32>) -> Self {
        let (rows, kinds): (_, &[Kind]) = (all.rows, all.kinds);
        numbers.resize(rows.features(), u32::MAX);
        let (mut indices, mut values, mut examples) = (Vec::new(), Vec::new(), Vec::with_capacity(node.len()));
        for (n, &row) in node.rows.iter().enumerate() {
            let Row { indices: of_row, values: own } = rows.row(row as usize);
            let start = indices.len();
            let seen = of_row.iter().zip(own).filter(|&(&feature, _)| view.has(kinds[feature as usize]));
            for (&feature, &value) in seen {
                indices.push(feature);
                values.push(value);
            }
            let (positives, weight) = (node.positives_of(n), node.row_weights[n]);
            examples.push(Example { indices: start..indices.len(), values: start, positives, weight });
        }
        let mut features = Vec::new();
        for &feature in &indices {
            if std::mem::replace(&mut numbers[feature as usize], 0) == u32::MAX {
                features.push(feature);
            }
        }
        features.sort_unstable();
        features.iter().zip(0..).for_each(|(&feature, number)| numbers[feature as usize] = number);
        indices.iter_mut().for_each(|feature| *feature = numbers[*feature as usize]);
        features.iter().for_each(|&feature| numbers[feature as usize] = u32::MAX);
        LocalExamples { node, features, indices: indices.into(), values: values.into(), examples }
    }

    pub fn len(&self) -> usize {
        self.examples.len()
    }

    pub fn get(&self, n: u32) -> &Example {
        &self.examples[n as usize]
    }

    /// The local features and values of an example.
    #[inline(always)]
    pub fn row(&self, example: &Example) -> Row<'_> {
        let indices = &self.indices[example.indices.clone()];
        Row { indices, values: &self.values[example.values..example.values + indices.len()] }
    }

    /// The positive children of an example within a range, relative to its start, with their weights.
    pub fn positives_within(&self, example: &Example, children: &Range<usize>) -> impl Iterator<Item = (usize, f32)> {
        let positives = &self.node.positives[example.positives.start as usize..example.positives.end as usize];
        let positives = positives.iter().map(|&(child, weight)| (usize::from(child), weight));
        positives.filter(|(child, _)| children.contains(child)).map(|(child, weight)| (child - children.start, weight))
    }

    /// The first positive child of an example, for a prefetch.
    pub fn first_positive(&self, example: &Example) -> Option<&(u16, f32)> {
        self.node.positives.get(example.positives.start as usize)
    }
}
