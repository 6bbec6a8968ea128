//! Rows to train or evaluate on: a view of rows with their labels and weights, and an index of the rows that belong to
//! it.
//!
//! Held-out rows, the rows of a node of a tree and the parts of a split are views of the same rows with different
//! indices; nothing is copied. A row keeps its number, whatever the index, so that its random numbers stay its own.

use std::collections::HashSet;
use std::ops::Range;

use bytemuck::cast_slice;
use rayon::prelude::*;

use super::dataset::Dataset;
use super::doubts::Doubt;
use super::labels::Labels;
use super::rows::{Row, Rows};
use super::views::Kind;
use crate::error::{Error, Result};
use crate::platform::digest::Digest;
use crate::platform::pool;

/// One row in this many, from which on rows of both sides distort what is measured.
const SHARED_ONE_IN: usize = 100;

/// A subset of rows with their labels and weights.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a> {
    /// All rows.
    pub rows: Rows<'a>,
    /// The classes of each row, below `classes`.
    pub labels: &'a Labels,
    /// The weight of each row; empty if every row has weight 1.
    pub row_weights: &'a [f64],
    /// Number of classes, K.
    pub classes: usize,
    /// Number of rows at the end of all rows that are names of classes: they are trained on, but neither held out nor
    /// counted.
    pub name_rows: usize,
    /// The kind of term of each feature; empty if there are no kinds.
    pub kinds: &'a [Kind],
    /// The ids of these rows, increasing; all rows if `None`.
    index: Option<&'a [u32]>,
}

impl<'a> Examples<'a> {
    /// All of these rows.
    pub fn new(rows: Rows<'a>, labels: &'a Labels, row_weights: &'a [f64], classes: usize) -> Self {
        Examples { rows, labels, row_weights, classes, name_rows: 0, kinds: &[], index: None }
    }

    /// All rows of a data set.
    pub fn of(data: &'a Dataset) -> Self {
        let all = Examples::new(data.rows(), &data.labels, &data.row_weights, data.classes.len());
        Examples { name_rows: data.name_rows, ..all }
    }

    /// The rows with these ids, which must increase.
    pub fn with_index(self, index: &'a [u32]) -> Self {
        debug_assert!(index.is_sorted_by(|a, b| a < b), "row ids increase");
        Examples { index: Some(index), ..self }
    }

    /// The same rows, whose labels are among this many classes.
    pub(crate) fn with_classes(self, classes: usize) -> Self {
        Examples { classes, ..self }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.index.map_or(self.rows.len(), <[u32]>::len)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids of the rows, increasing.
    pub fn ids(&self) -> impl Iterator<Item = usize> + Clone + use<'a> {
        let index = self.index;
        (0..self.len()).map(move |n| index.map_or(n, |index| index[n] as usize))
    }

    /// The id of the `n`-th of these rows.
    pub fn id(&self, n: usize) -> usize {
        self.index.map_or(n, |index| index[n] as usize)
    }

