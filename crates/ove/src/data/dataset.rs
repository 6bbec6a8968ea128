//! Rows that are owned, with the names of their classes and features.

use std::collections::{HashMap, HashSet};

use super::labels::Labels;
use super::mapped_rows::MappedRows;
use super::rows::{Rows, Storage};
use super::skipped::Skipped;
use crate::platform::memory;

/// Rows with their classes and names, as read from a file or made by a program.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    features: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
    /// Where the rows are, if not in these vectors.
    mapped: Option<MappedRows>,
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
    pub(crate) fn on_disk(features: usize, disk: MappedRows, labels: Labels, classes: Vec<String>) -> Self {
        assert_eq!(disk.len(), labels.len(), "each row has its labels");
        Dataset { features, mapped: Some(disk), labels, classes, ..Dataset::default() }
    }

    /// The bytes of the rows that stay on disk; 0 if they are in memory.
    pub fn bytes_on_disk(&self) -> u64 {
        self.mapped.as_ref().map_or(0, MappedRows::bytes)
    }

    /// Makes room for so many more rows with so many entries in all, so that a large set grows without being copied.
    pub fn reserve(&mut self, rows: usize, entries: usize) {
        self.offsets.reserve_exact(rows);
        self.labels.reserve(rows);
        memory::reserve(&mut self.indices, entries);
        memory::reserve(&mut self.values, entries);
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
        let (offsets, indices, values) = match &self.mapped {
            Some(MappedRows { offsets, indices, values }) => (&offsets[..], &indices[..], &values[..]),
            None => (&self.offsets[..], &self.indices[..], &self.values[..]),
        };
        let storage = Storage::Sparse { offsets, indices };
        Rows { features: self.features, storage, values, mapped: self.mapped.as_ref() }
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
