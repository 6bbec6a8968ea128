//! Comma-separated values, with a header if columns are given by name; also separated by tabs, semicolons or `|`.
//!
//! ```text
//! sku,title,category
//! 17,"Red shoes, ""new""",shoes
//! 18,"A title
//! over two lines",other
//! ```
//!
//! A field that starts with a quote ends with the next one that is not doubled (RFC 4180) and may have separators and
//! line ends within; other quotes are characters like any other. Every record has as many fields as the first. Blank
//! lines are skipped, unless there is one column only.
//!
//! Records are parsed in parallel. Since a line may end within quotes, the places to cut are found by going from quote
//! to quote, which passes over everything else at the speed of memory; a file without quotes is cut at any line end.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use memchr::{memchr, memchr_iter, memchr2, memrchr};
use rayon::prelude::*;

use super::compression::uncompressed;
use super::lines::quote;
use super::source::Source;
use super::table::{Cell, Layout, Naming, Record, fitting, has_no_header};
use super::texts::{PIECE_BYTES, Piece, join, skipped_bytes};
use super::{Columns, Input, OnError, ReadOptions, Skipped, no_rows, wrong_place};
use crate::error::{Error, Result};
use crate::platform::pool;

/// What may separate fields; of two that fit a header equally well, the first is taken.
const SEPARATORS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// How to read the records of a file, as its first one tells.
pub(super) struct Csv {
    separator: u8,
    fields: usize,
    layout: Layout,
}

/// Reads the records of a source. Its first record tells how, unless that was in an earlier part of the file.
pub(super) fn read(mut source: Source, options: &ReadOptions, known: &mut Option<Csv>) -> Result<Input> {
    let content = source.read_all()?;
    let path = source.path();
    let (csv, start, lines) = match known {
        Some(csv) => (csv, 0, source.lines_before()),
        None => {
            let (csv, start, lines) = Csv::new(path, &content, options)?;
            (known.insert(csv), start, lines)
        }
    };
    csv.rows(path, &content, start, lines, options)
}

impl Csv {
    /// From the first record; also returns the offset and the number of lines before the first row.
    fn new(path: &Path, content: &[u8], options: &ReadOptions) -> Result<(Csv, usize, usize)> {
        let separator = separator(path, content, &options.columns);
        let mut records = Records::new(path, content, separator);
        let (start, mut fields) = (records.at, Vec::new());
        let Some(place) = records.next_record(&mut fields)? else {
            return Err(no_rows(path));
        };
        let line = place.line;
        let row = Row { records: &records, fields: &fields, place };
        let (naming, names) = if has_no_header(&options.columns) {
            (Naming::Numbers, (1..=fields.len()).map(|number| format!("column {number}")).collect())
        } else {
            (Naming::Header, (0..fields.len()).map(|column| row.name(column)).collect::<Result<_>>()?)
        };
        let layout = Layout::new(path, line, names, naming, options)?;
        let (at, lines) = if naming == Naming::Numbers { (start, 0) } else { (records.at, records.line - 1) };
        Ok((Csv { separator, fields: fields.len(), layout }, at, lines))
    }

    /// The rows of the content from `start` on, before which there are `lines` lines.
    fn rows(&self, path: &Path, content: &[u8], start: usize, lines: usize, options: &ReadOptions) -> Result<Input> {
        let Csv { separator, fields, .. } = *self;
        let piece = |(part, before): (Range<usize>, usize)| {
            let records = Records {
                at: part.start,
                line: before + 1,
                fields: Some(fields),
                first: start,
                ..Records::new(path, &content[..part.end], separator)
            };
            self.piece(records, options)
        };
        let parts = parts(content, start, lines, separator);
        let pieces: Vec<Result<Piece>> = pool::run(|| parts.into_par_iter().map(piece).collect());
        // The first error of the file, not of the first thread that finds one.
        let texts = join(pieces.into_iter().collect::<Result<_>>()?);
        Ok(texts.of_table(&self.layout.columns))
    }

