//! Opens a cache as rows. Everything is read and checked once, so that a damaged or hostile file ends in an error.

use std::path::Path;

use bytemuck::Pod;

use super::card::Card;
use crate::data::Dataset;
use crate::data::labels::Labels;
use crate::data::mapped_rows::MappedRows;
use crate::error::{Error, Result};
use crate::platform::digest::Digest;
use crate::platform::mapped_slice::MappedSlice;
use crate::platform::pool;
use crate::text::{self, Text, TextOptions};

/// Feature indices have 32 bits.
const MOST_FEATURES: u64 = 1 << 32;

/// The rows of a folder with this card, and the text settings and vocabulary if it was made from texts.
pub(super) fn load(folder: &Path, card: Card) -> Result<(Option<Text>, Dataset)> {
    let files = Columns { folder, card: &card };
    let disk = files.disk()?;
    let labels = files.labels(disk.len())?;
    let row_weights = files.weights(disk.len())?;
    let text = card.text.map(|options| files.text(options)).transpose()?;
    let mut data = Dataset::on_disk(card.features, disk, labels, card.classes);
    data.feature_names.clone_from(&card.columns.features);
    (data.row_weights, data.columns) = (row_weights, card.columns);
    Ok((text, data))
}

/// The files of a cache, and its card.
struct Columns<'a> {
    folder: &'a Path,
    card: &'a Card,
}

impl Columns<'_> {
    fn damaged(&self, name: &str, reason: impl ToString) -> Error {
        Error::Cache { path: self.folder.join(name), reason: reason.to_string() }
    }

    /// A column, not yet checked.
    fn mapped<T: Pod>(&self, name: &str) -> Result<MappedSlice<T>> {
        MappedSlice::file(&self.folder.join(name))?.ok_or_else(|| self.damaged(name, "its last number is cut short"))
    }

    fn check_sum(&self, name: &str, sum: u64) -> Result<()> {
        if self.card.sums.get(name) == Some(&sum) {
            return Ok(());
        }
        Err(self.damaged(name, "its checksum is wrong: some of it was changed"))
    }

    /// A column in memory, after checking its checksum.
    fn numbers<T: Pod>(&self, name: &str) -> Result<Vec<T>> {
        let numbers = self.mapped(name)?.into_vec();
        self.check_sum(name, Digest::of(bytemuck::cast_slice(&numbers)))?;
        Ok(numbers)
    }

    fn disk(&self) -> Result<MappedRows> {
        let offsets: MappedSlice<usize> = self.mapped("offsets")?;
        self.check_sum("offsets", Digest::of(bytemuck::cast_slice(&offsets)))?;
        let disk = MappedRows { offsets, indices: self.mapped("indices")?, values: self.mapped("values")? };
        let (entries, values) = (disk.indices.len(), disk.values.len());
        if !are_offsets(&disk.offsets, entries) {
            return Err(self.damaged("offsets", format!("offsets do not match {entries} entries")));
        }
        if values != entries {
            return Err(self.damaged("values", format!("expected {entries} values, one per entry, found {values}")));
        }
        if self.card.features as u64 > MOST_FEATURES {
            return Err(
                self.damaged(Card::NAME, format!("expected at most 2³² features, found {}", self.card.features))
            );
        }
        // Each column is read from start to end: sequential for the disk, and in the order of its checksum.
        let features = || {
            let sum = disk.check_features(self.card.features).map_err(|reason| self.damaged("indices", reason))?;
            self.check_sum("indices", sum)
        };
        let values = || {
            let sum = disk.check_values().map_err(|reason| self.damaged("values", reason))?;
            self.check_sum("values", sum)
        };
        pool::run(|| {
            let (features, values) = rayon::join(features, values);
            features.and(values)
        })?;
        Ok(disk)
    }

    fn labels(&self, rows: usize) -> Result<Labels> {
        let (ends, labels) = (self.numbers("label-offsets")?, self.numbers("labels")?);
        let (total, classes) = (labels.len(), self.card.classes.len());
        let fit = Labels::from_parts(ends, labels).filter(|labels| labels.len() == rows);
        let labels = fit.ok_or_else(|| {
            self.damaged("label-offsets", format!("offsets do not match {total} labels of {rows} rows"))
        })?;
        let mut sorted = Vec::new();
        for (n, of_row) in labels.iter().enumerate() {
            sorted.clear();
            sorted.extend_from_slice(of_row);
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(self.damaged("labels", format!("row {n}: class {} occurs twice", pair[0])));
            }
            if let Some(last) = sorted.last().filter(|&&last| last as usize >= classes) {
                return Err(self.damaged("labels", format!("row {n}: expected a class below {classes}, found {last}")));
            }
        }
        Ok(labels)
    }

    fn weights(&self, rows: usize) -> Result<Vec<f64>> {
        let weights: Vec<f64> = self.numbers("weights")?;
        if !weights.is_empty() && weights.len() != rows {
            return Err(
                self.damaged("weights", format!("expected {rows} weights, one per row, found {}", weights.len()))
            );
        }
        if let Some(n) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(self.damaged(
                "weights",
                format!("row {n}: expected a weight, finite and at least 0, found {}", weights[n]),
            ));
        }
        Ok(weights)
    }

    fn text(&self, options: TextOptions) -> Result<Text> {
        let (terms, idf) = (self.numbers::<u8>("terms")?, self.numbers("idf")?);
        text::from_parts(options, &terms, idf, self.card.features).map_err(|reason| self.damaged("terms", reason))
    }
}

/// Whether these are CSR offsets into `entries` entries.
fn are_offsets(offsets: &[usize], entries: usize) -> bool {
    offsets.first() == Some(&0) && offsets.last() == Some(&entries) && offsets.is_sorted()
}
