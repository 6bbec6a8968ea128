//! `weight:2.5`, the weight of a row, before its features.

use super::lines::Line;
use super::number;
use crate::data::Dataset;
use crate::error::Result;

const NAME: &str = "weight:";

/// Reads the weight of the current row of `data`, if there is one at `at`; returns the offset of the rest.
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
