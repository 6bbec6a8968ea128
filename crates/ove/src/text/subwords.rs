//! The n-grams of characters of a word, hashed into buckets: parts that words share.
//!
//! ```text
//! where, 3 to 4  →  <wh whe her ere re> <whe wher here ere>
//! ```
//!
//! The word stands between `<` and `>`, so that beginnings and ends are n-grams of their own; the whole `<where>` is
//! not one. These are the n-grams of fastText (Bojanowski and others 2017).

use super::CharRange;
use super::hash::{FEATURES, of_chars};

/// The buckets of the n-grams of a word, in the order of their beginnings.
pub(crate) fn buckets(word: &str, lengths: CharRange, count: usize) -> Vec<u32> {
    let marked = format!("<{word}>");
    let starts: Vec<usize> = marked.char_indices().map(|(at, _)| at).chain([marked.len()]).collect();
    let characters = starts.len() - 1;
    let mut buckets = Vec::new();
    for first in 0..characters {
        for length in lengths.shortest..=lengths.longest.min(characters - first) {
            if length == characters {
                continue;
            }
            let ngram = &marked[starts[first]..starts[first + length]];
            buckets.push((of_chars(ngram.as_bytes(), FEATURES) % count as u64) as u32);
        }
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ngrams_are_those_of_the_marked_word() {
        let of = |word, shortest, longest| buckets(word, CharRange { shortest, longest }, 1 << 30);
        let hash = |ngram: &str| (of_chars(ngram.as_bytes(), FEATURES) % (1 << 30)) as u32;
        assert_eq!(of("where", 3, 3), ["<wh", "whe", "her", "ere", "re>"].map(hash));
        assert_eq!(of("ü", 3, 6), [0u32; 0], "only the whole");
        assert_eq!(of("üb", 2, 3), ["<ü", "<üb", "üb", "üb>", "b>"].map(hash));
        assert!(buckets("where", CharRange { shortest: 3, longest: 6 }, 7).iter().all(|&bucket| bucket < 7));
    }
}
