//! XMC, the format of the extreme classification repository: a line with the numbers of rows, features and labels, then
//! one row per line.
//!
//! ```text
//! 2 5 3
//! 0,2 1:0.5 4:1
//! 1 weight:2.5 0:0.25
//! ```
//!
//! Features and labels count from 0. A line without labels starts with a space or a feature. The weight of a row comes
//! before its features. Files of the repository do not always sort the features of a row, so any order is allowed.

use std::fmt::Display;

use super::classes;
use super::lines::{Line, Lines, quote};
use super::row::Unsorted;
use super::source::Source;
use super::{ReadOptions, number, pair, weight, wrong_place};
use crate::data::Dataset;
use crate::error::Result;

/// The first line.
pub(super) struct Header {
    pub rows: u64,
    pub features: u64,
    pub labels: u64,
}

/// The rows read so far.
struct Reader {
    labels_required: bool,
    header: Header,
    /// The current row, and its labels.
    row: Unsorted,
    labels: Vec<u32>,
    data: Dataset,
}

pub(super) fn read(source: Source, options: &ReadOptions) -> Result<Dataset> {
    let mut lines = Lines::new(source);
    let Some(line) = lines.next_line()? else { return Ok(Dataset::new(0, Vec::new())) };
    let header = header(line)?;
    let data = Dataset::new(header.features as usize, Vec::new());
    let labels_required = options.labels_required;
    let mut reader = Reader { labels_required, header, row: Unsorted::default(), labels: Vec::new(), data };
    let mut rows = 0;
    while lines.advance()? {
        if rows == reader.header.rows {
            reader.after_the_last(&lines.line()?)?;
            continue;
        }
        rows += 1;
        if let Err(error) = lines.line().and_then(|line| reader.row(&line)) {
            reader.row.clear();
            reader.data.leave_out_row();
            reader.data.skipped.take(options.on_error, error)?;
        }
    }
    let Reader { header, mut data, .. } = reader;
    if rows < header.rows {
        return Err(wrong_place(lines.source().path(), lines.number(), 0, header.other_than_promised(rows)));
    }
    classes::from_numbers(&mut data, |label| label.to_string());
    Ok(data)
}

impl Reader {
    fn row(&mut self, line: &Line) -> Result<()> {
        self.labels.clear();
        let at = read_labels(line, line.skip_space(0), &self.header, &mut self.labels)?;
        if self.labels.is_empty() && self.labels_required {
            return Err(line.no_label());
        }
        entries(line, at, &self.header, &mut self.row, &mut self.data)?;
        self.data.end_row(&self.labels);
        Ok(())
    }

    /// Only blank lines may follow the last row.
    fn after_the_last(&self, line: &Line) -> Result<()> {
        if line.skip_space(0) == line.text.len() {
            return Ok(());
        }
        Err(line.wrong(0, self.header.other_than_promised("more")))
    }
}

impl Header {
    /// The message about a file with fewer or more rows than this header says.
    pub fn other_than_promised(&self, found: impl Display) -> String {
        format!("expected {} rows, as the header says, found {found}", self.rows)
    }
}

pub(super) fn header(line: Line) -> Result<Header> {
    let form = "'rows features labels'";
    let words: [_; 3] = line.exactly().ok_or_else(|| line.expected(0, form, format!("'{}'", quote(line.text))))?;
    let mut numbers = [0; 3];
    for ((at, word), number) in words.into_iter().zip(&mut numbers) {
        *number = number::integer(word).ok_or_else(|| line.expected(at, form, format!("'{}'", quote(word))))?;
    }
    let [rows, features, labels] = numbers;
    for ((at, _), number) in words.into_iter().zip(numbers).skip(1) {
        if number > u32::MAX.into() {
            return Err(line.expected(at, format!("at most {}", u32::MAX), number));
        }
    }
    Ok(Header { rows, features, labels })
}

/// Adds the labels of a line; returns the offset of the rest.
fn read_labels(line: &Line, start: usize, header: &Header, labels: &mut Vec<u32>) -> Result<usize> {
    let word = line.word(start);
    if start > 0 || word.is_empty() || word.contains(':') {
        return Ok(start);
    }
    let mut at = start;
    for text in word.split(',') {
        let label = number::integer(text)
            .ok_or_else(|| line.expected(at, "a label, a whole number from 0", format!("'{}'", quote(text))))?;
        if label >= header.labels {
            return Err(line.wrong(at, beyond("label", label, header.labels)));
        }
        labels.push(label as u32);
        at += text.len() + 1;
    }
    Ok(start + word.len())
}

fn entries(line: &Line, at: usize, header: &Header, row: &mut Unsorted, data: &mut Dataset) -> Result<()> {
    let mut at = weight::take(line, at, data)?;
    while at < line.text.len() {
        let (feature, value, end) = pair::parse(line, at)?;
        if u64::from(feature) >= header.features {
            return Err(line.wrong(at, beyond("feature", feature.into(), header.features)));
        }
        row.push(feature, value, line.number, at);
        at = line.skip_space(end);
    }
    row.move_to(data).map_err(|r| line.expected(r.at, "each feature once per row", format!("{} again", r.feature)))
}

/// The message about a label or a feature that the header has no room for.
fn beyond(what: &str, number: u64, count: u64) -> String {
    match count.checked_sub(1) {
        Some(last) => format!("expected a {what} from 0 to {last}, as the header says, found {number}"),
        None => format!("expected no {what}, as the header says, found {number}"),
    }
}
