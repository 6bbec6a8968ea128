//! N-grams of characters within words.
//!
//! ```text
//! A cat, 3 to 4  →  " a ", " ca", "cat", "at ", " cat", "cat "
//! ```
//!
//! Words are what stands between blanks, punctuation included, with a blank at either end that marks the boundary. A
//! word that is shorter than an n-gram counts once, as a whole. These are exactly the n-grams of scikit-learn's
//! vectorisers with `analyzer="char_wb"`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::LONGEST_NGRAM;
use super::words::is_blank;
use crate::error::{Error, Result};

/// The lengths of n-grams of characters: `3-5` in flags, `[3, 5]` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, usize)", into = "(usize, usize)")]
pub struct CharRange {
    /// The shortest.
    pub shortest: usize,
    /// The longest.
    pub longest: usize,
}

impl From<(usize, usize)> for CharRange {
    fn from((shortest, longest): (usize, usize)) -> Self {
        CharRange { shortest, longest }
    }
}

impl From<CharRange> for (usize, usize) {
    fn from(CharRange { shortest, longest }: CharRange) -> Self {
        (shortest, longest)
    }
}

impl CharRange {
    /// Checks the lengths, which are those of the setting `name`.
    pub(crate) fn check(self, name: &str) -> Result<()> {
        match 1 <= self.shortest && self.shortest <= self.longest && self.longest <= LONGEST_NGRAM {
            true => Ok(()),
            false => {
                let must = format!("be the shortest and the longest length, from 1 to {LONGEST_NGRAM}, such as 3-5");
                Err(Error::setting(name, must, self))
            }
        }
    }
}

impl fmt::Display for CharRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.shortest, self.longest)
    }
}

impl FromStr for CharRange {
    type Err = Error;

    /// Parses `3-5`, or `4` for `4-4`.
    fn from_str(text: &str) -> Result<Self> {
        let (shortest, longest) = text.split_once('-').unwrap_or((text, text));
        match (shortest.parse(), longest.parse()) {
            (Ok(shortest), Ok(longest)) => Ok(CharRange { shortest, longest }),
            _ => Err(Error::setting("chars", "be two lengths, such as 3-5", format!("`{text}`"))),
        }
    }
}

/// The name of an n-gram as a term.
pub(super) fn name(ngram: &str) -> String {
    format!("\"{ngram}\"")
}

/// The n-gram with this name, if it is the name of one.
pub(super) fn of_name(name: &str) -> Option<&str> {
    name.strip_prefix('"')?.strip_suffix('"')
}

/// The words of a text with blanks between them, and the n-grams in it; reused from text to text.
#[derive(Default)]
pub(super) struct Padded {
    text: String,
    ngrams: Vec<Range<usize>>,
    /// The start of each character of a word, and the end of the last.
    starts: Vec<usize>,
}

impl Padded {
    /// Finds the n-grams of a text in lower case.
    pub fn read(&mut self, lower: &str, lengths: CharRange) {
        let Padded { text, ngrams, starts } = self;
        ngrams.clear();
        text.clear();
        text.push(' ');
        for word in lower.split(is_blank).filter(|word| !word.is_empty()) {
            let first = text.len() - 1;
            text.push_str(word);
            text.push(' ');
            if word.is_ascii() {
                push_ngrams(lengths, word.len() + 2, |at| first + at, ngrams);
            } else {
                starts.clear();
                starts.extend(text[first..].char_indices().map(|(at, _)| first + at));
                starts.push(text.len());
                push_ngrams(lengths, starts.len() - 1, |at| starts[at], ngrams);
            }
        }
    }

    /// The n-grams, word by word.
    #[inline]
    pub fn ngrams(&self) -> impl ExactSizeIterator<Item = &str> {
        self.ngrams.iter().map(|range| &self.text[range.clone()])
    }

    /// The `at`-th n-gram.
    pub fn ngram(&self, at: usize) -> &str {
        &self.text[self.ngrams[at].clone()]
    }
}

/// Adds the n-grams of a word with so many characters, whose `at`-th starts at `start(at)`, the shorter ones first.
#[inline]
fn push_ngrams(lengths: CharRange, count: usize, start: impl Fn(usize) -> usize, ngrams: &mut Vec<Range<usize>>) {
    for n in lengths.shortest..=lengths.longest {
        if n >= count {
            ngrams.push(start(0)..start(count));
            return;
        }
        ngrams.extend((0..=count - n).map(|at| start(at)..start(at + n)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ngrams(text: &str, shortest: usize, longest: usize) -> Vec<String> {
        let mut padded = Padded::default();
        padded.read("something before", CharRange { shortest, longest });
        padded.read(text, CharRange { shortest, longest });
        let all: Vec<String> = padded.ngrams().map(str::to_owned).collect();
        assert!(all.iter().enumerate().all(|(at, ngram)| padded.ngram(at) == ngram));
        all
    }

    #[test]
    fn words_are_padded_and_short_ones_count_once() {
        assert_eq!(ngrams("a cat", 3, 4), [" a ", " ca", "cat", "at ", " cat", "cat "]);
        assert_eq!(ngrams("cat", 5, 9), [" cat "]);
        assert_eq!(ngrams("cat", 6, 9), [" cat "]);
        assert_eq!(ngrams("x", 1, 5), [" ", "x", " ", " x", "x ", " x "]);
        assert!(ngrams(" \t\u{1f}\u{3000}\n", 1, 3).is_empty());
    }

    #[test]
    fn characters_are_code_points() {
        assert_eq!(ngrams("né\u{a0}日本", 3, 3), [" né", "né ", " 日本", "日本 "]);
        assert_eq!(ngrams("e\u{301}", 2, 2), [" e", "e\u{301}", "\u{301} "]);
    }

    #[test]
    fn ranges_from_text() {
        let range = |text: &str| text.parse::<CharRange>().map_err(|error| error.to_string());
        assert_eq!(range("3-5"), Ok(CharRange { shortest: 3, longest: 5 }));
        assert_eq!(range("4"), Ok(CharRange { shortest: 4, longest: 4 }));
        assert_eq!(range("3-5").unwrap().to_string(), "3-5");
        for bad in ["", "-", "3-", "-5", "3-5-7", "three", "3–5"] {
            assert_eq!(range(bad), Err(format!("`chars` must be two lengths, such as 3-5, got `{bad}`")));
        }
        for bad in ["0-3", "5-3", "3-17"] {
            let must = "be the shortest and the longest length, from 1 to 16, such as 3-5";
            let error = range(bad).unwrap().check("chars").unwrap_err().to_string();
            assert_eq!(error, format!("`chars` must {must}, got {bad}"));
        }
    }
}
