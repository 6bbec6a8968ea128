//! Sampling of negatives: the classes that a row visits, with importance weights.
//!
//! The contract: for any function g of a class, and for any set of excluded classes (the row's labels, those in C),
//!
//! ```text
//! E[ Σ_{m drawn} w_m g(m) ] = Σ_{m not excluded} g(m)
//! ```
//!
//! so that the sampled bound and gradient are unbiased (section 3). There is no rejection sampling: excluded classes
//! are skipped by rank, so the cost of a draw does not depend on their number.
//!
//! `uniform` is the paper's simple random subset without replacement. `systematic`, the default, draws S classes at
//! equal distances from a random start, and in the next epoch their successors. Each class is equally likely in each
//! draw; over (K − 1)/S epochs a row visits every negative once, just as shuffling visits every row once per epoch. Up
//! to 1024 classes, a systematic draw is spread over all classes, since neighbours may be similar. Above, it takes
//! adjacent classes, whose weights for a feature lie in one or two cache lines and in one page of memory: with S = 10
//! of a million classes that gives 308,000 updates/s instead of 174,000, with about the same error after the same
//! number of epochs. Error with spread and with adjacent classes, five epochs: AmazonCat's shape .336 and .335,
//! EURLEX57K by the first concept .541 and .532, titles by the first subject .823 and .827.

mod merged;
mod rivals;

use crate::data::Examples;
use crate::data::Row;
use crate::platform::elementary::powf;
use crate::platform::names::names;
use crate::platform::random::Stream;
pub(crate) use merged::most_frequent;
pub(crate) use rivals::Rivals;

/// Number of classes up to which systematic draws are spread over all classes.
///
/// Up to here the weights of a feature fit in a page of memory, and a spread draw costs little more than adjacent
/// classes.
const SPREAD: usize = 1024;

/// The distribution that negatives are drawn from, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SamplerKind {
    /// A simple random subset: distinct classes, every subset equally likely.
    Uniform,
    /// Distinct classes, each equally likely, at equal distances or adjacent.
    Systematic,
    /// Class m with probability proportional to (count of m)^power, with replacement and importance weights.
    Frequency,
    /// Hard negatives: classes of training rows that share a feature with the row, with replacement and importance
    /// weights.
    Rivals,
}

names!(SamplerKind, "sampler", { Uniform => "uniform", Systematic => "systematic", Frequency => "frequency",
    Rivals => "rivals" });

/// The key of a draw: everything that its random numbers depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawKey {
    /// The seed of the run.
    pub seed: u64,
    /// The row.
    pub row: u64,
    /// Number of earlier visits of the row.
    pub epoch: u64,
}

/// Draws negatives for one row at a time.
#[derive(Debug, Clone)]
pub(crate) enum Sampler {
    /// Simple random subsets.
    Uniform {
        /// Number of classes.
        classes: usize,
    },
    /// Systematic draws.
    Systematic {
        /// Number of classes.
        classes: usize,
    },
    /// Draws in proportion to an integer mass per class, so that probabilities and weights are exact.
    Frequency {
        /// Running sums: `cumulative[m]` is the mass of all classes before m, and the last entry is the total.
        cumulative: Vec<u64>,
    },
    /// Hard negatives: classes that overlap with the row, more often.
    Rivals(Rivals),
}

