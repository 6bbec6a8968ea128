//! Predictions as Parquet or Arrow:
//!
//! ```text
//! id            string    if rows have one
//! labels        list of strings
//! probabilities list of doubles
//! names         list of strings, if classes have names; that of a class without one is its label
//! known         whether the model knows a feature of the row
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::{PredictedRow, PredictionFormat};
use crate::error::Result;

/// A file that is written batch by batch. The first rows tell whether there are ids.
pub(super) struct Writer {
    names: bool,
    format: PredictionFormat,
    state: State,
}

enum State {
    Empty(File),
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
    Arrow(Box<FileWriter<BufWriter<File>>>),
    /// It failed.
    Broken,
}

impl Writer {
    /// Writes to a file; `names` says whether classes may have names.
    pub fn new(file: File, format: PredictionFormat, names: bool) -> Result<Self> {
        Ok(Writer { names, format, state: State::Empty(file) })
    }

    /// Writes rows, all of which have an id or none.
    pub fn write(&mut self, rows: &[PredictedRow]) -> io::Result<()> {
        let batch = self.batch(rows)?;
        self.begin(&batch.schema())?;
        match &mut self.state {
            State::Parquet(writer) => writer.write(&batch).map_err(io::Error::other),
            State::Arrow(writer) => writer.write(&batch).map_err(io::Error::other),
            State::Empty(_) | State::Broken => Ok(()),
        }
    }

    /// Completes the file.
    pub fn finish(mut self) -> io::Result<()> {
        let schema = self.batch(&[])?.schema();
        self.begin(&schema)?;
        let mut file = match self.state {
            State::Parquet(writer) => writer.into_inner().map_err(io::Error::other)?,
            State::Arrow(writer) => writer.into_inner().map_err(io::Error::other)?,
            State::Empty(_) | State::Broken => return Ok(()),
        };
        file.flush()
    }

    /// Writes what comes before the rows, once.
    fn begin(&mut self, schema: &Arc<Schema>) -> io::Result<()> {
        let file = match std::mem::replace(&mut self.state, State::Broken) {
            State::Empty(file) => BufWriter::new(file),
            begun => {
                self.state = begun;
                return Ok(());
            }
        };
        self.state = if self.format == PredictionFormat::Parquet {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
            State::Parquet(Box::new(writer.map_err(io::Error::other)?))
        } else {
            let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME));
            let writer = options.and_then(|options| FileWriter::try_new_with_options(file, schema, options));
            State::Arrow(Box::new(writer.map_err(io::Error::other)?))
        };
        Ok(())
    }

    /// Rows as columns.
    fn batch(&self, rows: &[PredictedRow]) -> io::Result<RecordBatch> {
        let mut labels = ListBuilder::new(StringBuilder::new());
        let mut probabilities = ListBuilder::new(Float64Builder::new());
        let mut names = ListBuilder::new(StringBuilder::new());
        for row in rows {
            for (n, (label, probability)) in row.top.iter().enumerate() {
                labels.values().append_value(label);
                probabilities.values().append_value(*probability);
                names.values().append_value(row.names.get(n).copied().flatten().unwrap_or(label));
            }
            labels.append(true);
            probabilities.append(true);
            names.append(true);
        }
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        if rows.iter().any(|row| row.id.is_some()) {
            columns.push(("id", Arc::new(rows.iter().map(|row| row.id).collect::<StringArray>())));
        }
        columns.push(("labels", Arc::new(labels.finish())));
        columns.push(("probabilities", Arc::new(probabilities.finish())));
        if self.names {
            columns.push(("names", Arc::new(names.finish())));
        }
        columns.push(("known", Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.is_known))))));
        // Any column may have nulls for the schema, whichever a batch has.
        let columns = columns.into_iter().map(|(name, column)| (name, column, true));
        RecordBatch::try_from_iter_with_nullable(columns).map_err(io::Error::other)
    }
}
