//! The weights of one feature for the children of one node, as bf16 (the upper half of a 32-bit float).
//!
//! A cell has one of two forms: the weights of all children in order, or pairs of a child and its weight.

use bytemuck::{Pod, Zeroable};
use half::bf16;

/// If at least one child in this many has a weight, the weights of all are stored, including zeros.
///
/// Adding a whole vector is faster than adding its entries one by one. Pairs below this density are always fewer
/// numbers than there are children, which distinguishes the forms. Compared with whole vectors from a density of one
/// half on, models of EURLEX57K are as large (−2 % from words, +3 % from pairs of words) and predictions take three
/// quarters of the time.
const WHOLE: usize = 4;

/// The weight of one child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Entry {
    child: u16,
    /// The weight as bf16: the upper half of a 32-bit float.
    weight: u16,
}

impl Entry {
    /// Rounds the weight to the nearest bf16, ties to even; a finite weight stays finite.
    pub fn new(child: u16, weight: f32) -> Self {
        let rounded = bf16::from_f32(weight);
        let overflowed = weight.is_finite() && rounded.is_infinite();
        let weight = if overflowed { bf16::MAX.copysign(rounded) } else { rounded };
        Entry { child, weight: weight.to_bits() }
    }

    /// The child.
    #[inline]
    pub fn child(self) -> usize {
        self.child.into()
    }

    /// Its weight as bf16.
    pub fn bits(self) -> u16 {
        self.weight
    }

    /// Its weight.
    #[inline]
    pub fn weight(self) -> f32 {
        widen(self.weight)
    }
}

/// The number that 16 bits stand for. `bf16::to_f32` also tests for NaN, which no checked model holds: with that test,
/// adding 128 weights takes 60 ns instead of 16 ns by SSE2, and 25 ns instead of 22 ns by AVX2.
#[inline]
fn widen(upper: u16) -> f32 {
    f32::from_bits(u32::from(upper) << 16)
}

/// Whether `count` weights out of `children` are stored as a whole vector.
pub(crate) fn is_whole(count: usize, children: usize) -> bool {
    count * WHOLE >= children
}

/// Appends the weights of a cell, given in order of the children, in the form for their density.
pub(super) fn write(entries: &[Entry], children: usize, numbers: &mut Vec<u16>) {
    if is_whole(entries.len(), children) {
        let start = numbers.len();
        numbers.resize(start + children, 0);
        entries.iter().for_each(|entry| numbers[start + entry.child()] = entry.weight);
    } else {
        numbers.extend_from_slice(bytemuck::cast_slice(entries));
    }
}

/// The weights of a cell.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Whole(&'a [u16]),
    Pairs(&'a [Entry]),
}

impl<'a> Cell<'a> {
    /// From its numbers, for a node with the given number of children.
    #[inline(always)]
    pub fn of(numbers: &'a [u16], children: usize) -> Self {
        if numbers.len() == children {
            Cell::Whole(numbers)
        } else {
            Cell::Pairs(bytemuck::cast_slice(numbers.as_chunks::<2>().0))
        }
    }

