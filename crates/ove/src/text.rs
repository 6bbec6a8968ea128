//! Raw text to sparse rows: words, n-grams of words and of characters, weighted by tf-idf.
//!
//! ```
//! use ove::text::{Text, TextOptions};
//!
//! let texts = ["the cat sat", "the dog sat", "a bird"];
//! let (text, rows) = Text::fit(&TextOptions::default(), &texts)?;
//! assert_eq!(text.names().iter().collect::<Vec<_>>(), ["sat", "the"]); // in two texts each; the others are in one
//! assert_eq!(rows.rows().row(0).values, [0.5f32.sqrt(), 0.5f32.sqrt()]);
//! assert!(text.rows(&["A bird?"]).rows().row(0).indices.is_empty());
//! # Ok::<(), ove::Error>(())
//! ```
//!
//! The weight of a term in a text is its count there, or 1 + ln(count), times its inverse document frequency
//!
//! ```text
//! idf = ln((1 + texts) / (1 + texts with the term)) + 1
//! ```
//!
//! and each row is scaled to unit length, as in scikit-learn's `TfidfVectorizer`. Features are numbered by decreasing
//! document frequency, equally frequent terms by name. The order does not depend on the number of threads, and the
//! weights of frequent words lie side by side. Instead of a vocabulary, terms may be numbered by their hash
//! ([`TextOptions::hash`]).

mod chars;
mod fit;
mod hash;
mod language;
mod names;
mod rows;
mod stem;
pub(crate) mod subwords;
mod table;
mod terms;

mod word_counts;
mod words;

use memchr::memchr_iter;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Kind};
use crate::error::{Error, Result};
use crate::platform::elementary::ln;
use crate::platform::pool;
pub use chars::CharRange;
pub(crate) use hash::of_process as hash_of_name;
pub use names::Names;
use rows::Piece;
pub use stem::Language;
pub(crate) use table::Table;
use terms::{Terms, hash_of_term, kind_of_term};
pub use word_counts::{Counter, WordCounts};

/// Bytes of text per chunk: large enough that few terms are merged twice, small enough that the terms of a chunk stay
/// in the cache.
const CHUNK_BYTES: usize = 4 << 20;

/// The mean length of names, and of texts whose n-grams of characters are few enough. Names of places have 12 bytes,
/// titles 70.
const NAME_BYTES: usize = 30;
const SHORT_BYTES: usize = 300;

/// The longest n-gram: a text of n words, or characters, has n terms of each length.
const LONGEST_NGRAM: usize = 16;

/// How texts become rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextOptions {
    /// The longest n-gram of words: 1 for words alone, 2 for pairs of neighbours too, 0 for no words but `chars` alone.
    pub ngrams: usize,
    /// The lengths of n-grams of characters within words, as scikit-learn's `char_wb` makes them; if not given, none.
    #[serde(default)]
    pub chars: Option<CharRange>,
    /// The language whose stems stand for the words, by its Snowball stemmer; if not given, words are terms as they
    /// are. N-grams of characters are not of stems.
    #[serde(default)]
    pub stem: Option<Language>,
    /// Whether the kinds of terms are kept apart, for trees on different views of a text: stems stand beside the words,
    /// and words, n-grams, stems and n-grams of characters are each scaled to the same length, in place of all
    /// together. Not for hashed features.
    #[serde(default)]
    pub apart: bool,
    /// Whether texts are tokens separated by white space, which are terms as they are, in place of words that are
    /// found in the text and put into lower case.
    #[serde(default)]
    pub tokens: bool,
    /// Minimum number of texts that a term must occur in; not for hashed features.
    pub min_df: u32,
    /// Number of hashed features: terms are numbered by their hash, and there is no vocabulary.
    ///
    /// The feature of a term is ⌊h · hash / 2⁶⁴⌋, where h is `XXH3_64bits` (seed 0) of its UTF-8 bytes in lower case,
    /// the words of an n-gram separated by single spaces; for an n-gram of characters, with the halves of h exchanged.
    pub hash: Option<u32>,
    /// Whether a term counts 1 + ln(count) instead of count.
    pub sublinear_tf: bool,
    /// Whether terms are weighted by their inverse document frequency.
    pub idf: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            ngrams: 1,
            chars: None,
            stem: None,
            apart: false,
            tokens: false,
            min_df: 2,
            hash: None,
            sublinear_tf: false,
            idf: true,
        }
    }
}

