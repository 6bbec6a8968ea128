//! Hard negatives: classes of training rows that share a feature with the row.
//!
//! The classes with large σ(f_m − f_y), which dominate the gradient of eq. 16, are mostly among them: this is the
//! importance sampling that the paper leaves for later. A visit uses a few of the row's features, more often those with
//! large values and few rows. Its s-th draw takes a label of a random training row with feature d_s, or with
//! probability ε any class:
//!
//! ```text
//! q_s(m) = (1 − ε) N_{d_s m} / N_{d_s} + ε / K'        w_m = 1 / Σ_s q_s(m)
//! ```
//!
//! where N_dm of the N_d labels of rows with feature d are of class m, both without the excluded classes, and K' is the
//! number of classes that are not excluded. The weight is one over the expected number of draws of m, for any features:
//! E[Σ w_m g(m)] = Σ_m Σ_s q_s(m) g(m) / Σ_t q_t(m) = Σ_m g(m). No weight exceeds K'/(S ε).

use std::ops::Range;

use super::{DrawKey, skip_excluded};
use crate::data::{Examples, Row};
use crate::platform::random::Stream;

/// ε, the share of draws among all classes.
const ANY: f64 = 0.2;

/// Maximum number of features that a visit uses: the weight of a drawn class takes a binary search in each.
const FEATURES: usize = 8;

/// For each feature, the classes of the training rows that have it, in eight bytes per (feature, class) pair.
#[derive(Debug, Clone)]
pub(crate) struct Rivals {
    /// Number of classes.
    pub(super) classes: usize,
    /// The pairs of feature d are `offsets[d]..offsets[d + 1]`, in class order.
    offsets: Vec<usize>,
    /// The class of each pair.
    rivals: Vec<u32>,
    /// Running sums of N_dm within a feature.
    cumulative: Vec<u32>,
    /// 1/√N_d, the weight of a feature relative to its value; 0 if no row has it.
    rarity: Vec<f32>,
}

impl Rivals {
    /// Builds the index: counts the labels of the rows with each feature.
    pub fn new(examples: &Examples<'_>) -> Self {
        let (starts, mut labels) = labels_by_feature(examples);
        let mut index = Rivals {
            classes: examples.classes,
            offsets: vec![0],
            rivals: Vec::new(),
            cumulative: Vec::new(),
            rarity: Vec::with_capacity(examples.rows.features()),
        };
        for range in starts.windows(2) {
            let of_feature = &mut labels[range[0]..range[1]];
            of_feature.sort_unstable();
            let mut sum = 0;
            for same in of_feature.chunk_by(|a, b| a == b) {
                sum += same.len() as u32;
                index.rivals.push(same[0]);
                index.cumulative.push(sum);
            }
            index.offsets.push(index.rivals.len());
            index.rarity.push(if sum == 0 { 0.0 } else { 1.0 / (sum as f32).sqrt() });
        }
        index
    }

    /// [`Sampler::draw`](super::Sampler::draw) if more than `count` classes remain.
    pub(super) fn draw(
        &self,
        row: Row<'_>,
        key: DrawKey,
        excluded: &[u32],
        count: usize,
        classes: &mut Vec<u32>,
        weights: &mut Vec<f64>,
    ) {
        let mut random = Stream::of(&[key.seed, key.row, key.epoch]);
        let remaining = (self.classes - excluded.len()) as u64;
        let used = count.min(FEATURES);
        let overlaps = self.overlaps(row, used, random.uniform());
        let proposals = overlaps.map(|overlap| Proposal::new(overlap, excluded));
        let first = classes.len();
        for draw in 0..count {
            let Proposal { overlap, mass } = proposals[draw % used];
            let any = mass == 0 || random.uniform() < ANY;
            classes.push(match any {
                true => skip_excluded(random.below(remaining), excluded),
                false => overlap.class_at(random.below(mass.into()) as u32, excluded),
            });
        }
        weights.extend(classes[first..].iter().map(|&class| {
            let draws = |i: usize| ((count + used - 1 - i) / used) as f64;
            let from = |(i, proposal): (usize, &Proposal<'_>)| draws(i) * proposal.probability(class, remaining);
            1.0 / proposals[..used].iter().enumerate().map(from).sum::<f64>()
        }));
    }

    /// The `used` features of a visit: at equal distances along the running sum of |x_d|/√N_d, from a random start. A
    /// row without features overlaps with nothing.
    fn overlaps(&self, row: Row<'_>, used: usize, start: f64) -> [Overlap<'_>; FEATURES] {
        let share = |&feature: &u32, value: &f32| f64::from(value.abs() * self.rarity[feature as usize]);
        let entries = || row.indices.iter().zip(row.values);
        let distance = entries().map(|(feature, value)| share(feature, value)).sum::<f64>() / used as f64;
        let mut overlaps = [Overlap::default(); FEATURES];
        let (mut sum, mut next) = (0.0, 0);
        for (feature, value) in entries() {
            sum += share(feature, value);
            while next < used && sum > (next as f64 + start) * distance {
                overlaps[next] = self.overlap(*feature);
                next += 1;
            }
        }
        overlaps
    }

    fn overlap(&self, feature: u32) -> Overlap<'_> {
        let range = self.offsets[feature as usize]..self.offsets[feature as usize + 1];
        Overlap { classes: &self.rivals[range.clone()], cumulative: &self.cumulative[range] }
    }
}

