//! Synthetic data from a seed, for the demo, the tests and the benchmarks.

pub mod amazoncat;
mod text;

use std::ops::{ControlFlow, Range};
use std::path::Path;

use crate::data::{Dataset, Interactions};
use crate::error::Result;
use crate::platform::elementary::powf;
use crate::platform::random::Stream;
pub use text::Written;
use text::{Lines, Size};

/// The paper's data set in the plane: points around five centres, the same number for each (figure 1b).
pub fn plane(points: usize, seed: u64) -> Dataset {
    const CENTRES: [[f64; 2]; 5] = [[0.0, 3.0], [-2.6, 0.4], [2.7, 0.7], [-1.6, -2.6], [1.9, -2.4]];
    let mut random = Stream::of(&[seed, 0]);
    let mut data = Dataset::new(2, (1..=5).map(|k| k.to_string()).collect());
    for n in 0..points {
        let class = n % CENTRES.len();
        for (d, centre) in CENTRES[class].iter().enumerate() {
            data.push_entry(d as u32, (centre + 1.1 * random.normal()) as f32);
        }
        data.end_row(&[class as u32]);
    }
    data
}

/// Users with items in groups: a user has about eight items of one group, and one of any other in ten.
///
/// Items are dealt to the groups in turn, so item `i` belongs to group `i % groups`, as user `u` to `u % groups`.
pub fn interactions(users: usize, items: usize, groups: usize, seed: u64) -> Interactions {
    let mut data = Interactions::new((0..items).map(|item| format!("i{item}")).collect());
    for user in 0..users {
        let mut random = Stream::of(&[seed, 2, user as u64]);
        let count = 4 + random.below(9);
        let chosen = (0..count).map(|_| {
            let any = random.below(items as u64) as usize;
            let own = any / groups * groups + user % groups;
            (if random.below(10) == 0 || own >= items { any as u32 } else { own as u32 }, 1.0)
        });
        let mut chosen: Vec<(u32, f32)> = chosen.collect();
        chosen.sort_unstable_by_key(|&(item, _)| item);
        chosen.dedup_by_key(|&mut (item, _)| item);
        data.push(format!("u{user}"), chosen);
    }
    data
}

/// The shape of [`sparse`] data.
#[derive(Debug, Clone, Copy)]
pub struct Sparse {
    /// Number of rows.
    pub rows: usize,
    /// Number of features.
    pub features: usize,
    /// Number of classes.
    pub classes: usize,
    /// Maximum number of features per row.
    pub entries: usize,
    /// The share of a row's features that depend on its class; the others have the same distribution for all classes.
    pub signal: f64,
}

/// Sparse rows similar to text.
///
/// Classes and features follow Zipf's law, each class has some features of its own, and pairs of adjacent classes share
/// half of theirs. Rows have unit length. The features of a class depend only on the seed, so that different values of
/// `part` give training and test rows of the same classes.
pub fn sparse(shape: Sparse, seed: u64, part: u64) -> Dataset {
    let mut data = Dataset::new(shape.features, (0..shape.classes).map(|k| format!("c{k}")).collect());
    let mut row = Vec::with_capacity(shape.entries);
    for n in 0..shape.rows {
        let mut random = Stream::of(&[seed, 1, part, n as u64]);
        let class = zipf(&mut random, shape.classes, 0.7);
        shape.draw(class, seed, &mut random, &mut row);
        push_counts(&mut data, &row);
        data.end_row(&[class as u32]);
    }
    data
}

/// Writes rows like those of [`sparse`] to a file in the format of the extreme classification repository.
///
/// Rows are not kept in memory, so the file may have any size. The first rows have the classes in order, so that each
/// class has a row if there are enough rows. `watch` is that of [`AmazonCat::write`](amazoncat::AmazonCat::write).
///
/// # Errors
/// [`Error::File`](crate::Error::File) if the file cannot be written, or `watch` stopped the work.
pub fn write_sparse(
    shape: Sparse,
    seed: u64,
    path: &Path,
    watch: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Written> {
    let make = |rows: Range<usize>| {
        let (mut lines, mut row) = (Lines::default(), Vec::with_capacity(shape.entries));
        for n in rows {
            let mut random = Stream::of(&[seed, 3, n as u64]);
            let class = if n < shape.classes { n } else { zipf(&mut random, shape.classes, 0.7) };
            shape.draw(class, seed, &mut random, &mut row);
            let length = length(&row);
            let entry = |same: &[u32]| (same[0], (1000.0 * same.len() as f64 / length).round().max(1.0) as u32);
            lines.push(class as u32, row.chunk_by(|a, b| a == b).map(entry));
        }
        lines
    };
    let size = Size { rows: shape.rows, features: shape.features, classes: shape.classes };
    text::write(path, size, make, watch)
}

impl Sparse {
    /// Draws the features of a row of this class, in order.
    fn draw(&self, class: usize, seed: u64, random: &mut Stream, row: &mut Vec<u32>) {
        const OWN: u64 = 12;
        row.clear();
        for _ in 0..self.entries {
            let feature = if random.uniform() < self.signal {
                // Two adjacent classes share the first half of their features.
                let which = random.below(OWN);
                let owner = if which < OWN / 2 { class / 2 * 2 } else { class };
                Stream::of(&[seed, 2, owner as u64, which]).below(self.features as u64) as u32
            } else {
                zipf(random, self.features, 1.0) as u32
            };
            row.push(feature);
        }
        row.sort_unstable();
    }
}

/// Adds the distinct features of a sorted list with their counts, scaled to unit length.
fn push_counts(data: &mut Dataset, sorted: &[u32]) {
    let length = length(sorted);
    for same in sorted.chunk_by(|a, b| a == b) {
        data.push_entry(same[0], (same.len() as f64 / length) as f32);
    }
}

/// The Euclidean length of the counts of a sorted list.
fn length(sorted: &[u32]) -> f64 {
    sorted.chunk_by(|a, b| a == b).map(|same| (same.len() * same.len()) as f64).sum::<f64>().sqrt()
}

/// A number k below n with a probability near ∝ (k + 1)^−power, by inversion of the continuous distribution.
fn zipf(random: &mut Stream, n: usize, power: f64) -> usize {
    let (u, n_plus) = (random.uniform(), n as f64 + 1.0);
    let x = if (power - 1.0).abs() < 1e-9 {
        powf(n_plus, u)
    } else {
        let q = 1.0 - power;
        powf(1.0 + u * (powf(n_plus, q) - 1.0), 1.0 / q)
    };
    (x as usize - 1).min(n - 1)
}
