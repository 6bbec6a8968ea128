//! Factored scores f_k(x) = (Σ_d x_d u_d)·v_k + b_k: an embedding of `rank` numbers per feature and per class.

use rayon::prelude::*;

use super::softmax::SoftmaxScores;
use super::{Predictor, Probabilities, Scores, Shape};
use crate::data::Row;
use crate::error::{Error, Result};
use crate::io::tensors::Tensor;
use crate::platform::mapped_slice::MappedSlice;
use crate::platform::math::{lanes, product};
use crate::platform::memory::prefetch;
use crate::platform::simd::vectorised;

/// Factored scores: the vectors of features and classes, and the biases.
#[derive(Debug, Clone, PartialEq)]
pub struct Factored {
    rank: usize,
    /// The vectors u_d, features × rank.
    features: MappedSlice<f32>,
    /// The vectors v_k, classes × rank.
    classes: MappedSlice<f32>,
    /// One bias per class.
    bias: MappedSlice<f32>,
}

impl Factored {
    /// From tables of vectors of length `rank` and a bias per class.
    ///
    /// # Panics
    /// If `rank` is 0, a table is not made of whole vectors, or there is not one class vector per bias.
    pub fn new(
        rank: usize,
        features: impl Into<MappedSlice<f32>>,
        classes: impl Into<MappedSlice<f32>>,
        bias: impl Into<MappedSlice<f32>>,
    ) -> Self {
        let (features, classes, bias) = (features.into(), classes.into(), bias.into());
        assert!(rank > 0 && features.len().is_multiple_of(rank) && classes.len() == rank * bias.len(), "whole vectors");
        Factored { rank, features, classes, bias }
    }

    /// Length of the vectors.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features.len() / self.rank
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.bias.len()
    }

    /// The vector of a feature.
    ///
    /// # Panics
    /// If there is no such feature.
    pub fn feature(&self, feature: u32) -> &[f32] {
        &self.features[feature as usize * self.rank..][..self.rank]
    }

    /// The vector of a class.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn class(&self, class: u32) -> &[f32] {
        &self.classes[class as usize * self.rank..][..self.rank]
    }

    /// The biases, one per class.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    pub(crate) fn features_table(&self) -> &[f32] {
        &self.features
    }

    pub(crate) fn classes_table(&self) -> &[f32] {
        &self.classes
    }

    /// Computes Σ_d x_d u_d, the vector of a row. Features that the model does not have are ignored.
    ///
    /// # Panics
    /// If `hidden` is not of length `rank`.
    fn embed(&self, row: Row<'_>, hidden: &mut [f32]) {
        hidden.fill(0.0);
        embed(&self.features, row.below(self.features()), hidden);
    }
}

vectorised! {
    fn embed(features: &[f32], row: Row<'_>, hidden: &mut [f32]) {
        let rank = hidden.len();
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            let vector = &features[feature as usize * rank..][..rank];
            for (hidden, number) in hidden.iter_mut().zip(vector) {
                *hidden += value * number;
            }
        }
    }
}

/// Prefetch distance, in classes.
const AHEAD: usize = 4;

vectorised! {
    /// Adds h·v_k to the score of each class.
    fn add_products(classes: &[f32], hidden: &[f32], scores: &mut [f32]) {
        let rank = hidden.len();
        for (at, (score, vector)) in scores.iter_mut().zip(classes.chunks_exact(rank)).enumerate() {
            if let Some(next) = classes.get((at + AHEAD) * rank) {
                prefetch(next);
            }
            *score += lanes(hidden, vector, |a, b| a * b);
        }
    }
}

impl SoftmaxScores for Factored {
    fn scores(&self, row: Row<'_>, scores: &mut [f32]) {
        let mut hidden = vec![0.0; self.rank];
        self.embed(row, &mut hidden);
        scores.copy_from_slice(&self.bias);
        add_products(&self.classes, &hidden, scores);
    }

    fn classes(&self) -> usize {
        self.bias.len()
    }
}

impl Predictor for Factored {
    fn shape(&self) -> Shape {
        Shape { features: self.features(), classes: self.classes() }
    }

    fn weight_count(&self) -> usize {
        self.features.len() + self.classes.len() + self.bias.len()
    }

    /// u_d·v_k.
    fn weight(&self, feature: u32, class: u32) -> f32 {
        product(self.feature(feature), self.class(class))
    }

    fn bias(&self, class: u32) -> Option<f32> {
        Some(self.bias[class as usize])
    }

    fn each_weight(&self, class: u32, visit: &mut dyn FnMut(u32, f32)) {
        let vector = self.class(class);
        let weights = self.features.chunks_exact(self.rank).map(|feature| product(feature, vector));
        (0..).zip(weights).filter(|&(_, weight)| weight != 0.0).for_each(|(feature, weight)| visit(feature, weight));
    }

    fn probabilities(&self) -> Probabilities<'_> {
        Probabilities::Softmax(self)
    }

    fn pruned(&self, threshold: f32) -> Result<Scores> {
        Err(Error::setting("prune", "be left out for factored scores", threshold))
    }

    /// New features and classes get zero vectors.
    fn grown(&self, features: usize, classes: usize) -> Result<Scores> {
        let longer = |numbers: &[f32], length: usize| {
            let mut numbers = numbers.to_vec();
            numbers.resize(length, 0.0);
            numbers
        };
        Ok(Scores::Factored(Factored::new(
            self.rank,
            longer(&self.features, features * self.rank),
            longer(&self.classes, classes * self.rank),
            longer(&self.bias, classes),
        )))
    }

    /// Scales the vectors and biases of the classes, in which the scores are linear.
    fn scale(&mut self, factor: f32) {
        for table in [&mut self.classes, &mut self.bias] {
            let mut numbers = std::mem::take(table).into_vec();
            numbers.par_iter_mut().for_each(|number| *number *= factor);
            *table = numbers.into();
        }
    }

    fn are_finite(&self) -> bool {
        [&self.features, &self.classes, &self.bias].iter().all(|table| table.par_iter().all(|x| x.is_finite()))
    }

    /// `feature_vectors` (features × rank), `class_vectors` (classes × rank) and `bias`.
    fn tensors(&self) -> Vec<Tensor<'_>> {
        vec![
            Tensor::new("feature_vectors", "F32", vec![self.features(), self.rank], &self.features),
            Tensor::new("class_vectors", "F32", vec![self.classes(), self.rank], &self.classes),
            Tensor::list("bias", "F32", &self.bias),
        ]
    }
}
