//! In place of the writer of Parquet and Arrow files, without the feature `parquet`.

use std::fs::File;
use std::io;

use super::{PredictedRow, PredictionFormat};
use crate::error::{Error, Result};

/// A file that cannot be written.
pub(super) enum Writer {}

impl Writer {
    /// The error that says what is missing.
    pub fn new(_: File, format: PredictionFormat, _: bool) -> Result<Self> {
        let hint = "write .csv or .jsonl, or build with feature `parquet`";
        Err(Error::Settings(format!("this build does not write {format}; {hint}")))
    }

    /// There is none to write to.
    pub fn write(&mut self, _: &[PredictedRow]) -> io::Result<()> {
        match *self {}
    }

    /// There is none to complete.
    pub fn finish(self) -> io::Result<()> {
        match self {}
    }
}
