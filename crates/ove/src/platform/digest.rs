//! Checksums of files and identities of data: XXH3, 64 bits. They find accidents, not forgeries.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The checksum of the bytes so far, however they were cut into pieces.
#[derive(Clone, Default)]
pub struct Digest(Xxh3);

impl Digest {
    /// The checksum of these bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        xxh3_64(bytes)
    }

    /// Takes more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum.
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XXH3_64bits of no bytes, as the specification of XXH3 gives it.
    #[test]
    fn the_published_function() {
        assert_eq!(Digest::of(b""), 0x2d06_8005_38d3_94c2);
    }

    #[test]
    fn pieces_give_the_sum_of_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for cut in 0..bytes.len() {
            let mut digest = Digest::default();
            [&bytes[..cut], &[], &bytes[cut..]].into_iter().for_each(|piece| digest.update(piece));
            assert_eq!(digest.finish(), Digest::of(&bytes), "cut at {cut}");
        }
    }

    #[test]
    fn every_bit_and_the_length_count() {
        let bytes = vec![0; 37];
        let mut seen = std::collections::HashSet::from([Digest::of(&bytes)]);
        for at in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[at / 8] ^= 1 << (at % 8);
            assert!(seen.insert(Digest::of(&other)), "bit {at}");
        }
        assert!((0..bytes.len()).all(|length| seen.insert(Digest::of(&bytes[..length]))));
    }
}