    /// Checks that the numbers are finite weights of existing children.
    pub fn check(numbers: &[u16], children: usize) -> Result<(), &'static str> {
        let weights_are_finite = match Cell::of(numbers, children) {
            Cell::Whole(weights) => weights.iter().all(|&weight| widen(weight).is_finite()),
            Cell::Pairs(_) if !numbers.len().is_multiple_of(2) => return Err("a child without a weight"),
            Cell::Pairs(entries) => {
                if entries.last().is_some_and(|entry| entry.child() >= children) {
                    return Err("a weight of a child that is not there");
                }
                if !entries.is_sorted_by(|a, b| a.child < b.child) {
                    return Err("a node whose children do not rise");
                }
                entries.iter().all(|entry| entry.weight().is_finite())
            }
        };
        if weights_are_finite { Ok(()) } else { Err("a weight that is not finite") }
    }

    /// Adds the weights, times a value, to the scores of the children.
    #[inline(always)]
    pub fn add(self, value: f32, scores: &mut [f32]) {
        match self {
            // The compiler vectorises one plain loop; with chunks inside a loop it transposes the numbers, and a
            // prediction takes one and a half times as long.
            Cell::Whole(weights) => {
                for (score, &weight) in scores.iter_mut().zip(weights) {
                    *score += value * widen(weight);
                }
            }
            Cell::Pairs(entries) => {
                for entry in entries {
                    scores[entry.child()] += value * entry.weight();
                }
            }
        }
    }

    /// The weight of a child.
    pub fn weight_of(self, child: usize) -> f32 {
        match self {
            Cell::Whole(weights) => widen(weights[child]),
            Cell::Pairs(entries) => entries.iter().find(|entry| entry.child() == child).map_or(0.0, |e| e.weight()),
        }
    }

    /// Number of non-zero weights.
    pub fn count(self) -> usize {
        match self {
            Cell::Whole(weights) => weights.iter().filter(|&&weight| widen(weight) != 0.0).count(),
            Cell::Pairs(entries) => entries.iter().filter(|entry| entry.weight() != 0.0).count(),
        }
    }

    /// The non-zero weights.
    pub fn entries(self) -> impl Iterator<Item = Entry> {
        let (weights, entries) = match self {
            Cell::Whole(weights) => (weights, &[][..]),
            Cell::Pairs(entries) => (&[][..], entries),
        };
        let of_all = (0..).zip(weights).map(|(child, &weight)| Entry { child, weight });
        of_all.chain(entries.iter().copied()).filter(|entry| entry.weight() != 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(child: u16) -> Entry {
        Entry::new(child, f32::from(child) + 1.0)
    }

    /// Rounding to nearest even by the bits of the number, where the largest finite numbers are rounded down.
    fn rounded(weight: f32) -> u16 {
        let bits = weight.to_bits();
        let rounded = (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16;
        if weight.is_finite() && rounded & 0x7fff == 0x7f80 { rounded - 1 } else { rounded }
    }

    #[test]
    fn every_number_is_rounded_to_nearest_even_and_stays_finite() {
        // All upper halves, with the lower halves around a tie, and a prime stride through all bit patterns.
        let around_ties = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
        let chosen = (0..=u32::from(u16::MAX)).flat_map(|upper| around_ties.map(|lower| upper << 16 | lower));
        for bits in chosen.chain((0..=u32::MAX).step_by(997)) {
            let (weight, entry) = (f32::from_bits(bits), Entry::new(0, f32::from_bits(bits)));
            if weight.is_nan() {
                assert!(entry.weight().is_nan(), "{bits:#x}");
            } else {
                assert_eq!(entry.weight, rounded(weight), "{bits:#x}");
                assert_eq!(entry.weight().is_finite(), weight.is_finite(), "{bits:#x}");
            }
        }
        assert_eq!(Entry::new(0, f32::MAX).weight(), bf16::MAX.to_f32());
        assert_eq!(Entry::new(0, -f32::MAX).weight(), bf16::MIN.to_f32());
    }

    #[test]
    fn weights_are_the_same_in_both_forms() {
        for children in 1..40 {
            for count in 1..=children {
                let entries: Vec<Entry> = (0..count).map(|n| entry(n * (children / count))).collect();
                let children = usize::from(children);
                let mut numbers = vec![7; 3];
                write(&entries, children, &mut numbers);
                let cell = Cell::of(&numbers[3..], children);
                assert_eq!(matches!(cell, Cell::Whole(_)), 4 * entries.len() >= children);
                assert_eq!(Cell::check(&numbers[3..], children), Ok(()));
                assert!(cell.entries().eq(entries.iter().copied()));
                let mut scores = vec![1.0; children];
                cell.add(2.0, &mut scores);
                for (child, score) in scores.into_iter().enumerate() {
                    let weight = entries.iter().find(|entry| entry.child() == child).map_or(0.0, |e| e.weight());
                    assert_eq!((cell.weight_of(child), score), (weight, 1.0 + 2.0 * weight));
                }
            }
        }
    }

    #[test]
    fn numbers_that_are_no_weights_are_refused() {
        let infinite = Entry::new(1, f32::INFINITY).weight;
        for (numbers, reason) in [
            (&[1, 0, 2][..], "a child without a weight"),
            (&[9, 0], "a weight of a child that is not there"),
            (&[3, 0, 3, 0], "a node whose children do not rise"),
            (&[3, infinite], "a weight that is not finite"),
            (&[0, 0, 0, 0, 0, 0, 0, 0, infinite], "a weight that is not finite"),
        ] {
            assert_eq!(Cell::check(numbers, 9), Err(reason));
        }
    }
}