impl Sampler {
    /// Builds a sampler for the classes of these examples.
    ///
    /// A class that never occurs counts as occurring once, so that every class can be drawn.
    pub fn new(kind: SamplerKind, examples: &Examples<'_>, power: f64) -> Self {
        match kind {
            SamplerKind::Uniform => Sampler::Uniform { classes: examples.classes },
            SamplerKind::Systematic => Sampler::Systematic { classes: examples.classes },
            SamplerKind::Rivals => Sampler::Rivals(Rivals::new(examples)),
            SamplerKind::Frequency => {
                let counts = examples.counts();
                let largest = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
                // The largest mass is 2³²: 2³¹ classes still sum within 64 bits.
                let mass = |&count: &u64| {
                    let share = powf(count.max(1) as f64 / largest, power);
                    ((share * 4_294_967_296.0).round() as u64).max(1)
                };
                let running = counts.iter().scan(0, |sum, count| {
                    *sum += mass(count);
                    Some(*sum)
                });
                Sampler::Frequency { cumulative: std::iter::once(0).chain(running).collect() }
            }
        }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        match self {
            Sampler::Uniform { classes } | Sampler::Systematic { classes } => *classes,
            Sampler::Frequency { cumulative } => cumulative.len() - 1,
            Sampler::Rivals(rivals) => rivals.classes,
        }
    }

    /// Draws `count` classes for a row and appends them and their weights.
    ///
    /// None of them is in `excluded` (sorted, distinct). If at most `count` classes remain, each is taken once with
    /// weight 1, and nothing is random.
    #[inline]
    pub fn draw(
        &self,
        row: Row<'_>,
        key: DrawKey,
        excluded: &[u32],
        count: usize,
        classes: &mut Vec<u32>,
        weights: &mut Vec<f64>,
    ) {
        let remaining = self.classes() - excluded.len();
        if remaining <= count {
            classes.extend((0..remaining as u64).map(|rank| skip_excluded(rank, excluded)));
            weights.extend(std::iter::repeat_n(1.0, remaining));
            return;
        }
        match self {
            Sampler::Uniform { .. } => {
                subset(key, remaining as u64, count, |rank| classes.push(skip_excluded(rank, excluded)));
                weights.extend(std::iter::repeat_n(remaining as f64 / count as f64, count));
            }
            Sampler::Systematic { .. } => {
                let turns = (remaining / count) as u64;
                let start = Stream::of(&[key.seed, key.row, key.epoch / turns]).below(remaining as u64);
                let (distance, shift) = if self.classes() <= SPREAD { (turns, 1) } else { (1, count as u64) };
                let rank = |i: u64| (start + key.epoch % turns * shift + i * distance) % remaining as u64;
                classes.extend((0..count as u64).map(|i| skip_excluded(rank(i), excluded)));
                weights.extend(std::iter::repeat_n(remaining as f64 / count as f64, count));
            }
            Sampler::Rivals(rivals) => rivals.draw(row, key, excluded, count, classes, weights),
            Sampler::Frequency { cumulative } => {
                let mass = |class: u32| cumulative[class as usize + 1] - cumulative[class as usize];
                let remaining_mass =
                    cumulative[cumulative.len() - 1] - excluded.iter().map(|&class| mass(class)).sum::<u64>();
                let mut random = Stream::of(&[key.seed, key.row, key.epoch]);
                for _ in 0..count {
                    let mut at = random.below(remaining_mass);
                    for &class in excluded {
                        if at >= cumulative[class as usize] {
                            at += mass(class);
                        }
                    }
                    let class = cumulative.partition_point(|&start| start <= at) - 1;
                    classes.push(class as u32);
                    weights.push(remaining_mass as f64 / (count as f64 * mass(class as u32) as f64));
                }
            }
        }
    }
}

/// Draws a simple random subset of `count` ranks below `remaining` (Floyd's algorithm).
///
/// Every subset is equally likely, nothing is drawn twice, and the cost does not depend on `remaining`.
fn subset(key: DrawKey, remaining: u64, count: usize, mut take: impl FnMut(u64)) {
    let mut random = Stream::of(&[key.seed, key.row, key.epoch]);
    let mut drawn: Vec<u64> = Vec::with_capacity(count);
    for last in remaining - count as u64..remaining {
        let any = random.below(last + 1);
        let rank = match drawn.binary_search(&any) {
            // Then take the last one, which cannot have been drawn: it is larger than all so far.
            Ok(_) => {
                drawn.push(last);
                last
            }
            Err(at) => {
                drawn.insert(at, any);
                any
            }
        };
        take(rank);
    }
}

