//! What happens to a row that cannot be read: it is an error, or it is left out and told of.
//!
//! Only what is wrong with a row can be left out. A file that is cut short, or whose header lies, is an error in any case: nobody knows how
//! much is missing.

use crate::error::{Error, Result};
use crate::platform::names::names;

/// How many places are told.
const TOLD: usize = 10;

/// What to do about a row that cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// Give up, with the place and what is wrong there.
    #[default]
    Stop,
    /// Leave the row out and count it.
    Skip,
}

names!(OnError, "on-error", { Stop => "stop", Skip => "skip" });

/// The rows that were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    count: usize,
    /// The first of them, by line.
    first: Vec<(usize, String)>,
}

impl Skipped {
    /// How many.
    pub fn count(&self) -> usize {
        self.count
    }

    /// What was wrong with the first ten, each with its place.
    pub fn first(&self) -> impl Iterator<Item = &str> {
        self.first.iter().map(|(_, message)| message.as_str())
    }

    /// Takes an error about a row, if it may be left out; gives any other back.
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

    /// Adds those of another part of the file.
    pub(crate) fn join(&mut self, other: Skipped) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort();
        self.first.truncate(TOLD);
    }
}
