//! Finds the terms of many texts, their document frequencies, and the counts per text.
//!
//! Chunks of texts are counted in parallel, each with its own numbering of terms. The terms are then merged, each
//! thread taking a share of the hashes; terms in too few texts are dropped, and the others are sorted:
//!
//! ```text
//! texts → chunks: terms, numbers of each text → merged terms, document frequencies → features → counts
//! ```

use std::cmp::Reverse;

use rayon::prelude::*;

use super::TextOptions;
use super::hash;
use super::names::Names;
use super::rows::Piece;
use super::table::Table;
use super::terms::{Terms, hash_of_term};

/// Terms are merged in shares, by the high bits of their hashes, so that the table of a share stays in the cache.
const SHARE_BITS: u32 = 4;

/// The terms of a chunk of texts.
struct Chunk {
    /// The hash of each term.
    hashes: Vec<u64>,
    names: Names,
    /// Number of texts per term.
    frequencies: Vec<u32>,
    /// The terms of each text, one text after the other.
    numbers: Vec<u32>,
    /// The end of each text in `numbers`.
    ends: Vec<usize>,
}

/// A term of all texts.
struct Term<'a> {
    hash: u64,
    name: &'a str,
    frequency: u32,
}

/// The vocabulary, and the rows with counts.
pub(super) struct Found {
    pub names: Names,
    /// The feature of each hash.
    pub features: Table,
    /// Number of texts per feature.
    pub frequencies: Vec<u32>,
    pub pieces: Vec<Piece>,
}

pub(super) fn fit(options: &TextOptions, chunks: &[&[&str]]) -> Found {
    let chunks: Vec<Chunk> = chunks.par_iter().map(|texts| Chunk::count(texts, options)).collect();
    let shares = (0..1u64 << SHARE_BITS).into_par_iter();
    let found = number(shares.flat_map_iter(|share| merge(&chunks, share, options.min_df)).collect());
    Found { pieces: chunks.into_par_iter().map(|chunk| chunk.rows(&found.features)).collect(), ..found }
}

/// Numbers terms by decreasing frequency, equally frequent ones by name.
fn number(mut terms: Vec<Term>) -> Found {
    terms.par_sort_unstable_by_key(|term| (Reverse(term.frequency), term.name));
    let mut features = Table::with_capacity(terms.len());
    for (term, feature) in terms.iter().zip(0..) {
        features.get_or_insert(term.hash, feature);
    }
    let frequencies = terms.iter().map(|term| term.frequency).collect();
    Found { names: terms.iter().map(|term| term.name).collect(), features, frequencies, pieces: Vec::new() }
}

/// The terms of texts that arrive piece by piece.
#[derive(Default)]
pub(super) struct Merged {
    numbers: Table,
    hashes: Vec<u64>,
    names: Names,
    frequencies: Vec<u32>,
}

impl Merged {
    /// Counts the terms of more texts.
    pub fn add(&mut self, options: &TextOptions, chunks: &[&[&str]]) {
        let chunks: Vec<Chunk> = chunks.par_iter().map(|texts| Chunk::count(texts, options)).collect();
        for chunk in &chunks {
            for (number, &hash) in chunk.hashes.iter().enumerate() {
                let at = self.place(hash, chunk.names.get(number).unwrap_or_default());
                self.frequencies[at] += chunk.frequencies[number];
            }
        }
    }

    /// Adds terms that were counted elsewhere.
    pub fn join(&mut self, names: &Names, frequencies: &[u32]) {
        for (name, frequency) in names.iter().zip(frequencies) {
            let at = self.place(hash_of_term(name), name);
            self.frequencies[at] += frequency;
        }
    }

    /// The place of a term, which is new if it was not there.
    fn place(&mut self, hash: u64, name: &str) -> usize {
        let at = self.numbers.get_or_insert(hash, self.hashes.len() as u32) as usize;
        if at == self.hashes.len() {
            self.hashes.push(hash);
            self.names.push(name);
            self.frequencies.push(0);
        }
        at
    }

    /// The terms, one per line, and the number of texts of each.
    pub fn into_parts(self) -> (String, Vec<u32>) {
        (self.names.lines().to_owned(), self.frequencies)
    }

    /// The terms that occur in at least `min_df` texts.
    pub fn finish(&self, options: &TextOptions) -> Found {
        let all = self.names.iter().zip(&self.hashes).zip(&self.frequencies);
        let terms = all.map(|((name, &hash), &frequency)| Term { hash, name, frequency });
        number(terms.filter(|term| term.frequency >= options.min_df).collect())
    }
}

impl Chunk {
    fn count(texts: &[&str], options: &TextOptions) -> Chunk {
        let mut chunk = Chunk {
            hashes: Vec::new(),
            names: Names::default(),
            frequencies: Vec::new(),
            numbers: Vec::new(),
            ends: Vec::with_capacity(texts.len()),
        };
        let (mut terms, mut table) = (Terms::new(options, hash::process_seed()), Table::default());
        // Per term: the number of texts, and the last of them, from 1.
        let mut seen: Vec<(u32, u32)> = Vec::new();
        for (text, this) in texts.iter().zip(1..) {
            terms.read(text);
            table.prefetch(terms.hashes());
            for (place, &hash) in terms.hashes().iter().enumerate() {
                let next = seen.len() as u32;
                let number = table.get_or_insert(hash, next);
                if number == next {
                    seen.push((0, 0));
                    chunk.hashes.push(hash);
                    chunk.names.push(&terms.name(place));
                }
                let (frequency, last) = &mut seen[number as usize];
                *frequency += u32::from(*last != this);
                *last = this;
                chunk.numbers.push(number);
            }
            chunk.ends.push(chunk.numbers.len());
        }
        chunk.frequencies = seen.into_iter().map(|(frequency, _)| frequency).collect();
        chunk
    }

    /// Counts the features of each text.
    fn rows(self, features: &Table) -> Piece {
        let features: Vec<Option<u32>> = features.get_all(&self.hashes).collect();
        let mut piece = Piece::with_capacity(self.ends.len());
        let mut row = Vec::new();
        let mut start = 0;
        for &end in &self.ends {
            row.extend(self.numbers[start..end].iter().filter_map(|&number| features[number as usize]));
            piece.push(&mut row);
            start = end;
        }
        piece
    }
}

/// The terms of all chunks whose hashes belong to a share and that occur in at least `min_df` texts.
fn merge(chunks: &[Chunk], share: u64, min_df: u32) -> impl Iterator<Item = Term<'_>> {
    let (mut table, mut terms) = (Table::default(), Vec::<Term>::new());
    for chunk in chunks {
        for (number, &hash) in chunk.hashes.iter().enumerate() {
            if hash >> (64 - SHARE_BITS) != share {
                continue;
            }
            let at = table.get_or_insert(hash, terms.len() as u32) as usize;
            if at == terms.len() {
                terms.push(Term { hash, name: chunk.names.get(number).unwrap_or_default(), frequency: 0 });
            }
            terms[at].frequency += chunk.frequencies[number];
        }
    }
    terms.into_iter().filter(move |term| term.frequency >= min_df)
}
