//! Rows that cannot be read: an error, or skipped and reported.
//!
//! Only single rows can be skipped. A file that is cut short, or whose header is wrong, is always an error, since
//! nobody knows how much is missing.

use crate::error::{Error, Result};
use crate::platform::names::names;

/// Number of skipped rows that are reported in full.
const TOLD: usize = 10;

/// What to do about a row that cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop with an error that names the place.
    #[default]
    Stop,
    /// Skip the row and count it.
    Skip,
}

names!(OnError, "on-error", { Stop => "stop", Skip => "skip" });

/// The rows that were skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    count: usize,
    /// The first of them: line and message.
    first: Vec<(usize, String)>,
}

impl Skipped {
    /// Number of skipped rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The messages of the first ten, each with its place.
    pub fn first(&self) -> impl Iterator<Item = &str> {
        self.first.iter().map(|(_, message)| message.as_str())
    }

    /// Records an error about a row that may be skipped; returns any other error.
    pub(crate) fn take(&mut self, on_error: OnError, error: Error) -> Result<()> {
        match &error {
            Error::Input { place, .. } if on_error == OnError::Skip && place.line > 0 => {
                self.count += 1;
                if self.first.len() < TOLD {
                    self.first.push((place.line, error.to_string()));
                }
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Adds the skipped rows of another part of the file.
    pub fn join(&mut self, other: Skipped) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort();
        self.first.truncate(TOLD);
    }
}