    fn piece(&self, mut records: Records, options: &ReadOptions) -> Result<Piece> {
        let (mut piece, mut fields) = (Piece::new(options), Vec::new());
        loop {
            let added = match records.next_record(&mut fields) {
                Ok(None) => return Ok(piece),
                Ok(Some(place)) => self.layout.add(&Row { records: &records, fields: &fields, place }, &mut piece),
                // How much of the file is within the quotes is unknown, so it is no error of one row.
                Err(error) if records.unclosed => return Err(error),
                Err(error) => Err(error),
            };
            added.or_else(|error| piece.leave_out_line(options.on_error, error))?;
        }
    }

    /// For more of the file.
    pub fn quotes(&self) -> Quotes {
        Quotes::new(self.separator, 0)
    }
}

/// Calls `take` with each record behind the header, in order.
pub(super) fn each(
    path: &Path,
    content: &[u8],
    on_error: OnError,
    skipped: &mut Skipped,
    mut take: impl FnMut(&dyn Record) -> Result<()>,
) -> Result<()> {
    let separator = separator(path, content, &Columns::default());
    let (mut records, mut fields) = (Records::new(path, content, separator), Vec::new());
    records.next_record(&mut fields)?;
    records.fields = Some(fields.len());
    loop {
        let taken = match records.next_record(&mut fields) {
            Ok(None) => return Ok(()),
            Ok(Some(place)) => take(&Row { records: &records, fields: &fields, place }),
            Err(error) if records.unclosed => return Err(error),
            Err(error) => Err(error),
        };
        taken.or_else(|error| skipped.take(on_error, error))?;
    }
}

/// Whether the first record may go on behind the content, with one of the separators.
pub(super) fn is_cut(path: &Path, content: &[u8]) -> bool {
    SEPARATORS.into_iter().any(|separator| {
        let mut records = Records::new(path, content, separator);
        matches!(records.next_record(&mut Vec::new()), Ok(None)) || records.unclosed
    })
}

/// For the start of a file.
pub(super) fn quotes(path: &Path, content: &[u8], columns: &Columns) -> Quotes {
    Quotes::new(separator(path, content, columns), skipped_bytes(content, 0))
}

/// The names in the header of the first bytes of a file; `None` if it is not valid.
pub(super) fn header(path: &Path, head: &[u8], columns: &Columns) -> Option<Vec<String>> {
    names(path, head, separator(path, head, columns))
}

fn names(path: &Path, head: &[u8], separator: u8) -> Option<Vec<String>> {
    let mut records = Records::new(path, head, separator);
    let mut fields = Vec::new();
    let place = records.next_record(&mut fields).ok()??;
    let row = Row { records: &records, fields: &fields, place };
    (0..fields.len()).map(|column| row.name(column).ok()).collect()
}

/// The separator with which most of the given columns are in the header, or else most fields in the first line.
fn separator(path: &Path, content: &[u8], columns: &Columns) -> u8 {
    let name = uncompressed(path);
    if name.ends_with(".tsv") || name.ends_with(".tab") {
        return b'\t';
    }
    let fit = |separator: u8| {
        let names = names(path, content, separator).unwrap_or_default();
        (fitting(&names, columns), names.len())
    };
    // The last of several largest would be taken.
    SEPARATORS.into_iter().rev().max_by_key(|&separator| fit(separator)).unwrap_or(b',')
}

/// Parts of the content that start and end with a record, each with the number of lines before it.
fn parts(content: &[u8], start: usize, lines: usize, separator: u8) -> Vec<(Range<usize>, usize)> {
    let (mut ends, mut quotes) = (Vec::new(), Quotes::new(separator, start));
    let mut from = start;
    while from < content.len() {
        from = quotes.line_end(content, from + PIECE_BYTES).unwrap_or(content.len());
        ends.push(from);
    }
    let starts = std::iter::once(start).chain(ends.iter().copied());
    let mut parts: Vec<_> = starts.zip(&ends).map(|(start, &end)| (start..end, 0)).collect();
    let counts: Vec<usize> =
        pool::run(|| parts.par_iter().map(|(part, _)| memchr_iter(b'\n', &content[part.clone()]).count()).collect());
    let mut before = lines;
    for ((_, line), count) in parts.iter_mut().zip(counts) {
        *line = before;
        before += count;
    }
    parts
}

