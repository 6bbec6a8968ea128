//! Predictions of a model: top-k classes, probabilities and explanations.

use std::ops::Range;

use super::Model;
use crate::data::{Row, Rows};
use crate::platform::elementary::ln;
use crate::platform::pool;
use crate::scores::{self, Largest, Prediction, log_score};

/// Number of classes that are looked at first for those that reach a threshold.
const FIRST_TOP: usize = 16;

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
        let rows: Vec<Row<'_>> = rows.iter(range).collect();
        self.top_k_of(&rows, k)
    }

    fn top_k_of(&self, rows: &[Row<'_>], k: usize) -> Vec<Vec<Prediction>> {
        let mut tops = pool::run(|| self.scores.top_k(rows, k));
        if let (Some(logistic), Some(_)) = (self.card.logistic, self.scores.softmax()) {
            let of = |found: &mut Prediction| found.probability = logistic.probability(log_score(found.probability));
            tops.iter_mut().flatten().for_each(of);
        }
        if rows.iter().any(|row| self.knows_nothing_of(*row)) {
            let prior = self.prior_top(k);
            let unknown = rows.iter().zip(&mut tops).filter(|(row, _)| self.knows_nothing_of(**row));
            unknown.for_each(|(_, top)| top.clone_from(&prior));
        }
        tops
    }

    /// The labels per row of a range: the classes whose probability reaches a threshold, best first.
    ///
    /// The default threshold is the one that held-out rows chose, for a model of rows with several labels; for others,
    /// the label is the most probable class.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn predict_within(&self, rows: Rows<'_>, range: Range<usize>, threshold: Option<f64>) -> Vec<Vec<Prediction>> {
        let rows: Vec<Row<'_>> = rows.iter(range).collect();
        let chosen = self.several_labels().map(|logistic| f64::from(logistic.threshold));
        let Some(threshold) = threshold.or(chosen) else { return self.top_k_of(&rows, 1) };
        let mut found = vec![Vec::new(); rows.len()];
        // Twice as many classes as long as all of them reach the threshold.
        let (mut left, mut k): (Vec<usize>, usize) = ((0..rows.len()).collect(), FIRST_TOP);
        while !left.is_empty() {
            let rows: Vec<Row<'_>> = left.iter().map(|&n| rows[n]).collect();
            let mut again = Vec::new();
            for (n, mut top) in left.into_iter().zip(self.top_k_of(&rows, k)) {
                let count = top.iter().take_while(|found| found.probability >= threshold).count();
                match count < top.len() || k >= self.classes() {
                    true => {
                        top.truncate(count);
                        found[n] = top;
                    }
                    false => again.push(n),
                }
            }
            (left, k) = (again, 2 * k);
        }
        found
    }

    /// Whether a row has no feature that the model knows, so that the probabilities are those of the classes in the
    /// training rows: for models of texts, and for trees, which have no bias.
    pub fn knows_nothing_of(&self, row: Row<'_>) -> bool {
        let has_prior = self.card.text.is_some() || self.scores.softmax().is_none();
        has_prior && row.below(self.features()).values.iter().all(|&value| value == 0.0)
    }

    /// The share of the training rows, or of their labels if each has one, that have a class.
    fn prior(&self, class: u32) -> f64 {
        let of = match self.several_labels() {
            Some(_) => self.card.rows as f64,
            None => self.card.counts.iter().map(|&count| count as f64).sum(),
        };
        (self.card.counts[class as usize] as f64 / of.max(1.0)).min(1.0)
    }

    pub(super) fn prior_top(&self, k: usize) -> Vec<Prediction> {
        let mut classes: Vec<u32> = (0..self.classes() as u32).collect();
        classes.sort_by_key(|&class| std::cmp::Reverse(self.card.counts[class as usize]));
        classes.truncate(k);
        classes.into_iter().map(|class| Prediction { class, probability: self.prior(class) }).collect()
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
    /// For models of rows with several labels, it is the log probability that the class is one of the labels.
    /// With very many classes, [`Model::top_k`] needs far less memory.
    pub fn log_probabilities(&self, rows: Rows<'_>) -> Vec<f64> {
        let mut out = vec![0.0; rows.len() * self.classes()];
        let rows: Vec<Row<'_>> = rows.iter(0..rows.len()).collect();
        pool::run(|| self.scores.log_probabilities(&rows, &mut out));
        if let (Some(logistic), Some(_)) = (self.card.logistic, self.scores.softmax()) {
            out.iter_mut().for_each(|log| *log = logistic.log_probability(*log));
        }
        let mut prior = Vec::new();
        for (_, out) in rows.iter().zip(out.chunks_mut(self.classes())).filter(|(row, _)| self.knows_nothing_of(**row))
        {
            if prior.is_empty() {
                prior = (0..out.len() as u32).map(|class| ln(self.prior(class))).collect();
            }
            out.copy_from_slice(&prior);
        }
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
