//! A file of lines piece by piece, so that it may be larger than memory.
//!
//! Each piece is read as if it were a file, with the line numbers of the whole and with classes of its own. Only formats of which any lines
//! make sense can be cut so. Of the XMC form, whose header says how many rows follow, each piece gets a header of its own.

use std::io::{BufRead, Read};
use std::path::Path;

use super::source::Source;
use super::{Format, Input, ReadOptions, detect, no_rows, read_format, wrong_file, wrong_place};
use crate::error::{Error, Result};

/// The file as far as it is read.
pub struct Pieces {
    source: Source,
    options: ReadOptions,
    format: Format,
    /// About how much is read at a time.
    bytes: usize,
    /// Lines that were read.
    lines: usize,
    header: Option<Header>,
}

/// What the first line of an XMC file promises.
struct Header {
    rows: u64,
    features: String,
    labels: String,
    read: u64,
}

impl Pieces {
    /// Opens a file, of which about so many bytes will be read at a time.
    pub fn open(path: &Path, options: &ReadOptions, bytes: usize) -> Result<Self> {
        let source = Source::open(path)?;
        if source.head().is_empty() {
            return Err(no_rows(path));
        }
        let format = options.format.map_or_else(|| detect::format(&source), Ok)?;
        if matches!(format, Format::Idx | Format::Arff | Format::Triples) {
            return Err(Error::Option {
                name: "cache",
                found: format!("data in the form {format}"),
                allowed: "only lines of libsvm, XMC, TSV or fastText can be read piece by piece".into(),
            });
        }
        let options = ReadOptions { format: Some(format), ..*options };
        Ok(Pieces { source, options, format, bytes, lines: 0, header: None })
    }

    /// Whether it holds texts, not rows of numbers.
    pub fn holds_texts(&self) -> bool {
        self.format.is_text()
    }

    /// The next piece, or none at the end of the file. A piece may have no rows.
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
        let lines = content.iter().filter(|&&byte| byte == b'\n').count() + usize::from(!content.ends_with(b"\n"));
        let mut before = self.lines;
        if let Some(header) = &mut self.header {
            let rows = (header.rows - header.read).min(lines as u64);
            header.read += rows;
            content.splice(..0, format!("{rows} {} {}\n", header.features, header.labels).into_bytes());
            before -= 1;
        }
        self.lines += lines;
        let piece = Source::from_lines(self.source.path(), content, before)?;
        read_format(piece, self.format, &self.options).map(Some)
    }

    fn read_header(&mut self) -> Result<()> {
        let mut line = String::new();
        self.source.input().read_line(&mut line).map_err(|e| self.source.failure(e))?;
        let words: Vec<&str> = line.trim_start_matches('\u{feff}').split_whitespace().collect();
        let [rows, features, labels] = words[..] else { return Err(self.bad_header(&line)) };
        let rows = rows.parse().map_err(|_| self.bad_header(&line))?;
        self.header = Some(Header { rows, features: features.into(), labels: labels.into(), read: 0 });
        self.lines = 1;
        Ok(())
    }

    fn bad_header(&self, line: &str) -> Error {
        let found = format!("'{}'", super::lines::quote(line.trim_end()));
        wrong_place(self.source.path(), 1, 1, found, "the first line is 'rows features labels'")
    }

    /// Whether the end may be here.
    fn end(&self) -> Result<Option<Input>> {
        match &self.header {
            Some(Header { rows, read, .. }) if read < rows => {
                let found = format!("the end after {read} rows");
                Err(wrong_place(self.source.path(), self.lines, 0, found, format!("the header promises {rows} rows")))
            }
            _ if self.lines == 0 => Err(wrong_file(self.source.path(), "no rows", "there must be at least one")),
            _ => Ok(None),
        }
    }
}