/// The class with a given rank among those that are not excluded.
#[inline]
fn skip_excluded(rank: u64, excluded: &[u32]) -> u32 {
    let mut class = rank as u32;
    for &e in excluded {
        if class < e {
            break;
        }
        class += 1;
    }
    class
}

#[cfg(test)]
mod tests {
    use super::SamplerKind::Rivals;
    use super::*;
    use crate::data::Dataset;

    const COUNTS: [u64; 7] = [50, 0, 3, 900, 1, 20, 7];

    /// Rows with the given number of rows per class, and features shared by all, some and one class. Class 1 never
    /// occurs.
    fn data(counts: &[u64]) -> Dataset {
        let mut data = Dataset::new(5, counts.iter().map(u64::to_string).collect());
        for (class, &count) in counts.iter().enumerate() {
            for n in 0..count {
                let features = [0, 1 + class % 3, 4];
                let own = if n % 2 == 0 { 2 } else { 3 };
                features[..own].iter().for_each(|&feature| data.push_entry(feature as u32, 1.0 + class as f32));
                data.end_row(&[class as u32]);
            }
        }
        data
    }

    fn sampler(kind: SamplerKind, data: &Dataset, power: f64) -> Sampler {
        Sampler::new(kind, &Examples::of(data), power)
    }

    /// E[Σ w_m g(m)] = Σ g(m) for g = the indicator of each class, which covers every g. A wrong weight shifts the mean
    /// by far more than the five standard errors allowed here.
    fn check_contract(sampler: &Sampler, of: Row<'_>, excluded: &[u32], count: usize) {
        let (draws, all) = (200_000, sampler.classes());
        let (mut sum, mut square) = (vec![0.0; all], vec![0.0; all]);
        let (mut classes, mut weights) = (Vec::new(), Vec::new());
        for row in 0..draws {
            classes.clear();
            weights.clear();
            let key = DrawKey { seed: 3, row, epoch: row % 5 };
            sampler.draw(of, key, excluded, count, &mut classes, &mut weights);
            let mut estimate = vec![0.0; all];
            for (&class, &weight) in classes.iter().zip(&weights) {
                estimate[class as usize] += weight;
            }
            for k in 0..all {
                sum[k] += estimate[k];
                square[k] += estimate[k] * estimate[k];
            }
        }
        for k in 0..all as u32 {
            let (mean, square) = (sum[k as usize] / draws as f64, square[k as usize] / draws as f64);
            let truth = if excluded.contains(&k) { 0.0 } else { 1.0 };
            let error = ((square - mean * mean).max(0.0) / draws as f64).sqrt();
            assert!(
                (mean - truth).abs() <= 5.0 * error + 1e-12,
                "class {k}, {count} drawn but {excluded:?}: mean weight {mean} ± {error}"
            );
        }
    }

    #[test]
    fn every_sampler_keeps_the_contract() {
        let data = data(&COUNTS);
        // Two features that many classes share; and none, where nothing overlaps.
        let rows = [data.rows().row(1), Row { indices: &[], values: &[] }];
        for &kind in SamplerKind::ALL {
            for (power, row) in [0.5, 1.0].into_iter().zip(rows) {
                let sampler = sampler(kind, &data, power);
                for excluded in [&[3][..], &[0], &[6], &[0, 3, 4]] {
                    for count in [1, 2, 3, 10] {
                        check_contract(&sampler, row, excluded, count);
                    }
                }
            }
        }
    }

    /// More draws than features that a visit uses, some of which are then drawn from more than once.
    #[test]
    fn many_rivals_keep_the_contract() {
        let data = data(&[5, 3, 1, 9, 2, 7, 4, 30, 1, 6, 2, 3, 8, 5, 1, 2]);
        check_contract(&sampler(Rivals, &data, 1.0), data.rows().row(1), &[0, 7], 11);
    }

