//! A sum over bytes that tells two lists of them apart: 64 bits, folded from products of 128 as wyhash does. It finds accidents, not
//! forgeries.

const FIRST: u64 = 0xa076_1d64_78bd_642f;
const SECOND: u64 = 0xe703_7ed1_a0b4_28db;

/// The sum of the bytes so far, however they were cut into pieces.
#[derive(Debug, Clone)]
pub struct Digest {
    state: u64,
    length: u64,
    /// Bytes that wait until there are eight of them.
    waiting: [u8; 8],
    count: usize,
}

impl Default for Digest {
    fn default() -> Self {
        Digest { state: FIRST, length: 0, waiting: [0; 8], count: 0 }
    }
}

impl Digest {
    /// The sum of these bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut digest = Digest::default();
        digest.update(bytes);
        digest.finish()
    }

    /// Takes more bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.count > 0 {
            let taken = bytes.len().min(8 - self.count);
            self.waiting[self.count..self.count + taken].copy_from_slice(&bytes[..taken]);
            self.count += taken;
            bytes = &bytes[taken..];
            if self.count < 8 {
                return;
            }
            self.state = mix(self.state, u64::from_le_bytes(self.waiting));
        }
        let (eights, rest) = bytes.as_chunks::<8>();
        self.state = eights.iter().fold(self.state, |state, &eight| mix(state, u64::from_le_bytes(eight)));
        self.waiting[..rest.len()].copy_from_slice(rest);
        self.count = rest.len();
    }

    /// The sum.
    pub fn finish(&self) -> u64 {
        let mut last = [0; 8];
        last[..self.count].copy_from_slice(&self.waiting[..self.count]);
        mix(mix(self.state, u64::from_le_bytes(last)), self.length)
    }
}

fn mix(state: u64, bytes: u64) -> u64 {
    // Added, not multiplied alone: a factor of zero must not forget all that came before.
    let product = u128::from(state ^ bytes) * u128::from(SECOND);
    (product as u64 ^ (product >> 64) as u64).wrapping_add(state.rotate_left(23))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_sum_of_the_whole() {
        let bytes: Vec<u8> = (0..100).collect();
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
