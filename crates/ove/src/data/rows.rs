//! Borrowed views of sparse and dense rows.

use std::ops::Range;

use super::mapped_rows::MappedRows;
use crate::error::{Error, Result};

/// A view of rows: sparse in compressed sparse row (CSR) form, or dense.
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

/// One row: feature `indices[i]` has the value `values[i]`, with increasing indices.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Features, increasing.
    pub indices: &'a [u32],
    /// Their values.
    pub values: &'a [f32],
}

impl<'a> Row<'a> {
    /// The entries of the first `features` features.
    pub fn below(self, features: usize) -> Self {
        let known = self.indices.partition_point(|&feature| (feature as usize) < features);
        Row { indices: &self.indices[..known], values: &self.values[..known] }
    }
}

impl<'a> Rows<'a> {
    /// A view of sparse rows in CSR form.
    ///
    /// # Errors
    /// [`Error::Mismatch`] unless offsets start at 0 and never decrease, features increase within a row and are below
    /// `features`, and values are finite.
    pub fn new(features: usize, offsets: &'a [usize], indices: &'a [u32], values: &'a [f32]) -> Result<Self> {
        let mismatch = |message: String| Err(Error::Mismatch(message));
        let (entries, values_len) = (indices.len(), values.len());
        if offsets.first() != Some(&0) || offsets.last() != Some(&entries) {
            return mismatch(format!("row offsets must run from 0 to the number of entries, {entries}"));
        }
        if entries != values_len {
            return mismatch(format!("{entries} feature indices do not match {values_len} values"));
        }
        if let Some(n) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return mismatch(format!(
                "row {n}: row offsets must not decrease, got {} after {}",
                offsets[n + 1],
                offsets[n]
            ));
        }
        for (n, pair) in offsets.windows(2).enumerate() {
            let row = &indices[pair[0]..pair[1]];
            if let Some(w) = row.windows(2).find(|w| w[0] >= w[1]) {
                return mismatch(format!("row {n}: features must increase within a row, got {} after {}", w[1], w[0]));
            }
            if let Some(&last) = row.last().filter(|&&last| last as usize >= features) {
                return mismatch(format!(
                    "row {n}: a feature must be below the number of features, {features}, got {last}"
                ));
            }
        }
        Rows { features, storage: Storage::Sparse { offsets, indices }, values, mapped: None }.finite()
    }

    /// A view of dense rows, one after the other; `indices` must be 0, 1, …, features − 1.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the values do not make rows of that length, or are not finite.
    pub fn dense(indices: &'a [u32], values: &'a [f32]) -> Result<Self> {
        let features = indices.len();
        if features == 0 || !indices.iter().copied().eq(0..features as u32) || !values.len().is_multiple_of(features) {
            let message = format!("{} values do not make dense rows of {features} features", values.len());
            return Err(Error::Mismatch(message));
        }
        Rows { features, storage: Storage::Dense { indices }, values, mapped: None }.finite()
    }

    /// Checks that every value is finite.
    fn finite(self) -> Result<Self> {
        let Some(at) = self.values.iter().position(|v| !v.is_finite()) else { return Ok(self) };
        let (n, feature) = match self.storage {
            Storage::Sparse { offsets, indices } => (offsets.partition_point(|&o| o <= at) - 1, indices[at] as usize),
            Storage::Dense { .. } => (at / self.features, at % self.features),
        };
        let value = self.values[at];
        Err(Error::Mismatch(format!(
            "row {n}, feature {feature}: the value must be a finite 32-bit float, got {value}"
        )))
    }

    /// Number of rows.
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

    /// Number of features: every index is smaller.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of entries of all rows.
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

    /// The offset of the features of row `n` among those of all rows.
    pub(crate) fn entries_from(&self, n: usize) -> usize {
        match self.storage {
            Storage::Sparse { offsets, .. } => offsets[n],
            Storage::Dense { .. } => 0,
        }
    }

    /// The values of all rows.
    pub(crate) fn all_values(&self) -> &'a [f32] {
        self.values
    }

    /// The offset of the values of row `n` among those of all rows.
    pub(crate) fn values_from(&self, n: usize) -> usize {
        match self.storage {
            Storage::Sparse { offsets, .. } => offsets[n],
            Storage::Dense { indices } => n * indices.len(),
        }
    }

    /// The mapped files that the rows are in, if any.
    pub(crate) fn mapped(&self) -> Option<&'a MappedRows> {
        self.mapped
    }

    /// Visits all rows in order; rows on disk are evicted on the way.
    pub(crate) fn each(&self, mut visit: impl FnMut(Row<'a>)) {
        let Some(disk) = self.mapped else { return self.iter(0..self.len()).for_each(visit) };
        for chunk in disk.chunks() {
            self.iter(chunk.clone()).for_each(&mut visit);
            disk.evict(chunk);
        }
    }

    /// The rows of a range.
    pub fn iter(&self, range: Range<usize>) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let rows = *self;
        range.map(move |n| rows.row(n))
    }
}
