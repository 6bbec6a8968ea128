//! Writes made rows in the form of the extreme classification repository: made in chunks on all threads, written in order.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::{ControlFlow, Range};
use std::path::Path;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::io::atomic::write_beside;
use crate::platform::pool;

/// Rows that one thread makes at a time.
pub(super) const CHUNK: usize = 1024;

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

/// Writes a header and the rows. `watch` hears now and then how many rows there are, and may stop the work; that is an error, and
/// there is no file then, or still the old one.
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

/// Makes chunks of rows on all threads, and hands them over in order.
pub(super) fn in_chunks<T: Send>(
    rows: usize,
    make: impl Fn(Range<usize>) -> T + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let starts: Vec<usize> = (0..rows).step_by(CHUNK).collect();
    // So few at a time that what is made but not yet taken stays small.
    for some in starts.chunks(4 * pool::run(rayon::current_num_threads)) {
        let of = |&start: &usize| make(start..(start + CHUNK).min(rows));
        let made: Vec<T> = pool::run(|| some.par_iter().map(of).collect());
        made.into_iter().try_for_each(&mut take)?;
    }
    Ok(())
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