    /// The ids of these rows within a range of all rows.
    pub(crate) fn ids_within(&self, range: Range<usize>) -> impl Iterator<Item = u32> + use<'a> {
        let (all, some) = match self.index {
            None => (range.start as u32..range.end as u32, &[][..]),
            Some(index) => {
                let first_from = |row: usize| index.partition_point(|&id| (id as usize) < row);
                (0..0, &index[first_from(range.start)..first_from(range.end)])
            }
        };
        all.chain(some.iter().copied())
    }

    /// The ids of the rows that are not names of classes.
    pub(crate) fn ids_without_names(&self) -> impl Iterator<Item = usize> + Clone + use<'a> {
        let end = self.rows.len() - self.name_rows;
        self.ids().take_while(move |&id| id < end)
    }

    /// Calls `visit` with the id of each row and the row; mapped rows are evicted on the way.
    pub(crate) fn each(&self, mut visit: impl FnMut(usize, Row<'a>)) {
        let Some(mapped) = self.rows.mapped() else {
            return self.ids().for_each(|id| visit(id, self.rows.row(id)));
        };
        for chunk in mapped.chunks() {
            self.ids_within(chunk.clone()).for_each(|id| visit(id as usize, self.rows.row(id as usize)));
            mapped.evict(chunk);
        }
    }

    /// The checksum of the content of each row, whatever its labels and weight.
    pub(crate) fn contents(&self) -> Vec<u64> {
        if self.rows.mapped().is_some() {
            let mut contents = Vec::with_capacity(self.len());
            self.each(|_, row| contents.push(content(row)));
            return contents;
        }
        let of = |n: usize| content(self.rows.row(self.id(n)));
        pool::run(|| (0..self.len()).into_par_iter().map(of).collect())
    }

    /// Whether some of these held-out rows are training rows too; if so, also the ids of those that are not.
    pub fn shared_with(&self, train: &Examples<'_>) -> Option<(Doubt, Vec<u32>)> {
        let known: HashSet<u64> = train.contents().into_iter().collect();
        // A row without known features says nothing about the text that it was.
        let is_empty = |n: usize| self.rows.row(self.id(n)).indices.is_empty();
        let contents = self.contents();
        let is_new = |n: &usize| !known.contains(&contents[*n]) || is_empty(*n);
        let new: Vec<u32> = (0..self.len()).filter(is_new).map(|n| self.id(n) as u32).collect();
        let (rows, shared) = (self.len(), self.len() - new.len());
        let first = 1 + (0..rows).find(|n| !is_new(n))?;
        (shared * SHARED_ONE_IN >= rows).then_some((Doubt::Shared { shared, rows, first }, new))
    }

    /// The weight of a row.
    #[inline]
    pub fn weight(&self, id: usize) -> f64 {
        self.row_weights.get(id).copied().unwrap_or(1.0)
    }

    /// Number of rows of each class.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.classes];
        self.ids().flat_map(|id| &self.labels[id]).for_each(|&label| counts[label as usize] += 1);
        counts
    }

    /// Number of rows of each class, without the rows that are names of classes.
    pub(crate) fn counts_without_names(&self) -> Vec<u64> {
        let mut counts = vec![0; self.classes];
        self.ids_without_names().flat_map(|id| &self.labels[id]).for_each(|&label| counts[label as usize] += 1);
        counts
    }

    /// The sum of the row weights of each class.
    pub(crate) fn mass(&self) -> Vec<f64> {
        let mut mass = vec![0.0; self.classes];
        for id in self.ids() {
            let weight = self.weight(id);
            self.labels[id].iter().for_each(|&label| mass[label as usize] += weight);
        }
        mass
    }

    /// A copy of every `step`-th of these rows.
    pub fn thinned(&self, step: usize) -> Dataset {
        let mut data = Dataset::new(self.rows.features(), Vec::new());
        for id in self.ids().step_by(step.max(1)) {
            let row = self.rows.row(id);
            row.indices.iter().zip(row.values).for_each(|(&feature, &value)| data.push_entry(feature, value));
            if let Some(&weight) = self.row_weights.get(id) {
                data.weigh_row(weight);
            }
            data.end_row(&self.labels[id]);
        }
        data
    }

    /// Checks that these rows can be trained on.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if rows, labels, weights and classes do not fit together.
    pub fn check(&self) -> Result<()> {
        let mismatch = |message: String| Err(Error::Mismatch(message));
        let rows = self.rows.len();
        if self.is_empty() {
            return mismatch("training needs at least one row, got none".into());
        }
        if self.labels.len() != rows {
            return mismatch(format!("labels of {} rows do not match {rows} rows", self.labels.len()));
        }
        if let Some(id) = self.index.and_then(|index| index.iter().find(|&&id| id as usize >= rows)) {
            return mismatch(format!("the index has row {id}, but there are {rows} rows"));
        }
        if self.classes < 2 {
            return mismatch(format!("training needs at least 2 classes, got {}", self.classes));
        }
        let is_known =
            |labels: &[u32]| !labels.is_empty() && labels.iter().all(|&label| (label as usize) < self.classes);
        if let Some(n) = self.ids().find(|&id| !is_known(&self.labels[id])) {
            return mismatch(format!("row {n} has no known class; training needs the class of every row"));
        }
        let weights = self.row_weights;
        if !weights.is_empty() && weights.len() != rows {
            return mismatch(format!("{} row weights do not match {rows} rows", weights.len()));
        }
        if let Some(n) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return mismatch(format!("row {n}: the weight must be finite and at least 0, got {}", weights[n]));
        }
        Ok(())
    }
}

fn content(row: Row<'_>) -> u64 {
    let mut digest = Digest::default();
    digest.update(cast_slice(row.indices));
    digest.update(cast_slice(row.values));
    digest.finish()
}
