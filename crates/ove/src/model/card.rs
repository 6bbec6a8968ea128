//! What a model knows beside its scores: names, how it was trained, and how good it was.

use serde::{Deserialize, Serialize};

use super::evaluation::{Evaluation, or_infinite};
use crate::options::TrainOptions;
use crate::text::Text;

/// A point of the curve that training leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TracePoint {
    /// Updates (rows visited) so far; for the batch solver, evaluations of the full sum.
    pub updates: u64,
    /// The objective summed over all rows, without the penalty: exact from the batch solver, an unbiased estimate, averaged
    /// over the updates since the last point, from the stochastic one.
    pub bound: f64,
}

/// What some held-out rows said of the model along training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOutPoint {
    /// Updates so far, as in [`TracePoint`].
    pub updates: u64,
    /// The share of the rows whose best class is none of theirs.
    pub error: f64,
    /// −log p(label), averaged over their labels.
    #[serde(deserialize_with = "or_infinite")]
    pub nlpd: f64,
}

/// What a model knows beside its weights: names, and how it was trained. Nothing here depends on the clock or the machine, so
/// that the same run gives the same file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The settings it was trained with.
    pub options: TrainOptions,
    /// The name of each class.
    pub classes: Vec<String>,
    /// How many training rows each class had.
    pub counts: Vec<u64>,
    /// The name of each feature; empty where the data had none, and where `text` names them.
    pub feature_names: Vec<String>,
    /// How texts become rows, if it was trained on raw text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// T of a linear model whose scores were divided by it: what held-out rows made of its probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How many rows it was trained on.
    pub rows: u64,
    /// Whether training ran to its end; a run that was stopped early leaves a model too.
    pub finished: bool,
    /// The curve of the bound.
    pub trace: Vec<TracePoint>,
    /// The curves of error and nlpd on some rows it was not trained on, if there were any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<HeldOutPoint>,
    /// What was measured on such rows at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
}

impl Card {
    /// Of a model that was trained to its end on so many rows, of which nothing else is said.
    pub fn new(options: TrainOptions, classes: Vec<String>, counts: Vec<u64>, rows: u64) -> Self {
        Card {
            options,
            classes,
            counts,
            feature_names: Vec::new(),
            text: None,
            temperature: None,
            rows,
            finished: true,
            trace: Vec::new(),
            held_out: Vec::new(),
            evaluation: None,
        }
    }

    /// The name of a feature, where it has one.
    pub fn feature_name(&self, feature: usize) -> Option<&str> {
        let term = self.text.as_ref().and_then(|text| text.names().get(feature));
        term.or_else(|| self.feature_names.get(feature).map(String::as_str))
    }
}
