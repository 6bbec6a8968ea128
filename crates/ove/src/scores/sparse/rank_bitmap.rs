//! Where each of some rising numbers stands among them, found in constant time: a bit for each number that there could be, and how many
//! came before each 64 of them.

use crate::platform::simd::vectorised;

/// 64 numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    bits: u64,
    /// How many came before these.
    before: u32,
}

/// The places of rising numbers, in memory that is used again and again.
#[derive(Debug, Clone, Default)]
pub struct RankBitmap(Vec<Word>);

impl RankBitmap {
    /// Takes in these numbers, all below `end`, in place of those before.
    pub(super) fn fill(&mut self, numbers: &[u32], end: usize) {
        self.0.clear();
        self.0.resize(end.div_ceil(64), Word::default());
        for &number in numbers {
            self.0[number as usize / 64].bits |= 1 << (number % 64);
        }
        count(&mut self.0);
    }

    /// How many of the numbers are smaller than this one, which is below `end`, and whether it is among them.
    #[inline(always)]
    pub(super) fn place(&self, number: u32) -> (usize, bool) {
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
    fn numbers_are_found_where_they_stand() {
        let mut index = RankBitmap::default();
        for numbers in [&[0, 1, 5, 63, 64, 65, 127, 200, 320][..], &[], &[2, 64]] {
            index.fill(numbers, 321);
            for number in 0..321 {
                let (at, is_there) = index.place(number);
                assert_eq!(if is_there { Ok(at) } else { Err(at) }, numbers.binary_search(&number), "{number}");
            }
        }
    }
}
