//! The rows that a node sees, each with the children it belongs to, and how a step finds them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::data::{Row, Rows};

/// The rows that a node sees, by their numbers, each with the children it belongs to, rising.
pub(super) struct NodeExamples {
    pub children: usize,
    rows: Vec<u32>,
    row_weights: Vec<f32>,
    ends: Vec<u32>,
    own: Vec<(u16, f32)>,
}

impl NodeExamples {
    pub fn new(children: usize) -> Self {
        NodeExamples { children, rows: Vec::new(), row_weights: Vec::new(), ends: Vec::new(), own: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a child that the row being built belongs to, and how often that counts.
    pub fn own(&mut self, child: u16, weight: f32) {
        self.own.push((child, weight));
    }

    pub fn end_row(&mut self, row: u32, weight: f32) {
        self.rows.push(row);
        self.row_weights.push(weight);
        self.ends.push(self.own.len() as u32);
    }

    /// Where the children that example `n` belongs to lie.
    fn own_of(&self, n: usize) -> Range<u32> {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        start..self.ends[n]
    }
}

/// An example with all that a step needs of it, in one cache line.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Example<'a> {
    values: &'a [f32],
    /// Where its features start among those of all examples.
    start: usize,
    /// Where its children lie among those of all examples.
    own: Range<u32>,
    pub weight: f32,
}

/// The examples of a node in the form that steps read.
///
/// Features have numbers of their own within the node, unless most features occur in it.
pub(super) struct LocalExamples<'a> {
    node: Arc<NodeExamples>,
    /// The features of the node, rising.
    pub features: Vec<u32>,
    /// The features of all examples, one after another, by their numbers in the node.
    indices: Cow<'a, [u32]>,
    examples: Vec<Example<'a>>,
}

impl<'a> LocalExamples<'a> {
    /// `numbers` is room for the number of each feature.
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
            own: node.own_of(n),
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

    /// The features and values of an example, by the numbers of the node.
    #[inline(always)]
    pub fn row(&self, example: &Example<'a>) -> Row<'_> {
        Row { indices: &self.indices[example.start..example.start + example.values.len()], values: example.values }
    }

    /// Which of these children an example belongs to, each with how often it counts.
    pub fn own_within(&self, example: &Example<'a>, children: &Range<usize>) -> impl Iterator<Item = (usize, f32)> {
        let own = &self.node.own[example.own.start as usize..example.own.end as usize];
        let own = own.iter().map(|&(child, weight)| (usize::from(child), weight));
        own.filter(|(child, _)| children.contains(child)).map(|(child, weight)| (child - children.start, weight))
    }

    /// The children of an example, for a prefetch.
    pub fn first_own(&self, example: &Example<'a>) -> Option<&(u16, f32)> {
        self.node.own.get(example.own.start as usize)
    }
}
