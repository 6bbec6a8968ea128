//! The hashes of terms and class names: XXH3, 64 bits, of the bytes of the name.
//!
//! There are two. Hashed features ([`TextOptions::hash`](super::TextOptions::hash)) are part of a model: they use the
//! seed 0, on every platform and in every version. Tables of terms and class names live as long as the process: they
//! use a secret seed, so that nobody can construct a file whose names collide. No result depends on that seed.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The seed of hashed features.
pub(super) const FEATURES: u64 = 0;

/// The hash of a name; the words of an n-gram are separated by single spaces.
#[inline]
pub(super) fn hash(name: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(name, seed)
}

/// The hash of an n-gram of characters: that of a word with the same bytes, with its halves exchanged.
///
/// A second seed would not do: with some pairs of seeds, XXH3 gives the same hash to names that differ in one bit.
#[inline]
pub(super) fn of_chars(ngram: &[u8], seed: u64) -> u64 {
    hash(ngram, seed).rotate_left(32)
}

/// The hash of a name for a table of this process.
#[inline]
pub(crate) fn of_process(name: &str) -> u64 {
    hash(name.as_bytes(), process_seed())
}

/// The seed of this process, from the random numbers of the operating system.
#[inline]
pub(super) fn process_seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Models depend on these numbers. The first two are test vectors of xxHash; the others come from its reference
    /// implementation (0.8.4) and cover the ranges of lengths that XXH3 treats differently.
    #[test]
    fn hashed_features_never_change() {
        let x = |count| "x".repeat(count);
        for (name, expected) in [
            ("", 0x2d06_8005_38d3_94c2),
            ("\0", 0xc44b_dff4_074e_ecdb),
            ("the", 0xcb12_8363_1cf3_3d7d),
            ("softmax", 0xd0f5_dfe7_dfc3_795e),
            ("of many classes", 0x754b_2994_d39f_7edc),
            ("one-vs-each approximation to softmax", 0x2995_d6bb_6ed9_bffa),
            (&x(130), 0x3ec5_2812_ba5f_f533),
            (&x(300), 0xa5d1_b460_7dc8_3554),
        ] {
            assert_eq!(hash(name.as_bytes(), FEATURES), expected, "{name}");
        }
    }

    /// Of every word and every n-gram of four letters out of six, with many seeds.
    #[test]
    fn words_and_ngrams_share_no_hash() {
        let letters = b"abefim";
        let names: Vec<[u8; 4]> = (0..6usize.pow(4))
            .map(|n| [letters[n % 6], letters[n / 6 % 6], letters[n / 36 % 6], letters[n / 216]])
            .collect();
        for seed in (0..20).chain((0..20).map(|n| hash(b"seed", n))) {
            let of_words = names.iter().map(|name| hash(name, seed));
            let all: std::collections::HashSet<u64> =
                of_words.chain(names.iter().map(|name| of_chars(name, seed))).collect();
            assert_eq!(all.len(), 2 * names.len(), "seed {seed}");
        }
    }

    #[test]
    fn tables_of_this_process_have_a_seed_of_their_own() {
        assert_ne!(process_seed(), FEATURES);
        assert_eq!(of_process("name"), of_process("name"));
        assert_ne!(of_process("name"), hash(b"name", FEATURES));
    }
}
