//! Pruned linear scores: small weights are dropped, the others are stored as bf16.
//!
//! The weights are [`SparseBlocks`] whose nodes are blocks of 2¹⁶ classes, each with an entry for every feature.

use super::linear::Linear;
use super::softmax::SoftmaxScores;
use super::sparse::{Builder, Entry, RankBitmap, SparseBlocks};
use super::{Predictor, Probabilities, Scores, Shape};
use crate::data::Row;
use crate::error::{Error, Result};
use crate::io::tensors::Tensor;
use crate::platform::mapped_slice::MappedSlice;

/// Number of classes per block: a class is a 16-bit number within its block.
const BLOCK: usize = 1 << 16;

/// Pruned linear scores: the remaining weights as bf16, and the biases.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseLinear {
    weights: SparseBlocks,
    bias: MappedSlice<f32>,
}

impl SparseLinear {
    pub(crate) fn new(weights: SparseBlocks, bias: MappedSlice<f32>) -> Self {
        SparseLinear { weights, bias }
    }

    /// The weights, in blocks of classes.
    pub(crate) fn weights(&self) -> &SparseBlocks {
        &self.weights
    }

    /// The biases, one per class.
    pub(crate) fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// Prunes the weights below a threshold.
    pub(super) fn of(linear: &Linear, threshold: f32) -> Result<Self> {
        Ok(SparseLinear { weights: large(linear, threshold)?, bias: linear.bias().to_vec().into() })
    }

    /// The start of each block of classes, and the end of the last one.
    pub(crate) fn blocks(classes: usize) -> Vec<usize> {
        (0..classes).step_by(BLOCK).chain([classes]).collect()
    }

    /// A dense table, in which pruned weights are zero.
    pub(super) fn to_dense(&self) -> Linear {
        let classes = self.bias.len();
        let mut table = vec![0.0; self.weights.features() * classes];
        for (node, feature, entry) in self.weights.entries() {
            table[feature as usize * classes + node * BLOCK + entry.child()] = entry.weight();
        }
        table.extend_from_slice(&self.bias);
        Linear::new(classes, table)
    }
}

impl SoftmaxScores for SparseLinear {
    fn scores(&self, row: Row<'_>, scores: &mut [f32]) {
        let row = row.below(self.weights.features());
        scores.copy_from_slice(&self.bias);
        let mut ranks = RankBitmap::default();
        let blocks = scores.chunks_mut(BLOCK).enumerate();
        blocks.for_each(|(node, scores)| self.weights.add(node, &[row], &mut ranks, scores));
    }

    fn classes(&self) -> usize {
        self.bias.len()
    }
}

impl Predictor for SparseLinear {
    fn shape(&self) -> Shape {
        Shape { features: self.weights.features(), classes: self.bias.len() }
    }

    fn weight_count(&self) -> usize {
        self.weights.weights()
    }

    fn weight(&self, feature: u32, class: u32) -> f32 {
        self.weights.weight_of(feature, class as usize / BLOCK, class as usize % BLOCK)
    }

    fn bias(&self, class: u32) -> Option<f32> {
        Some(self.bias[class as usize])
    }

    fn each_weight(&self, class: u32, visit: &mut dyn FnMut(u32, f32)) {
        let weights = (0..self.weights.features() as u32).map(|feature| (feature, self.weight(feature, class)));
        weights.filter(|&(_, weight)| weight != 0.0).for_each(|(feature, weight)| visit(feature, weight));
    }

    fn probabilities(&self) -> Probabilities<'_> {
        Probabilities::Softmax(self)
    }

    fn pruned(&self, threshold: f32) -> Result<Scores> {
        let mut pruned = self.clone();
        pruned.weights.prune(threshold);
        Ok(Scores::Sparse(pruned))
    }

    fn grown(&self, features: usize, classes: usize) -> Result<Scores> {
        self.to_dense().grown(features, classes)
    }

    fn scale(&mut self, factor: f32) {
        self.weights.scale(factor);
        let bias: Vec<f32> = self.bias.iter().map(|bias| bias * factor).collect();
        self.bias = bias.into();
    }

    fn are_finite(&self) -> bool {
        self.bias.iter().all(|bias| bias.is_finite())
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        std::iter::once(Tensor::list("bias", "F32", &self.bias))
            .chain(SparseBlocks::tensors(&[&self.weights]))
            .collect()
    }
}

/// The weights of a dense table of at least a threshold.
fn large(linear: &Linear, threshold: f32) -> Result<SparseBlocks> {
    let (layout, table) = (linear.layout(), linear.table());
    let blocks = SparseLinear::blocks(layout.classes());
    let (mut builder, mut entries) = (Builder::new(layout.features(), blocks.clone()), Vec::new());
    for block in blocks.windows(2) {
        for feature in 0..layout.features() as u32 {
            let weights = table[layout.of_feature(feature)][block[0]..block[1]].iter().enumerate();
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
    builder.build().ok_or_else(|| {
        Error::setting("prune", format!("be large enough to leave at most {} weights", u32::MAX / 2), threshold)
    })
}
