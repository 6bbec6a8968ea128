//! Which classes are alike: their rows share words.
//!
//! A class is the sum of its rows, scaled to unit length. Halves of equal size, again and again, put like classes side by side
//! (balanced spherical 2-means, as in Parabel, Prabhu et al. 2018): each class has an affinity to the one or to the other half, and those
//! with the larger affinities are one half.
//!
//! ```text
//! affinity of v = v·(p/‖p‖ − q/‖q‖)        p, q: the sums of the halves        ‖p‖² = Σ_{v of the half} v·p
//! ```

use rayon::prelude::*;

use crate::random::Stream;
use crate::solve::Problem;

/// Rounds of 2-means at most.
const ROUNDS: usize = 12;

/// A split is settled when the mean affinity gains less than this.
const SETTLED: f32 = 1e-4;

/// Classes from which on two halves are split by two threads, each with its own sums.
const SHARED_FROM: usize = 512;

/// Smaller numbers of class vectors are left out. On held-out rows P@1, 3, 5 are .921 .827 .693 with all and .920 .827 .694 without
/// these (EURLEX57K), .375 .232 .170 and .375 .231 .169 (titles); the vectors have a fifth to a half as many numbers.
const NEGLIGIBLE: f32 = 0.01;

/// A sparse vector.
pub(super) type Vector = Vec<(u32, f32)>;

/// The sum of the rows of each class, of unit length but for what is negligible.
pub(super) fn class_vectors(problem: &Problem<'_>, train: &[u32]) -> Vec<Vector> {
    let mut ends = vec![0usize; problem.classes + 1];
    let each = |see: &mut dyn FnMut(u32, u32)| {
        for &row in train {
            problem.labels[row as usize].iter().for_each(|&label| see(row, label));
        }
    };
    each(&mut |_, label| ends[label as usize + 1] += 1);
    for class in 0..problem.classes {
        ends[class + 1] += ends[class];
    }
    let mut rows = vec![0u32; ends[problem.classes]];
    let mut next = ends.clone();
    each(&mut |row, label| {
        rows[next[label as usize]] = row;
        next[label as usize] += 1;
    });
    let sum = |(sums, seen): &mut (Vec<f32>, Vec<u32>), class: usize| {
        for &row in &rows[ends[class]..ends[class + 1]] {
            let row = problem.rows.row(row as usize);
            for (&feature, &value) in row.indices.iter().zip(row.values) {
                if sums[feature as usize] == 0.0 {
                    seen.push(feature);
                }
                sums[feature as usize] += value;
            }
        }
        seen.sort_unstable();
        seen.dedup();
        let length = seen.iter().map(|&f| sums[f as usize].powi(2)).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        let values = seen.drain(..).map(|f| (f, std::mem::take(&mut sums[f as usize]) / length));
        values.filter(|(_, value)| value.abs() >= NEGLIGIBLE).collect()
    };
    let scratch = || (vec![0.0; problem.rows.features()], Vec::new());
    (0..problem.classes).into_par_iter().map_init(scratch, sum).collect()
}

/// All classes, like ones side by side, cut into `leaves` groups of equal size by halving.
pub(super) fn order(vectors: &[Vector], features: usize, leaves: usize, random: Stream) -> Vec<u32> {
    let mut classes: Vec<u32> = (0..vectors.len() as u32).collect();
    let starts = crate::forest::leaf_starts(vectors.len(), leaves);
    let mut sums = vec![[0.0; 2]; features];
    halve(vectors, &mut classes, &starts, random, &mut sums);
    classes
}

/// Splits the classes of the leaves that start at `starts`, until each group is one leaf. `sums` is zero before and after.
fn halve(vectors: &[Vector], classes: &mut [u32], starts: &[usize], mut random: Stream, sums: &mut Vec<[f32; 2]>) {
    let leaves = starts.len() - 1;
    if leaves < 2 {
        return;
    }
    let cut = starts[leaves / 2] - starts[0];
    two_means(vectors, classes, cut, &mut random, sums);
    let (left, right) = classes.split_at_mut(cut);
    let (first, second) = (Stream::of(&[random.next()]), Stream::of(&[random.next()]));
    let (left_starts, right_starts) = (&starts[..=leaves / 2], &starts[leaves / 2..]);
    if left.len() < SHARED_FROM {
        halve(vectors, left, left_starts, first, sums);
        halve(vectors, right, right_starts, second, sums);
    } else {
        let mut more = vec![[0.0; 2]; sums.len()];
        rayon::join(
            || halve(vectors, left, left_starts, first, sums),
            || halve(vectors, right, right_starts, second, &mut more),
        );
    }
}

/// Sorts the classes so that the first `cut` are one half and the others the other.
fn two_means(vectors: &[Vector], classes: &mut [u32], cut: usize, random: &mut Stream, sums: &mut [[f32; 2]]) {
    let seeds = [random.below(classes.len() as u64), random.below(classes.len() as u64)].map(|n| classes[n as usize]);
    let mut halves = [vec![seeds[0]], vec![seeds[1]]];
    let mut last = f32::NEG_INFINITY;
    for _ in 0..ROUNDS {
        let mut affinities = affinities(vectors, classes, &halves, sums);
        affinities.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        classes.iter_mut().zip(&affinities).for_each(|(class, &(_, sorted))| *class = sorted);
        let sum = |part: &[(f32, u32)]| part.iter().map(|(affinity, _)| affinity).sum::<f32>();
        let mean = (sum(&affinities[..cut]) - sum(&affinities[cut..])) / classes.len() as f32;
        if mean < last + SETTLED {
            break;
        }
        last = mean;
        halves = [classes[..cut].to_vec(), classes[cut..].to_vec()];
    }
}

/// The affinity of each class to the first of two halves rather than to the second.
fn affinities(vectors: &[Vector], classes: &[u32], halves: &[Vec<u32>; 2], sums: &mut [[f32; 2]]) -> Vec<(f32, u32)> {
    for (side, half) in halves.iter().enumerate() {
        for &(feature, value) in half.iter().flat_map(|&class| &vectors[class as usize]) {
            sums[feature as usize][side] += value;
        }
    }
    let mut scale = [0.0f32; 2];
    for (side, half) in halves.iter().enumerate() {
        let entries = half.iter().flat_map(|&class| &vectors[class as usize]);
        let square: f32 = entries.map(|&(feature, value)| value * sums[feature as usize][side]).sum();
        scale[side] = square.sqrt().max(f32::MIN_POSITIVE).recip();
    }
    let affinity = |class: u32| -> f32 {
        let entries = vectors[class as usize].iter();
        entries
            .map(|&(feature, value)| {
                let [p, q] = sums[feature as usize];
                value * (p * scale[0] - q * scale[1])
            })
            .sum()
    };
    let affinities = classes.iter().map(|&class| (affinity(class), class)).collect();
    for &(feature, _) in halves.iter().flatten().flat_map(|&class| &vectors[class as usize]) {
        sums[feature as usize] = [0.0; 2];
    }
    affinities
}
