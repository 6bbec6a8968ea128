//! Words by their vectors: the most similar ones, analogies, and the vectors of words that training did not have.
//!
//! ```
//! use ove::model::WordVectors;
//!
//! let words = ["king", "man", "woman", "queen", "apple"].map(str::to_owned).to_vec();
//! let vectors = vec![1.0, 1.0, 0.1, 0.1, 1.0, 0.0, 0.0, 1.0, 0.0, 0.9, 0.1, 1.0, -1.0, 0.2, 0.5];
//! let vectors = WordVectors::new(words, 3, vectors)?;
//! let found = vectors.most_similar(&["king", "woman"], &["man"], 1)?;
//! assert_eq!(vectors.words()[found[0].word as usize], "queen");
//! # Ok::<(), ove::Error>(())
//! ```

mod analogies;
mod map;
mod pairs;

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rayon::prelude::*;

use super::Model;
use crate::error::{Error, Result};
use crate::io::vectors::{self, VectorFormat};
use crate::platform::math::{product, products};
use crate::platform::pool;
use crate::platform::top_k::Largest;
use crate::scores::Scores;
use crate::text::{CharRange, WordCounts, subwords};

pub use analogies::{Analogies, AnalogySection};
pub use pairs::WordPairs;

/// Words with their vectors, the most frequent word first if the source has that order.
#[derive(Debug, Clone)]
pub struct WordVectors {
    words: WordCounts,
    rank: usize,
    vectors: Vec<f32>,
    /// The vectors at length one.
    units: Vec<f32>,
    ngrams: Option<Ngrams>,
}

/// The vectors of n-grams of characters, for words that training did not have.
#[derive(Debug, Clone)]
struct Ngrams {
    lengths: CharRange,
    count: usize,
    /// The buckets that have a vector, in increasing order.
    buckets: Vec<u32>,
    vectors: Vec<f32>,
}

/// A word with its cosine to what was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarWord {
    /// The number of the word.
    pub word: u32,
    /// The cosine.
    pub score: f32,
}

impl Model {
    /// The vectors of the words of an embedding.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if it is another kind of model.
    pub fn word_vectors(&self) -> Result<WordVectors> {
        let (Scores::Factored(factored), Some(embedding)) = (&self.scores, &self.card.embedding) else {
            return Err(Error::Mismatch("the model is not an embedding; train one with `ove embed`".into()));
        };
        let (rank, count) = (factored.rank(), self.classes());
        let counts = WordCounts::new(self.card.classes.clone(), self.card.counts.clone());
        let (words, grams) = factored.features_table().split_at(count * rank);
        let Some(lengths) = embedding.options.subwords else {
            return Ok(WordVectors::of(counts, rank, words.to_vec(), None));
        };
        let ngrams = Ngrams {
            lengths,
            count: embedding.options.buckets,
            buckets: embedding.buckets.clone(),
            vectors: grams.to_vec(),
        };
        let vectors = pool::run(|| {
            let mut vectors = words.to_vec();
            vectors.par_chunks_mut(rank).zip(&self.card.classes).for_each(|(vector, word)| {
                ngrams.add(word, vector, 1);
            });
            vectors
        });
        Ok(WordVectors::of(counts, rank, vectors, Some(ngrams)))
    }
}

impl Ngrams {
    /// Makes a vector the mean of itself, if it `counts`, and those of the n-grams of a word; whether there were any.
    fn add(&self, word: &str, vector: &mut [f32], counts: usize) -> bool {
        let rank = vector.len();
        let mut parts = counts;
        for bucket in subwords::buckets(word, self.lengths, self.count) {
            if let Ok(row) = self.buckets.binary_search(&bucket) {
                vector.iter_mut().zip(&self.vectors[row * rank..]).for_each(|(sum, x)| *sum += x);
                parts += 1;
            }
        }
        let scale = 1.0 / parts.max(1) as f32;
        vector.iter_mut().for_each(|x| *x *= scale);
        parts > 0
    }
}

impl WordVectors {
    /// From words and their vectors, one after the other.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the table is not made of whole finite vectors, or a word is there twice.
    pub fn new(words: Vec<String>, rank: usize, vectors: Vec<f32>) -> Result<Self> {
        if rank == 0 || words.is_empty() || Some(vectors.len()) != words.len().checked_mul(rank) {
            let (count, numbers) = (words.len(), vectors.len());
            return Err(Error::Mismatch(format!("{count} words of {rank} numbers each, got {numbers} numbers")));
        }
        if let Some(at) = vectors.iter().position(|x| !x.is_finite()) {
            let (word, number) = (&words[at / rank], vectors[at]);
            return Err(Error::Mismatch(format!(
                "the vector of `{word}` has the number {number}, which is not finite"
            )));
        }
        let counts = vec![1; words.len()];
        let words = WordCounts::new(words, counts);
        if let Some(twice) = (0..).zip(words.words()).find(|&(number, word)| words.get(word) != Some(number)) {
            return Err(Error::Mismatch(format!("the word `{}` is there twice", twice.1)));
        }
        Ok(WordVectors::of(words, rank, vectors, None))
    }