impl TextOptions {
    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first that is not.
    pub fn check(&self) -> Result<()> {
        let hash = self.hash.map(|hash| ("hash", u64::from(hash)));
        let ngrams = self.chars.is_none().then_some(("ngrams", self.ngrams as u64));
        for (name, value) in ngrams.into_iter().chain([("min-df", self.min_df.into())]).chain(hash) {
            if value == 0 {
                return Err(Error::setting(name, "be at least 1", value));
            }
        }
        if self.ngrams > LONGEST_NGRAM {
            return Err(Error::setting("ngrams", format!("be at most {LONGEST_NGRAM}"), self.ngrams));
        }
        self.chars.map_or(Ok(()), |lengths| lengths.check("chars"))
    }

    /// The same with the language of these texts, if it has to be found; with kinds apart, n-grams of characters for
    /// short texts.
    pub(crate) fn resolved(mut self, texts: &[&str]) -> Self {
        if self.stem == Some(Language::Auto) {
            self.stem = if self.tokens { None } else { language::detect(texts) };
        }
        self.apart &= self.hash.is_none();
        let bytes = texts.iter().map(|text| text.len()).sum::<usize>() / texts.len().max(1);
        if self.apart && self.chars.is_none() && bytes <= SHORT_BYTES {
            let shortest = if bytes <= NAME_BYTES { 3 } else { 4 };
            self.chars = Some(CharRange { shortest, longest: 5 });
        }
        self
    }
}

/// The conversion of texts to rows: settings, vocabulary and weights of terms.
///
/// Only the settings are serialised as JSON; a model file keeps the rest as tensors.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text {
    options: TextOptions,
    #[serde(skip)]
    names: Names,
    #[serde(skip)]
    idf: Vec<f32>,
    /// The feature of each term of the vocabulary.
    #[serde(skip)]
    features: Table,
    /// The kind of each feature; empty if kinds are not kept apart.
    #[serde(skip)]
    kinds: Vec<Kind>,
}

// The table follows from the names.
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        (&self.options, &self.names, &self.idf) == (&other.options, &other.names, &other.idf)
    }
}

impl Text {
    /// Finds the vocabulary of texts and converts them to rows.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of range, and for texts without a term that occurs often enough.
    pub fn fit(options: &TextOptions, texts: &[&str]) -> Result<(Text, Dataset)> {
        options.check()?;
        let options = options.resolved(texts);
        pool::run(|| match options.hash {
            Some(count) => Text::fit_hashed(&options, count, texts),
            None => Text::fit_vocabulary(&options, texts),
        })
    }

    fn fit_vocabulary(options: &TextOptions, texts: &[&str]) -> Result<(Text, Dataset)> {
        let mut found = fit::fit(options, &chunks(texts));
        let pieces = std::mem::take(&mut found.pieces);
        let text = Text::of_terms(options, texts.len(), found)?;
        let data = weighed(pieces, &text);
        Ok((text, data))
    }

    fn of_terms(options: &TextOptions, texts: usize, found: fit::Found) -> Result<Text> {
        if found.names.is_empty() {
            let must = "be at most the number of texts that some term occurs in";
            return Err(Error::setting("min-df", must, options.min_df));
        }
        let idf = idf(options, texts, &found.frequencies);
        let kinds = kinds(options, &found.names);
        Ok(Text { options: *options, names: found.names, idf, features: found.features, kinds })
    }

    fn fit_hashed(options: &TextOptions, count: u32, texts: &[&str]) -> Result<(Text, Dataset)> {
        let text = Text { options: *options, ..Text::default() };
        let mut frequencies = vec![0; count as usize];
        let pieces = text.count_hashed(texts, &mut frequencies);
        let text = Text { idf: idf(options, texts.len(), &frequencies), ..text };
        let data = weighed(pieces, &text);
        Ok((text, data))
    }

    /// The term counts of texts; adds the number of texts per feature to `frequencies`.
    fn count_hashed(&self, texts: &[&str], frequencies: &mut [u32]) -> Vec<Piece> {
        let pieces: Vec<Piece> = chunks(texts).par_iter().map(|texts| self.count(texts)).collect();
        for &feature in pieces.iter().flat_map(|piece| piece.indices()) {
            frequencies[feature as usize] += 1;
        }
        pieces
    }

    /// This vocabulary, followed by the new terms of more texts that occur in at least `min_df` of them.
    ///
    /// Known terms keep their weight, so the rows of a text keep their values; new terms are weighted by the new texts.
    ///
    /// # Errors
    /// [`Error::Setting`] if the settings are out of range.
    pub fn extended(&self, texts: &[&str]) -> Result<Text> {
        if self.options.hash.is_some() {
            return Ok(self.clone());
        }
        pool::run(|| {
            let found = fit::fit(&self.options, &chunks(texts));
            let weights = idf(&self.options, texts.len(), &found.frequencies);
            let (mut names, mut known) = (self.names.clone(), self.idf.clone());
            for (at, name) in found.names.iter().enumerate() {
                if self.features.get(hash_of_term(name)).is_none() {
                    names.push(name);
                    known.extend(weights.get(at));
                }
            }
            Text::new(self.options, names, known)
        })
    }

