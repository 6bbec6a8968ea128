//! Parses numbers, with the same bits as the standard library.
//!
//! Most values are short decimals such as `0.0317`. Their digits form an integer up to 2⁵³ and the point is a division by a
//! power of ten up to 10¹⁹, both exact in 64 bits, so the division rounds correctly. Rounding again to 32 bits errs only if
//! the first result is half-way between two 32-bit numbers, which its low 29 bits show:
//!
//! ```text
//! 0.0317 = 317 / 10⁴
//! ```
//!
//! Everything else, such as exponents, is parsed by `str::parse`.

use super::lines::{Line, quote};
use crate::error::Error;

/// The number of digits that always fit 64 bits.
const DIGITS: usize = 19;

/// The divisor for each number of decimals.
const POWERS: [f64; DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19];

/// The finite number that a word is.
pub(super) fn float(word: &str) -> Option<f32> {
    match short_decimal(word.as_bytes()) {
        Some((value, length)) if length == word.len() => Some(value),
        _ => word.parse().ok().filter(|value: &f32| value.is_finite()),
    }
}

/// The weight that a word is: finite and not negative.
pub(super) fn weight(word: &str) -> Option<f64> {
    word.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0)
}

/// The error for a word that is not a weight.
pub(super) fn wrong_weight(line: &Line, at: usize, word: &str) -> Error {
    line.expected(at, "a weight, finite and at least 0", format!("'{}'", quote(word)))
}

/// A whole number without a sign.
pub(super) fn integer(word: &str) -> Option<u64> {
    // `parse` would take a plus sign.
    if word.bytes().all(|b| b.is_ascii_digit()) { word.parse().ok() } else { None }
}

/// The decimal at the start of the bytes, and its length; `None` if it is not a short one.
#[inline]
pub(super) fn short_decimal(bytes: &[u8]) -> Option<(f32, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut mantissa, mut at) = digits(bytes, start, 0);
    let mut count = at - start;
    let mut decimals = 0;
    if bytes.get(at) == Some(&b'.') {
        let point = at + 1;
        (mantissa, at) = digits(bytes, point, mantissa);
        decimals = at - point;
        count += decimals;
    }
    if count == 0 || count > DIGITS || mantissa > 1 << 53 {
        return None;
    }
    let value = mantissa as f64 / POWERS[decimals];
    if value.to_bits() & 0x1fff_ffff == 0x1000_0000 {
        return None;
    }
    let value = value as f32;
    Some((if negative { -value } else { value }, at))
}

/// Appends the digits from `at` on to a number; returns it and the end of the digits. Too many digits wrap around: the
/// caller counts them.
#[inline]
pub(super) fn digits(bytes: &[u8], mut at: usize, mut number: u64) -> (u64, usize) {
    while let Some(digit) = bytes.get(at).map(|b| b.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        number = number.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    (number, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same_as_parse(word: &str) {
        let expected = word.parse::<f32>().ok().filter(|v| v.is_finite());
        assert_eq!(float(word).map(f32::to_bits), expected.map(f32::to_bits), "{word}");
    }

    #[test]
    fn hard_cases_equal_parse() {
        let ties = ["16777217", "16777219", "0.500000029802322387695", "1.00000005960464477539", "9007199254740993"];
        let forms = ["", "-", ".", "-.", "5.", ".5", "-0", "+1", "1.2.3", "1e5", "1e400", "nan", "inf", "0x1", " 1"];
        let long = ["0000000000000000000000001", "18446744073709551617", "0.0000000000000000000000000000000000001"];
        ties.iter().chain(&forms).chain(&long).for_each(|word| same_as_parse(word));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn decimals_equal_parse(word in "-?[0-9]{0,12}(\\.[0-9]{0,14})?") {
            same_as_parse(&word);
        }

        #[test]
        fn printed_floats_equal_parse(bits: u32, extra in "[0-9]{0,6}") {
            let value = f32::from_bits(bits);
            same_as_parse(&value.to_string());
            same_as_parse(&format!("{:.9}{extra}", value % 1000.0));
            // Half-way between two neighbours, where rounding twice goes wrong.
            let exponent = f32::from_bits(bits % (1 << 23) + (127 << 23));
            let half = (f64::from(exponent) + f64::from(f32::from_bits(exponent.to_bits() + 1))) / 2.0;
            same_as_parse(&format!("{half:.15}"));
        }

        #[test]
        fn any_text_equals_parse(word in "[-+0-9.eEinfa]{0,10}") {
            same_as_parse(&word);
        }
    }
}
