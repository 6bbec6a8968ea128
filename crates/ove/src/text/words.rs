//! The words of a text, in lower case.
//!
//! ```text
//! The café's Nº 12: naïve_bayes  →  the café nº 12 naïve_bayes
//! ```
//!
//! A word is a maximal run of at least two letters, digits, underscores and combining marks that does not start with a
//! mark. This is the default of scikit-learn's vectorisers (`\w\w+`) except for marks, which Python leaves out of `\w`:
//! here `é` belongs to its word also where it is written as a letter and a combining accent, and so do the vowel signs
//! of Indic scripts. A mark after a symbol, such as the selector after a heart that makes it an emoji, belongs to the
//! symbol.

use std::ops::Range;

use unicode_general_category::{GeneralCategory, get_general_category};

/// Writes `text` in lower case to `lower`; runs of characters that need no Unicode conversion are copied at once.
pub(super) fn lower_into(text: &str, lower: &mut String) {
    lower.clear();
    let mut rest = text;
    while let Some((at, letter)) = next_upper(rest) {
        if letter == 'Σ' {
            // The only letter whose lower case depends on its neighbours.
            *lower = text.to_lowercase();
            return;
        }
        lower.push_str(&rest[..at]);
        lower.extend(letter.to_lowercase());
        rest = &rest[at + letter.len_utf8()..];
    }
    lower.push_str(rest);
    lower.make_ascii_lowercase();
}

/// The first letter beyond ASCII that is not its own lower case, and its offset.
fn next_upper(text: &str) -> Option<(usize, char)> {
    let mut at = 0;
    loop {
        at += ascii_prefix(&text.as_bytes()[at..])?;
        let letter = text[at..].chars().next()?;
        if !is_lower(letter) {
            return Some((at, letter));
        }
        at += letter.len_utf8();
    }
}

/// The number of ASCII bytes before the first other byte, if there is one.
fn ascii_prefix(bytes: &[u8]) -> Option<usize> {
    let (eights, _) = bytes.as_chunks::<8>();
    let ascii = eights.iter().take_while(|eight| u64::from_le_bytes(**eight) & EACH_HIGH == 0).count() * 8;
    bytes[ascii..].iter().position(|byte| !byte.is_ascii()).map(|more| ascii + more)
}

/// Whether a character is its own lower case; the letters of Western Europe need no table look-up.
#[inline]
fn is_lower(c: char) -> bool {
    matches!(c, 'ß'..='ÿ') || c.to_lowercase().eq([c])
}

/// Calls `each` with the range of every word of a text in lower case.
#[inline]
pub(super) fn each_word(lower: &str, mut each: impl FnMut(Range<usize>)) {
    let mut at = 0;
    while at < lower.len() {
        let (end, characters) = word_end(lower, at);
        if characters >= 2 {
            each(at..end);
        }
        // The character that ends a word is not part of any.
        at = end + beyond_ascii(lower, end).map_or(1, char::len_utf8);
    }
}

/// Calls `each` with the range of everything that stands between blanks.
pub(super) fn each_token(text: &str, mut each: impl FnMut(Range<usize>)) {
    for token in text.split(is_blank).filter(|token| !token.is_empty()) {
        let start = token.as_ptr() as usize - text.as_ptr() as usize;
        each(start..start + token.len());
    }
}

/// Whether a character is white space, as in Python: in Unicode's sense, or one of the four separators of ASCII.
#[inline]
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// The end of the word that starts at `at`, and its number of characters: 0 if there is no word.
#[inline]
fn word_end(lower: &str, at: usize) -> (usize, usize) {
    let bytes = lower.as_bytes();
    let (mut end, mut more) = (at, 0);
    loop {
        end += ascii_of_word(&bytes[end..]);
        match beyond_ascii(lower, end) {
            Some(c) if in_word(c) || (end > at && is_mark(c)) => {
                end += c.len_utf8();
                more += c.len_utf8() - 1;
            }
            _ => return (end, end - at - more),
        }
    }
}

/// The character at an offset, if there is one and it is not ASCII.
#[inline]
fn beyond_ascii(text: &str, at: usize) -> Option<char> {
    if text.as_bytes().get(at)?.is_ascii() { None } else { text[at..].chars().next() }
}

