//! libsvm, also called svmlight: one row per line, first its labels, then its features in increasing order.
//!
//! ```text
//! # sport and politics
//! sport    3:0.5 17:1
//! sport,politics weight:2.5 3:1   # two labels, and a weight of 2.5
//! politics qid:7 3:0.25           # a query id, which is ignored
//! ```
//!
//! Features keep their numbers. A label is any text without spaces, commas and colons; the labels of a row are separated
//! by commas. A word that starts with `#` starts a comment.

use super::classes::Names;
use super::lines::{Line, Lines};
use super::source::Source;
use super::{ReadOptions, pair, weight};
use crate::data::Dataset;
use crate::error::Result;

/// The rows read so far.
#[derive(Default)]
struct Reader {
    labels_required: bool,
    names: Names,
    /// The classes of the current row.
    labels: Vec<u32>,
    data: Dataset,
}

pub(super) fn read(source: Source, options: &ReadOptions) -> Result<Dataset> {
    let mut lines = Lines::new(source);
    let data = Dataset::new(0, Vec::new());
    let mut reader = Reader { labels_required: options.labels_required, data, ..Reader::default() };
    while lines.advance()? {
        if let Err(error) = lines.line().and_then(|line| reader.row(&line)) {
            reader.data.leave_out_row();
            reader.data.skipped.take(options.on_error, error)?;
        }
    }
    reader.names.finish(&mut reader.data);
    Ok(reader.data)
}

impl Reader {
    fn row(&mut self, line: &Line) -> Result<()> {
        let start = line.skip_space(0);
        if start == line.text.len() || line.text.as_bytes()[start] == b'#' {
            return Ok(());
        }
        self.labels.clear();
        let at = read_labels(line, start, &mut self.names, &mut self.labels)?;
        if self.labels.is_empty() && self.labels_required {
            return Err(line.no_label());
        }
        entries(line, at, &mut self.data)?;
        self.data.end_row(&self.labels);
        Ok(())
    }
}

/// Adds the labels of a line; returns the offset of the rest.
fn read_labels(line: &Line, start: usize, names: &mut Names, labels: &mut Vec<u32>) -> Result<usize> {
    let word = line.word(start);
    if word.contains(':') {
        return Ok(start);
    }
    let mut at = start;
    for name in word.split(',') {
        if name.is_empty() {
            return Err(line.expected(at, "a label", "an empty one"));
        }
        labels.push(names.number(name));
        at += name.len() + 1;
    }
    Ok(start + word.len())
}

fn entries(line: &Line, at: usize, data: &mut Dataset) -> Result<()> {
    let bytes = line.text.as_bytes();
    let mut last = None;
    let mut at = weight::take(line, at, data)?;
    while at < bytes.len() && bytes[at] != b'#' {
        if bytes[at..].starts_with(b"qid:") {
            at = weight::take(line, at + line.word(at).len(), data)?;
            continue;
        }
        let (feature, value, end) = pair::parse(line, at)?;
        if let Some(last) = last.filter(|&last| last >= feature) {
            let message = format!("features must increase within a row, found {feature} after {last}");
            return Err(line.wrong(at, message));
        }
        last = Some(feature);
        if value != 0.0 {
            data.push_entry(feature, value);
        }
        at = line.skip_space(end);
    }
    Ok(())
}
