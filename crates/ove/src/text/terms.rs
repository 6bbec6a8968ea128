//! The terms of a text: its words, then pairs of neighbours, then longer n-grams, each by its hash.
//!
//! ```text
//! The cat sat, up to 2  →  the, cat, sat, the cat, cat sat
//! ```
//!
//! The name of an n-gram is its words separated by single spaces; its hash is that of its name.

use std::ops::Range;

use super::hash::hash;
use super::words::{each_word, lower_into};

/// The terms of one text; reused from text to text.
pub(super) struct Terms {
    /// The seed of the hashes.
    seed: u64,
    /// The text in lower case.
    lower: String,
    /// The words of the text separated by spaces, if there are n-grams.
    joined: String,
    /// The range of each word in `joined` or, without n-grams, in `lower`.
    words: Vec<Range<usize>>,
    hashes: Vec<u64>,
}

impl Terms {
    /// Hashes terms with this seed.
    pub fn new(seed: u64) -> Self {
        Terms { seed, lower: String::new(), joined: String::new(), words: Vec::new(), hashes: Vec::new() }
    }

    /// Finds the terms of a text, up to n-grams of length `ngrams`.
    pub fn read(&mut self, text: &str, ngrams: usize) {
        lower_into(text, &mut self.lower);
        self.joined.clear();
        self.words.clear();
        self.hashes.clear();
        let Terms { seed, lower, joined, words, hashes } = self;
        each_word(lower, |range| {
            hashes.push(hash(&lower.as_bytes()[range.clone()], *seed));
            words.push(range);
        });
        if ngrams == 1 {
            return;
        }
        for word in words.iter_mut() {
            if !joined.is_empty() {
                joined.push(' ');
            }
            let start = joined.len();
            joined.push_str(&lower[word.clone()]);
            *word = start..joined.len();
        }
        for n in 2..=ngrams.min(words.len()) {
            let names = words.windows(n).map(|words| &joined.as_bytes()[words[0].start..words[n - 1].end]);
            hashes.extend(names.map(|name| hash(name, *seed)));
        }
    }

    /// The hash of each term.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The name of the `place`-th term: its words separated by spaces.
    pub fn name(&self, mut place: usize) -> &str {
        let mut n = 1;
        while place > self.words.len() - n {
            place -= self.words.len() + 1 - n;
            n += 1;
        }
        let all = if self.joined.is_empty() { &self.lower } else { &self.joined };
        &all[self.words[place].start..self.words[place + n - 1].end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_then_pairs_then_longer_ones() {
        let mut terms = Terms::new(7);
        for (text, ngrams, expected) in [
            ("The cat sat", 1, &["the", "cat", "sat"][..]),
            ("The-cat: a sat", 2, &["the", "cat", "sat", "the cat", "cat sat"]),
            ("the cat sat", 3, &["the", "cat", "sat", "the cat", "cat sat", "the cat sat"]),
            ("the cat sat", 9, &["the", "cat", "sat", "the cat", "cat sat", "the cat sat"]),
            ("cat", 3, &["cat"]),
            ("", 3, &[]),
        ] {
            terms.read(text, ngrams);
            let names: Vec<&str> = (0..terms.hashes().len()).map(|place| terms.name(place)).collect();
            assert_eq!(names, expected);
            assert_eq!(terms.hashes(), names.iter().map(|name| hash(name.as_bytes(), 7)).collect::<Vec<_>>());
        }
    }
}
