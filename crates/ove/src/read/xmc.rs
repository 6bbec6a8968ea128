//! The extreme classification repository: a line with the numbers of rows, features and labels, then a row a line.
//!
//! ```text
//! 2 5 3
//! 0,2 1:0.5 4:1
//! 1 weight:2.5 0:0.25
//! ```
//!
//! Features and labels count from 0. A line without labels starts with a space or a feature. A weight, which stands before
//! the features, is how often the row counts. Files of the repository do not always sort the features of a row, so any
//! order will do.

use super::classes;
use super::lines::{Line, Lines, quote};
use super::row::Unsorted;
use super::source::Source;
use super::{number, pair, weight, wrong_place};
use crate::data::Dataset;
use crate::error::Result;

struct Header {
    rows: u64,
    features: u64,
    labels: u64,
}

pub(super) fn read(source: Source, labels_required: bool) -> Result<Dataset> {
    let mut lines = Lines::new(source);
    let Some(line) = lines.next_line()? else { return Ok(Dataset::new(0, Vec::new())) };
    let header = header(line)?;
    let mut data = Dataset::new(header.features as usize, Vec::new());
    let mut row = Unsorted::default();
    let mut labels = Vec::new();
    while let Some(line) = lines.next_line()? {
        let start = line.skip_space(0);
        if data.len() as u64 == header.rows {
            if start == line.text.len() {
                continue;
            }
            return Err(line.wrong(0, format!("row {}", header.rows + 1), promise(&header)));
        }
        labels.clear();
        let at = read_labels(&line, start, &header, &mut labels)?;
        if labels.is_empty() && labels_required {
            return Err(line.no_label());
        }
        entries(&line, at, &header, &mut row, &mut data)?;
        data.end_row(&labels);
    }
    if (data.len() as u64) < header.rows {
        let found = format!("the end after {} rows", data.len());
        return Err(wrong_place(lines.source().path(), lines.number(), 0, found, promise(&header)));
    }
    classes::from_numbers(&mut data, |label| label.to_string());
    Ok(data)
}

fn promise(header: &Header) -> String {
    format!("the header promises {} rows", header.rows)
}

fn header(line: Line) -> Result<Header> {
    let form = "the first line is 'rows features labels'";
    let words: [_; 3] = line.exactly().ok_or_else(|| line.wrong(0, format!("'{}'", quote(line.text)), form))?;
    let mut numbers = [0; 3];
    for ((at, word), number) in words.into_iter().zip(&mut numbers) {
        *number = number::integer(word).ok_or_else(|| line.wrong(at, format!("'{}'", quote(word)), form))?;
    }
    let [rows, features, labels] = numbers;
    for ((at, _), number) in words.into_iter().zip(numbers).skip(1) {
        if number > u32::MAX.into() {
            return Err(line.wrong(at, number.to_string(), format!("at most {} are possible", u32::MAX)));
        }
    }
    Ok(Header { rows, features, labels })
}

/// Adds the labels, if there are any; where the rest of the line starts.
fn read_labels(line: &Line, start: usize, header: &Header, labels: &mut Vec<u32>) -> Result<usize> {
    let word = line.word(start);
    if start > 0 || word.is_empty() || word.contains(':') {
        return Ok(start);
    }
    let mut at = start;
    for text in word.split(',') {
        let label = number::integer(text)
            .ok_or_else(|| line.wrong(at, format!("label '{}'", quote(text)), "labels are whole numbers from 0"))?;
        if label >= header.labels {
            return Err(line.wrong(at, format!("label {label}"), limit("labels", header.labels)));
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
            return Err(line.wrong(at, format!("feature {feature}"), limit("features", header.features)));
        }
        row.push(feature, value, line.number, at);
        at = line.skip_space(end);
    }
    row.move_to(data)
        .map_err(|r| line.wrong(r.at, format!("feature {} again", r.feature), "a row has each feature once"))
}

fn limit(what: &str, count: u64) -> String {
    match count.checked_sub(1) {
        Some(last) => format!("the header allows {what} up to {last}"),
        None => format!("the header allows no {what}"),
    }
}
