//! Stems: the words of a text without their endings, by the Snowball stemmer of a language.
//!
//! ```text
//! houses housing, english  →  hous hous
//! ```

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

use super::names::Names;
use super::table::Table;
use crate::platform::names::names;

/// The language of a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the variants are names of languages")]
pub enum Language {
    /// That of the texts, found by its most frequent words.
    Auto,
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

names!(Language, "stem", {
    Auto => "auto",
    Arabic => "arabic",
    Danish => "danish",
    Dutch => "dutch",
    English => "english",
    Finnish => "finnish",
    French => "french",
    German => "german",
    Greek => "greek",
    Hungarian => "hungarian",
    Italian => "italian",
    Norwegian => "norwegian",
    Portuguese => "portuguese",
    Romanian => "romanian",
    Russian => "russian",
    Spanish => "spanish",
    Swedish => "swedish",
    Tamil => "tamil",
    Turkish => "turkish",
});

impl Language {
    /// The stemmer of a language; none for one that has to be found first.
    fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Language::Auto => return None,
            Language::Arabic => Algorithm::Arabic,
            Language::Danish => Algorithm::Danish,
            Language::Dutch => Algorithm::Dutch,
            Language::English => Algorithm::English,
            Language::Finnish => Algorithm::Finnish,
            Language::French => Algorithm::French,
            Language::German => Algorithm::German,
            Language::Greek => Algorithm::Greek,
            Language::Hungarian => Algorithm::Hungarian,
            Language::Italian => Algorithm::Italian,
            Language::Norwegian => Algorithm::Norwegian,
            Language::Portuguese => Algorithm::Portuguese,
            Language::Romanian => Algorithm::Romanian,
            Language::Russian => Algorithm::Russian,
            Language::Spanish => Algorithm::Spanish,
            Language::Swedish => Algorithm::Swedish,
            Language::Tamil => Algorithm::Tamil,
            Language::Turkish => Algorithm::Turkish,
        })
    }
}

/// A stemmer that remembers the stems of the words it has seen.
pub(super) struct Stems {
    stemmer: Stemmer,
    known: Table,
    stems: Names,
}

impl Stems {
    /// The stemmer of a language, if it has one.
    pub fn new(language: Language) -> Option<Self> {
        let stemmer = Stemmer::create(language.algorithm()?);
        Some(Stems { stemmer, known: Table::default(), stems: Names::default() })
    }

    /// The stem of a word in lower case with this hash; a word of which nothing would be left stays as it is.
    pub fn of(&mut self, word: &str, hash: u64) -> &str {
        let next = self.stems.len() as u32;
        let at = self.known.get_or_insert(hash, next);
        if at == next {
            let stem = self.stemmer.stem(word);
            self.stems.push(if stem.is_empty() { word } else { Cow::as_ref(&stem) });
        }
        self.stems.get(at as usize).expect("its number has a stem")
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::of_process;
    use super::*;

    #[test]
    fn words_of_one_stem() {
        let mut english = Stems::new(Language::English).unwrap();
        for word in ["houses", "house", "housing", "houses"] {
            assert_eq!(english.of(word, of_process(word)), "hous");
        }
        assert_eq!(Stems::new(Language::German).unwrap().of("häuser", 1), "haus");
        assert_eq!(Stems::new(Language::Finnish).unwrap().of("taloissa", 1), "talo");
    }

    /// Stemmers cut strings by bytes: none may panic, or leave nothing.
    #[test]
    fn every_language_stems_any_word() {
        let mut stream = crate::platform::random::Stream::of(&[5]);
        let letters: Vec<char> = "abcdeinorstuyzäöåéèßığşçñãõабвеийлонстьαεησςيةالمத்கள_09\u{301}日".chars().collect();
        for &language in &Language::ALL[1..] {
            let mut stems = Stems::new(language).unwrap();
            for _ in 0..3000 {
                let length = 2 + stream.below(12);
                let word: String = (0..length).map(|_| letters[stream.below(letters.len() as u64) as usize]).collect();
                let stem = stems.of(&word, of_process(&word)).to_owned();
                assert!(!stem.is_empty(), "{language}: {word}");
                assert_eq!(stems.of(&word, of_process(&word)), stem);
            }
        }
    }
}