/// The proposal distribution q_s of some of the draws.
#[derive(Clone, Copy)]
struct Proposal<'a> {
    overlap: Overlap<'a>,
    /// N_d without the excluded classes. If it is 0, all draws are among all classes.
    mass: u32,
}

impl<'a> Proposal<'a> {
    fn new(overlap: Overlap<'a>, excluded: &[u32]) -> Self {
        let mass_of = |&class: &u32| overlap.mass(class).len() as u32;
        Proposal { overlap, mass: overlap.total() - excluded.iter().map(mass_of).sum::<u32>() }
    }

    /// q_s(m) for K' = `remaining`.
    fn probability(&self, class: u32, remaining: u64) -> f64 {
        let any = 1.0 / remaining as f64;
        if self.mass == 0 {
            return any;
        }
        let overlapping = self.overlap.mass(class).len() as f64 / f64::from(self.mass);
        (1.0 - ANY) * overlapping + ANY * any
    }
}

/// The classes of the training rows with one feature.
#[derive(Clone, Copy, Default)]
struct Overlap<'a> {
    /// In increasing order.
    classes: &'a [u32],
    /// Running sums of their counts.
    cumulative: &'a [u32],
}

impl Overlap<'_> {
    /// N_d.
    fn total(&self) -> u32 {
        self.cumulative.last().copied().unwrap_or(0)
    }

    /// The range of a class's N_dm labels among all N_d.
    fn mass(&self, class: u32) -> Range<u32> {
        match self.classes.binary_search(&class) {
            Ok(0) => 0..self.cumulative[0],
            Ok(i) => self.cumulative[i - 1]..self.cumulative[i],
            Err(_) => 0..0,
        }
    }

    /// The class of the label with a given rank among those of the classes that are not excluded.
    fn class_at(&self, mut at: u32, excluded: &[u32]) -> u32 {
        for &class in excluded {
            let mass = self.mass(class);
            if at >= mass.start {
                at += mass.len() as u32;
            }
        }
        self.classes[self.cumulative.partition_point(|&sum| sum <= at)]
    }
}

/// The labels of the rows with each feature, feature by feature, preceded by the start offset of each feature.
fn labels_by_feature(examples: &Examples<'_>) -> (Vec<usize>, Vec<u32>) {
    let rows = || examples.ids().map(|id| (examples.rows.row(id), &examples.labels[id]));
    let mut ends = vec![0; examples.rows.features() + 1];
    for (row, labels) in rows() {
        row.indices.iter().for_each(|&feature| ends[feature as usize + 1] += labels.len());
    }
    for d in 1..ends.len() {
        ends[d] += ends[d - 1];
    }
    let starts = ends.clone();
    let mut all = vec![0; ends[ends.len() - 1]];
    for (row, labels) in rows() {
        for &feature in row.indices {
            let end = &mut ends[feature as usize];
            all[*end..*end + labels.len()].copy_from_slice(labels);
            *end += labels.len();
        }
    }
    (starts, all)
}
