//! `weight:2.5`, a word before the features of a row that says how often the row counts.

use super::lines::Line;
use super::number;
use crate::data::Dataset;
use crate::error::Result;

const NAME: &str = "weight:";

/// Takes the weight, if one stands first from `at` on, for the row that `data` is building; where the rest of the line
/// starts.
pub(super) fn take(line: &Line, at: usize, data: &mut Dataset) -> Result<usize> {
    let at = line.skip_space(at);
    if !line.text[at..].starts_with(NAME) {
        return Ok(at);
    }
    let word = &line.word(at)[NAME.len()..];
    let weight = number::weight(word).ok_or_else(|| number::wrong_weight(line, at + NAME.len(), word))?;
    data.weigh_row(weight);
    Ok(line.skip_space(at + NAME.len() + word.len()))
}
