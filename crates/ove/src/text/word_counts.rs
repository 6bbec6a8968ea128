//! The words of a text with their counts, the most frequent first.
//!
//! Counting takes bounded memory by lossy counting (Manku and Motwani 2002): when the distinct words exceed it, the
//! rarest are dropped. A word that comes after that may have been among them, so what it can have lost is kept beside
//! its count, and the sum decides whether it is dropped the next time. So a word that is not there at the end occurs
//! at most as often as the largest such sum that was dropped.

use super::hash::of_process;
use super::table::Table;

/// Memory of a distinct word besides its letters: its slots in the table, its count and what it can have lost.
const PER_WORD: usize = 56;

/// The words of a text and their counts.
#[derive(Debug, Clone, Default)]
pub struct WordCounts {
    words: Vec<String>,
    counts: Vec<u64>,
    numbers: Table,
    least: u64,
}

impl WordCounts {
    /// From words and their counts, in this order.
    pub fn new(words: Vec<String>, counts: Vec<u64>) -> Self {
        let mut numbers = Table::with_capacity(words.len());
        for (word, number) in words.iter().zip(0..) {
            numbers.get_or_insert(of_process(word), number);
        }
        WordCounts { words, counts, numbers, least: 1 }
    }

    /// The words, the most frequent first.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How often each word occurs.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of a word.
    #[inline]
    pub fn get(&self, word: &str) -> Option<u32> {
        self.numbers.get(of_process(word))
    }

    /// Every word that occurs at least so often is there; more than 1 if words were dropped for want of memory.
    pub fn least(&self) -> u64 {
        self.least
    }
}

/// Counts words.
#[derive(Debug)]
pub struct Counter {
    numbers: Table,
    /// The words one after the other.
    letters: String,
    ends: Vec<usize>,
    counts: Vec<u64>,
    /// How many occurrences of each word may not be in its count.
    lost: Vec<u64>,
    memory: usize,
    /// The most occurrences that a word which is not there can have.
    dropped: u64,
}

impl Counter {
    /// A counter that takes about this many bytes.
    pub fn new(memory: u64) -> Self {
        Counter {
            numbers: Table::default(),
            letters: String::new(),
            ends: Vec::new(),
            counts: Vec::new(),
            lost: Vec::new(),
            memory: usize::try_from(memory).unwrap_or(usize::MAX),
            dropped: 0,
        }
    }

    /// Counts a word.
    #[inline]
    pub fn add(&mut self, word: &str) {
        self.add_counted(word, 1, self.dropped);
    }

    #[inline]
    fn add_counted(&mut self, word: &str, count: u64, lost: u64) {
        let next = self.counts.len() as u32;
        let number = self.numbers.get_or_insert(of_process(word), next);
        if number == next {
            self.letters.push_str(word);
            self.ends.push(self.letters.len());
            self.counts.push(0);
            self.lost.push(lost);
        }
        self.counts[number as usize] += count;
    }

    /// Drops rare words if there are too many to keep; to be called between parts of a text.
    pub fn shrink(&mut self) {
        let mut bytes = self.letters.len() + PER_WORD * self.counts.len();
        if bytes <= self.memory {
            return;
        }
        // A quarter of the memory is set free, so that this is done rarely.
        let mut sizes: Vec<(u64, usize)> =
            self.words().map(|(word, count, lost)| (count + lost, word.len() + PER_WORD)).collect();
        sizes.sort_unstable();
        let mut dropped = self.dropped;
        for (most, size) in sizes {
            if bytes <= self.memory / 4 * 3 && most > dropped {
                break;
            }
            (dropped, bytes) = (most, bytes - size);
        }
        let all = std::mem::replace(self, Counter::new(self.memory as u64));
        self.dropped = dropped;
        for (word, count, lost) in all.words().filter(|&(_, count, lost)| count + lost > dropped) {
            self.add_counted(word, count, lost);
        }
    }

    /// The words with their counts, and with how many occurrences may be missing.
    fn words(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let words = starts.zip(&self.ends).map(|(start, &end)| &self.letters[start..end]);
        words.zip(&self.counts).zip(&self.lost).map(|((word, &count), &lost)| (word, count, lost))
    }

    /// The words that can occur so often: by decreasing count, equally frequent ones in the order of their bytes.
    pub fn finish(self, min_count: u64) -> WordCounts {
        let possible = self.words().filter(|&(_, count, lost)| count + lost >= min_count);
        let mut kept: Vec<(&str, u64)> = possible.map(|(word, count, _)| (word, count)).collect();
        kept.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let (words, counts) = kept.into_iter().map(|(word, count)| (word.to_owned(), count)).unzip();
        WordCounts { least: self.dropped + 1, ..WordCounts::new(words, counts) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::platform::random::Stream;

    #[test]
    fn words_are_counted_and_ordered() {
        let mut counter = Counter::new(1 << 20);
        "b a c a b a d".split(' ').for_each(|word| counter.add(word));
        let vocabulary = counter.finish(1);
        assert_eq!(vocabulary.words(), ["a", "b", "c", "d"]);
        assert_eq!(vocabulary.counts(), [3, 2, 1, 1]);
        assert_eq!((vocabulary.get("c"), vocabulary.get("e")), (Some(2), None));
    }

    /// Every word that is not there occurs less often than `least`, and no count is off by as much as that.
    #[test]
    fn rare_words_are_dropped_for_want_of_memory() {
        let mut random = Stream::of(&[3]);
        let (mut counter, mut exact) = (Counter::new(100 * (PER_WORD + 7) as u64), HashMap::new());
        for round in 0..100 {
            for _ in 0..60 {
                let often = random.below(20);
                let word = if random.below(3) == 0 { format!("rare{round}") } else { format!("often{often}") };
                let word = if random.below(4) == 0 { format!("once{}", random.below(100_000)) } else { word };
                counter.add(&word);
                *exact.entry(word).or_insert(0) += 1;
            }
            counter.shrink();
            assert!(counter.letters.len() + PER_WORD * counter.counts.len() <= counter.memory);
        }
        let vocabulary = counter.finish(50);
        let least = vocabulary.least();
        assert!((2..50).contains(&least), "{least}");
        assert!((0..20).all(|word| vocabulary.get(&format!("often{word}")).is_some()));
        for (word, count) in exact {
            match vocabulary.get(&word) {
                Some(number) => {
                    let found = vocabulary.counts()[number as usize];
                    assert!(found <= count && count < found + least && count + least > 50, "{word}: {found} {count}");
                }
                None => assert!(count < 50, "{word}: {count}"),
            }
        }
    }
}
