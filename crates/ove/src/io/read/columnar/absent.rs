//! In place of the reader of Parquet and Arrow files, without the feature `parquet`.

use super::source::Source;
use super::{Format, Input, ReadOptions, wrong_file};
use crate::error::Result;

/// A file that cannot be opened.
pub(super) enum Columnar {}

impl Columnar {
    /// The error that says what is missing.
    pub fn open(source: Source, format: Format, _: &ReadOptions) -> Result<Self> {
        let hint = "save the table as CSV, or build with feature `parquet`";
        Err(wrong_file(source.path(), format!("expected a format that this build reads, found {format}; {hint}")))
    }

    /// There is none to read.
    pub fn read(self, _: &ReadOptions) -> Result<Input> {
        match self {}
    }

    /// There is none to read.
    pub fn next_input(&mut self, _: usize, _: &ReadOptions) -> Result<Option<Input>> {
        match *self {}
    }
}
