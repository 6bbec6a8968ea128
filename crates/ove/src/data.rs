//! Sparse rows and their classes.
//!
//! [`Rows`] is a borrowed view: what the solvers and the model read, whoever owns the numbers. [`Dataset`] owns them, together
//! with the names that the file gave to classes and features.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::machine;
use crate::read::Skipped;

/// Many rows, borrowed: sparse in compressed sparse row form, or dense.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    features: usize,
    layout: Layout<'a>,
    values: &'a [f32],
    disk: Option<&'a Disk>,
}

/// Which features the values of a row belong to.
#[derive(Debug, Clone, Copy)]
enum Layout<'a> {
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
        Rows { features, layout: Layout::Sparse { offsets, indices }, values, disk: None }.finite()
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
        Rows { features, layout: Layout::Dense { indices }, values, disk: None }.finite()
    }

    /// These rows, if every value is finite.
    fn finite(self) -> Result<Self> {
        let Some(at) = self.values.iter().position(|v| !v.is_finite()) else { return Ok(self) };
        let (n, feature) = match self.layout {
            Layout::Sparse { offsets, indices } => (offsets.partition_point(|&o| o <= at) - 1, indices[at] as usize),
            Layout::Dense { .. } => (at / self.features, at % self.features),
        };
        Err(Error::Mismatch {
            found: format!("row {n}, feature {feature}: the value {}", self.values[at]),
            allowed: "values are finite 32-bit floats".into(),
        })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        match self.layout {
            Layout::Sparse { offsets, .. } => offsets.len() - 1,
            Layout::Dense { .. } => self.values.len() / self.features,
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
        match self.layout {
            Layout::Sparse { offsets, indices } => {
                let range = offsets[n]..offsets[n + 1];
                Row { indices: &indices[range.clone()], values: &self.values[range] }
            }
            Layout::Dense { indices } => {
                Row { indices, values: &self.values[n * self.features..(n + 1) * self.features] }
            }
        }
    }

    /// Where they lie, if that is not memory.
    pub(crate) fn disk(&self) -> Option<&'a Disk> {
        self.disk
    }

    /// All rows in order; memory that those on disk took is given back on the way.
    pub(crate) fn each(&self, mut visit: impl FnMut(Row<'a>)) {
        let Some(disk) = self.disk else { return self.iter(0..self.len()).for_each(visit) };
        for chunk in disk.chunks() {
            self.iter(chunk.clone()).for_each(&mut visit);
            disk.forget(chunk);
        }
    }

    /// The rows of a range, in order.
    pub fn iter(&self, range: Range<usize>) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let rows = *self;
        range.map(move |n| rows.row(n))
    }
}

/// Rows with their classes and names, as read from a file or made by a program.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    features: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
    /// Where the rows are, if not in these vectors.
    disk: Option<Disk>,
    /// The classes of each row, as indices into `classes`.
    pub labels: Labels,
    /// How often each row counts in training; empty: every row once.
    pub row_weights: Vec<f64>,
    /// The name of each class.
    pub classes: Vec<String>,
    /// The name of each feature, where the file gives names; empty otherwise.
    pub feature_names: Vec<String>,
    /// The rows of the file that were left out.
    pub skipped: Skipped,
}

impl Dataset {
    /// No rows yet, `features` features and these classes.
    pub fn new(features: usize, classes: Vec<String>) -> Self {
        Dataset { features, offsets: vec![0], classes, ..Dataset::default() }
    }

    /// Rows without a class: `offsets` say where each starts among the entries, and where the last one ends.
    pub(crate) fn without_labels(features: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f32>) -> Self {
        let mut labels = Labels::default();
        labels.reserve(offsets.len() - 1);
        offsets[1..].iter().for_each(|_| labels.push(&[]));
        Dataset { features, offsets, indices, values, labels, ..Dataset::default() }
    }

    /// Rows that stay on disk, with the labels of each.
    pub(crate) fn on_disk(features: usize, disk: Disk, labels: Labels, classes: Vec<String>) -> Self {
        assert_eq!(disk.len(), labels.len(), "each row has its labels");
        Dataset { features, disk: Some(disk), labels, classes, ..Dataset::default() }
    }

