//! The model card: names, settings, and results of training and evaluation.

use serde::{Deserialize, Deserializer, Serialize};

use super::embedding::Embedding;
use super::evaluation::{Evaluation, or_infinite};
use super::recommender::Recommender;
use crate::data::Columns;
use crate::options::TrainOptions;
use crate::scores::Logistic;
use crate::text::Text;

/// The objective at one point of training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TracePoint {
    /// Number of updates (rows visited) so far; for the batch solver, evaluations of the objective.
    pub updates: u64,
    /// The objective summed over all rows, without the penalty.
    ///
    /// It is exact for the batch solver, and an estimate averaged over the updates since the last point for the
    /// stochastic one, unbiased unless the objective is `sampled-softmax`. The normalised bound may be −∞ at first.
    #[serde(deserialize_with = "or_minus_infinite")]
    pub bound: f64,
}

/// JSON has no infinite numbers: null stands for −∞.
pub(crate) fn or_minus_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NEG_INFINITY))
}

/// For the normalised bound: the estimate of the log likelihood at the end of some epochs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LikelihoodPoint {
    /// Number of updates so far, as in [`TracePoint`].
    pub updates: u64,
    /// −Σ u over all rows: an estimate of the log likelihood.
    pub estimate: f64,
    /// How far the estimate is above the exact value, in nats per label, on the rows visited last.
    pub bias: f64,
}

/// The validation metrics at one point of training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOutPoint {
    /// Number of updates so far, as in [`TracePoint`].
    pub updates: u64,
    /// The share of rows whose top class is not one of their labels.
    pub error: f64,
    /// −log p(label), averaged over the labels.
    #[serde(deserialize_with = "or_infinite")]
    pub nlpd: f64,
}

/// The model card: names, settings, and results of training and evaluation.
///
/// Nothing here depends on the clock or the machine, so that the same run gives the same file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The settings of training.
    pub options: TrainOptions,
    /// The name of each class.
    pub classes: Vec<String>,
    /// The names of each class for people, the first of which is shown; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label_names: Vec<Vec<String>>,
    /// Number of training rows of each class.
    pub counts: Vec<u64>,
    /// The name of each feature; empty if the data has none, or if `text` has them.
    pub feature_names: Vec<String>,
    /// The text pipeline, if the model was trained on raw text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// What makes factored scores a recommender: its settings, and the items that the users have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommender: Option<Recommender>,
    /// What makes factored scores an embedding: its settings, and the n-grams that have vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Embedding>,
    /// Up to three training texts, for somebody to try the model with; empty if there are none or they are not to be
    /// passed on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The columns of the text and the labels, if the model was trained on a table.
    #[serde(default, skip_serializing_if = "Columns::is_empty")]
    pub columns: Columns,
    /// The temperature T by which the scores were divided for calibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Linear and factored scores of rows with several labels: how log softmax becomes the probability that a class is
    /// one of the labels. Trees keep theirs with their weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logistic: Option<Logistic>,
    /// Number of training rows.
    pub rows: u64,
    /// Whether training was completed; a run that was stopped gives a model, too.
    pub finished: bool,
    /// The objective along training.
    pub trace: Vec<TracePoint>,
    /// For the normalised bound: estimates of the log likelihood along training.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub likelihood: Vec<LikelihoodPoint>,
    /// Error and nlpd on validation rows along training.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<HeldOutPoint>,
    /// The evaluation at the end of training, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
}

impl Card {
    /// The card of a completed training, with empty optional fields.
    pub fn new(options: TrainOptions, classes: Vec<String>, counts: Vec<u64>, rows: u64) -> Self {
        Card {
            options,
            classes,
            label_names: Vec::new(),
            counts,
            feature_names: Vec::new(),
            text: None,
            recommender: None,
            embedding: None,
            examples: Vec::new(),
            columns: Columns::default(),
            temperature: None,
            logistic: None,
            rows,
            finished: true,
            trace: Vec::new(),
            likelihood: Vec::new(),
            held_out: Vec::new(),
            evaluation: None,
        }
    }

    /// The name of a class for people, if it has one.
    pub fn label_name(&self, class: u32) -> Option<&str> {
        self.label_names.get(class as usize)?.first().map(String::as_str)
    }

    /// The class with this label, or else with this name.
    pub fn find_class(&self, label: &str) -> Option<u32> {
        let by_label = self.classes.iter().position(|class| class == label);
        let named = |names: &Vec<String>| names.iter().any(|name| name == label);
        by_label.or_else(|| self.label_names.iter().position(named)).map(|class| class as u32)
    }

    /// The label of a class with its name, if it has one.
    pub fn shown(&self, class: u32) -> String {
        let label = &self.classes[class as usize];
        self.label_name(class).map_or_else(|| label.clone(), |name| format!("{label} {name}"))
    }

    /// The name of a feature, if it has one.
    pub fn feature_name(&self, feature: usize) -> Option<&str> {
        let term = self.text.as_ref().and_then(|text| text.names().get(feature));
        term.or_else(|| self.feature_names.get(feature).map(String::as_str))
    }
}
