//! `feature:value`, the entries of a row in libsvm and XMC files.
//!
//! ```text
//! 17:0.25
//! ```
//!
//! A feature is below 2³² − 1, a value is a finite 32-bit number. The common case has a fast path; errors are found in a
//! second pass.

use super::lines::{Line, quote};
use super::number;
use crate::error::{Error, Result};

/// The largest feature: the number of features must fit 32 bits too.
pub(super) const GREATEST: u64 = u32::MAX as u64 - 1;

/// The maximum number of digits of a feature.
const DIGITS: usize = 10;

/// The pair at an offset of a line: feature, value and the offset of its end.
#[inline]
pub(super) fn parse(line: &Line, at: usize) -> Result<(u32, f32, usize)> {
    let bytes = line.text.as_bytes();
    let (feature, colon) = number::digits(bytes, at, 0);
    if colon == at || colon - at > DIGITS || feature > GREATEST || bytes.get(colon) != Some(&b':') {
        return slow(line, at);
    }
    let Some((value, length)) = number::short_decimal(&bytes[colon + 1..]) else {
        return slow(line, at);
    };
    let end = colon + 1 + length;
    if bytes.get(end).is_some_and(|b| !b.is_ascii_whitespace()) {
        return slow(line, at);
    }
    Ok((feature as u32, value, end))
}

/// A pair in any valid form, or the error.
#[cold]
fn slow(line: &Line, at: usize) -> Result<(u32, f32, usize)> {
    let word = line.word(at);
    let Some((feature, value)) = word.split_once(':') else {
        return Err(line.expected(at, "feature:value", format!("'{}'", quote(word))));
    };
    let Some(number) = digits_only(feature) else {
        return Err(line.expected(at, "a feature, a whole number from 0", format!("'{}'", quote(feature))));
    };
    let Some(number) = number.parse().ok().filter(|&n: &u64| n <= GREATEST) else {
        return Err(line.expected(at, format!("a feature up to {GREATEST}"), quote(feature)));
    };
    let column = at + feature.len() + 1;
    let value = number::float(value).ok_or_else(|| wrong_value(line, column, value))?;
    Ok((number as u32, value, at + word.len()))
}

fn digits_only(word: &str) -> Option<&str> {
    (!word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())).then_some(word)
}

/// The error for a value that is not a finite number.
pub(super) fn wrong_value(line: &Line, at: usize, value: &str) -> Error {
    line.expected(at, "a finite 32-bit number", format!("'{}'", quote(value)))
}
