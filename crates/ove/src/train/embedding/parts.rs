//! The rows of the table of words whose mean is the vector of a word: its own, and those of its n-grams.
//!
//! N-grams are hashed into buckets. Only the buckets that a word of the vocabulary uses have a row, after those of the
//! words.

use std::collections::HashMap;

use crate::options::EmbeddingOptions;
use crate::text::WordCounts;
use crate::text::subwords;

/// The rows of each word; no lists if there are no n-grams, and each word has a row of its own.
pub(super) struct Parts {
    words: usize,
    /// The buckets that have a row, in increasing order.
    buckets: Vec<u32>,
    offsets: Vec<usize>,
    rows: Vec<u32>,
}

impl Parts {
    pub fn new(words: &WordCounts, options: &EmbeddingOptions) -> Self {
        let count = words.words().len();
        let Some(lengths) = options.subwords else {
            return Parts { words: count, buckets: Vec::new(), offsets: Vec::new(), rows: Vec::new() };
        };
        let of_words: Vec<Vec<u32>> =
            words.words().iter().map(|word| subwords::buckets(word, lengths, options.buckets)).collect();
        let mut buckets = of_words.concat();
        buckets.sort_unstable();
        buckets.dedup();
        let numbers: HashMap<u32, u32> = buckets.iter().copied().zip(count as u32..).collect();
        let (mut offsets, mut rows) = (vec![0], Vec::new());
        for (own, word) in of_words.iter().zip(0..) {
            rows.push(word);
            rows.extend(own.iter().map(|bucket| numbers[bucket]));
            offsets.push(rows.len());
        }
        Parts { words: count, buckets, offsets, rows }
    }

    /// The rows whose mean is the vector of a word; none if there are no n-grams.
    #[inline]
    pub fn of(&self, word: u32) -> &[u32] {
        match self.offsets.get(word as usize..word as usize + 2) {
            Some(&[from, end]) => &self.rows[from..end],
            _ => &[],
        }
    }

    /// Number of rows of words and n-grams.
    pub fn rows(&self) -> usize {
        self.words + self.buckets.len()
    }

    /// The buckets of the rows after the words.
    pub fn buckets(&self) -> &[u32] {
        &self.buckets
    }

    /// The largest share of the positions that visit one row.
    pub fn largest_share(&self, words: &WordCounts, kept: &[f32]) -> f64 {
        let weights: Vec<f64> = words.counts().iter().zip(kept).map(|(&n, &kept)| n as f64 * f64::from(kept)).collect();
        let mut shares = weights.clone();
        if !self.rows.is_empty() {
            shares = vec![0.0; self.rows()];
            for (word, weight) in weights.iter().enumerate() {
                self.of(word as u32).iter().for_each(|&row| shares[row as usize] += weight);
            }
        }
        shares.iter().copied().fold(0.0, f64::max) / weights.iter().sum::<f64>()
    }
}
