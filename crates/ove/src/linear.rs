//! A linear model: scores f_k = w_k·x + b_k, and probabilities by the exact softmax over all classes.
//!
//! A trained model holds a number for every weight, or for every cell that weights share. [`Linear::prune`] keeps those that matter, in
//! 16 bits each, as a [`Level`] whose nodes are blocks of 2¹⁶ classes and have cells for all features.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::data::{Row, Rows};
use crate::error::{Error, Result};
use crate::forest::{Builder, Entry, Index, Level};
use crate::largest::largest;
use crate::machine;
use crate::math::{log_sum_exp, vectorised};
use crate::numbers::Numbers;
use crate::places::Places;
use crate::solve::in_pool;

/// Classes that a 16-bit number tells apart.
const BLOCK: usize = 1 << 16;

/// Weights and biases of all classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    places: Places,
    table: Table,
}

#[derive(Debug, Clone, PartialEq)]
enum Table {
    /// The cells that the places say, then the biases.
    Full(Numbers<f32>),
    /// The weights that were kept, and the biases.
    Pruned(Level, Numbers<f32>),
}

impl Linear {
    /// From a table of (features + 1) × classes numbers, the biases last.
    pub fn new(classes: usize, table: Vec<f32>) -> Self {
        assert!(classes > 0 && !table.is_empty() && table.len().is_multiple_of(classes), "a table of whole rows");
        Linear::with_places(Places::dense(table.len() / classes - 1, classes), table)
    }

    /// From the cells of these places and the biases after them.
    pub fn with_places(places: Places, table: impl Into<Numbers<f32>>) -> Self {
        let table = table.into();
        assert_eq!(table.len(), places.cells() + places.classes(), "all cells and biases");
        Linear { places, table: Table::Full(table) }
    }

    /// From the weights that were kept and a bias for each class.
    pub(crate) fn pruned(level: Level, bias: Numbers<f32>) -> Self {
        Linear { places: Places::dense(level.features(), bias.len()), table: Table::Pruned(level, bias) }
    }

    /// Where the blocks of so many classes start, and where the last one ends.
    pub(crate) fn blocks(classes: usize) -> Vec<usize> {
        (0..classes).step_by(BLOCK).chain([classes]).collect()
    }

    /// Where the weights are.
    pub fn places(&self) -> Places {
        self.places
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.places.classes()
    }

    /// D, without the bias.
    pub fn features(&self) -> usize {
        self.places.features()
    }

    /// The weight of a feature for a class.
    pub fn weight(&self, feature: u32, class: u32) -> f32 {
        match &self.table {
            Table::Full(table) => table[self.places.start(feature) + class as usize],
            Table::Pruned(level, _) => {
                let class = class as usize;
                level.weight_of(feature, class / BLOCK, class % BLOCK)
            }
        }
    }

    /// The biases, K.
    pub fn bias(&self) -> &[f32] {
        match &self.table {
            Table::Full(table) => &table[self.places.cells()..],
            Table::Pruned(_, bias) => bias,
        }
    }

