//! The training rows of a node, each with its positive children.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::data::{Row, Rows};

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
pub(super) struct Example<'a> {
    values: &'a [f32],
    /// Offset of its features among those of all examples.
    start: usize,
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
    examples: Vec<Example<'a>>,
}

impl<'a> LocalExamples<'a> {
    /// `numbers` is a buffer for the local number of each feature.
    pub fn new(rows: Rows<'a>, node: Arc<NodeExamples>, numbers: &mut Vec<u32>) -> Self {
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
        let example = |(n, start): (usize, usize)| Example {
            values: rows.row(node.rows[n] as usize).values,
            start,
            positives: node.positives_of(n),
            weight: node.row_weights[n],
        };
        let examples = starts.into_iter().enumerate().map(example).collect();
        LocalExamples { node, features, indices, examples }
    }

    pub fn len(&self) -> usize {
        self.examples.len()
    }

    pub fn get(&self, n: u32) -> &Example<'a> {
        &self.examples[n as usize]
    }

    /// The local features and values of an example.
    #[inline(always)]
    pub fn row(&self, example: &Example<'a>) -> Row<'_> {
        Row { indices: &self.indices[example.start..example.start + example.values.len()], values: example.values }
    }

    /// The positive children of an example within a range, relative to its start, with their weights.
    pub fn positives_within(
        &self,
        example: &Example<'a>,
        children: &Range<usize>,
    ) -> impl Iterator<Item = (usize, f32)> {
        let positives = &self.node.positives[example.positives.start as usize..example.positives.end as usize];
        let positives = positives.iter().map(|&(child, weight)| (usize::from(child), weight));
        positives.filter(|(child, _)| children.contains(child)).map(|(child, weight)| (child - children.start, weight))
    }

    /// The first positive child of an example, for a prefetch.
    pub fn first_positive(&self, example: &Example<'a>) -> Option<&(u16, f32)> {
        self.node.positives.get(example.positives.start as usize)
    }
}
