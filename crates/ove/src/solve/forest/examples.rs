//! The rows that a node sees, each with the children it belongs to, and how a step finds them.

use std::ops::Range;

use crate::data::{Row, Rows};

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

/// An example with all that a step needs of it, in a line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Example<'a> {
    pub row: Row<'a>,
    pub own: &'a [(u16, f32)],
    pub weight: f32,
}

impl Example<'_> {
    /// Which of these children it belongs to, each with how often it counts.
    pub fn own_within(&self, children: &Range<usize>) -> impl Iterator<Item = (usize, f32)> {
        let own = self.own.iter().map(|&(child, weight)| (usize::from(child), weight));
        own.filter(|(child, _)| children.contains(child)).map(|(child, weight)| (child - children.start, weight))
    }
}

/// The features of a node's examples under numbers of their own, or all features where most of them occur.
pub(super) struct Local {
    /// Rising.
    pub features: Vec<u32>,
    numbered: Option<Numbered>,
}

/// The features of examples by their numbers, one example after another.
struct Numbered {
    indices: Vec<u32>,
    ends: Vec<usize>,
}

impl Local {
    /// `numbers` is room for the number of each feature.
    pub fn new(all_rows: Rows<'_>, examples: &Examples, numbers: &mut Vec<u32>) -> Self {
        let all = all_rows.features();
        numbers.resize(all, u32::MAX);
        let rows = || examples.rows.iter().map(|&row| all_rows.row(row as usize).indices);
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
            let mut ends = Vec::with_capacity(examples.len());
            for row in rows() {
                indices.extend(row.iter().map(|&feature| numbers[feature as usize]));
                ends.push(indices.len());
            }
            Numbered { indices, ends }
        });
        features.iter().for_each(|&feature| numbers[feature as usize] = u32::MAX);
        Local { features: if most { (0..all as u32).collect() } else { features }, numbered }
    }

    /// The examples with these numbers of their features.
    pub fn examples<'a>(&'a self, all_rows: Rows<'a>, examples: &'a Examples) -> Vec<Example<'a>> {
        let of = |n: usize| {
            let row = all_rows.row(examples.rows[n] as usize);
            let indices = self.numbered.as_ref().map_or(row.indices, |numbered| numbered.row(n));
            Example { row: Row { indices, ..row }, own: examples.own_of(n), weight: examples.row_weights[n] }
        };
        (0..examples.len()).map(of).collect()
    }
}

impl Numbered {
    /// The features of example `n`.
    fn row(&self, n: usize) -> &[u32] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        &self.indices[start..self.ends[n]]
    }
}
