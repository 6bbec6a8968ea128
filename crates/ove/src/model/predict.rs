//! Predictions of a model: top-k classes, probabilities and explanations.

use std::ops::Range;

use super::Model;
use crate::data::{Row, Rows};
use crate::platform::pool;
use crate::scores::{self, Largest, Prediction};

/// The largest weights of a class, with their features; those of the largest magnitude come first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LargestWeights {
    /// Positive weights, which speak for the class.
    pub positive: Vec<(u32, f32)>,
    /// Negative weights, which speak against it.
    pub negative: Vec<(u32, f32)>,
}

impl Model {
    /// The min(k, K) most probable classes per row, best first.
    pub fn top_k(&self, rows: Rows<'_>, k: usize) -> Vec<Vec<Prediction>> {
        self.top_k_within(rows, 0..rows.len(), k)
    }

    /// The min(k, K) most probable classes per row of a range, best first.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn top_k_within(&self, rows: Rows<'_>, range: Range<usize>, k: usize) -> Vec<Vec<Prediction>> {
        pool::run(|| self.scores.top_k(&rows.iter(range).collect::<Vec<_>>(), k))
    }

    /// The scores f_k(x) of all classes, row by row; for trees, which have none, the log probabilities.
    pub fn scores(&self, rows: Rows<'_>) -> Vec<f64> {
        let Some(softmax) = self.scores.softmax() else { return self.log_probabilities(rows) };
        let mut out = vec![0.0; rows.len() * self.classes()];
        pool::run(|| scores::all_scores(softmax, &rows.iter(0..rows.len()).collect::<Vec<_>>(), &mut out));
        out
    }

    /// log p(k | x) of all classes, row by row: rows × classes numbers.
    ///
    /// For trees trained on rows with several labels, it is the log probability that the class is one of the labels.
    /// With very many classes, [`Model::top_k`] needs far less memory.
    pub fn log_probabilities(&self, rows: Rows<'_>) -> Vec<f64> {
        let mut out = vec![0.0; rows.len() * self.classes()];
        let rows: Vec<Row<'_>> = rows.iter(0..rows.len()).collect();
        pool::run(|| self.scores.log_probabilities(&rows, &mut out));
        out
    }

    /// The bias of a class; trees have none.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn bias(&self, class: u32) -> Option<f32> {
        self.scores.predictor().bias(class)
    }

    /// The non-zero weights of a class, with their features: a list of up to all features.
    /// [`Model::largest_weights`] takes less memory.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn weights_of(&self, class: u32) -> Vec<(u32, f32)> {
        let mut weights = Vec::new();
        pool::run(|| {
            self.scores.predictor().each_weight(class, &mut |feature, weight| weights.push((feature, weight)))
        });
        weights
    }

    /// The `count` largest positive and the `count` largest negative weights of a class, with their features, those of
    /// the largest magnitude first, ties by feature.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn largest_weights(&self, class: u32, count: usize) -> LargestWeights {
        let (mut positive, mut negative) = (Largest::new(count), Largest::new(count));
        let take = &mut |feature, weight| {
            positive.push(feature, weight);
            negative.push(feature, -weight);
        };
        pool::run(|| self.scores.predictor().each_weight(class, take));
        let negative = negative.finish().into_iter().map(|(feature, magnitude)| (feature, -magnitude)).collect();
        LargestWeights { positive: positive.finish(), negative }
    }

    /// The contribution w·x of each feature of a row to the score of a class, for the features that the model has.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn explain(&self, row: Row<'_>, class: u32) -> Vec<(u32, f32)> {
        let predictor = self.scores.predictor();
        let known = row.below(self.features());
        let entries = known.indices.iter().zip(known.values);
        entries.map(|(&feature, &value)| (feature, predictor.weight(feature, class) * value)).collect()
    }
}
