//! Linear scores f_k(x) = w_k·x + b_k, in a dense or hashed table.

use rayon::prelude::*;

use super::layout::Layout;
use super::softmax::SoftmaxScores;
use super::{Predictor, Probabilities, Scores, Shape, SparseLinear};
use crate::data::Row;
use crate::error::{Error, Result};
use crate::io::tensors::Tensor;
use crate::platform::mapped_slice::MappedSlice;
use crate::platform::memory;
use crate::platform::simd::vectorised;

/// Linear scores: the weights and biases of all classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    layout: Layout,
    /// The cells of the layout, then the biases.
    table: MappedSlice<f32>,
}

impl Linear {
    /// From a table of (features + 1) × classes numbers, the biases last.
    ///
    /// # Panics
    /// If `classes` is 0, or the table is empty or not made of whole rows.
    pub fn new(classes: usize, table: Vec<f32>) -> Self {
        assert!(classes > 0 && !table.is_empty() && table.len().is_multiple_of(classes), "a table of whole rows");
        Linear::with_layout(Layout::dense(table.len() / classes - 1, classes), table)
    }

    /// From the cells of a layout, followed by the biases.
    pub(crate) fn with_layout(layout: Layout, table: impl Into<MappedSlice<f32>>) -> Self {
        let table = table.into();
        assert_eq!(table.len(), layout.cells() + layout.classes(), "all cells and biases");
        Linear { layout, table }
    }

    /// The layout of the table.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.layout.classes()
    }

    /// Number of features, without the bias.
    pub fn features(&self) -> usize {
        self.layout.features()
    }

    /// Whether the table is hashed, so that weights may share a cell.
    pub fn is_hashed(&self) -> bool {
        self.layout.is_hashed()
    }

    /// The weight of a feature for a class.
    ///
    /// # Panics
    /// If there is no such feature or class.
    pub fn weight(&self, feature: u32, class: u32) -> f32 {
        self.table[self.layout.start(feature) + class as usize]
    }

    /// The biases, one per class.
    pub fn bias(&self) -> &[f32] {
        &self.table[self.layout.cells()..]
    }

    /// All cells, followed by the biases: (features + 1) × classes numbers if the table is dense.
    pub fn table(&self) -> &[f32] {
        &self.table
    }

    /// Computes the scores of all classes for a row. Features that the model does not have are ignored.
    ///
    /// # Panics
    /// If `scores` is not of length `classes`.
    pub fn scores(&self, row: Row<'_>, scores: &mut [f32]) {
        scores.copy_from_slice(self.bias());
        add_weights(&self.table[..self.layout.cells()], self.layout, row.below(self.features()), scores);
    }
}

impl SoftmaxScores for Linear {
    fn scores(&self, row: Row<'_>, scores: &mut [f32]) {
        self.scores(row, scores);
    }

    fn classes(&self) -> usize {
        self.classes()
    }
}

impl Predictor for Linear {
    fn shape(&self) -> Shape {
        Shape { features: self.features(), classes: self.classes() }
    }

    fn weight_count(&self) -> usize {
        self.layout.cells()
    }

    fn weight(&self, feature: u32, class: u32) -> f32 {
        self.weight(feature, class)
    }

    fn bias(&self, class: u32) -> Option<f32> {
        Some(self.bias()[class as usize])
    }

    fn each_weight(&self, class: u32, visit: &mut dyn FnMut(u32, f32)) {
        let weights = (0..self.features() as u32).map(|feature| (feature, self.weight(feature, class)));
        weights.filter(|&(_, weight)| weight != 0.0).for_each(|(feature, weight)| visit(feature, weight));
    }

    fn probabilities(&self) -> Probabilities<'_> {
        Probabilities::Softmax(self)
    }

    fn pruned(&self, threshold: f32) -> Result<Scores> {
        if self.is_hashed() {
            let must = "be left out for hashed weights; increase `memory` to train without hashing";
            return Err(Error::setting("prune", must, threshold));
        }
        SparseLinear::of(self, threshold).map(Scores::Sparse)
    }

    /// New features and classes get zero weights. A hashed table has no room for new classes.
    fn grown(&self, features: usize, classes: usize) -> Result<Scores> {
        if self.is_hashed() {
            if classes > self.classes() {
                let new = classes - self.classes();
                return Err(Error::Mismatch(format!("a model with hashed weights cannot take {new} new classes")));
            }
            let layout = Layout::hashed(features, classes, self.layout.cells());
            return Ok(Scores::Linear(Linear::with_layout(layout, self.table.to_vec())));
        }
        let mut table: Vec<f32> = memory::zeroed((features + 1) * classes);
        let (weights, bias) = table.split_at_mut(features * classes);
        for (new, old) in weights.chunks_mut(classes).zip(self.table[..self.layout.cells()].chunks(self.classes())) {
            new[..old.len()].copy_from_slice(old);
        }
        bias[..self.classes()].copy_from_slice(self.bias());
        Ok(Scores::Linear(Linear::with_layout(Layout::dense(features, classes), table)))
    }

    fn scale(&mut self, factor: f32) {
        let mut numbers = std::mem::take(&mut self.table).into_vec();
        numbers.par_iter_mut().for_each(|weight| *weight *= factor);
        self.table = numbers.into();
    }

    fn are_finite(&self) -> bool {
        self.table.par_iter().all(|weight| weight.is_finite())
    }

    /// `weights` (features × classes, or a list of cells) and `bias`.
    fn tensors(&self) -> Vec<Tensor<'_>> {
        let shape = match self.is_hashed() {
            true => vec![self.layout.cells()],
            false => vec![self.features(), self.classes()],
        };
        let weights = Tensor::new("weights", "F32", shape, &self.table[..self.layout.cells()]);
        vec![weights, Tensor::list("bias", "F32", self.bias())]
    }
}

vectorised! {
    /// Adds x_d·(the weights of feature d) to the scores, for each feature of a row.
    fn add_weights(weights: &[f32], layout: Layout, row: Row<'_>, scores: &mut [f32]) {
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            for (score, weight) in scores.iter_mut().zip(&weights[layout.of_feature(feature)]) {
                *score += value * weight;
            }
        }
    }
}
