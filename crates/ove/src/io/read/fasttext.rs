//! The format of fastText: one text per line, after its labels.
//!
//! ```text
//! __label__wood __label__building Timber in the city
//! ```
//!
//! Labels are the leading words of a line with this prefix; later ones are part of the text.

use super::lines::Line;
use super::texts::Piece;
use crate::error::Result;

/// The prefix of a label.
pub(super) const LABEL: &str = "__label__";

pub(super) fn line(line: &Line, piece: &mut Piece) -> Result<()> {
    let mut at = line.skip_space(0);
    while let Some(name) = line.word(at).strip_prefix(LABEL) {
        if name.is_empty() {
            return Err(line.expected(at, "a label", "an empty one"));
        }
        if piece.labels_required {
            piece.label(name);
        }
        at = line.skip_space(at + LABEL.len() + name.len());
    }
    piece.end_line(line, at..line.text.len())
}