    fn of(words: WordCounts, rank: usize, vectors: Vec<f32>, ngrams: Option<Ngrams>) -> Self {
        let mut units = vectors.clone();
        pool::run(|| units.par_chunks_mut(rank).for_each(normalise));
        WordVectors { words, rank, vectors, units, ngrams }
    }

    /// Whether a file is a model and not one of vectors alone.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read.
    pub fn is_model(path: &Path) -> Result<bool> {
        // The header of a model file starts after the eight bytes of its length.
        let mut start = Vec::new();
        let read = File::open(path).and_then(|file| file.take(9).read_to_end(&mut start));
        read.map_err(|e| Error::file(path, e))?;
        Ok((start.len() == 9 && start[8] == b'{' && start[4..8] == [0; 4]) || Model::is_in_shards(path)?)
    }

    /// Opens a model file, or vectors in one of the forms of word2vec and GloVe.
    ///
    /// # Errors
    /// Those of [`Model::load`], [`Model::word_vectors`] and [`vectors::read`].
    pub fn open(path: &Path) -> Result<Self> {
        if WordVectors::is_model(path)? {
            return Model::load(path)?.word_vectors();
        }
        let table = vectors::read(path)?;
        WordVectors::new(table.words, table.rank, table.vectors)
    }

    /// Writes the vectors of all words to a file.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written, [`Error::Mismatch`] if the form cannot hold a word.
    pub fn export(&self, path: &Path, format: VectorFormat) -> Result<()> {
        vectors::write(path, format, self.words(), self.rank, &self.vectors)
    }

    /// The words.
    pub fn words(&self) -> &[String] {
        self.words.words()
    }

    /// Length of the vectors.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The vectors, one after the other.
    pub fn vectors(&self) -> &[f32] {
        &self.vectors
    }

    /// The number of a word.
    pub fn number(&self, word: &str) -> Option<u32> {
        self.words.get(word)
    }

    /// The vector of a word; for a word that training did not have, the mean of those of its n-grams, if there are any.
    pub fn get(&self, word: &str) -> Option<Cow<'_, [f32]>> {
        if let Some(number) = self.number(word) {
            return Some(Cow::Borrowed(&self.vectors[number as usize * self.rank..][..self.rank]));
        }
        let mut vector = vec![0.0; self.rank];
        self.ngrams.as_ref()?.add(word, &mut vector, 0).then_some(Cow::Owned(vector))
    }

    /// The vector of a word, or an error that says why there is none.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if there is none.
    pub fn vector(&self, word: &str) -> Result<Cow<'_, [f32]>> {
        self.get(word).ok_or_else(|| {
            let why = match &self.ngrams {
                Some(_) => "and has no known n-gram",
                None => "and without n-grams (`subwords`) only these have vectors",
            };
            Error::Mismatch(format!("`{word}` is not one of the {} words, {why}", self.words().len()))
        })
    }

    /// The cosine of the vectors of two words.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if one of them has no vector.
    pub fn similarity(&self, a: &str, b: &str) -> Result<f32> {
        Ok(product(&self.unit(a)?, &self.unit(b)?))
    }

    /// The words whose vectors have the largest cosine with the sum of some unit vectors minus others; these words are
    /// left out.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if one of them has no vector, or none is given.
    pub fn most_similar(&self, positive: &[&str], negative: &[&str], top: usize) -> Result<Vec<SimilarWord>> {
        if positive.is_empty() && negative.is_empty() {
            return Err(Error::Mismatch("at least one word is needed".into()));
        }
        let mut sum = vec![0.0; self.rank];
        for (words, sign) in [(positive, 1.0), (negative, -1.0)] {
            for word in words {
                sum.iter_mut().zip(self.unit(word)?).for_each(|(sum, x)| *sum += sign * x);
            }
        }
        normalise(&mut sum);
        let mut excluded: Vec<u32> = positive.iter().chain(negative).filter_map(|word| self.number(word)).collect();
        excluded.sort_unstable();
        Ok(self.nearest(&sum, &excluded, top))
    }

    /// The words that are most similar to a vector of length one.
    fn nearest(&self, vector: &[f32], excluded: &[u32], top: usize) -> Vec<SimilarWord> {
        let mut scores = vec![0.0; self.words().len()];
        products(&self.units, vector, &mut scores);
        excluded.iter().for_each(|&word| scores[word as usize] = f32::NEG_INFINITY);
        let mut largest = Largest::new(top);
        largest.offer(&scores, 0);
        largest.finish().into_iter().map(|(score, word)| SimilarWord { word, score }).collect()
    }

    fn unit(&self, word: &str) -> Result<Vec<f32>> {
        let mut vector = self.vector(word)?.into_owned();
        normalise(&mut vector);
        Ok(vector)
    }

    /// The first word of each upper-case form among the first `limit` words: tests of words ignore case.
    fn by_upper_case(&self, limit: usize) -> std::collections::HashMap<String, u32> {
        let mut numbers = std::collections::HashMap::new();
        for (word, number) in self.words().iter().take(limit).zip(0..) {
            numbers.entry(word.to_uppercase()).or_insert(number);
        }
        numbers
    }

    /// The vector of a word at length one.
    fn unit_of(&self, number: u32) -> &[f32] {
        &self.units[number as usize * self.rank..][..self.rank]
    }
}

fn normalise(vector: &mut [f32]) {
    let length = product(vector, vector).sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
}
