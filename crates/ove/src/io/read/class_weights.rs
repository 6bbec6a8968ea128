//! Class weights: one class per line, followed by the weight of its labels in training.
//!
//! ```text
//! sport<TAB>0.5
//! sour cherry 3
//! ```
//!
//! Classes that are not listed have weight 1. Blank lines are skipped.

use std::collections::HashMap;
use std::path::Path;

use super::lines::{Line, Lines, quote};
use super::number;
use super::source::Source;
use crate::error::Result;

/// Reads a file of class weights; returns the weight of each of these classes.
///
/// # Errors
/// [`Error::Input`](crate::Error::Input) if a line is not valid, or names an unknown class or the same class twice;
/// [`Error::File`](crate::Error::File) if the file cannot be read.
pub fn read(path: &Path, classes: &[String]) -> Result<Vec<f64>> {
    let index: HashMap<&str, usize> = classes.iter().map(String::as_str).zip(0..).collect();
    let mut weights = vec![None; classes.len()];
    let mut lines = Lines::new(Source::open(path)?);
    while let Some(line) = lines.next_line()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let (class, weight) = parse(&line)?;
        let found = |found: &str| format!("'{}', {found}", quote(class));
        let &k = index.get(class).ok_or_else(|| line.expected(0, "a class", found("which no row has")))?;
        if weights[k].replace(weight).is_some() {
            return Err(line.expected(0, "each class once", format!("'{}' again", quote(class))));
        }
    }
    Ok(weights.into_iter().map(|weight| weight.unwrap_or(1.0)).collect())
}

/// The class of a line, which may have spaces in its name, and the weight.
fn parse<'a>(line: &Line<'a>) -> Result<(&'a str, f64)> {
    let text = line.text.trim_end();
    let Some((class, word)) = text.rsplit_once(|c: char| c.is_ascii_whitespace()) else {
        return Err(line.expected(0, "'class weight'", format!("'{}'", quote(text))));
    };
    let weight = number::weight(word).ok_or_else(|| number::wrong_weight(line, text.len() - word.len(), word))?;
    Ok((class.trim(), weight))
}