    #[test]
    fn another_epoch_draws_other_classes() {
        let data = data(&COUNTS);
        for &kind in SamplerKind::ALL {
            let sampler = sampler(kind, &data, 1.0);
            let of_epoch = |epoch: u64| {
                let (mut classes, mut weights) = (Vec::new(), Vec::new());
                for row in 0..100 {
                    let key = DrawKey { seed: 2, row, epoch };
                    sampler.draw(data.rows().row(1), key, &[3], 2, &mut classes, &mut weights);
                }
                classes
            };
            assert!(of_epoch(0) == of_epoch(0) && of_epoch(0) != of_epoch(1), "{kind}");
        }
    }

    #[test]
    fn frequency_draws_in_proportion_to_a_power_of_the_counts() {
        let data = data(&COUNTS);
        for power in [0.0, 0.5, 1.0] {
            let sampler = sampler(SamplerKind::Frequency, &data, power);
            let (mut classes, mut weights) = (Vec::new(), Vec::new());
            for row in 0..20_000 {
                let key = DrawKey { seed: 6, row, epoch: 0 };
                sampler.draw(data.rows().row(0), key, &[3], 2, &mut classes, &mut weights);
            }
            let mass = |class: usize| if class == 3 { 0.0 } else { (COUNTS[class].max(1) as f64).powf(power) };
            let total: f64 = (0..7).map(mass).sum();
            for class in 0..7 {
                let share = classes.iter().filter(|&&drawn| drawn == class as u32).count() as f64 / 40_000.0;
                assert!((share - mass(class) / total).abs() < 0.015, "class {class}, power {power}: {share}");
            }
        }
    }

