//! A trained model: scores, and the card that says what they are of.

mod card;
mod evaluation;
mod file;
mod predict;

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::platform::pool;
use crate::scores::Scores;

pub use card::{Card, HeldOutPoint, TracePoint};
pub use evaluation::{Bin, Confused, Evaluation};

/// A model with everything that a file keeps of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What gives scores to rows.
    pub scores: Scores,
    /// What the model knows beside its scores.
    pub card: Card,
}

impl Model {
    /// K.
    pub fn classes(&self) -> usize {
        self.card.classes.len()
    }

    /// D.
    pub fn features(&self) -> usize {
        self.scores.shape().features
    }

    /// Number of weights that are stored.
    pub fn weight_count(&self) -> usize {
        pool::run(|| self.scores.predictor().weight_count())
    }

    /// Whether held-out rows made its probabilities what they are. Those of trees always are.
    pub fn is_calibrated(&self) -> bool {
        self.scores.softmax().is_none() || self.card.temperature.is_some()
    }

    /// Divides the scores by a temperature, and remembers it; trees, whose probabilities have their own, stay as they are.
    pub(crate) fn calibrate(&mut self, temperature: f64) {
        if self.scores.softmax().is_some() {
            self.scores.predictor_mut().scale((1.0 / temperature) as f32);
            self.card.temperature = Some(temperature * self.card.temperature.unwrap_or(1.0));
        }
    }

    /// Drops the weights below a threshold and keeps the others in 16 bits.
    ///
    /// # Errors
    /// [`Error::Setting`] where weights share cells, or are vectors.
    pub fn prune(&mut self, threshold: f32) -> Result<()> {
        self.scores = pool::run(|| self.scores.predictor().pruned(threshold))?;
        Ok(())
    }

    /// Gives the classes and features of new rows the numbers that the model has for them; those that are new come after
    /// all others.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a feature has another name.
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
