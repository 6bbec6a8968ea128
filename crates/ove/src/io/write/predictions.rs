//! Predictions as a table: the id of each row, if rows have one, and its most probable classes.
//!
//! ```text
//! id,label_1,probability_1,label_2,probability_2                              .csv
//! 17,shoes,0.75,"coats, jackets",0.25
//! {"id":"17","labels":["shoes","coats, jackets"],"probabilities":[0.75,0.25]}  .jsonl
//! ```
//!
//! Parquet and Arrow files (feature `parquet`) have the columns of JSON lines. Numbers have as many digits as are
//! needed to read the same number again.

#[cfg(not(feature = "parquet"))]
#[path = "predictions/absent.rs"]
mod columnar;
#[cfg(feature = "parquet")]
mod columnar;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;

use crate::error::{Error, Result};
use crate::platform::names::names;

/// The format of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionFormat {
    /// Comma-separated values, with a header.
    Csv,
    /// One JSON object per line.
    Jsonl,
    /// Parquet.
    Parquet,
    /// Feather, which is an Arrow file.
    Feather,
    /// An Arrow file.
    Arrow,
}

names!(PredictionFormat, "output", {
    Csv => "csv", Jsonl => "jsonl", Parquet => "parquet", Feather => "feather", Arrow => "arrow",
});

impl PredictionFormat {
    /// The format that the name of a file ends with.
    ///
    /// # Errors
    /// [`Error::Setting`] for another ending.
    pub fn of(path: &Path) -> Result<Self> {
        let end = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match PredictionFormat::ALL.iter().find(|format| format.name() == end) {
            Some(&format) => Ok(format),
            None => {
                Err(Error::setting("output", "end with .csv, .jsonl, .parquet, .feather or .arrow", path.display()))
            }
        }
    }
}

/// The prediction of a row: its id, and its classes with their probabilities, the most probable first.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedRow<'a> {
    /// The id, if rows have one.
    pub id: Option<&'a str>,
    /// Classes and probabilities.
    pub top: Vec<(&'a str, f64)>,
    /// The name of each class, if classes have names.
    pub names: Vec<Option<&'a str>>,
    /// Whether the model knows a feature of the row; JSON has `"known": 0` otherwise.
    pub is_known: bool,
}

/// A file of predictions that is written row by row.
pub struct Predictions<'a> {
    path: &'a Path,
    form: Form,
}

enum Form {
    Csv { out: BufWriter<File>, top: usize, begun: bool },
    Jsonl { out: BufWriter<File> },
    Columnar(columnar::Writer),
}

impl<'a> Predictions<'a> {
    /// Creates the file `place`, which errors call `path`, for `top` classes per row, in which classes may have names.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be created, [`Error::Settings`] for a format that is not built in.
    pub fn create(path: &'a Path, place: &Path, format: PredictionFormat, top: usize, names: bool) -> Result<Self> {
        let file = File::create(place).map_err(|e| Error::file(path, e))?;
        let form = match format {
            PredictionFormat::Csv => Form::Csv { out: BufWriter::new(file), top, begun: false },
            PredictionFormat::Jsonl => Form::Jsonl { out: BufWriter::new(file) },
            columnar => Form::Columnar(columnar::Writer::new(file, columnar, names)?),
        };
        Ok(Predictions { path, form })
    }

    /// Writes rows, all of which have an id or none.
    ///
    /// # Errors
    /// [`Error::File`] if that fails.
    pub fn write(&mut self, rows: &[PredictedRow]) -> Result<()> {
        let written = match &mut self.form {
            Form::Csv { out, top, begun } => {
                let mut write = || {
                    if !std::mem::replace(begun, true) {
                        write_header(out, rows.first().is_some_and(|row| row.id.is_some()), *top)?;
                    }
                    rows.iter().try_for_each(|row| write_csv(out, row, *top))
                };
                write()
            }
            Form::Jsonl { out } => rows.iter().try_for_each(|row| writeln!(out, "{}", row.json())),
            Form::Columnar(writer) => writer.write(rows),
        };
        written.map_err(|e| Error::file(self.path, e))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`Error::File`] if that fails.
    pub fn finish(self) -> Result<()> {
        let finished = match self.form {
            Form::Csv { mut out, .. } | Form::Jsonl { mut out } => out.flush(),
            Form::Columnar(writer) => writer.finish(),
        };
        finished.map_err(|e| Error::file(self.path, e))
    }
}

impl PredictedRow<'_> {
    /// As a JSON object.
    pub fn json(&self) -> serde_json::Value {
        let (labels, probabilities): (Vec<_>, Vec<_>) = self.top.iter().copied().unzip();
        let mut object = json!({ "labels": labels, "probabilities": probabilities });
        if let Some(id) = self.id {
            object["id"] = id.into();
        }
        if !self.names.is_empty() {
            let shown = self.names.iter().zip(&labels).map(|(name, label)| name.unwrap_or(label));
            object["names"] = shown.collect();
        }
        if !self.is_known {
            object["known"] = 0.into();
        }
        object
    }
}

fn write_header(out: &mut impl Write, with_id: bool, top: usize) -> io::Result<()> {
    let id = with_id.then(|| "id".to_owned());
    let columns = (1..=top).map(|n| format!("label_{n},probability_{n}"));
    writeln!(out, "{}", id.into_iter().chain(columns).collect::<Vec<_>>().join(","))
}

/// Writes a row; one with fewer classes than others has empty fields.
fn write_csv(out: &mut impl Write, row: &PredictedRow, top: usize) -> io::Result<()> {
    let mut separator = "";
    if let Some(id) = row.id {
        write!(out, "{}", quoted(id))?;
        separator = ",";
    }
    for n in 0..top {
        match row.top.get(n) {
            Some((label, probability)) => write!(out, "{separator}{},{}", quoted(label), json!(probability))?,
            None => write!(out, "{separator},")?,
        }
        separator = ",";
    }
    writeln!(out)
}

/// A field, in quotes if it has to be.
fn quoted(field: &str) -> Cow<'_, str> {
    match field.contains([',', ';', '\t', '|', '"', '\n', '\r']) || field.trim() != field {
        true => Cow::Owned(format!("\"{}\"", field.replace('"', "\"\""))),
        false => Cow::Borrowed(field),
    }
}
