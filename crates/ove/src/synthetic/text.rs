//! Writes synthetic rows in the format of the extreme classification repository, generated in parallel chunks.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::{ControlFlow, Range};
use std::path::Path;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::io::atomic::write_beside;
use crate::platform::pool;

/// Number of rows that a thread generates at a time.
pub(super) const CHUNK: usize = 1024;

/// The size of a file that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Number of rows, without the header.
    pub rows: usize,
    /// Total number of features of all rows.
    pub entries: usize,
    /// Length of the file.
    pub bytes: u64,
}

/// The numbers of the header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub rows: usize,
    pub features: usize,
    pub classes: usize,
}

/// Some rows as text.
#[derive(Default)]
pub(super) struct Lines {
    rows: usize,
    entries: usize,
    text: Vec<u8>,
}

impl Lines {
    /// Adds a row with one label; the values of its features are in thousandths.
    pub fn push(&mut self, label: u32, entries: impl Iterator<Item = (u32, u32)>) {
        push_number(&mut self.text, label);
        for (feature, thousandths) in entries {
            self.text.push(b' ');
            push_number(&mut self.text, feature);
            self.text.push(b':');
            push_thousandths(&mut self.text, thousandths);
            self.entries += 1;
        }
        self.text.push(b'\n');
        self.rows += 1;
    }
}

/// Writes a header and the rows, atomically. `watch` is called with the number of rows so far and may stop the work,
/// which is an error.
pub(super) fn write(
    path: &Path,
    size: Size,
    make: impl Fn(Range<usize>) -> Lines + Sync,
    watch: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Written> {
    let mut written = Written { rows: 0, entries: 0, bytes: 0 };
    write_beside(path, |beside| {
        let failed = |error| Error::file(path, error);
        let mut file = BufWriter::new(File::create(beside).map_err(failed)?);
        let header = format!("{} {} {}\n", size.rows, size.features, size.classes);
        file.write_all(header.as_bytes()).map_err(failed)?;
        written.bytes = header.len() as u64;

        in_chunks(size.rows, make, |lines: Lines| {
            file.write_all(&lines.text).map_err(failed)?;
            written.rows += lines.rows;
            written.entries += lines.entries;
            written.bytes += lines.text.len() as u64;
            match watch(written.rows) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(failed(stopped())),
            }
        })?;
        file.flush().map_err(failed)
    })?;
    Ok(written)
}

/// Generates chunks of rows in parallel and passes them to `take` in order.
pub(super) fn in_chunks<T: Send>(
    rows: usize,
    make: impl Fn(Range<usize>) -> T + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let starts: Vec<usize> = (0..rows).step_by(CHUNK).collect();
    // A few chunks at a time, to limit the memory of chunks that are not taken yet.
    for some in starts.chunks(4 * pool::run(rayon::current_num_threads)) {
        let of = |&start: &usize| make(start..(start + CHUNK).min(rows));
        let made: Vec<T> = pool::run(|| some.par_iter().map(of).collect());
        made.into_iter().try_for_each(&mut take)?;
    }
    Ok(())
}

fn stopped() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "stopped; nothing was written")
}

/// Appends a decimal number, much faster than the formatter of the standard library.
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

/// Appends `0.017` for 17.
fn push_thousandths(text: &mut Vec<u8>, number: u32) {
    push_number(text, number / 1000);
    let digit = |unit: u32| b'0' + (number / unit % 10) as u8;
    text.extend_from_slice(&[b'.', digit(100), digit(10), digit(1)]);
}
