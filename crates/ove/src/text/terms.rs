//! The terms of a text, each by its hash: its words, then pairs of neighbours, then longer n-grams of words, then
//! stems that stand beside the words, then n-grams of characters ([`chars`]).
//!
//! ```text
//! The cat sat, up to 2           →  the, cat, sat, the cat, cat sat
//! The cat, characters 4 to 5     →  " the", "the ", " the ", " cat", "cat ", " cat "
//! ```
//!
//! The name of an n-gram of words is its words separated by single spaces. The name of an n-gram of characters stands
//! in quotation marks, which no word contains, though a token may; its hash is made from the characters alone. The
//! name of a stem beside the words ends with an asterisk.

use std::borrow::Cow;
use std::ops::Range;

use super::TextOptions;
use super::chars::{self, Padded};
use super::hash::{self, hash};
use super::stem::Stems;
use super::words::{each_token, each_word, lower_into};
use crate::data::Kind;

/// What the name of a stem beside the words ends with.
const STEM: char = '*';

/// The terms of one text; reused from text to text.
pub(super) struct Terms {
    options: TextOptions,
    /// The seed of the hashes.
    seed: u64,
    /// The text in lower case.
    lower: String,
    /// The stems of words, if they are terms in place of the words.
    stems: Option<Stems>,
    /// The names of the stems beside the words, and the end of each.
    stemmed: String,
    ends: Vec<usize>,
    /// The words of the text separated by spaces, if there are n-grams or stems.
    joined: String,
    /// The range of each word in `joined` or, without n-grams and stems, in `lower`.
    words: Vec<Range<usize>>,
    /// Number of n-grams of words.
    of_words: usize,
    /// The words between blanks, if there are n-grams of characters.
    padded: Padded,
    hashes: Vec<u64>,
}

impl Terms {
    /// Finds the terms that these options ask for; hashes them with this seed.
    pub fn new(options: &TextOptions, seed: u64) -> Self {
        Terms {
            options: *options,
            seed,
            lower: String::new(),
            stems: options.stem.and_then(Stems::new),
            stemmed: String::new(),
            ends: Vec::new(),
            joined: String::new(),
            words: Vec::new(),
            of_words: 0,
            padded: Padded::default(),
            hashes: Vec::new(),
        }
    }

    /// Finds the terms of a text.
    pub fn read(&mut self, text: &str) {
        if self.options.tokens {
            text.clone_into(&mut self.lower);
        } else {
            lower_into(text, &mut self.lower);
        }
        self.joined.clear();
        self.words.clear();
        self.hashes.clear();
        if self.options.ngrams > 0 {
            self.read_words();
        }
        self.of_words = self.hashes.len();
        if self.options.apart {
            self.read_stems();
        }
        if let Some(lengths) = self.options.chars {
            self.padded.read(&self.lower, lengths);
            let seed = self.seed;
            self.hashes.extend(self.padded.ngrams().map(|ngram| hash::of_chars(ngram.as_bytes(), seed)));
        }
    }

    /// Finds the words and their n-grams.
    fn read_words(&mut self) {
        let Terms { options, seed, lower, stems, joined, words, hashes, .. } = self;
        let mut take = |range: Range<usize>| {
            hashes.push(hash_of_name(&lower[range.clone()], *seed));
            words.push(range);
        };
        match options.tokens {
            true => each_token(lower, &mut take),
            false => each_word(lower, &mut take),
        }
        let mut stems = stems.as_mut().filter(|_| !options.apart);
        if options.ngrams == 1 && stems.is_none() {
            return;
        }
        for (word, hash_of_word) in words.iter_mut().zip(&mut *hashes) {
            if !joined.is_empty() {
                joined.push(' ');
            }
            let start = joined.len();
            let written = &lower[word.clone()];
            joined.push_str(stems.as_mut().map_or(written, |stems| stems.of(written, *hash_of_word)));
            *word = start..joined.len();
            if stems.is_some() {
                *hash_of_word = hash_of_name(&joined[word.clone()], *seed);
            }
        }
        for n in 2..=options.ngrams.min(words.len()) {
            let names = words.windows(n).map(|words| &joined[words[0].start..words[n - 1].end]);
            hashes.extend(names.map(|name| hash_of_name(name, *seed)));
        }
    }

    /// Finds the stems of the words.
    fn read_stems(&mut self) {
        let Terms { stems, stemmed, ends, hashes, words, lower, joined, seed, .. } = self;
        stemmed.clear();
        ends.clear();
        let Some(stems) = stems else { return };
        let all = if joined.is_empty() { &*lower } else { &*joined };
        for (at, word) in words.iter().enumerate() {
            let start = stemmed.len();
            stemmed.push_str(stems.of(&all[word.clone()], hashes[at]));
            stemmed.push(STEM);
            hashes.push(hash(&stemmed.as_bytes()[start..], *seed));
            ends.push(stemmed.len());
        }
    }

    /// The hash of each term.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The name of the `place`-th term.
    pub fn name(&self, mut place: usize) -> Cow<'_, str> {
        if place >= self.of_words {
            let at = place - self.of_words;
            return match self.ends.get(at) {
                Some(&end) => self.stemmed[if at == 0 { 0 } else { self.ends[at - 1] }..end].into(),
                None => chars::name(self.padded.ngram(at - self.ends.len())).into(),
            };
        }
        let mut n = 1;
        while place > self.words.len() - n {
            place -= self.words.len() + 1 - n;
            n += 1;
        }
        let all = if self.joined.is_empty() { &self.lower } else { &self.joined };
        all[self.words[place].start..self.words[place + n - 1].end].into()
    }
}

