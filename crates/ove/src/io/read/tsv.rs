//! Tab-separated texts: a text, its labels separated by spaces, and an optional weight.
//!
//! ```text
//! Timber in the city<TAB>wood building<TAB>2.5
//! Lewis and Clark<TAB>travel
//! ```
//!
//! `tsv-label-first` is the same with the first two columns swapped. The order is never guessed, since a model could be
//! trained with a wrong guess too. If labels are not required, a line without a tab is a text, and other columns are
//! ignored.

use std::ops::Range;

use memchr::memchr;

use super::lines::Line;
use super::number;
use super::texts::Piece;
use crate::error::Result;

/// A column and its offset in the line.
type Column<'a> = (usize, &'a str);

pub(super) fn text_first(line: &Line, piece: &mut Piece) -> Result<()> {
    let mut columns = columns(line.text);
    let text = columns.next().unwrap_or_default();
    if !piece.labels_required {
        return piece.end_line(line, range(text));
    }
    let form = "'text<TAB>label label …'";
    let labels = columns.next().ok_or_else(|| line.expected(line.text.len(), form, "no tab"))?;
    finish(line, text, labels, columns, piece)
}

pub(super) fn label_first(line: &Line, piece: &mut Piece) -> Result<()> {
    let mut columns = columns(line.text);
    let labels = columns.next().unwrap_or_default();
    let text = columns.next();
    if !piece.labels_required {
        return piece.end_line(line, range(text.unwrap_or(labels)));
    }
    let form = "'label label …<TAB>text'";
    let text = text.ok_or_else(|| line.expected(line.text.len(), form, "no tab"))?;
    finish(line, text, labels, columns, piece)
}

fn finish<'a>(
    line: &Line,
    text: Column,
    labels: Column,
    mut rest: impl Iterator<Item = Column<'a>>,
    piece: &mut Piece,
) -> Result<()> {
    labels.1.split_ascii_whitespace().for_each(|name| piece.label(name));
    if let Some((at, word)) = rest.next() {
        let weight = number::weight(word.trim_ascii()).ok_or_else(|| number::wrong_weight(line, at, word))?;
        piece.weight(weight);
    }
    if let Some((at, _)) = rest.next() {
        return Err(line.expected(at, "a text, labels and a weight", "a fourth column"));
    }
    piece.end_line(line, range(text))
}

fn columns(line: &str) -> impl Iterator<Item = Column<'_>> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let at = next?;
        let tab = memchr(b'\t', &line.as_bytes()[at..]).map(|length| at + length);
        next = tab.map(|tab| tab + 1);
        Some((at, &line[at..tab.unwrap_or(line.len())]))
    })
}

fn range((at, column): Column) -> Range<usize> {
    at..at + column.len()
}
