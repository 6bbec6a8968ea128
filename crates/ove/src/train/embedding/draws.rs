//! What is drawn: which words of a piece of text are kept, their windows, and the negatives.

use crate::io::BREAK;
use crate::platform::elementary::powf;
use crate::platform::random::Stream;

/// Keys of random streams.
const WORDS: u64 = u64::MAX - 20;

/// The power of the counts in the distribution of negatives (Mikolov and others 2013).
const POWER: f64 = 0.75;

/// The words of a piece that are kept, with how many of the words before and after are neighbours of each.
#[derive(Debug, Default)]
pub(super) struct Positions {
    pub words: Vec<u32>,
    pub before: Vec<u8>,
    pub after: Vec<u8>,
    /// Number of words of the piece, kept or not.
    pub tokens: u64,
}

/// The share of the occurrences of each word that is kept.
///
/// word2vec keeps √(t/f) + t/f of a word whose share of the text is f, at most all.
pub(super) fn kept(counts: &[u64], sample: f64) -> Vec<f32> {
    let total: u64 = counts.iter().sum();
    let share = |&count: &u64| {
        let ratio = sample * total as f64 / count as f64;
        if sample == 0.0 { 1.0 } else { (ratio.sqrt() + ratio).min(1.0) as f32 }
    };
    counts.iter().map(share).collect()
}

impl Positions {
    /// Draws the words and windows of a piece.
    pub fn draw(tokens: &[u32], kept: &[f32], window: usize, key: [u64; 3]) -> Self {
        let mut random = Stream::of(&[key[0], WORDS, key[1], key[2]]);
        let mut positions = Positions::default();
        for sentence in tokens.split(|&token| token == BREAK) {
            positions.tokens += sentence.len() as u64;
            let first = positions.words.len();
            for &word in sentence {
                let share = kept[word as usize];
                if share >= 1.0 || random.uniform() < f64::from(share) {
                    positions.words.push(word);
                }
            }
            let length = positions.words.len() - first;
            for at in 0..length {
                let reach = 1 + random.below(window as u64) as usize;
                positions.before.push(reach.min(at) as u8);
                positions.after.push(reach.min(length - 1 - at) as u8);
            }
        }
        positions
    }
}

/// The distribution of negatives: proportional to a power of the counts.
pub(super) struct Noise {
    /// The probability of each word.
    pub shares: Vec<f64>,
    /// Walker's alias method: the share of a slot that is its own, and whose the rest is.
    slots: Vec<(f32, u32)>,
}

impl Noise {
    pub fn new(counts: &[u64]) -> Self {
        let powers: Vec<f64> = counts.iter().map(|&count| powf(count as f64, POWER)).collect();
        let total: f64 = powers.iter().sum();
        let shares: Vec<f64> = powers.iter().map(|power| power / total).collect();
        let scale = shares.len() as f64;
        let mut left: Vec<f64> = shares.iter().map(|share| share * scale).collect();
        let mut slots: Vec<(f32, u32)> = (0..shares.len() as u32).map(|word| (1.0, word)).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..shares.len() as u32).partition(|&word| left[word as usize] < 1.0);
        while let (Some(less), Some(&more)) = (small.pop(), large.last()) {
            slots[less as usize] = (left[less as usize] as f32, more);
            left[more as usize] -= 1.0 - left[less as usize];
            if left[more as usize] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        Noise { shares, slots }
    }

    /// Draws a word.
    #[inline]
    pub fn draw(&self, random: &mut Stream) -> u32 {
        let drawn = random.next();
        let slot = (((drawn >> 32) * self.slots.len() as u64) >> 32) as usize;
        let (own, other) = self.slots[slot];
        let rest = (drawn as u32 >> 8) as f32 * (1.0 / (1 << 24) as f32);
        if rest < own { slot as u32 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word is drawn as often as its share says, so that the mean over the draws is the mean over all words.
    #[test]
    fn negatives_are_unbiased() {
        let counts = [1000, 300, 300, 20, 5, 1];
        let noise = Noise::new(&counts);
        let total: f64 = counts.iter().map(|&count| f64::from(count as u32).powf(0.75)).sum();
        let (draws, mut found) = (400_000, [0u32; 6]);
        let mut random = Stream::of(&[7]);
        (0..draws).for_each(|_| found[noise.draw(&mut random) as usize] += 1);
        for (word, &found) in found.iter().enumerate() {
            let share = f64::from(counts[word] as u32).powf(0.75) / total;
            assert!((noise.shares[word] - share).abs() < 1e-12);
            let error = (share * (1.0 - share) / f64::from(draws)).sqrt();
            assert!((f64::from(found) / f64::from(draws) - share).abs() < 4.5 * error, "{word}: {found}");
        }
    }

    #[test]
    fn frequent_words_are_subsampled_and_windows_stay_in_their_sentence() {
        let counts = [90_000, 10_000];
        let kept = kept(&counts, 1e-2);
        let expected = (1e-2f64 / 0.9).sqrt() + 1e-2 / 0.9;
        assert!((f64::from(kept[0]) - expected).abs() < 1e-6 && super::kept(&counts, 0.0) == [1.0, 1.0]);
        let mut tokens = Vec::new();
        for _ in 0..2000 {
            tokens.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, BREAK]);
        }
        let positions = Positions::draw(&tokens, &kept, 3, [0, 0, 0]);
        assert_eq!(positions.tokens, 20_000);
        let zeros = positions.words.iter().filter(|&&word| word == 0).count() as f64;
        assert!((zeros / 18_000.0 - expected).abs() < 4.5 * (expected / 18_000.0f64).sqrt(), "{zeros}");
        // A sentence ends with its 1, which is kept with probability one of about .42: before a sentence nothing is a
        // neighbour, and neighbourhood goes both ways within the reach.
        let (mut first, mut reaches) = (0, [0; 4]);
        for at in 0..positions.words.len() {
            let (before, after) = (positions.before[at] as usize, positions.after[at] as usize);
            assert!(before <= at - first && before <= 3 && after <= 3);
            reaches[before.max(after)] += 1;
            if after == 0 {
                first = at + 1;
            }
        }
        assert!(reaches[1] > 0 && reaches[2] > 0);
    }
}
