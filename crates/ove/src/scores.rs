//! How a row and the weights make scores, f_k(x; w), once they are trained.
//!
//! [`Scores`] is one of the kinds, and [`Predictor`] is what every kind can do. The one match between them is
//! [`Scores::predictor`]; nothing else has to know which kind a model has, unless it is about that kind.

mod factored;
pub(crate) mod layout;
mod linear;
mod prediction;
mod softmax;
pub(crate) mod sparse;
mod sparse_linear;
pub(crate) mod trees;

use std::borrow::Cow;

use crate::data::{Examples, Row};
use crate::error::{Error, Result};
use crate::io::tensors::Tensor;
use crate::platform::digest::Digest;
use layout::Layout;

pub use factored::Factored;
pub use linear::Linear;
pub use prediction::Prediction;
pub use softmax::probabilities;
pub(crate) use softmax::{SoftmaxScores, all_scores};
pub use sparse_linear::SparseLinear;
pub use trees::Trees;

/// Trained scores of any kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Scores {
    /// A weight for each feature and class, dense or hashed.
    Linear(Linear),
    /// Linear scores without their small weights.
    Sparse(SparseLinear),
    /// A vector for each feature and each class.
    Factored(Factored),
    /// Trees over the classes.
    Trees(Trees),
}

/// The size of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// D, without the bias.
    pub features: usize,
    /// K.
    pub classes: usize,
}

/// What one row has to say about a model, for [`crate::evaluate`].
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// The best classes.
    pub top: Vec<Prediction>,
    /// What the probability of the best class would be without calibration.
    pub raw_confidence: f64,
    /// Σ log p(label).
    pub log_probability: f64,
}

/// What makes probabilities of scores.
pub(crate) enum Probabilities<'a> {
    /// One softmax over the scores of all classes.
    Softmax(&'a dyn SoftmaxScores),
    /// The scores themselves, as those of trees.
    Own(&'a dyn OwnProbabilities),
}

/// Scores that make probabilities in a way of their own.
pub(crate) trait OwnProbabilities: Send + Sync {
    /// The k most probable classes of each row, best first.
    fn top_k(&self, rows: &[Row<'_>], k: usize) -> Vec<Vec<Prediction>>;

    /// log p(k | x) of all classes, row after row.
    fn log_probabilities(&self, rows: &[Row<'_>], out: &mut [f64]);

    /// The best `k` classes and the probability of the labels of each row.
    fn measure(&self, rows: &[Row<'_>], labels: &(dyn Fn(usize) -> Vec<u32> + Sync), k: usize) -> Vec<Measured>;
}

/// What trained scores can do. Parallel work runs on the threads of the pool that it is called in.
pub(crate) trait Predictor: Send + Sync {
    fn shape(&self) -> Shape;

    /// Number of weights that are stored; trees and pruned weights are counted one by one.
    fn weight_count(&self) -> usize;

    /// The contribution of a feature with value 1 to the score of a class.
    fn weight(&self, feature: u32, class: u32) -> f32;

    /// The bias of a class, where there is one.
    fn bias(&self, class: u32) -> Option<f32>;

    /// The weights of a class that are not zero, with their features.
    fn weights_of(&self, class: u32) -> Vec<(u32, f32)>;

    /// What makes probabilities of the scores.
    fn probabilities(&self) -> Probabilities<'_>;

    /// Without the weights below a threshold, and the others in 16 bits.
    fn pruned(&self, threshold: f32) -> Result<Scores>;

    /// The same scores for more features and classes.
    fn grown(&self, features: usize, classes: usize) -> Result<Scores>;

    /// Multiplies all scores by a number, the inverse of a temperature, where they have one softmax.
    fn scale(&mut self, factor: f32);

    fn are_finite(&self) -> bool;

    /// The weights as a file has them.
    fn tensors(&self) -> Vec<Tensor<'_>>;
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

    /// The scores of all classes, if one softmax makes probabilities of them.
    pub(crate) fn softmax(&self) -> Option<&dyn SoftmaxScores> {
        match self.predictor().probabilities() {
            Probabilities::Softmax(softmax) => Some(softmax),
            Probabilities::Own(_) => None,
        }
    }

    /// The min(k, K) most probable classes of each row, best first; equal ones in class order.
    pub(crate) fn top_k(&self, rows: &[Row<'_>], k: usize) -> Vec<Vec<Prediction>> {
        match self.predictor().probabilities() {
            Probabilities::Softmax(scores) => softmax::top_k(scores, rows, k),
            Probabilities::Own(own) => own.top_k(rows, k.min(self.shape().classes)),
        }
    }

    /// log p(k | x) of all classes, row after row.
    pub(crate) fn log_probabilities(&self, rows: &[Row<'_>], out: &mut [f64]) {
        match self.predictor().probabilities() {
            Probabilities::Softmax(scores) => softmax::log_probabilities(scores, rows, out),
            Probabilities::Own(own) => own.log_probabilities(rows, out),
        }
    }

    /// The size.
    pub fn shape(&self) -> Shape {
        self.predictor().shape()
    }

    /// The scores as a dense or hashed table of linear weights, if they are linear.
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

    /// A sum over all weights, which tells two models apart.
    pub(crate) fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        let tensors = self.predictor().tensors();
        tensors.iter().flat_map(|tensor| &tensor.pieces).for_each(|piece| digest.update(piece));
        digest.finish()
    }

    /// The linear weights that training on these rows can go on from.
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

    /// The vectors that training on these rows can go on from.
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