/// Goes through content from quote to quote, and so knows which line ends are within quotes.
pub(super) struct Quotes {
    separator: u8,
    /// Everything before this is passed.
    at: usize,
    /// Whether `at` is within quotes.
    open: bool,
    /// Before this, no quote opens a field.
    clear: usize,
    /// The offset of the first record.
    first: usize,
}

impl Quotes {
    /// From the start of a record.
    pub fn new(separator: u8, at: usize) -> Self {
        Quotes { separator, at, open: false, clear: at, first: at }
    }

    /// The end of the first line that ends at `least` or later and not within quotes.
    pub fn line_end(&mut self, content: &[u8], least: usize) -> Option<usize> {
        loop {
            if self.open && !self.close(content) {
                return None;
            }
            // To the next quote that opens a field.
            let opening = self.next_opening(content);
            let line_from = self.at.max(least.saturating_sub(1)).min(content.len());
            let until = opening.unwrap_or(content.len());
            if line_from < until
                && let Some(end) = memchr(b'\n', &content[line_from..until])
            {
                return Some(line_from + end + 1);
            }
            match opening {
                Some(quote) => (self.at, self.open) = (quote + 1, true),
                None => return None,
            }
        }
    }

    /// The next quote at the start of a field.
    fn next_opening(&mut self, content: &[u8]) -> Option<usize> {
        self.clear = self.clear.max(self.at);
        while let Some(found) = memchr(b'"', &content[self.clear..]) {
            let quote = self.clear + found;
            if quote == self.first || content[quote - 1] == self.separator || content[quote - 1] == b'\n' {
                self.clear = quote;
                return Some(quote);
            }
            self.clear = quote + 1;
        }
        self.clear = content.len();
        None
    }

    /// Goes behind the closing quote, or to the end if there is none.
    fn close(&mut self, content: &[u8]) -> bool {
        let (end, closed) = closing(content, self.at);
        (self.at, self.open) = if closed { (end + 1, false) } else { (end, true) };
        closed
    }
}

/// The offset of the quote that ends a field whose content starts at `at`, and whether there is one.
fn closing(content: &[u8], mut at: usize) -> (usize, bool) {
    while let Some(found) = memchr(b'"', &content[at..]) {
        let quote = at + found;
        if content.get(quote + 1) != Some(&b'"') {
            return (quote, true);
        }
        at = quote + 2;
    }
    (content.len(), false)
}

/// A field: the range of its content, and whether it is quoted.
struct Field {
    start: usize,
    end: usize,
    quoted: bool,
}

/// Where a record starts.
struct Place {
    start: usize,
    line: usize,
}

/// The records of a part of a file.
struct Records<'a> {
    path: &'a Path,
    content: &'a [u8],
    at: usize,
    /// The line of `at`, from 1.
    line: usize,
    separator: u8,
    /// The number of fields that each record must have.
    fields: Option<usize>,
    /// Whether the content ended within quotes.
    unclosed: bool,
    /// The offset of the first line.
    first: usize,
}

impl<'a> Records<'a> {
    fn new(path: &'a Path, content: &'a [u8], separator: u8) -> Self {
        let at = skipped_bytes(content, 0);
        Records { path, content, at, line: 1, separator, fields: None, unclosed: false, first: at }
    }
}