    /// All cells, then the biases: D·K + K numbers if they are dense. Weights that were dropped are zero.
    pub fn table(&self) -> Cow<'_, [f32]> {
        match &self.table {
            Table::Full(table) => Cow::Borrowed(table),
            Table::Pruned(level, bias) => {
                let mut table = vec![0.0; self.places.cells()];
                for (node, feature, entry) in level.entries() {
                    table[feature as usize * self.classes() + node * BLOCK + entry.child()] = entry.weight();
                }
                table.extend_from_slice(bias);
                Cow::Owned(table)
            }
        }
    }

    /// The weights that were kept, if some were dropped.
    pub(crate) fn kept(&self) -> Option<&Level> {
        match &self.table {
            Table::Full(_) => None,
            Table::Pruned(level, _) => Some(level),
        }
    }

    /// How many weights are stored.
    pub fn weights(&self) -> usize {
        self.kept().map_or(self.places.cells(), Level::weights)
    }

    /// Drops the weights below a threshold and keeps the others in 16 bits.
    pub fn prune(&mut self, threshold: f32) -> Result<()> {
        if self.places.is_hashed() {
            return Err(Error::Option {
                name: "prune",
                found: "weights that share cells".into(),
                allowed: "each weight has to have its own; allow more memory".into(),
            });
        }
        let level = match &mut self.table {
            Table::Pruned(level, _) => {
                level.prune(threshold);
                return Ok(());
            }
            Table::Full(table) => kept(self.places, table, threshold)?,
        };
        self.table = Table::Pruned(level, self.bias().to_vec().into());
        Ok(())
    }

    /// Multiplies all weights and biases by a number: the inverse of a temperature.
    pub fn scale(&mut self, factor: f32) {
        if self.kept().is_some() {
            self.table = Table::Full(self.table().into_owned().into());
        }
        if let Table::Full(table) = &mut self.table {
            let mut numbers = std::mem::take(table).into_vec();
            numbers.par_iter_mut().for_each(|weight| *weight *= factor);
            *table = numbers.into();
        }
    }

    /// The same weights for more features and classes, whose own are zero. Weights that share cells leave no room for new classes.
    pub fn grown(&self, features: usize, classes: usize) -> Result<Linear> {
        assert!(features >= self.features() && classes >= self.classes(), "models grow");
        if self.places.is_hashed() {
            if classes > self.classes() {
                return Err(Error::Mismatch {
                    found: format!("{} new classes", classes - self.classes()),
                    allowed: "the weights of the model share cells, which have no place for them".into(),
                });
            }
            let places = Places::hashed(features, classes, self.places.cells());
            return Ok(Linear::with_places(places, self.table().into_owned()));
        }
        let old = self.table();
        let mut table: Vec<f32> = machine::zeroed((features + 1) * classes);
        let (weights, bias) = table.split_at_mut(features * classes);
        for (new, old) in weights.chunks_mut(classes).zip(old[..self.places.cells()].chunks(self.classes())) {
            new[..old.len()].copy_from_slice(old);
        }
        bias[..self.classes()].copy_from_slice(self.bias());
        Ok(Linear::with_places(Places::dense(features, classes), table))
    }

    /// The scores of all classes for a row. Features that the model does not know count as absent.
    pub fn scores(&self, row: Row<'_>, scores: &mut [f32]) {
        let row = row.below(self.features());
        scores.copy_from_slice(self.bias());
        match &self.table {
            Table::Full(table) => add_weights(&table[..self.places.cells()], self.places, row, scores),
            Table::Pruned(level, _) => {
                let mut index = Index::default();
                let blocks = scores.chunks_mut(BLOCK).enumerate();
                blocks.for_each(|(node, scores)| level.add(node, &[row], &mut index, scores));
            }
        }
    }

    /// The `count` most probable classes of each row in a range.
    pub fn top(
        &self,
        rows: Rows<'_>,
        range: Range<usize>,
        count: usize,
        threads: usize,
    ) -> Result<Vec<Vec<Prediction>>> {
        in_pool(threads, || {
            let of_row = |scores: &mut Vec<f32>, n| {
                self.scores(rows.row(n), scores);
                top(scores, count)
            };
            Ok(range.into_par_iter().map_init(|| vec![0.0; self.classes()], of_row).collect())
        })
    }
}

/// The weights of a dense table that are at least this large.
fn kept(places: Places, table: &[f32], threshold: f32) -> Result<Level> {
    let blocks = Linear::blocks(places.classes());
    let (mut builder, mut entries) = (Builder::new(places.features(), blocks.clone()), Vec::new());
    for block in blocks.windows(2) {
        for feature in 0..places.features() as u32 {
            let weights = table[places.of_feature(feature)][block[0]..block[1]].iter().enumerate();
            let large = weights.filter(|(_, weight)| **weight != 0.0 && weight.abs() >= threshold);
            entries.clear();
            entries.extend(large.map(|(child, &weight)| Entry::new(child as u16, weight)));
            builder.push(feature, &entries);
        }
        builder.end_node();
        if builder.is_full() {
            break;
        }
    }
    builder.build().ok_or_else(|| Error::Option {
        name: "prune",
        found: format!("more weights from {threshold} on than a pruned model can hold"),
        allowed: format!("at most {} that are far apart; raise the threshold", u32::MAX / 2),
    })
}

vectorised! {
    /// Adds x_d·(the weights of feature d) to the scores for each feature of a row.
    fn add_weights(weights: &[f32], places: Places, row: Row<'_>, scores: &mut [f32]) {
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            for (score, weight) in scores.iter_mut().zip(&weights[places.of_feature(feature)]) {
                *score += value * weight;
            }
        }
    }
}

/// The probabilities of scores: the exact softmax over all classes, eq. 1.
pub fn probabilities(scores: &[f32]) -> Vec<f64> {
    let total = log_sum_exp(scores.iter().map(|&f| f64::from(f)));
    scores.iter().map(|&f| (f64::from(f) - total).exp()).collect()
}

/// A class with its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The class.
    pub class: u32,
    /// Its probability by the exact softmax over all classes.
    pub probability: f64,
}

/// The `count` classes with the largest scores, best first. Equal scores stand in class order.
pub fn top(scores: &[f32], count: usize) -> Vec<Prediction> {
    let total = log_sum_exp(scores.iter().map(|&f| f64::from(f)));
    let probability = |class: u32| (f64::from(scores[class as usize]) - total).exp();
    let best = largest(scores, count);
    best.into_iter().map(|class| Prediction { class, probability: probability(class) }).collect()
}
