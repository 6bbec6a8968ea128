//! Borrowed views of sparse and dense rows.

use std::ops::Range;

use super::mapped_rows::MappedRows;
use crate::error::{Error, Result};

/// Many rows, borrowed: sparse in compressed sparse row form, or dense.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub(super) features: usize,
    pub(super) storage: Storage<'a>,
    pub(super) values: &'a [f32],
    pub(super) mapped: Option<&'a MappedRows>,
}

/// Which features the values of a row belong to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Storage<'a> {
    /// Row `n` holds the entries `offsets[n]..offsets[n + 1]`.
    Sparse { offsets: &'a [usize], indices: &'a [u32] },
    /// Every row holds all features, and all rows share this list of them.
    Dense { indices: &'a [u32] },
}

/// One row: feature `indices[i]` has the value `values[i]`; indices rise.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Features, rising.
    pub indices: &'a [u32],
    /// Their values.
    pub values: &'a [f32],
}

impl<'a> Row<'a> {
    /// What it has of the first `features` features: those that a model knows.
    pub fn below(self, features: usize) -> Self {
        let known = self.indices.partition_point(|&feature| (feature as usize) < features);
        Row { indices: &self.indices[..known], values: &self.values[..known] }
    }
}

impl<'a> Rows<'a> {
    /// A view of borrowed numbers, after a check that they form rows: offsets that start at 0 and never fall,
    /// features that rise within a row and stay below `features`, finite values.
    pub fn new(features: usize, offsets: &'a [usize], indices: &'a [u32], values: &'a [f32]) -> Result<Self> {
        let mismatch = |found: String, allowed: &str| Err(Error::Mismatch { found, allowed: allowed.into() });
        if offsets.first() != Some(&0) || offsets.last() != Some(&indices.len()) {
            return mismatch("row offsets of another length".into(), "they run from 0 to the number of entries");
        }
        if indices.len() != values.len() {
            return mismatch(
                format!("{} features with {} values", indices.len(), values.len()),
                "each feature has one value",
            );
        }
        if let Some(n) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return mismatch(format!("row {n} ends before it starts"), "row offsets never fall");
        }
        for (n, pair) in offsets.windows(2).enumerate() {
            let row = &indices[pair[0]..pair[1]];
            if let Some(w) = row.windows(2).find(|w| w[0] >= w[1]) {
                return mismatch(format!("row {n}: feature {} after {}", w[1], w[0]), "features rise within a row");
            }
            if let Some(&last) = row.last().filter(|&&last| last as usize >= features) {
                return mismatch(format!("row {n}: feature {last}"), &format!("there are {features} features"));
            }
        }
        Rows { features, storage: Storage::Sparse { offsets, indices }, values, mapped: None }.finite()
    }

    /// A view of borrowed dense rows, one after the other. `indices` are those of every row: 0, 1, …, features − 1.
    pub fn dense(indices: &'a [u32], values: &'a [f32]) -> Result<Self> {
        let features = indices.len();
        if features == 0 || !indices.iter().copied().eq(0..features as u32) || !values.len().is_multiple_of(features) {
            return Err(Error::Mismatch {
                found: format!("{} values in rows of {features} features", values.len()),
                allowed: "a dense row has a value for each feature from 0 on, and at least one".into(),
            });
        }
        Rows { features, storage: Storage::Dense { indices }, values, mapped: None }.finite()
    }

    /// These rows, if every value is finite.
    fn finite(self) -> Result<Self> {
        let Some(at) = self.values.iter().position(|v| !v.is_finite()) else { return Ok(self) };
        let (n, feature) = match self.storage {
            Storage::Sparse { offsets, indices } => (offsets.partition_point(|&o| o <= at) - 1, indices[at] as usize),
            Storage::Dense { .. } => (at / self.features, at % self.features),
        };
        Err(Error::Mismatch {
            found: format!("row {n}, feature {feature}: the value {}", self.values[at]),
            allowed: "values are finite 32-bit floats".into(),
        })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        match self.storage {
            Storage::Sparse { offsets, .. } => offsets.len() - 1,
            Storage::Dense { .. } => self.values.len() / self.features,
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many features a row may have: every index is smaller.
    pub fn features(&self) -> usize {
        self.features
    }

    /// How many entries all rows hold together.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Row `n`.
    #[inline]
    pub fn row(&self, n: usize) -> Row<'a> {
        match self.storage {
            Storage::Sparse { offsets, indices } => {
                let range = offsets[n]..offsets[n + 1];
                Row { indices: &indices[range.clone()], values: &self.values[range] }
            }
            Storage::Dense { indices } => {
                Row { indices, values: &self.values[n * self.features..(n + 1) * self.features] }
            }
        }
    }

    /// The features of all rows, one after another; dense rows share one list of them.
    pub(crate) fn all_indices(&self) -> &'a [u32] {
        match self.storage {
            Storage::Sparse { indices, .. } | Storage::Dense { indices } => indices,
        }
    }

    /// Where the features of a row start among those of all.
    pub(crate) fn entries_from(&self, n: usize) -> usize {
        match self.storage {
            Storage::Sparse { offsets, .. } => offsets[n],
            Storage::Dense { .. } => 0,
        }
    }

    /// Where they lie, if that is not memory.
    pub(crate) fn mapped(&self) -> Option<&'a MappedRows> {
        self.mapped
    }

    /// All rows in order; memory that those on disk took is given back on the way.
    pub(crate) fn each(&self, mut visit: impl FnMut(Row<'a>)) {
        let Some(disk) = self.mapped else { return self.iter(0..self.len()).for_each(visit) };
        for chunk in disk.chunks() {
            self.iter(chunk.clone()).for_each(&mut visit);
            disk.evict(chunk);
        }
    }

    /// The rows of a range, in order.
    pub fn iter(&self, range: Range<usize>) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let rows = *self;
        range.map(move |n| rows.row(n))
    }
}
