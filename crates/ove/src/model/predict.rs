//! What a model says of rows: the best classes, probabilities, and why.

use std::ops::Range;

use super::Model;
use crate::data::{Row, Rows};
use crate::platform::pool;
use crate::scores::{self, Prediction};

impl Model {
    /// The min(k, K) most probable classes of each row, best first.
    pub fn top_k(&self, rows: Rows<'_>, k: usize) -> Vec<Vec<Prediction>> {
        self.top_k_within(rows, 0..rows.len(), k)
    }

    /// The min(k, K) most probable classes of each row in a range, best first.
    pub fn top_k_within(&self, rows: Rows<'_>, range: Range<usize>, k: usize) -> Vec<Vec<Prediction>> {
        pool::run(|| self.scores.top_k(&rows.iter(range).collect::<Vec<_>>(), k))
    }

    /// The scores f_k(x) of all classes, row after row; trees, which have none, give log probabilities.
    pub fn scores(&self, rows: Rows<'_>) -> Vec<f64> {
        let Some(softmax) = self.scores.softmax() else { return self.log_probabilities(rows) };
        let mut out = vec![0.0; rows.len() * self.classes()];
        pool::run(|| scores::all_scores(softmax, &rows.iter(0..rows.len()).collect::<Vec<_>>(), &mut out));
        out
    }

    /// log p(k | x) of all classes, row after row: N × K numbers.
    ///
    /// Of trees whose rows had several classes, the logarithm of the probability to be one of them. For a few of very
    /// many classes, [`Model::top_k`] needs far less memory.
    pub fn log_probabilities(&self, rows: Rows<'_>) -> Vec<f64> {
        let mut out = vec![0.0; rows.len() * self.classes()];
        let rows: Vec<Row<'_>> = rows.iter(0..rows.len()).collect();
        pool::run(|| self.scores.log_probabilities(&rows, &mut out));
        out
    }

    /// The bias of a class; trees have none.
    pub fn bias(&self, class: u32) -> Option<f32> {
        self.scores.predictor().bias(class)
    }

    /// The weights of a class that are not zero, with their features: what speaks for the class in general.
    pub fn weights_of(&self, class: u32) -> Vec<(u32, f32)> {
        pool::run(|| self.scores.predictor().weights_of(class))
    }

    /// The contribution w·x of each feature of a row to the score of a class, where the model knows the feature.
    pub fn explain(&self, row: Row<'_>, class: u32) -> Vec<(u32, f32)> {
        let predictor = self.scores.predictor();
        let known = row.below(self.features());
        let entries = known.indices.iter().zip(known.values);
        entries.map(|(&feature, &value)| (feature, predictor.weight(feature, class) * value)).collect()
    }
}
