//! A cache while it is made: every column is a file that grows.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bytemuck::Pod;

use super::card::{Card, Origin};
use crate::data::Dataset;
use crate::data::labels::Labels;
use crate::error::{Error, Result};
use crate::io::read::{Columns, Skipped, classes};
use crate::platform::digest::Digest;
use crate::text::Text;

/// The files of a cache beside its card.
pub(super) const COLUMNS: [&str; 8] =
    ["offsets", "indices", "values", "label-offsets", "labels", "weights", "terms", "idf"];

/// A file of numbers that grows.
struct Column {
    name: &'static str,
    path: PathBuf,
    file: BufWriter<File>,
    digest: Digest,
}

impl Column {
    fn new(folder: &Path, name: &'static str) -> Result<Self> {
        let path = folder.join(name);
        let file = File::create(&path).map_err(|e| Error::file(&path, e))?;
        Ok(Column { name, path, file: BufWriter::with_capacity(1 << 20, file), digest: Digest::default() })
    }

    fn push<T: Pod>(&mut self, numbers: &[T]) -> Result<()> {
        let bytes = bytemuck::cast_slice(numbers);
        self.digest.update(bytes);
        self.file.write_all(bytes).map_err(|e| Error::file(&self.path, e))
    }

    /// Its name and its checksum.
    fn finish(mut self) -> Result<(String, u64)> {
        let end = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        end.map_err(|e| Error::file(&self.path, e))?;
        Ok((self.name.to_owned(), self.digest.finish()))
    }
}

/// A cache that is being written.
pub(super) struct Writer {
    folder: PathBuf,
    offsets: Column,
    indices: Column,
    values: Column,
    entries: u64,
    features: usize,
    /// Labels are numbered in order of appearance until all names are known.
    labels: Labels,
    names: classes::Names,
    weights: Vec<f64>,
    columns: Columns,
    skipped: Skipped,
}

impl Writer {
    /// Number of rows written so far.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn new(folder: &Path) -> Result<Self> {
        let mut offsets = Column::new(folder, "offsets")?;
        offsets.push(&[0u64])?;
        Ok(Writer {
            folder: folder.to_owned(),
            offsets,
            indices: Column::new(folder, "indices")?,
            values: Column::new(folder, "values")?,
            entries: 0,
            features: 0,
            labels: Labels::default(),
            names: classes::Names::default(),
            weights: Vec::new(),
            columns: Columns::default(),
            skipped: Skipped::default(),
        })
    }

    /// Adds the rows of a piece.
    pub fn push(&mut self, piece: &Dataset) -> Result<()> {
        let rows = piece.rows();
        for row in rows.iter(0..rows.len()) {
            self.entries += row.indices.len() as u64;
            self.offsets.push(&[self.entries])?;
            self.indices.push(row.indices)?;
            self.values.push(row.values)?;
        }
        self.features = self.features.max(piece.features());
        if !piece.row_weights.is_empty() {
            self.weights.resize(self.labels.len(), 1.0);
            self.weights.extend(&piece.row_weights);
        }
        let numbers: Vec<u32> = piece.classes.iter().map(|name| self.names.number(name)).collect();
        self.labels.append(&piece.labels, |label| numbers[label as usize]);
        if !self.weights.is_empty() {
            self.weights.resize(self.labels.len(), 1.0);
        }
        self.columns.clone_from(&piece.columns);
        self.skipped.join(piece.skipped.clone());
        Ok(())
    }

    /// Writes the remaining columns; returns the card and the rows that were skipped.
    pub fn finish(self, origin: Origin, text: Option<&Text>) -> Result<(Card, Skipped)> {
        let Writer { folder, offsets, indices, values, mut labels, names, weights, mut features, .. } = self;
        let (classes, numbers) = names.sorted();
        labels.renumber(|label| Some(numbers[label as usize]));
        let column = |name: &'static str, bytes: &[u8]| {
            let mut column = Column::new(&folder, name)?;
            column.push(bytes)?;
            Ok(column)
        };
        let mut columns = vec![
            offsets,
            indices,
            values,
            column("label-offsets", bytemuck::cast_slice(labels.offsets()))?,
            column("labels", bytemuck::cast_slice(labels.all()))?,
            column("weights", bytemuck::cast_slice(&weights))?,
        ];
        if let Some(text) = text {
            columns.push(column("terms", text.names().lines().as_bytes())?);
            columns.push(column("idf", bytemuck::cast_slice(text.idf()))?);
            features = text.len();
        }
        let sums = columns.into_iter().map(Column::finish).collect::<Result<_>>()?;
        Ok((
            Card { origin, features, classes, columns: self.columns, text: text.map(|text| *text.options()), sums },
            self.skipped,
        ))
    }
}
