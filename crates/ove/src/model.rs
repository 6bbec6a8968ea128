//! A trained model: a score function and its card.

mod card;
mod embedding;
mod evaluation;
mod file;
mod onnx;
mod predict;
mod ranking;
mod recommender;
mod word_vectors;

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::platform::pool;
use crate::scores::{Calibration, Logistic, Scores};

pub(crate) use card::or_minus_infinite;
pub use card::{Card, HeldOutPoint, LikelihoodPoint, TracePoint};
pub use embedding::Embedding;
pub use evaluation::{Bin, Confused, Evaluation};
pub use predict::LargestWeights;
pub use ranking::{Mean, Ranking, RankingAt};
pub use recommender::{CoOccurrence, Prepared, Recommendation, Recommender, Recommending, User};
pub use word_vectors::{Analogies, AnalogySection, SimilarWord, WordPairs, WordVectors};

/// A trained model, as in a model file.
///
/// ```
/// use std::ops::ControlFlow;
/// use ove::{Model, TrainOptions, fit, synthetic};
///
/// let data = synthetic::plane(500, 0); // five classes in the plane
/// let model = fit(&data, &TrainOptions::default(), |_| ControlFlow::Continue(()))?;
/// let top = &model.top_k(data.rows(), 2)[0];
/// println!("{} with probability {:.2}", model.card.classes[top[0].class as usize], top[0].probability);
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("plane.ove");
/// model.save(&path)?;
/// assert_eq!(Model::load(&path)?, model);
/// # Ok::<(), ove::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The score function.
    pub scores: Scores,
    /// Names, settings, and results of training and evaluation.
    pub card: Card,
}

impl Model {
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.card.classes.len()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.scores.shape().features
    }

    /// Number of weights that are stored.
    pub fn weight_count(&self) -> usize {
        pool::run(|| self.scores.predictor().weight_count())
    }

    /// Whether the probabilities are calibrated on held-out rows; those of trees always are.
    pub fn is_calibrated(&self) -> bool {
        self.scores.softmax().is_none() || self.card.temperature.is_some() || self.card.logistic.is_some()
    }

    /// How the probabilities that a class is one of the labels are made, if rows had several labels in training.
    pub fn several_labels(&self) -> Option<Logistic> {
        match &self.scores {
            Scores::Trees(trees) => match trees.calibration {
                Calibration::Logistic(logistic) => Some(logistic),
                Calibration::Normalised(_) => None,
            },
            _ => self.card.logistic,
        }
    }

    /// Divides the scores by a temperature and records it. Has no effect on trees, which have their own calibration.
    pub(crate) fn calibrate(&mut self, temperature: f64) {
        if self.scores.softmax().is_some() {
            self.scores.predictor_mut().scale((1.0 / temperature) as f32);
            self.card.temperature = Some(temperature * self.card.temperature.unwrap_or(1.0));
        }
    }

    /// Drops the weights below a threshold and rounds the others to bf16.
    ///
    /// # Errors
    /// [`Error::Setting`] for hashed weights and factored scores, which cannot be pruned.
    pub fn prune(&mut self, threshold: f32) -> Result<()> {
        self.scores = pool::run(|| self.scores.predictor().pruned(threshold))?;
        Ok(())
    }

    /// Renumbers the classes and features of new rows as in the model; new ones are appended.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a feature has another name than in the model.
    pub fn align(&self, data: &mut Dataset) -> Result<()> {
        let (old, new) = (&self.card.feature_names, &mut data.feature_names);
        if let Some((old, new)) = old.iter().zip(new.iter()).find(|(old, new)| old != new) {
            return Err(Error::Mismatch(format!("the data has the feature `{new}` where the model has `{old}`")));
        }
        if new.len() < old.len() {
            new.clone_from(old);
        }
        data.allow_features(self.features());
        if !data.feature_names.is_empty() && data.feature_names.len() < data.features() {
            data.feature_names.clear();
        }
        data.extend_classes(&self.card.classes);
        Ok(())
    }
}