    /// From settings, the name of each feature (none for hashed features) and its weight (none without idf).
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of range, [`Error::Mismatch`] if names and weights do not match the
    /// settings.
    pub fn new(options: TextOptions, names: Names, idf: Vec<f32>) -> Result<Self> {
        options.check()?;
        let kinds = kinds(&options, &names);
        let mut text = Text { options, features: Table::with_capacity(names.len()), names, idf, kinds };
        let weights = if options.idf { text.len() } else { 0 };
        if text.idf.len() != weights || (options.hash.is_some() && !text.names.is_empty()) {
            let (found, terms) = (text.idf.len(), text.names.len());
            return Err(Error::Mismatch(format!(
                "{found} weights for {terms} terms do not match the text settings, which need {weights}"
            )));
        }
        for (name, feature) in text.names.iter().zip(0..) {
            text.features.get_or_insert(hash_of_term(name), feature);
        }
        Ok(text)
    }

    /// The settings.
    pub fn options(&self) -> &TextOptions {
        &self.options
    }

    /// The term of each feature; none for hashed features.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The inverse document frequency of each feature; empty without idf.
    pub fn idf(&self) -> &[f32] {
        &self.idf
    }

    /// The kind of each feature, if kinds are kept apart ([`TextOptions::apart`]); otherwise empty.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Number of features.
    pub fn len(&self) -> usize {
        self.options.hash.map_or(self.names.len(), |count| count as usize)
    }

    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Converts texts to rows; terms outside the vocabulary are ignored.
    pub fn rows(&self, texts: &[&str]) -> Dataset {
        pool::run(|| {
            let pieces = chunks(texts).par_iter().map(|texts| self.count(texts)).collect();
            weighed(pieces, self)
        })
    }

    /// Counts the features of each text.
    fn count(&self, texts: &[&str]) -> Piece {
        let mut piece = Piece::with_capacity(texts.len());
        let seed = if self.options.hash.is_some() { hash::FEATURES } else { hash::process_seed() };
        let (mut terms, mut row) = (Terms::new(&self.options, seed), Vec::new());
        for text in texts {
            terms.read(text);
            match self.options.hash {
                Some(count) => row.extend(terms.hashes().iter().map(|&hash| below(hash, count))),
                None => row.extend(self.features.get_all(terms.hashes()).flatten()),
            }
            piece.push(&mut row);
        }
        piece
    }
}

/// How many texts have each term, for texts that are counted in parts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Counts {
    options: TextOptions,
    texts: usize,
    /// The terms, one per line, and the number of texts of each.
    terms: String,
    frequencies: Vec<u32>,
    /// Number of texts per hashed feature.
    hashed: Vec<u32>,
}

impl Counts {
    pub fn options(&self) -> &TextOptions {
        &self.options
    }
}

/// Finds the vocabulary of texts that arrive piece by piece, with the same result as [`Text::fit`].
pub struct Vocabulary {
    options: TextOptions,
    /// Whether the first texts have decided what they decide of the options.
    is_resolved: bool,
    texts: usize,
    terms: fit::Merged,
    /// Number of texts per hashed feature.
    hashed: Vec<u32>,
}

impl Vocabulary {
    /// The vocabulary of no texts.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of range.
    pub fn new(options: &TextOptions) -> Result<Self> {
        options.check()?;
        let hashed = vec![0; options.hash.unwrap_or(0) as usize];
        Ok(Vocabulary { options: *options, is_resolved: false, texts: 0, terms: fit::Merged::default(), hashed })
    }

    /// The vocabulary of no texts, for settings that the first of all texts have decided.
    pub(crate) fn of_resolved(options: &TextOptions) -> Result<Self> {
        Ok(Vocabulary { is_resolved: true, ..Vocabulary::new(options)? })
    }

    /// Adds texts.
    pub fn add(&mut self, texts: &[&str]) {
        if !std::mem::replace(&mut self.is_resolved, true) {
            self.options = self.options.resolved(texts);
        }
        self.texts += texts.len();
        pool::run(|| {
            if self.options.hash.is_some() {
                let text = Text { options: self.options, ..Text::default() };
                text.count_hashed(texts, &mut self.hashed);
            } else {
                self.terms.add(&self.options, &chunks(texts));
            }
        });
    }

