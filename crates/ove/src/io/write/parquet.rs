//! Predictions in a Parquet file: the columns `id`, if rows have one, `labels` and `probabilities`.

use std::fs::File;
use std::io;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::predictions::PredictedRow;

/// A file that is being written.
pub(super) struct Parquet {
    /// Until the first rows tell whether there are ids.
    file: Option<File>,
    writer: Option<ArrowWriter<File>>,
}

impl Parquet {
    pub fn new(file: File) -> Self {
        Parquet { file: Some(file), writer: None }
    }

    pub fn write(&mut self, rows: &[PredictedRow]) -> io::Result<()> {
        let batch = batch(rows)?;
        if let Some(file) = self.file.take() {
            // What every reader of Parquet can read.
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            self.writer = Some(ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(io::Error::other)?);
        }
        self.writer.as_mut().expect("made with the first rows").write(&batch).map_err(io::Error::other)
    }

    pub fn finish(mut self) -> io::Result<()> {
        if self.writer.is_none() {
            self.write(&[])?;
        }
        self.writer.expect("there are rows").close().map(drop).map_err(io::Error::other)
    }
}

fn batch(rows: &[PredictedRow]) -> io::Result<RecordBatch> {
    let mut labels = ListBuilder::new(StringBuilder::new());
    let mut probabilities = ListBuilder::new(Float64Builder::new());
    for row in rows {
        row.top.iter().for_each(|(label, _)| labels.values().append_value(label));
        row.top.iter().for_each(|&(_, probability)| probabilities.values().append_value(probability));
        labels.append(true);
        probabilities.append(true);
    }
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    if rows.first().is_some_and(|row| row.id.is_some()) {
        let ids = rows.iter().map(|row| Some(row.id.unwrap_or_default()));
        columns.push(("id", Arc::new(ids.collect::<arrow_array::StringArray>())));
    }
    columns.push(("labels", Arc::new(labels.finish())));
    columns.push(("probabilities", Arc::new(probabilities.finish())));
    RecordBatch::try_from_iter(columns).map_err(io::Error::other)
}
