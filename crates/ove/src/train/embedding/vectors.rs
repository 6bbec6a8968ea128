//! A table of vectors whose rows belong to stripes: each task of a move owns one stripe.
//!
//! Rows are numbered by falling frequency, so that a contiguous range would hold most of the work; row r is therefore
//! in the stripe r mod 16. The number of stripes is fixed and each adds in the order of the text, so the sums do not
//! depend on the number of threads.
//!
//! The gradients of a block were all computed from the same vectors. A row that is visited often would overshoot, so
//! its v-th visit of a block counts 1/(1 + v/2), and no visit moves a row by more than a length of one.

use rayon::prelude::*;

use crate::platform::math::lanes;
use crate::platform::memory::{prefetch, zeroed};
use crate::platform::random::Stream;
use crate::platform::simd::vectorised;

/// Number of stripes.
pub(super) const STRIPES: usize = 16;

/// Numbers per cache line.
const LINE: usize = 16;

/// The number of visits per block that halves the move of one more.
const HALF: f32 = 2.0;

/// The largest length of a move.
const LONGEST: f32 = 1.0;

/// Vectors of the same length, in stripes.
pub(super) struct Vectors {
    /// Length of a row, the rank rounded up; the numbers beyond the rank are zero.
    pub width: usize,
    pub numbers: Vec<f32>,
    /// Number of visits of each row in this block.
    visits: Vec<u8>,
    per_stripe: usize,
}

impl Vectors {
    /// Zero vectors.
    pub fn zero(count: usize, width: usize) -> Self {
        let per_stripe = count.div_ceil(STRIPES);
        let rows = STRIPES * per_stripe;
        Vectors { width, per_stripe, numbers: zeroed(rows * width), visits: zeroed(rows) }
    }

    /// Numbers from −½/rank to ½/rank, as in word2vec.
    pub fn random(count: usize, rank: usize, width: usize, key: [u64; 2]) -> Self {
        let mut vectors = Vectors::zero(count, width);
        let per_stripe = vectors.per_stripe;
        vectors.numbers.par_chunks_mut(width).enumerate().for_each(|(at, vector)| {
            let row = at / per_stripe + at % per_stripe * STRIPES;
            let mut random = Stream::of(&[key[0], key[1], row as u64]);
            vector[..rank].iter_mut().for_each(|x| *x = ((random.uniform() - 0.5) / rank as f64) as f32);
        });
        vectors
    }

    #[inline]
    pub fn get(&self, row: u32) -> &[f32] {
        let row = row as usize;
        let at = row % STRIPES * self.per_stripe + row / STRIPES;
        &self.numbers[at * self.width..][..self.width]
    }

    /// The stripes, each to be moved by a task of its own.
    pub fn stripes(&mut self) -> impl IndexedParallelIterator<Item = Stripe<'_>> {
        let (width, rows) = (self.width, self.per_stripe.max(1));
        let stripes = self.numbers.par_chunks_mut(rows * width).zip(self.visits.par_chunks_mut(rows));
        stripes.map(move |(numbers, visits)| Stripe { numbers, visits, width })
    }

    /// The first `count` rows in order, without the numbers beyond the rank.
    pub fn in_order(&self, count: usize, rank: usize) -> Vec<f32> {
        let mut rows = zeroed(count * rank);
        rows.par_chunks_mut(rank).enumerate().for_each(|(row, out)| out.copy_from_slice(&self.get(row as u32)[..rank]));
        rows
    }
}

/// The rows of one stripe.
pub(super) struct Stripe<'a> {
    numbers: &'a mut [f32],
    visits: &'a mut [u8],
    width: usize,
}

impl Stripe<'_> {
    /// Adds gradients to rows; `visits` are pairs of a row of this stripe and the number of its gradient.
    pub fn add(&mut self, visits: &[(u32, u32)], gradients: &[f32]) {
        add_rows(self.numbers, self.visits, self.width, visits, gradients);
    }

    /// Forgets the visits of these rows, at the end of a block.
    pub fn forget(&mut self, visits: &[(u32, u32)]) {
        visits.iter().for_each(|&(row, _)| self.visits[row as usize / STRIPES] = 0);
    }
}

vectorised! {
    fn add_rows(numbers: &mut [f32], seen: &mut [u8], width: usize, visits: &[(u32, u32)], gradients: &[f32]) {
        /// Rows ahead whose cache lines are requested.
        const AHEAD: usize = 4;
        for (at, &(row, slot)) in visits.iter().enumerate() {
            if let Some(&(next, _)) = visits.get(at + AHEAD) {
                let start = next as usize / STRIPES * width;
                numbers[start..start + width].iter().step_by(LINE).for_each(prefetch);
            }
            let row = row as usize / STRIPES;
            let gradient = &gradients[slot as usize * width..][..width];
            let length = lanes(gradient, gradient, |a, b| a * b).sqrt();
            let share = 1.0 / (1.0 + f32::from(seen[row]) / HALF);
            let scale = share * if length > LONGEST { LONGEST / length } else { 1.0 };
            seen[row] = seen[row].saturating_add(1);
            let vector = numbers[row * width..][..width].as_chunks_mut::<LINE>().0;
            for (vector, gradient) in vector.iter_mut().zip(gradient.as_chunks::<LINE>().0) {
                for i in 0..LINE {
                    vector[i] += scale * gradient[i];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_count_less_and_less_until_they_are_forgotten() {
        let mut vectors = Vectors::zero(40, 16);
        let mut gradients = vec![0.0; 32];
        (gradients[0], gradients[16]) = (0.5, 30.0);
        let visits = [(17, 0), (17, 0), (33, 1)];
        for round in 1..=2 {
            let mut stripes: Vec<Stripe<'_>> = vectors.stripes().collect();
            stripes[1].add(&visits, &gradients);
            stripes[1].forget(&visits);
            let round = round as f32;
            assert!((vectors.get(17)[0] - round * 0.5 * (1.0 + 2.0 / 3.0)).abs() < 1e-6);
            assert_eq!(vectors.get(33)[0], round, "a move has a length of at most one");
        }
        assert_eq!(vectors.numbers.iter().filter(|&&x| x != 0.0).count(), 2);
    }

    #[test]
    fn rows_come_back_in_order() {
        let vectors = Vectors::random(37, 3, 16, [1, 2]);
        let rows = vectors.in_order(37, 3);
        for (row, numbers) in (0..37).zip(rows.chunks(3)) {
            assert_eq!(&vectors.get(row)[..3], numbers);
            assert!(vectors.get(row)[3..].iter().all(|&x| x == 0.0) && numbers.iter().all(|x| x.abs() <= 1.0 / 6.0));
        }
    }
}