    /// Adds texts that were counted elsewhere, with the same settings.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for other settings.
    pub(crate) fn join(&mut self, other: &Counts) -> Result<()> {
        let names = Names::from_lines(other.terms.clone());
        let fits = self.options == other.options
            && names.len() == other.frequencies.len()
            && self.hashed.len() == other.hashed.len();
        if !fits {
            return Err(Error::Mismatch("terms that were counted with other settings cannot be added".into()));
        }
        self.texts += other.texts;
        self.hashed.iter_mut().zip(&other.hashed).for_each(|(sum, count)| *sum += count);
        self.terms.join(&names, &other.frequencies);
        Ok(())
    }

    /// What was counted.
    pub(crate) fn counts(self) -> Counts {
        let (terms, frequencies) = self.terms.into_parts();
        Counts { options: self.options, texts: self.texts, terms, frequencies, hashed: self.hashed }
    }

    /// What was counted of the terms that occur in at least `min_df` texts.
    pub(crate) fn kept(self) -> Counts {
        let found = self.terms.finish(&self.options);
        let (terms, frequencies) = (found.names.lines().to_owned(), found.frequencies);
        Counts { options: self.options, texts: self.texts, terms, frequencies, hashed: self.hashed }
    }

    /// The vocabulary of all texts.
    ///
    /// # Errors
    /// [`Error::Setting`] if no term occurs in at least `min_df` texts.
    pub fn finish(self) -> Result<Text> {
        if self.options.hash.is_some() {
            let idf = idf(&self.options, self.texts, &self.hashed);
            return Ok(Text { options: self.options, idf, ..Text::default() });
        }
        Text::of_terms(&self.options, self.texts, self.terms.finish(&self.options))
    }
}

/// A [`Text`] with this number of features from the parts in a file: one term per line, and the weight of each.
pub(crate) fn from_parts(
    options: TextOptions,
    terms: &[u8],
    idf: Vec<f32>,
    features: usize,
) -> std::result::Result<Text, String> {
    let lines = std::str::from_utf8(terms).map_err(|e| format!("terms: {e}"))?;
    if !lines.is_empty() && !lines.ends_with('\n') {
        return Err("the list of terms is cut short".into());
    }
    if let Some(weight) = idf.iter().find(|weight| !weight.is_finite()) {
        return Err(format!("expected finite weights of terms, found {weight}"));
    }
    // Before anything is allocated per term, which takes far more memory than an empty line of a file.
    let found = options.hash.map_or_else(|| memchr_iter(b'\n', terms).count(), |count| count as usize);
    if found != features {
        return Err(format!("expected {features} terms, one per feature, found {found}"));
    }
    Text::new(options, Names::from_lines(lines.to_owned()), idf).map_err(|e| e.to_string())
}

/// Maps a hash to 0..count by its high bits.
fn below(hash: u64, count: u32) -> u32 {
    ((u128::from(hash) * u128::from(count)) >> 64) as u32
}

/// The texts in order, in chunks of about the same size.
fn chunks<'a, 't>(texts: &'a [&'t str]) -> Vec<&'a [&'t str]> {
    let mut bytes = 0;
    let same = |text: &&str, _: &&str| {
        bytes += text.len();
        let more = bytes < CHUNK_BYTES;
        bytes = if more { bytes } else { 0 };
        more
    };
    texts.chunk_by(same).collect()
}

/// ln((1 + texts) / (1 + texts with the term)) + 1 for each feature.
fn idf(options: &TextOptions, texts: usize, frequencies: &[u32]) -> Vec<f32> {
    let of = |&frequency: &u32| ln((1.0 + texts as f64) / (1.0 + f64::from(frequency))) + 1.0;
    if options.idf { frequencies.iter().map(|frequency| of(frequency) as f32).collect() } else { Vec::new() }
}

/// What the counts of a row are multiplied by.
#[derive(Clone, Copy)]
struct Weights<'a> {
    sublinear_tf: bool,
    /// One per feature, or none.
    idf: &'a [f32],
    /// The kind of each feature, if kinds are kept apart.
    kinds: &'a [Kind],
    /// The square of the length of each kind.
    share: f64,
}

fn weighed(mut pieces: Vec<Piece>, text: &Text) -> Dataset {
    let Text { options, idf, kinds, .. } = text;
    let count = Kind::ALL.iter().filter(|kind| kinds.contains(kind)).count();
    let weights = Weights { sublinear_tf: options.sublinear_tf, idf, kinds, share: 1.0 / count.max(1) as f64 };
    pieces.par_iter_mut().for_each(|piece| piece.weigh(weights));
    rows::join(&pieces, text.len())
}

/// The kind of each term, if kinds are kept apart.
fn kinds(options: &TextOptions, names: &Names) -> Vec<Kind> {
    if options.apart { names.iter().map(kind_of_term).collect() } else { Vec::new() }
}