/// The number of leading bytes that are ASCII characters of words, tested eight at a time.
#[inline]
fn ascii_of_word(bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some(&eight) = bytes[count..].first_chunk() {
        let others = !in_ascii_word(u64::from_le_bytes(eight)) & EACH_HIGH;
        if others != 0 {
            return count + others.trailing_zeros() as usize / 8;
        }
        count += 8;
    }
    let mut last = [0; 8];
    let rest = &bytes[count..];
    last[..rest.len()].copy_from_slice(rest);
    let others = !in_ascii_word(u64::from_le_bytes(last)) & EACH_HIGH;
    count + others.trailing_zeros() as usize / 8
}

/// The high bit of each of eight bytes.
const EACH_HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is a letter in lower case, a digit or an underscore.
#[inline]
fn in_ascii_word(eight: u64) -> u64 {
    let low = eight & !EACH_HIGH;
    // The high bit of the first sum is set from `first` on, that of the second beyond `last`.
    let within = |first: u8, last: u8| {
        let each = |byte: u8| u64::from_le_bytes([byte; 8]);
        (low + each(0x80 - first)) ^ (low + each(0x7f - last))
    };
    (within(b'a', b'z') | within(b'0', b'9') | within(b'_', b'_')) & !eight & EACH_HIGH
}

/// Whether a character beyond ASCII is a letter or a digit; the letters of Western Europe need no table look-up.
#[inline]
fn in_word(c: char) -> bool {
    matches!(c, 'ß'..='ö') || c.is_alphanumeric()
}

/// Whether a character is a combining mark, of Unicode's categories Mn, Mc and Me: there is none below U+0300. Accents
/// that are written apart from their letter, vowel points and the signs that join or change consonants in the scripts
/// of Asia are such marks.
fn is_mark(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    c >= '\u{300}' && matches!(get_general_category(c), NonspacingMark | SpacingMark | EnclosingMark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut lower = String::new();
        lower_into(text, &mut lower);
        let mut words = Vec::new();
        each_word(&lower, |range| words.push(lower[range].to_owned()));
        words
    }

    #[test]
    fn runs_of_two_or_more() {
        assert_eq!(words("The café's Nº 12: naïve_bayes, x y zz"), ["the", "café", "nº", "12", "naïve_bayes", "zz"]);
        assert_eq!(words("éa é a\tfin"), ["éa", "fin"]);
        assert!(words("").is_empty() && words("— … a").is_empty());
    }

    #[test]
    fn bytes_of_words_are_told_from_all_others() {
        for byte in 0..=255u8 {
            let belongs = byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            for length in 0..20 {
                for at in 0..length {
                    let mut bytes = vec![b'x'; length];
                    bytes[at] = byte;
                    assert_eq!(ascii_of_word(&bytes), if belongs { length } else { at }, "{byte} at {at} of {length}");
                }
            }
        }
    }

    #[test]
    fn lower_case_of_any_script() {
        assert_eq!(words("STRASSE Straße ΟΔΟΣ Москва ДЭ"), ["strasse", "straße", "οδος", "москва", "дэ"]);
        assert_eq!(words("ΣΟΦΙΑ ǅabc"), ["σοφια", "ǆabc"]);
    }

    #[test]
    fn marks_belong_to_words() {
        assert_eq!(
            words("cafe\u{301}s I\u{307}stanbul İzmir हिन्दी"),
            ["cafe\u{301}s", "i\u{307}stanbul", "i\u{307}zmir", "हिन्दी"]
        );
    }

    /// Marks of each category, among them those that Unicode does not call alphabetic.
    #[test]
    fn marks_of_all_scripts_belong_to_words() {
        for word in [
            "שָׁלוֹם",                      // Hebrew points
            "مُحَمَّد",                      // Arabic vowel signs
            "ܫܠܡ\u{730}ܐ",               // Syriac points
            "བོད་".trim_end_matches('་'), // Tibetan
            "ខ្មែរ",                       // Khmer
            "မြန်မာ",                     // Burmese
            "ភាសា",
            "தமிழ்", // Tamil
            "ភ\u{17d2}ន",
            "n\u{303}an\u{325}", // Latin
            "к\u{483}и",         // Cyrillic
            "か\u{3099}き",      // Japanese
            "1\u{fe0f}\u{20e3}", // a keycap: an enclosing mark
            "𑄌𑄋𑄴𑄟𑄳𑄦",              // Chakma, beyond the first plane
        ] {
            assert_eq!(words(word), [word]);
        }
    }

    #[test]
    fn a_mark_starts_no_word() {
        assert_eq!(words("\u{2764}\u{fe0f}love \u{301}\u{302} \u{301}ab"), ["love", "ab"]);
        assert!(('\u{80}'..'\u{300}').all(|c| !matches!(get_general_category(c), GeneralCategory::NonspacingMark)));
    }
}
