//! Rank bitmap: the position of a number in a sorted list in constant time.
//!
//! It has a bit per possible number, and per word of 64 bits the number of set bits before it.

use crate::platform::simd::vectorised;

/// 64 possible numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    bits: u64,
    /// Number of set bits in the words before.
    before: u32,
}

/// A rank bitmap, whose memory is reused.
#[derive(Debug, Clone, Default)]
pub struct RankBitmap(Vec<Word>);

impl RankBitmap {
    /// Replaces the content by these sorted numbers, all below `end`.
    pub(super) fn fill(&mut self, numbers: &[u32], end: usize) {
        self.0.clear();
        self.0.resize(end.div_ceil(64), Word::default());
        for &number in numbers {
            self.0[number as usize / 64].bits |= 1 << (number % 64);
        }
        count(&mut self.0);
    }

    /// The number of elements less than `number`, which is below `end`, and whether it is an element.
    #[inline(always)]
    pub(super) fn rank(&self, number: u32) -> (usize, bool) {
        let Word { bits, before } = self.0[number as usize / 64];
        let bit = 1 << (number % 64);
        ((before + (bits & (bit - 1)).count_ones()) as usize, bits & bit != 0)
    }
}

vectorised! {
    fn count(words: &mut [Word]) {
        let mut before = 0;
        for word in words {
            word.before = before;
            before += word.bits.count_ones();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_a_binary_search() {
        let mut index = RankBitmap::default();
        for numbers in [&[0, 1, 5, 63, 64, 65, 127, 200, 320][..], &[], &[2, 64]] {
            index.fill(numbers, 321);
            for number in 0..321 {
                let (at, is_there) = index.rank(number);
                assert_eq!(if is_there { Ok(at) } else { Err(at) }, numbers.binary_search(&number), "{number}");
            }
        }
    }
}
