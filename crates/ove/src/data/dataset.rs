//! Owned rows, with their labels and the names of classes and features.

use std::collections::{HashMap, HashSet};

use super::columns::Columns;
use super::doubts::Doubt;
use super::labels::Labels;
use super::mapped_rows::MappedRows;
use super::rows::{Rows, Storage};
use super::skipped::Skipped;
use crate::platform::memory;

/// Rows with their labels and names, as read from a file or built by a program.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    features: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
    /// The rows, if they are in mapped files instead of these vectors.
    mapped: Option<MappedRows>,
    /// The classes of each row, as indices into `classes`.
    pub labels: Labels,
    /// The weight of each row in training; empty if every row has weight 1.
    pub row_weights: Vec<f64>,
    /// The name of each class.
    pub classes: Vec<String>,
    /// The name of each feature; empty if features have no names.
    pub feature_names: Vec<String>,
    /// Number of rows at the end that are names of classes: they are trained on, but neither held out nor counted.
    pub name_rows: usize,
    /// The id of each row, if the file is a table that has them and they were asked for.
    pub ids: Vec<String>,
    /// The columns that were read, if the file is a table.
    pub columns: Columns,
    /// Up to three short texts among those that the rows were made from.
    pub examples: Vec<String>,
    /// What looks like a mistake in the file.
    pub doubts: Vec<Doubt>,
    /// The rows of the file that were skipped.
    pub skipped: Skipped,
}

impl Dataset {
    /// An empty data set with this number of features and these classes.
    pub fn new(features: usize, classes: Vec<String>) -> Self {
        Dataset { features, offsets: vec![0], classes, ..Dataset::default() }
    }

    /// Rows without labels, in CSR form: row `n` has the entries `offsets[n]..offsets[n + 1]`.
    pub(crate) fn without_labels(features: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f32>) -> Self {
        let mut labels = Labels::default();
        labels.reserve(offsets.len() - 1);
        offsets[1..].iter().for_each(|_| labels.push(&[]));
        Dataset { features, offsets, indices, values, labels, ..Dataset::default() }
    }

    /// Rows that stay on disk, with their labels.
    pub(crate) fn on_disk(features: usize, disk: MappedRows, labels: Labels, classes: Vec<String>) -> Self {
        assert_eq!(disk.len(), labels.len(), "each row has its labels");
        Dataset { features, mapped: Some(disk), labels, classes, ..Dataset::default() }
    }

    /// Number of bytes of the rows on disk; 0 if they are in memory.
    pub fn bytes_on_disk(&self) -> u64 {
        self.mapped.as_ref().map_or(0, MappedRows::bytes)
    }

    /// Reserves room for `rows` more rows with `entries` entries in all, so that a large set is not copied as it grows.
    pub fn reserve(&mut self, rows: usize, entries: usize) {
        self.offsets.reserve_exact(rows);
        self.labels.reserve(rows);
        memory::reserve(&mut self.indices, entries);
        memory::reserve(&mut self.values, entries);
    }

    /// Adds an entry to the current row. Features must be added in increasing order.
    #[inline]
    pub fn push_entry(&mut self, feature: u32, value: f32) {
        self.indices.push(feature);
        self.values.push(value);
    }

    /// Sets the weight of the current row in training; the default is 1.
    pub fn weigh_row(&mut self, weight: f64) {
        self.row_weights.resize(self.len(), 1.0);
        self.row_weights.push(weight);
    }

    /// Ends the current row, which has these classes.
    pub fn end_row(&mut self, labels: &[u32]) {
        let start = *self.offsets.last().expect("offsets start with 0");
        debug_assert!(self.indices[start..].windows(2).all(|w| w[0] < w[1]), "features increase within a row");
        if let Some(&last) = self.indices[start..].last() {
            self.features = self.features.max(last as usize + 1);
        }
        self.offsets.push(self.indices.len());
        self.labels.push(labels);
        if !self.row_weights.is_empty() {
            self.row_weights.resize(self.len(), 1.0);
        }
    }

    /// Discards the current row.
    pub(crate) fn leave_out_row(&mut self) {
        let start = *self.offsets.last().expect("offsets start with 0");
        self.indices.truncate(start);
        self.values.truncate(start);
        self.row_weights.truncate(self.len());
    }

    /// Adds the rows of `others`, without their labels and weights.
    pub(crate) fn append_unlabelled(&mut self, others: &Dataset) {
        let start = self.indices.len();
        self.indices.extend(&others.indices);
        self.values.extend(&others.values);
        self.offsets.extend(others.offsets[1..].iter().map(|offset| start + offset));
        self.labels.append(&others.labels, |label| label);
        self.features = self.features.max(others.features);
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Raises the number of features to at least `features`.
    pub fn allow_features(&mut self, features: usize) {
        self.features = self.features.max(features);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// A view of the rows.
    pub fn rows(&self) -> Rows<'_> {
        let (offsets, indices, values) = match &self.mapped {
            Some(MappedRows { offsets, indices, values }) => (&offsets[..], &indices[..], &values[..]),
            None => (&self.offsets[..], &self.indices[..], &self.values[..]),
        };
        let storage = Storage::Sparse { offsets, indices };
        Rows { features: self.features, storage, values, mapped: self.mapped.as_ref() }
    }

    /// Replaces the classes by those of a model: labels become indices into `classes`, and labels of other classes are
    /// dropped.
    pub fn use_classes(&mut self, classes: &[String]) {
        let index: HashMap<&str, u32> = classes.iter().zip(0..).map(|(name, k)| (name.as_str(), k)).collect();
        let new: Vec<Option<u32>> = self.classes.iter().map(|c| index.get(c.as_str()).copied()).collect();
        self.labels.renumber(|label| new[label as usize]);
        self.classes = classes.to_vec();
    }

    /// Numbers the classes in the order of `classes`; classes that are not among them follow.
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
