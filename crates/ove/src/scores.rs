//! Trained score functions f_k(x; w): linear, sparse linear, factored, and trees over the classes.
//!
//! [`Scores`] is an enum of the kinds, and the internal trait `Predictor` is their common interface.
//! `Scores::predictor` is the only match between the two; other code depends on a kind only if it is specific to that
//! kind.

mod factored;
mod largest;
pub(crate) mod layout;
mod linear;
mod logistic;
mod prediction;
mod softmax;
pub(crate) mod sparse;
mod sparse_linear;
pub(crate) mod trees;

use std::borrow::Cow;

use crate::bound::Objective;
use crate::data::{Examples, Row};
use crate::error::{Error, Result};
use crate::io::tensors::Tensor;
use crate::platform::digest::Digest;
use crate::platform::elementary::ln;
use layout::Layout;

pub use factored::Factored;
pub(crate) use largest::Largest;
pub use linear::Linear;
pub use logistic::Logistic;
pub use prediction::Prediction;
pub use softmax::probabilities;
pub(crate) use softmax::{SoftmaxScores, all_scores};
pub use sparse_linear::SparseLinear;
pub use trees::{Calibration, Evidence, Mix, Trees};

/// A trained score function.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Scores {
    /// A weight per feature and class, in a dense or hashed table.
    Linear(Linear),
    /// Pruned linear weights.
    Sparse(SparseLinear),
    /// A vector per feature and per class.
    Factored(Factored),
    /// Trees over the classes.
    Trees(Trees),
}

/// The shape of a score function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// Number of features, without the bias.
    pub features: usize,
    /// Number of classes.
    pub classes: usize,
}

/// The predictions for one row that [`crate::metrics`] needs.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// The top-k classes.
    pub top: Vec<Prediction>,
    /// The probability of the top class without calibration.
    pub raw_confidence: f64,
    /// Σ log p(label).
    pub log_probability: f64,
}

/// A bound, summed over the labels of some rows, and the exact value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub value: f64,
    pub exact: f64,
}