    /// The bytes of the rows that stay on disk; 0 if they are in memory.
    pub fn bytes_on_disk(&self) -> u64 {
        self.disk.as_ref().map_or(0, Disk::bytes)
    }

    /// Makes room for so many more rows with so many entries in all, so that a large set grows without being copied.
    pub fn reserve(&mut self, rows: usize, entries: usize) {
        self.offsets.reserve_exact(rows);
        self.labels.reserve(rows);
        machine::reserve(&mut self.indices, entries);
        machine::reserve(&mut self.values, entries);
    }

    /// Adds an entry to the row that is being built. Features come in rising order.
    #[inline]
    pub fn push_entry(&mut self, feature: u32, value: f32) {
        self.indices.push(feature);
        self.values.push(value);
    }

    /// Says how often the row that is being built counts in training; a row of which nothing is said counts once.
    pub fn weigh_row(&mut self, weight: f64) {
        self.row_weights.resize(self.len(), 1.0);
        self.row_weights.push(weight);
    }

    /// Ends the row that is being built, which has these classes.
    pub fn end_row(&mut self, labels: &[u32]) {
        let start = *self.offsets.last().expect("offsets start with 0");
        debug_assert!(self.indices[start..].windows(2).all(|w| w[0] < w[1]), "features rise within a row");
        if let Some(&last) = self.indices[start..].last() {
            self.features = self.features.max(last as usize + 1);
        }
        self.offsets.push(self.indices.len());
        self.labels.push(labels);
        if !self.row_weights.is_empty() {
            self.row_weights.resize(self.len(), 1.0);
        }
    }

    /// Forgets the row that is being built.
    pub(crate) fn leave_out_row(&mut self) {
        let start = *self.offsets.last().expect("offsets start with 0");
        self.indices.truncate(start);
        self.values.truncate(start);
        self.row_weights.truncate(self.len());
    }

    /// How many features a row may have.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Allows rows so many features at least: those of a set that this one belongs to.
    pub fn allow_features(&mut self, features: usize) {
        self.features = self.features.max(features);
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The rows, for the solvers and the model.
    pub fn rows(&self) -> Rows<'_> {
        let (offsets, indices, values) = match &self.disk {
            Some(Disk { offsets, indices, values }) => (&offsets[..], &indices[..], &values[..]),
            None => (&self.offsets[..], &self.indices[..], &self.values[..]),
        };
        let layout = Layout::Sparse { offsets, indices };
        Rows { features: self.features, layout, values, disk: self.disk.as_ref() }
    }

    /// Renames the classes to those of a model: labels become indices into `classes`, and a row loses those that are not
    /// among them.
    pub fn use_classes(&mut self, classes: &[String]) {
        let index: HashMap<&str, u32> = classes.iter().zip(0..).map(|(name, k)| (name.as_str(), k)).collect();
        let new: Vec<Option<u32>> = self.classes.iter().map(|c| index.get(c.as_str()).copied()).collect();
        self.labels.renumber(|label| new[label as usize]);
        self.classes = classes.to_vec();
    }

    /// Numbers the classes as `classes` does; those that are not among them come after all others.
    pub fn extend_classes(&mut self, classes: &[String]) {
        let known: HashSet<&str> = classes.iter().map(String::as_str).collect();
        let others = self.classes.iter().filter(|name| !known.contains(name.as_str()));
        let all: Vec<String> = classes.iter().chain(others).cloned().collect();
        self.use_classes(&all);
    }

    /// Drops the classes that no row has, keeping the order of the others.
    pub fn drop_unused_classes(&mut self) {
        let mut used = vec![false; self.classes.len()];
        for &label in self.labels.all() {
            used[label as usize] = true;
        }
        let kept: Vec<String> =
            self.classes.iter().zip(&used).filter(|(_, used)| **used).map(|(name, _)| name.clone()).collect();
        self.use_classes(&kept);
    }
}
