//! Reads a file piece by piece, so that it may be larger than memory.
//!
//! Each piece is read like a file, with the line numbers of the whole and with its own classes. This works only for formats
//! in which any lines are valid; for XMC, whose header gives the number of rows, each piece gets its own header.

use std::io::{BufRead, Read};
use std::path::Path;

use memchr::memchr_iter;

use super::lines::Lines;
use super::source::Source;
use super::xmc::{self, Header};
use super::{Format, Input, ReadOptions, detect, no_rows, read_format, wrong_place};
use crate::error::{Error, Result};

/// A file that is read piece by piece.
pub struct Pieces {
    source: Source,
    options: ReadOptions,
    format: Format,
    /// The approximate number of bytes per piece.
    bytes: usize,
    /// Number of lines read.
    lines: usize,
    /// Number of rows read.
    rows: usize,
    /// The header of an XMC file, and the number of its rows that were assigned to pieces.
    header: Option<(Header, u64)>,
}

impl Pieces {
    /// Opens a file to be read in pieces of about `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::Input`] if it is empty or its format cannot be detected,
    /// [`Error::Setting`] if the format cannot be read piece by piece.
    pub fn open(path: &Path, options: &ReadOptions, bytes: usize) -> Result<Self> {
        let source = Source::open(path)?;
        if source.head().is_empty() {
            return Err(no_rows(path));
        }
        let format = options.format.map_or_else(|| detect::format(&source), Ok)?;
        if matches!(format, Format::Idx | Format::Arff | Format::Triples) {
            let must = "be used with lines of libsvm, XMC, TSV or fastText, which can be read piece by piece";
            return Err(Error::setting("cache", must, format));
        }
        let options = ReadOptions { format: Some(format), ..*options };
        Ok(Pieces { source, options, format, bytes, lines: 0, rows: 0, header: None })
    }

    /// Whether it contains texts, not rows of numbers.
    pub fn holds_texts(&self) -> bool {
        self.format.is_text()
    }

    /// The next piece, which may have no rows, or `None` at the end of the file.
    ///
    /// # Errors
    /// As [`read_any`](super::read_any).
    pub fn next_piece(&mut self) -> Result<Option<Input>> {
        if self.format == Format::Xmc && self.header.is_none() {
            self.read_header()?;
        }
        let mut content = Vec::new();
        let input = self.source.input();
        let read = input.take(self.bytes as u64).read_to_end(&mut content);
        let read = read.and_then(|_| input.read_until(b'\n', &mut content));
        read.map_err(|e| self.source.failure(e))?;
        if content.is_empty() {
            return self.end();
        }
        let lines = memchr_iter(b'\n', &content).count() + usize::from(!content.ends_with(b"\n"));
        let mut before = self.lines;
        if let Some((header, given)) = &mut self.header {
            let rows = (header.rows - *given).min(lines as u64);
            *given += rows;
            content.splice(..0, format!("{rows} {} {}\n", header.features, header.labels).into_bytes());
            before -= 1;
        }
        self.lines += lines;
        let piece = Source::from_lines(self.source.path(), content, before)?;
        let input = read_format(piece, self.format, &self.options)?;
        self.rows += match &input {
            Input::Rows(data) => data.len(),
            Input::Texts(texts) => texts.len(),
        };
        Ok(Some(input))
    }

    fn read_header(&mut self) -> Result<()> {
        let mut line = Vec::new();
        self.source.input().read_until(b'\n', &mut line).map_err(|e| self.source.failure(e))?;
        let mut lines = Lines::new(Source::from_lines(self.source.path(), line, 0)?);
        if let Some(line) = lines.next_line()? {
            self.header = Some((xmc::header(line)?, 0));
            self.lines = 1;
        }
        Ok(())
    }

    /// Checks that the file may end here.
    fn end(&self) -> Result<Option<Input>> {
        match &self.header {
            Some((header, given)) if *given < header.rows => {
                Err(wrong_place(self.source.path(), self.lines, 0, header.other_than_promised(*given)))
            }
            _ if self.rows == 0 => Err(no_rows(self.source.path())),
            _ => Ok(None),
        }
    }
}