/// How scores become probabilities.
pub(crate) enum Probabilities<'a> {
    /// By one softmax over the scores of all classes.
    Softmax(&'a dyn SoftmaxScores),
    /// By the score function itself, as for trees.
    Own(&'a dyn OwnProbabilities),
}

/// Scores that compute probabilities in their own way.
pub(crate) trait OwnProbabilities: Send + Sync {
    /// The top-k classes per row, best first.
    fn top_k(&self, rows: &[Row<'_>], k: usize) -> Vec<Vec<Prediction>>;

    /// log p(k | x) of all classes, row by row.
    fn log_probabilities(&self, rows: &[Row<'_>], out: &mut [f64]);

    /// The top-k classes and the log probability of the labels per row.
    fn measure(&self, rows: &[Row<'_>], labels: &(dyn Fn(usize) -> Vec<u32> + Sync), k: usize) -> Vec<Measured>;

    /// The objective that some of the scores were trained by, over all classes, if it is a bound.
    fn bound(
        &self,
        rows: &[Row<'_>],
        labels: &(dyn Fn(usize) -> Vec<u32> + Sync),
        objective: Objective,
    ) -> Option<Bound>;
}

/// The common interface of all score functions. Parallel work runs on the current thread pool.
pub(crate) trait Predictor: Send + Sync {
    fn shape(&self) -> Shape;

    /// Number of weights that are stored; for trees and pruned weights, all weights are counted.
    fn weight_count(&self) -> usize;

    /// The contribution of a feature with value 1 to the score of a class.
    fn weight(&self, feature: u32, class: u32) -> f32;

    /// The bias of a class, if classes have one.
    fn bias(&self, class: u32) -> Option<f32>;

    /// Calls `visit` with the features of a class whose weights are not zero, in increasing order, and these weights.
    fn each_weight(&self, class: u32, visit: &mut dyn FnMut(u32, f32));

    /// How the scores become probabilities.
    fn probabilities(&self) -> Probabilities<'_>;

    /// Drops the weights below a threshold and rounds the others to bf16.
    fn pruned(&self, threshold: f32) -> Result<Scores>;

    /// Extends the scores to more features and classes; trees are extended in training, where the rows are known.
    fn grown(&self, features: usize, classes: usize) -> Result<Scores>;

    /// Multiplies all scores by a factor, the inverse of a temperature, if the probabilities are one softmax.
    fn scale(&mut self, factor: f32);

    fn are_finite(&self) -> bool;

    /// The weights as tensors of a model file.
    fn tensors(&self) -> Vec<Tensor<'_>>;
}

/// The logarithm of a probability or of votes, finite if they have vanished.
pub(crate) fn log_score(score: f64) -> f64 {
    ln(score.max(f64::MIN_POSITIVE))
}

impl Scores {
    pub(crate) fn predictor(&self) -> &dyn Predictor {
        match self {
            Scores::Linear(linear) => linear,
            Scores::Sparse(sparse) => sparse,
            Scores::Factored(factored) => factored,
            Scores::Trees(trees) => trees,
        }
    }

    pub(crate) fn predictor_mut(&mut self) -> &mut dyn Predictor {
        match self {
            Scores::Linear(linear) => linear,
            Scores::Sparse(sparse) => sparse,
            Scores::Factored(factored) => factored,
            Scores::Trees(trees) => trees,
        }
    }

    /// The scores of all classes, if their probabilities are one softmax.
    pub(crate) fn softmax(&self) -> Option<&dyn SoftmaxScores> {
        match self.predictor().probabilities() {
            Probabilities::Softmax(softmax) => Some(softmax),
            Probabilities::Own(_) => None,
        }
    }

    /// The min(k, K) most probable classes per row, best first, ties in class order.
    pub(crate) fn top_k(&self, rows: &[Row<'_>], k: usize) -> Vec<Vec<Prediction>> {
        match self.predictor().probabilities() {
            Probabilities::Softmax(scores) => softmax::top_k(scores, rows, k),
            Probabilities::Own(own) => own.top_k(rows, k.min(self.shape().classes)),
        }
    }

    /// log p(k | x) of all classes, row by row.
    pub(crate) fn log_probabilities(&self, rows: &[Row<'_>], out: &mut [f64]) {
        match self.predictor().probabilities() {
            Probabilities::Softmax(scores) => softmax::log_probabilities(scores, rows, out),
            Probabilities::Own(own) => own.log_probabilities(rows, out),
        }
    }

    /// The number of features and classes.
    pub fn shape(&self) -> Shape {
        self.predictor().shape()
    }

    /// The weights as a dense or hashed table, if the scores are linear.
    pub fn linear(&self) -> Option<Cow<'_, Linear>> {
        match self {
            Scores::Linear(linear) => Some(Cow::Borrowed(linear)),
            Scores::Sparse(sparse) => Some(Cow::Owned(sparse.to_dense())),
            _ => None,
        }
    }

    pub(crate) fn are_finite(&self) -> bool {
        self.predictor().are_finite()
    }

    /// A digest of all weights.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        let tensors = self.predictor().tensors();
        tensors.iter().flat_map(|tensor| &tensor.pieces).for_each(|piece| digest.update(piece));
        digest.finish()
    }

    /// The linear weights to start training from.
    pub(crate) fn start_for(&self, examples: &Examples<'_>, cells: Option<usize>) -> Result<Cow<'_, Linear>> {
        let needed = Layout::of(examples, cells)?;
        let size = |layout: Layout| {
            format!("{} classes, {} features and {} cells", layout.classes(), layout.features(), layout.cells())
        };
        match self.linear() {
            Some(linear) if linear.layout() == needed => Ok(linear),
            Some(linear) => Err(Error::Mismatch(format!(
                "the weights to start from have {}; this training needs {}",
                size(linear.layout()),
                size(needed)
            ))),
            None => Err(Error::Mismatch("training of linear scores must start from linear scores".into())),
        }
    }

    /// The factored scores to start training from.
    pub(crate) fn factored_for(&self, examples: &Examples<'_>, rank: usize) -> Result<&Factored> {
        let needed = (examples.rows.features(), examples.classes, rank);
        match self {
            Scores::Factored(factored) if (factored.features(), factored.classes(), factored.rank()) == needed => {
                Ok(factored)
            }
            _ => Err(Error::Mismatch(format!(
                "training must start from factored scores with {} features, {} classes and rank {rank}",
                needed.0, needed.1
            ))),
        }
    }
}
