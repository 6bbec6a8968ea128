//! The words of a text with their counts, the most frequent first.
//!
//! Counting takes bounded memory: when the distinct words exceed it, the rarest are dropped, first those that occurred
//! once, then twice, and so on, as in word2vec. Their later occurrences are counted from zero, so that a count may be
//! too low by as much as was dropped.

use super::hash::of_process;
use super::table::Table;

/// Memory of a distinct word besides its letters: its slots in the table and its count.
const PER_WORD: usize = 48;

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

    /// The smallest count of a word that cannot have been dropped for want of memory; 1 if none was.
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
    memory: usize,
    least: u64,
}

impl Counter {
    /// A counter that takes about this many bytes.
    pub fn new(memory: u64) -> Self {
        Counter {
            numbers: Table::default(),
            letters: String::new(),
            ends: Vec::new(),
            counts: Vec::new(),
            memory: usize::try_from(memory).unwrap_or(usize::MAX),
            least: 1,
        }
    }

    /// Counts a word.
    #[inline]
    pub fn add(&mut self, word: &str) {
        let next = self.counts.len() as u32;
        let number = self.numbers.get_or_insert(of_process(word), next);
        if number == next {
            self.letters.push_str(word);
            self.ends.push(self.letters.len());
            self.counts.push(0);
        }
        self.counts[number as usize] += 1;
    }

    /// Drops rare words if there are too many to keep; to be called between parts of a text.
    pub fn shrink(&mut self) {
        while self.letters.len() + PER_WORD * self.counts.len() > self.memory && !self.counts.is_empty() {
            let least = self.least;
            let kept = std::mem::replace(self, Counter::new(0));
            (self.memory, self.least) = (kept.memory, least + 1);
            for (word, count) in kept.words().filter(|&(_, count)| count > least) {
                self.add(word);
                *self.counts.last_mut().expect("a word was added") = count;
            }
        }
    }

    fn words(&self) -> impl Iterator<Item = (&str, u64)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).zip(&self.counts).map(|((start, &end), &count)| (&self.letters[start..end], count))
    }

    /// The words with at least this count: by decreasing count, equally frequent ones in the order of their bytes.
    pub fn finish(self, min_count: u64) -> WordCounts {
        let mut kept: Vec<(&str, u64)> = self.words().filter(|&(_, count)| count >= min_count).collect();
        kept.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let (words, counts) = kept.into_iter().map(|(word, count)| (word.to_owned(), count)).unzip();
        WordCounts { least: self.least, ..WordCounts::new(words, counts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_and_ordered() {
        let mut counter = Counter::new(1 << 20);
        "b a c a b a d".split(' ').for_each(|word| counter.add(word));
        let vocabulary = counter.finish(1);
        assert_eq!(vocabulary.words(), ["a", "b", "c", "d"]);
        assert_eq!(vocabulary.counts(), [3, 2, 1, 1]);
        assert_eq!((vocabulary.get("c"), vocabulary.get("e")), (Some(2), None));
    }

    #[test]
    fn rare_words_are_dropped_for_want_of_memory() {
        let mut counter = Counter::new(30 * PER_WORD as u64);
        for round in 0..100 {
            for word in 0..20 {
                counter.add(&format!("often{word}"));
            }
            (0..10).for_each(|word| counter.add(&format!("rare{round}-{word}")));
            counter.shrink();
        }
        let vocabulary = counter.finish(50);
        assert_eq!(vocabulary.words().len(), 20);
        assert!(vocabulary.counts().iter().all(|&count| count == 100) && vocabulary.least() > 1);
    }
}