impl Records<'_> {
    /// Reads the fields of the next record; after an error, the one behind it is next.
    fn next_record(&mut self, fields: &mut Vec<Field>) -> Result<Option<Place>> {
        loop {
            fields.clear();
            if self.at >= self.content.len() {
                return Ok(None);
            }
            let place = Place { start: self.at, line: self.line };
            let wrong = self.fields_of_record(fields);
            let blank = fields.len() == 1 && !fields[0].quoted && {
                let Field { start, end, .. } = fields[0];
                self.content[start..end].trim_ascii().is_empty()
            };
            if blank && self.fields != Some(1) {
                continue;
            }
            if let Some((at, message)) = wrong {
                return Err(self.wrong(&place, at, &message));
            }
            if let Some(expected) = self.fields.filter(|&expected| expected != fields.len()) {
                let message = format!("expected {expected} fields, as in the first record, found {}", fields.len());
                return Err(wrong_place(self.path, place.line, 0, message));
            }
            return Ok(Some(place));
        }
    }

    /// Goes behind the record; returns what is wrong with it, and where.
    fn fields_of_record(&mut self, fields: &mut Vec<Field>) -> Option<(usize, String)> {
        let (content, separator, mut at) = (self.content, self.separator, self.at);
        let mut wrong = None;
        loop {
            let quoted = content.get(at) == Some(&b'"');
            let (start, mut end) = (at, at);
            let mut rest = at;
            if quoted {
                let (close, is_closed) = closing(content, at + 1);
                self.line += memchr_iter(b'\n', &content[at..close]).count();
                if !is_closed {
                    (self.at, self.unclosed) = (content.len(), true);
                    fields.push(Field { start: at + 1, end: close, quoted });
                    return Some((at, "expected a quote that ends the field, found the end of the file".into()));
                }
                (end, rest) = (close, close + 1);
            }
            let stop = memchr2(separator, b'\n', &content[rest..]).map(|found| rest + found);
            let is_end = stop.is_none_or(|stop| content[stop] == b'\n');
            let field_end = match stop.unwrap_or(content.len()) {
                stop if is_end && stop > rest && content[stop - 1] == b'\r' => stop - 1,
                stop => stop,
            };
            if quoted {
                if field_end > rest && wrong.is_none() {
                    let found = quote(&String::from_utf8_lossy(&content[rest..field_end]));
                    let end = "a separator or the end of the line after the closing quote";
                    wrong = Some((rest, format!("expected {end}, found '{found}'")));
                }
                fields.push(Field { start: start + 1, end, quoted });
            } else {
                fields.push(Field { start, end: field_end, quoted });
            }
            match stop {
                Some(stop) if !is_end => at = stop + 1,
                stop => {
                    self.line += usize::from(stop.is_some());
                    self.at = stop.map_or(content.len(), |stop| stop + 1);
                    return wrong;
                }
            }
        }
    }

    /// An error at an offset within a record.
    fn wrong(&self, record: &Place, at: usize, message: &str) -> Error {
        let before = &self.content[record.start..at];
        let line = record.line + memchr_iter(b'\n', before).count();
        let start = memrchr(b'\n', &self.content[..at]).map_or(self.first, |end| end + 1);
        wrong_place(self.path, line, at + 1 - start, message)
    }
}

/// A record with its fields.
struct Row<'a> {
    records: &'a Records<'a>,
    fields: &'a [Field],
    place: Place,
}

impl Row<'_> {
    fn text(&self, column: usize) -> Result<Cow<'_, str>> {
        let Field { start, end, quoted } = self.fields[column];
        let bytes = &self.records.content[start..end];
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let found = format!("expected UTF-8, found byte {:#04x}", bytes[at]);
            self.records.wrong(&self.place, start + at, &found)
        })?;
        let doubled = quoted && memchr(b'"', bytes).is_some();
        Ok(if doubled { Cow::Owned(text.replace("\"\"", "\"")) } else { Cow::Borrowed(text) })
    }

    /// The name of a column, if this is the header.
    fn name(&self, column: usize) -> Result<String> {
        Ok(self.text(column)?.trim().to_owned())
    }
}

impl Record for Row<'_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>> {
        self.text(column).map(Cell::Text)
    }

    fn wrong(&self, column: usize, message: String) -> Error {
        self.records.wrong(&self.place, self.fields[column].start, &message)
    }
}
