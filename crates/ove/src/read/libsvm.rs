//! libsvm, also called svmlight: a row a line, its label first, then its features in rising order.
//!
//! ```text
//! # sport and politics
//! sport    3:0.5 17:1
//! politics qid:7 3:0.25   # a query number, which is ignored
//! ```
//!
//! Features keep the numbers that they have in the file. A label is any word without a colon; of several with commas
//! between them, the first counts. A comment starts with a word that starts with `#`.

use super::classes::Names;
use super::lines::{Line, Lines};
use super::pair;
use super::source::Source;
use crate::data::{Dataset, NO_CLASS};
use crate::error::Result;

pub(super) fn read(source: Source, labels_required: bool) -> Result<Dataset> {
    let mut lines = Lines::new(source);
    let mut data = Dataset::new(0, Vec::new());
    let mut names = Names::default();
    while let Some(line) = lines.next_line()? {
        let start = line.skip_space(0);
        if start == line.text.len() || line.text.as_bytes()[start] == b'#' {
            continue;
        }
        let (label, at) = label(&line, start)?;
        if label.is_none() && labels_required {
            return Err(line.no_label());
        }
        entries(&line, at, &mut data)?;
        data.end_row(label.map_or(NO_CLASS, |name| names.number(name)));
    }
    names.finish(&mut data);
    Ok(data)
}

/// The label, if there is one, and where the rest of the line starts.
fn label<'a>(line: &Line<'a>, start: usize) -> Result<(Option<&'a str>, usize)> {
    let word = line.word(start);
    if word.contains(':') {
        return Ok((None, start));
    }
    let first = word.split(',').next().unwrap_or(word);
    if first.is_empty() {
        return Err(line.wrong(start, "an empty label", "labels have a name"));
    }
    Ok((Some(first), start + word.len()))
}

fn entries(line: &Line, at: usize, data: &mut Dataset) -> Result<()> {
    let bytes = line.text.as_bytes();
    let mut last = None;
    let mut at = line.skip_space(at);
    while at < bytes.len() && bytes[at] != b'#' {
        if bytes[at..].starts_with(b"qid:") {
            at = line.skip_space(at + line.word(at).len());
            continue;
        }
        let (feature, value, end) = pair::parse(line, at)?;
        if let Some(last) = last.filter(|&last| last >= feature) {
            return Err(line.wrong(at, format!("feature {feature} after {last}"), "features rise within a row"));
        }
        last = Some(feature);
        if value != 0.0 {
            data.push_entry(feature, value);
        }
        at = line.skip_space(end);
    }
    Ok(())
}