    /// Each class has a feature of its own, and a row has them all.
    #[test]
    fn rivals_are_drawn_by_all_features_of_a_row() {
        let mut data = Dataset::new(10, (0..10).map(|k| k.to_string()).collect());
        for class in 0..10 {
            data.push_entry(class, 1.0);
            data.end_row(&[class]);
        }
        let sampler = sampler(Rivals, &data, 1.0);
        let (mut classes, mut weights) = (Vec::new(), Vec::new());
        let row = Row { indices: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], values: &[1.0; 10] };
        for n in 0..20_000 {
            sampler.draw(row, DrawKey { seed: 1, row: n, epoch: 0 }, &[], 4, &mut classes, &mut weights);
        }
        for class in 0..10 {
            let share = classes.iter().filter(|&&drawn| drawn == class).count() as f64 / classes.len() as f64;
            assert!((share - 0.1).abs() < 0.03, "class {class}: {share}");
        }
    }

    #[test]
    fn systematic_draws_go_round_all_classes_but_the_excluded() {
        // Few classes, and enough classes that adjacent ones are drawn.
        for (all, count) in [(12, 3), (3 + 3 * SPREAD as u32, SPREAD)] {
            let sampler = Sampler::Systematic { classes: all as usize };
            let excluded = [2, 3, all - 1];
            for row in 0..50 {
                let mut visited = Vec::new();
                for epoch in 6..9 {
                    let (mut classes, mut weights) = (Vec::new(), Vec::new());
                    let (key, of) = (DrawKey { seed: 0, row, epoch }, Row { indices: &[], values: &[] });
                    sampler.draw(of, key, &excluded, count, &mut classes, &mut weights);
                    assert!(weights.iter().all(|&weight| weight == 3.0));
                    visited.extend(classes);
                }
                visited.sort_unstable();
                assert!(visited.into_iter().eq((0..all).filter(|class| !excluded.contains(class))));
            }
        }
    }

    /// All subsets of three of the six classes that are not excluded, by χ²: with 19 degrees of freedom, 43.8 is
    /// exceeded once in a thousand times. Neighbours, or classes at equal distances, would leave most subsets out.
    #[test]
    fn uniform_draws_every_subset_equally_often() {
        let (sampler, excluded, draws) = (Sampler::Uniform { classes: 8 }, [2, 5], 40_000);
        let mut times = std::collections::BTreeMap::new();
        for row in 0..draws {
            let (mut classes, mut weights) = (Vec::new(), Vec::new());
            let (key, of) = (DrawKey { seed: 9, row, epoch: row % 3 }, Row { indices: &[], values: &[] });
            sampler.draw(of, key, &excluded, 3, &mut classes, &mut weights);
            assert_eq!(weights, [2.0; 3]);
            classes.sort_unstable();
            *times.entry(classes).or_insert(0) += 1;
        }
        let subset_is_one = |subset: &Vec<u32>| {
            subset.len() == 3
                && subset.is_sorted_by(|a, b| a < b)
                && subset.iter().all(|k| *k < 8 && !excluded.contains(k))
        };
        assert!(times.len() == 20 && times.keys().all(subset_is_one), "{times:?}");
        let expected = draws as f64 / 20.0;
        let chi: f64 = times.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        assert!(chi < 43.8, "χ² = {chi}: {times:?}");
        // If at most that many remain, all of them.
        let (mut classes, mut weights) = (Vec::new(), Vec::new());
        let (key, of) = (DrawKey { seed: 9, row: 0, epoch: 0 }, Row { indices: &[], values: &[] });
        sampler.draw(of, key, &excluded, 6, &mut classes, &mut weights);
        assert_eq!((classes, weights), (vec![0, 1, 3, 4, 6, 7], vec![1.0; 6]));
    }

    /// Adjacent classes are drawn together, but each class as often as any other.
    #[test]
    fn of_many_classes_each_is_equally_likely() {
        let (all, count, draws) = (SPREAD + 76, 10, 200_000);
        let sampler = Sampler::Systematic { classes: all };
        let (mut classes, mut weights, mut drawn) = (Vec::new(), Vec::new(), vec![0u32; all]);
        for row in 0..draws {
            classes.clear();
            let (key, of) = (DrawKey { seed: 5, row, epoch: row % 7 }, Row { indices: &[], values: &[] });
            sampler.draw(of, key, &[0, 500], count, &mut classes, &mut weights);
            classes.iter().for_each(|&class| drawn[class as usize] += 1);
        }
        let expected = draws as f64 * count as f64 / (all - 2) as f64;
        assert_eq!((drawn[0], drawn[500]), (0, 0));
        for (class, &times) in drawn.iter().enumerate().filter(|(class, _)| ![0, 500].contains(class)) {
            assert!(
                (f64::from(times) - expected).abs() < 6.0 * expected.sqrt(),
                "class {class}: {times}, not {expected}"
            );
        }
    }

    /// A class's share of the draws that use the overlap is its share of the overlapping rows: feature 3 is that of
    /// classes 2 and 5, which have 3 and 20 rows.
    #[test]
    fn rivals_are_those_that_share_a_feature() {
        let data = data(&COUNTS);
        let sampler = sampler(Rivals, &data, 1.0);
        let (mut classes, mut weights) = (Vec::new(), Vec::new());
        let row = Row { indices: &[3], values: &[0.5] };
        for n in 0..20_000 {
            sampler.draw(row, DrawKey { seed: 1, row: n, epoch: 0 }, &[6], 4, &mut classes, &mut weights);
        }
        let share = |class| classes.iter().filter(|&&drawn| drawn == class).count() as f64 / classes.len() as f64;
        for (class, expected) in [(5, 0.8 * 20.0 / 23.0 + 0.2 / 6.0), (2, 0.8 * 3.0 / 23.0 + 0.2 / 6.0), (1, 0.2 / 6.0)]
        {
            assert!((share(class) - expected).abs() < 0.01, "class {class}: {}, not {expected}", share(class));
        }
    }
}
