//! The hash of a term. Features that are hashes are part of a model, so it is the same on every platform and for ever.
//!
//! Eight bytes at a time are multiplied to 128 bits, whose halves are then added without carry, as wyhash does; what is
//! left of a word is read once more with bytes that were read already, since a copy of few bytes takes longer.

const FIRST: u64 = 0xa076_1d64_78bd_642f;
const SECOND: u64 = 0xe703_7ed1_a0b4_28db;

/// The hash of a word.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> u64 {
    // Multiplied, for a small length could undo the difference of two last bytes.
    let mut state = FIRST ^ SECOND.wrapping_mul(bytes.len() as u64);
    let last = match bytes.len() {
        8.. => {
            for &eight in bytes.as_chunks::<8>().0 {
                state = mix(state ^ u64::from_le_bytes(eight), SECOND);
            }
            bytes.last_chunk().map_or(0, |&eight| u64::from_le_bytes(eight))
        }
        4..8 => {
            let four = |chunk: Option<&[u8; 4]>| chunk.map_or(0, |&four| u64::from(u32::from_le_bytes(four)));
            four(bytes.first_chunk()) << 32 | four(bytes.last_chunk())
        }
        1..4 => {
            let [first, middle, last] = [0, bytes.len() / 2, bytes.len() - 1].map(|at| u64::from(bytes[at]));
            first << 16 | middle << 8 | last
        }
        0 => 0,
    };
    mix(state ^ last, FIRST)
}

/// The hash of what two hashes, or two numbers, stand for, in this order.
#[inline]
pub(super) fn pair(first: u64, second: u64) -> u64 {
    mix(mix(first ^ FIRST, SECOND) ^ second, FIRST)
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Models keep these numbers: a change breaks them.
    #[test]
    fn never_changes() {
        let found = ["", "a", "the", "word", "classes", "softmax", "approximation", "of many classes"];
        let found = found.map(|text| word(text.as_bytes()));
        let expected = [
            17617202122610259517,
            6949607035088592694,
            4690019717504473413,
            18100883162840214653,
            6070945760153006589,
            15534707387024303526,
            15212408784876631665,
            8289070721634503677,
        ];
        assert_eq!(found, expected);
        assert_eq!(pair(1, 2), 10827211185372782912);
    }

    #[test]
    fn short_words_do_not_meet() {
        let letters = || b'a'..=b'z';
        let words = letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| vec![a, b, c])));
        let mut hashes: Vec<u64> = words.flat_map(|w| [word(&w[..1]), word(&w[..2]), word(&w)]).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 26 + 26 * 26 + 26 * 26 * 26);
        assert_ne!(pair(1, 2), pair(2, 1));
    }
}