/// The kind of the term with this name.
pub(super) fn kind_of_term(name: &str) -> Kind {
    if chars::of_name(name).is_some() {
        Kind::Chars
    } else if name.ends_with(STEM) {
        Kind::Stems
    } else if name.contains(' ') {
        Kind::Ngrams
    } else {
        Kind::Words
    }
}

/// The hash of the term with this name, for a table of this process.
pub(super) fn hash_of_term(name: &str) -> u64 {
    hash_of_name(name, hash::process_seed())
}

/// A token in quotation marks is the same term as these characters, since terms with one name are one term.
fn hash_of_name(name: &str, seed: u64) -> u64 {
    match chars::of_name(name) {
        Some(ngram) => hash::of_chars(ngram.as_bytes(), seed),
        None => hash(name.as_bytes(), seed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CharRange, Language};
    use super::*;

    fn names_of(text: &str, options: TextOptions) -> Vec<String> {
        let mut terms = Terms::new(&options, hash::process_seed());
        // Another text before: nothing of it may stay.
        for text in ["An earlier, longer text.", text] {
            terms.read(text);
        }
        let names: Vec<String> = (0..terms.hashes().len()).map(|place| terms.name(place).into_owned()).collect();
        assert_eq!(terms.hashes(), names.iter().map(|name| hash_of_term(name)).collect::<Vec<_>>());
        names
    }

    fn names(text: &str, ngrams: usize, chars: Option<(usize, usize)>) -> Vec<String> {
        names_of(text, TextOptions { ngrams, chars: chars.map(CharRange::from), ..TextOptions::default() })
    }

    #[test]
    fn words_then_pairs_then_longer_ones() {
        for (text, ngrams, expected) in [
            ("The cat sat", 1, &["the", "cat", "sat"][..]),
            ("The-cat: a sat", 2, &["the", "cat", "sat", "the cat", "cat sat"]),
            ("the cat sat", 3, &["the", "cat", "sat", "the cat", "cat sat", "the cat sat"]),
            ("the cat sat", 9, &["the", "cat", "sat", "the cat", "cat sat", "the cat sat"]),
            ("cat", 3, &["cat"]),
            ("", 3, &[]),
        ] {
            assert_eq!(names(text, ngrams, None), expected);
        }
    }

    #[test]
    fn characters_follow_the_words() {
        assert_eq!(names("The", 0, Some((4, 9))), ["\" the\"", "\"the \"", "\" the \""]);
        assert_eq!(names("Cat, a", 2, Some((4, 4))), ["cat", "\" cat\"", "\"cat,\"", "\"at, \"", "\" a \""]);
    }

    /// As a word, as a pair of words, and as characters.
    #[test]
    fn an_ngram_is_not_the_word_with_the_same_characters() {
        let found = names("tree xtreex", 1, Some((4, 4)));
        assert!(found.contains(&"tree".into()) && found.contains(&"\"tree\"".into()));
        assert_ne!(hash_of_term("tree"), hash_of_term("\"tree\""));
    }

    #[test]
    fn stems_stand_for_their_words() {
        let options = TextOptions { stem: Some(Language::English), ..TextOptions::default() };
        assert_eq!(names_of("Houses and housing", options), ["hous", "and", "hous"]);
        let pairs = TextOptions { ngrams: 2, ..options };
        assert_eq!(names_of("Old houses", pairs), ["old", "hous", "old hous"]);
        let chars = TextOptions { ngrams: 1, chars: Some(CharRange::from((7, 7))), ..options };
        assert_eq!(names_of("Houses", chars), ["hous", "\" houses\"", "\"houses \""]);
    }

    #[test]
    fn stems_beside_the_words() {
        let views = TextOptions { stem: Some(Language::English), apart: true, ..TextOptions::default() };
        assert_eq!(names_of("Old houses", views), ["old", "houses", "old*", "hous*"]);
        let all = TextOptions { ngrams: 2, chars: Some(CharRange::from((7, 7))), ..views };
        let names = names_of("Old houses", all);
        assert_eq!(names[..5], ["old", "houses", "old houses", "old*", "hous*"]);
        let kinds: Vec<Kind> = names.iter().map(|name| kind_of_term(name)).collect();
        assert_eq!(kinds[..5], [Kind::Words, Kind::Words, Kind::Ngrams, Kind::Stems, Kind::Stems]);
        assert!(kinds.len() > 5 && kinds[5..].iter().all(|&kind| kind == Kind::Chars), "{names:?}");
    }

    #[test]
    fn tokens_are_terms_as_they_are() {
        let options = TextOptions { tokens: true, ngrams: 2, ..TextOptions::default() };
        assert_eq!(names_of("A c++  Cat's", options), ["A", "c++", "Cat's", "A c++", "c++ Cat's"]);
        // Also those that look like n-grams of characters.
        assert_eq!(names_of("\"+\" \"a b\"", options)[..3], ["\"+\"", "\"a", "b\""]);
    }
}
