//! Counts of values, for the non-parametric case: one count per line, alone or after a name and a tab.
//!
//! ```text
//! cat<TAB>7
//! dog<TAB>2
//! ```
//!
//! Values without names are named by their position, from 0. Blank lines are skipped.

use std::path::Path;

use super::lines::{Lines, quote};
use super::source::Source;
use super::{no_rows, number};
use crate::error::Result;

/// A value and its count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Its name.
    pub name: String,
    /// The number of occurrences.
    pub count: u64,
}

/// Reads a file of counts; `-` is standard input.
///
/// # Errors
/// [`Error::Input`](crate::Error::Input) if a line is not valid or there is none,
/// [`Error::File`](crate::Error::File) if the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<Value>> {
    let mut lines = Lines::new(Source::open(path)?);
    let mut values: Vec<Value> = Vec::new();
    let mut total = 0u64;
    while let Some(line) = lines.next_line()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let (name, count, at) = match line.text.rsplit_once('\t') {
            Some((name, count)) => (name.to_owned(), count, name.len() + 1),
            None => (values.len().to_string(), line.text, 0),
        };
        let parsed = number::integer(count.trim()).and_then(|count| Some((count, total.checked_add(count)?)));
        let Some((count, sum)) = parsed else {
            let expected = "a count, a whole number, and a sum of counts below 2⁶⁴";
            return Err(line.expected(at, expected, format!("'{}'", quote(count.trim()))));
        };
        total = sum;
        values.push(Value { name, count });
    }
    if values.is_empty() { Err(no_rows(lines.source().path())) } else { Ok(values) }
}
