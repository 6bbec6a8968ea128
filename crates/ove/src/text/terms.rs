//! The terms of a text: its words, then pairs of neighbours, then longer n-grams, each by its hash.
//!
//! ```text
//! The cat sat, up to 2  →  the, cat, sat, the cat, cat sat
//! ```
//!
//! The hash of an n-gram follows from that of the n-gram without its last word, so that no text has to be joined for it.

use std::ops::Range;

use super::hash;
use super::words::{each_word, lower_into};

/// The terms of one text, with memory for the next.
#[derive(Default)]
pub(super) struct Terms {
    /// The text in lower case.
    lower: String,
    /// Where the words stand in it.
    words: Vec<Range<usize>>,
    hashes: Vec<u64>,
}

impl Terms {
    /// Takes the terms of a text, up to n-grams of length `ngrams`.
    pub fn read(&mut self, text: &str, ngrams: usize) {
        lower_into(text, &mut self.lower);
        self.words.clear();
        self.hashes.clear();
        let (words, hashes) = (&mut self.words, &mut self.hashes);
        each_word(&self.lower, |range| {
            hashes.push(hash::word(&self.lower.as_bytes()[range.clone()]));
            words.push(range);
        });
        let count = words.len();
        let mut prefixes = 0;
        for n in 1..ngrams.min(count) {
            let longer = hashes.len();
            for first in 0..count - n {
                hashes.push(hash::pair(hashes[prefixes + first], hashes[first + n]));
            }
            prefixes = longer;
        }
    }

    /// The hash of each term.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Appends the name of the term at a place: its words with a space between them.
    pub fn write_name(&self, mut place: usize, name: &mut String) {
        let mut n = 1;
        while place > self.words.len() - n {
            place -= self.words.len() + 1 - n;
            n += 1;
        }
        for (word, i) in self.words[place..place + n].iter().zip(0..) {
            if i > 0 {
                name.push(' ');
            }
            name.push_str(&self.lower[word.clone()]);
        }
    }
}

/// The hash of a term by its name.
pub(super) fn hash_of_name(name: &str) -> u64 {
    let mut words = name.split(' ').map(|word| hash::word(word.as_bytes()));
    let first = words.next().unwrap_or(0);
    words.fold(first, hash::pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_then_pairs_then_longer_ones() {
        let mut terms = Terms::default();
        for (text, ngrams, expected) in [
            ("The cat sat", 1, &["the", "cat", "sat"][..]),
            ("The-cat: a sat", 2, &["the", "cat", "sat", "the cat", "cat sat"]),
            ("the cat sat", 3, &["the", "cat", "sat", "the cat", "cat sat", "the cat sat"]),
            ("the cat sat", 9, &["the", "cat", "sat", "the cat", "cat sat", "the cat sat"]),
            ("cat", 3, &["cat"]),
            ("", 3, &[]),
        ] {
            terms.read(text, ngrams);
            let name = |place| {
                let mut name = String::new();
                terms.write_name(place, &mut name);
                name
            };
            let names: Vec<String> = (0..terms.hashes().len()).map(name).collect();
            assert_eq!(names, expected);
            assert_eq!(terms.hashes(), names.iter().map(|name| hash_of_name(name)).collect::<Vec<_>>());
        }
    }
}
