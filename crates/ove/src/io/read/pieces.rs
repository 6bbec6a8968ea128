//! Reads a file piece by piece, so that it may be larger than memory.
//!
//! Each piece is read like a file, with the line numbers of the whole and with its own classes. This works for tables
//! and for formats in which any lines are valid; other files are one piece. A piece of a Parquet or Arrow file is some
//! of its rows. For XMC, whose header gives the number of rows, each piece gets its own
//! header. A piece of CSV ends with a record, whose last field may have line ends in it.

use std::io::{BufRead, Read};
use std::path::Path;

use memchr::memchr_iter;

use super::columnar::Columnar;
use super::csv::{self, Csv};
use super::lines::Lines;
use super::source::Source;
use super::table::Layout;
use super::xmc::{self, Header};
use super::{
    Detect, Format, Input, ReadOptions, detect, format_of, json_lines, no_rows, no_rows_of_numbers, no_texts,
    read_format, read_known, wrong_place,
};
use crate::error::Result;

/// The number of bytes in which the first record of a CSV file must end.
const HEADER_BYTES: usize = 1 << 20;

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
    /// What the first record of a CSV file told.
    csv: Option<Csv>,
    /// What the first row of JSON lines told.
    json: Option<Layout>,
    /// A Parquet or Arrow file.
    columnar: Option<Columnar>,
}

impl Pieces {
    /// Opens a file to be read in pieces of about `bytes` bytes.
    ///
    /// # Errors
    /// As [`read_any`](super::read_any).
    pub fn open(path: &Path, options: &ReadOptions, bytes: usize) -> Result<Self> {
        Pieces::detected(path, options, bytes, detect::format)
    }

    /// Opens rows of numbers, like [`read`](super::read).
    ///
    /// # Errors
    /// As [`read`](super::read).
    pub fn open_rows(path: &Path, options: &ReadOptions, bytes: usize) -> Result<Self> {
        let pieces = Pieces::open(path, options, bytes)?;
        if pieces.holds_texts() { Err(no_rows_of_numbers(path, pieces.format.is_table())) } else { Ok(pieces) }
    }

    /// Opens texts, like [`read_texts`](super::read_texts).
    ///
    /// # Errors
    /// As [`read_texts`](super::read_texts).
    pub fn open_texts(path: &Path, options: &ReadOptions, bytes: usize) -> Result<Self> {
        let pieces = Pieces::detected(path, options, bytes, detect::text_format)?;
        if pieces.holds_texts() { Ok(pieces) } else { Err(no_texts(path)) }
    }

    fn detected(path: &Path, options: &ReadOptions, bytes: usize, detect: Detect) -> Result<Self> {
        let source = Source::open(path)?;
        let format = format_of(&source, options, detect)?;
        let options = ReadOptions { format: Some(format), ..options.clone() };
        let (csv, json, columnar) = (None, None, None);
        Ok(Pieces { source, options, format, bytes, lines: 0, rows: 0, header: None, csv, json, columnar })
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether it contains texts, not rows of numbers.
    pub fn holds_texts(&self) -> bool {
        self.options.reads_texts(self.format)
    }

    /// The next piece, which may have no rows, or `None` at the end of the file.
    ///
    /// # Errors
    /// As [`read_any`](super::read_any).
    pub fn next_piece(&mut self) -> Result<Option<Input>> {
        let input = match self.format {
            format if format.is_columnar() => self.next_batches()?,
            format if format.is_piecewise() => self.next_lines()?,
            _ if self.rows > 0 => None,
            format => Some(read_known(self.take_source()?, format, &self.options)?),
        };
        self.rows += match &input {
            Some(Input::Rows(data)) => data.len(),
            Some(Input::Texts(texts)) => texts.len(),
            None if self.rows == 0 => return Err(no_rows(self.source.path())),
            None => 0,
        };
        Ok(input)
    }

    /// The source, which is read at once.
    fn take_source(&mut self) -> Result<Source> {
        let nothing = Source::from_lines(self.source.path(), Vec::new(), 0)?;
        Ok(std::mem::replace(&mut self.source, nothing))
    }

    fn next_batches(&mut self) -> Result<Option<Input>> {
        if self.columnar.is_none() {
            self.columnar = Some(Columnar::open(self.take_source()?, self.format, &self.options)?);
        }
        let Some(columnar) = &mut self.columnar else { return Ok(None) };
        columnar.next_input(self.bytes, &self.options)
    }

    fn next_lines(&mut self) -> Result<Option<Input>> {
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
        if self.format == Format::Csv {
            self.complete_record(&mut content)?;
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
        let input = match self.format {
            Format::Csv => csv::read(piece, &self.options, &mut self.csv)?,
            Format::Jsonl => json_lines::read(piece, &self.options, &mut self.json)?,
            format => read_format(piece, format, &self.options)?,
        };
        Ok(Some(input))
    }

    /// Reads on to the end of the first record of a file, and while the last line ends within quotes.
    fn complete_record(&mut self, content: &mut Vec<u8>) -> Result<()> {
        while self.csv.is_none() && content.len() < HEADER_BYTES && csv::is_cut(self.source.path(), content) {
            if self.read_line(content)? == 0 {
                break;
            }
        }
        let mut quotes = match &self.csv {
            Some(csv) => csv.quotes(),
            None => csv::quotes(self.source.path(), content, &self.options.columns),
        };
        while content.ends_with(b"\n") && quotes.line_end(content, content.len()).is_none() {
            if self.read_line(content)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Adds the next line; returns its length.
    fn read_line(&mut self, content: &mut Vec<u8>) -> Result<usize> {
        self.source.input().read_until(b'\n', content).map_err(|e| self.source.failure(e))
    }

    fn read_header(&mut self) -> Result<()> {
        let mut line = Vec::new();
        self.read_line(&mut line)?;
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
            _ => Ok(None),
        }
    }
}
