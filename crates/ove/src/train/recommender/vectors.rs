//! Vectors of the same length in training, moved by lazy Adam.
//!
//! Adam (Kingma and Ba 2015) keeps a running mean of the gradient and of its square per number. It is lazy: a vector
//! that a batch does not visit keeps its state, so the cost of a batch does not depend on the number of vectors.

use rayon::prelude::*;

use crate::platform::elementary::powf;
use crate::platform::random::Stream;
use crate::platform::simd::vectorised;

/// Decay of the running means of the gradient and of its square.
const DECAY: [f32; 2] = [0.9, 0.999];

/// A vector that had no gradient yet is not moved.
const LEAST: f32 = 1e-8;

/// Vectors with the state of Adam.
pub(super) struct Vectors {
    /// Length of a vector, the rank rounded up; the numbers beyond the rank are zero.
    pub width: usize,
    pub numbers: Vec<f32>,
    pub means: Vec<f32>,
    pub squares: Vec<f32>,
}

/// The move of a batch.
#[derive(Clone, Copy)]
pub(super) struct Move {
    rate: f32,
    l2: f32,
}

impl Move {
    /// The move of a step, counted from 1; both running means start at zero, which the rate corrects.
    pub fn new(rate: f64, l2: f64, step: u64) -> Self {
        let missing = |decay: f32| 1.0 - powf(decay.into(), step as f64);
        let correction = missing(DECAY[1]).sqrt() / missing(DECAY[0]);
        Move { rate: (rate * correction) as f32, l2: l2 as f32 }
    }
}

impl Vectors {
    /// Normal numbers of variance 1/rank, so that vectors have about unit length.
    pub fn random(count: usize, rank: usize, width: usize, key: [u64; 2]) -> Self {
        let mut numbers = crate::platform::memory::zeroed(count * width);
        let scale = 1.0 / (rank as f64).sqrt();
        numbers.par_chunks_mut(width).enumerate().for_each(|(at, vector)| {
            let mut random = Stream::of(&[key[0], key[1], at as u64]);
            vector[..rank].iter_mut().for_each(|number| *number = (scale * random.normal()) as f32);
        });
        Vectors {
            width,
            means: crate::platform::memory::zeroed(count * width),
            squares: crate::platform::memory::zeroed(count * width),
            numbers,
        }
    }

    pub fn get(&self, at: u32) -> &[f32] {
        &self.numbers[at as usize * self.width..][..self.width]
    }

    /// Moves vectors along their gradients, each thread a range of them; `places` are pairs of a vector and the number
    /// of its gradient, in increasing order.
    pub fn ascend(&mut self, places: &[(u32, u32)], gradients: &[f32], step: Move) {
        let width = self.width;
        let per_share = places.len().div_ceil(4 * rayon::current_num_threads()).max(64);
        let mut tasks = Vec::with_capacity(places.len().div_ceil(per_share));
        let (mut numbers, mut means, mut squares) = (&mut self.numbers[..], &mut self.means[..], &mut self.squares[..]);
        let mut first = 0;
        for places in places.chunks(per_share) {
            let end = places[places.len() - 1].0 as usize + 1;
            let length = (end - first) * width;
            let (own, own_means, own_squares);
            (own, numbers) = numbers.split_at_mut(length);
            (own_means, means) = means.split_at_mut(length);
            (own_squares, squares) = squares.split_at_mut(length);
            tasks.push((first, places, own, own_means, own_squares));
            first = end;
        }
        tasks.into_par_iter().for_each(|(first, places, numbers, means, squares)| {
            for &(place, gradient) in places {
                let range = (place as usize - first) * width..(place as usize - first + 1) * width;
                let gradient = &gradients[gradient as usize * width..][..width];
                ascend(&mut numbers[range.clone()], &mut means[range.clone()], &mut squares[range], gradient, step);
            }
        });
    }

    /// The vectors without the numbers beyond the rank, each changed, then of unit length if they enter cosines, times
    /// a factor.
    pub fn frozen(
        &self,
        rank: usize,
        normalize: bool,
        factor: f32,
        change: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Vec<f32> {
        let of_vector = |(at, vector): (usize, &[f32])| {
            let mut vector = vector[..rank].to_vec();
            change(at, &mut vector);
            let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
            let factor = if normalize { factor / length.max(f64::MIN_POSITIVE) as f32 } else { factor };
            vector.iter_mut().for_each(|number| *number *= factor);
            vector
        };
        self.numbers.par_chunks(self.width).enumerate().flat_map_iter(of_vector).collect()
    }
}

vectorised! {
    fn ascend(numbers: &mut [f32], means: &mut [f32], squares: &mut [f32], gradient: &[f32], step: Move) {
        for (((number, mean), square), &gradient) in numbers.iter_mut().zip(means).zip(squares).zip(gradient) {
            let gradient = gradient - step.l2 * *number;
            *mean = DECAY[0] * *mean + (1.0 - DECAY[0]) * gradient;
            *square = DECAY[1] * *square + (1.0 - DECAY[1]) * gradient * gradient;
            *number += step.rate * *mean / (square.sqrt() + LEAST);
        }
    }
}
