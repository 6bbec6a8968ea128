//! Writes the rows in the form of the extreme classification repository, one part to a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::{ControlFlow, Range};
use std::path::Path;

use super::{AmazonCat, Draft, Part};
use crate::error::{Error, Result};
use crate::file::write_beside;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Rows, without the header.
    pub rows: usize,
    /// Features of all rows together.
    pub entries: usize,
    /// The length of the file.
    pub bytes: u64,
}

/// Some rows as text.
struct Lines {
    rows: usize,
    entries: usize,
    text: Vec<u8>,
}

impl AmazonCat {
    /// Writes the rows of a part. `watch` hears now and then how many rows there are, and may stop the work; that is an error, and
    /// there is no file then, or still the old one.
    pub fn write(&self, part: Part, path: &Path, watch: &mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<Written> {
        let mut written = Written { rows: 0, entries: 0, bytes: 0 };
        write_beside(path, |beside| {
            let failed = |error| Error::file(path, error);
            let mut file = BufWriter::new(File::create(beside).map_err(failed)?);
            let header = format!("{} {} {}\n", self.rows(part), self.features(), self.classes());
            file.write_all(header.as_bytes()).map_err(failed)?;
            written.bytes = header.len() as u64;

            let make = |rows| self.lines(part, rows);
            let take = |lines: Lines| {
                file.write_all(&lines.text).map_err(failed)?;
                written.rows += lines.rows;
                written.entries += lines.entries;
                written.bytes += lines.text.len() as u64;
                match watch(written.rows) {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => Err(failed(stopped())),
                }
            };
            self.in_chunks(part, make, take)?;
            file.flush().map_err(failed)
        })?;
        Ok(written)
    }

    fn lines(&self, part: Part, rows: Range<usize>) -> Lines {
        let mut lines = Lines { rows: rows.len(), entries: 0, text: Vec::new() };
        let mut draft = Draft::default();
        for n in rows {
            let label = self.draw(part, n, &mut draft);
            push_number(&mut lines.text, label);
            for entry in &draft.entries {
                lines.text.push(b' ');
                push_number(&mut lines.text, entry.feature);
                lines.text.push(b':');
                push_thousandths(&mut lines.text, entry.steps);
            }
            lines.text.push(b'\n');
            lines.entries += draft.entries.len();
        }
        lines
    }
}

fn stopped() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "stopped before the end, so nothing was written")
}

// The formatter of the standard library would take most of the time.
fn push_number(text: &mut Vec<u8>, mut number: u32) {
    let mut digits = [0; 10];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[start..]);
}

/// Writes `0.017` for 17.
fn push_thousandths(text: &mut Vec<u8>, number: u32) {
    push_number(text, number / 1000);
    let digit = |unit: u32| b'0' + (number / unit % 10) as u8;
    text.extend_from_slice(&[b'.', digit(100), digit(10), digit(1)]);
}
