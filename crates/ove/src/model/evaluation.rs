//! The record of an evaluation, computed by [`crate::evaluate`] and stored in a model's card.

use serde::{Deserialize, Deserializer, Serialize};

/// The metrics of a model on rows with known labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The share of rows whose top class is not one of their labels, eq. 18.
    pub error: f64,
    /// −log p(label), averaged over the labels of all rows, eq. 18; p is normalised over all classes, or, for a model
    /// of rows with several labels, the probability that the class is one of them.
    #[serde(deserialize_with = "or_infinite")]
    pub nlpd: f64,
    /// The objective of training, summed over the labels of all rows, if it is a bound. For trees, that of the
    /// second stage with its rivals in one logarithm and all other classes one-vs-each, estimated from at most 500
    /// rows; none without a second stage.
    pub bound: Option<f64>,
    /// The gap between the bound and the exact value, the log probability of each label among itself and its negatives.
    ///
    /// With one label per row, the exact value is −nlpd times the number of rows.
    pub gap: Option<f64>,
    /// K_eff = (Σ σ_m)² / Σ σ_m² with σ_m = σ(f_m − f_y) over the negatives m of a label y, averaged over all labels.
    ///
    /// This is the effective number of classes in the gradient of eq. 16. If it is far below K − 1, most uniformly
    /// sampled negatives contribute nothing.
    pub effective_rivals: Option<f64>,
    /// Precision at 1.
    pub precision_at_1: f64,
    /// Precision at 3: labels among the top three classes, divided by three.
    pub precision_at_3: f64,
    /// Precision at 5.
    pub precision_at_5: f64,
    /// Normalised discounted cumulative gain at 3, relative to a ranking with all labels first.
    pub ndcg_at_3: f64,
    /// Normalised discounted cumulative gain at 5.
    pub ndcg_at_5: f64,
    /// Propensity-scored precision at 1 (Jain, Prabhu and Varma 2016), which weights rare classes more.
    pub psp_at_1: f64,
    /// Propensity-scored precision at 3.
    pub psp_at_3: f64,
    /// Propensity-scored precision at 5.
    pub psp_at_5: f64,
    /// Expected calibration error of the top class's probability, in 15 bins of equal width; for models of rows with
    /// several labels, of all candidates, the up to 100 most probable classes per row.
    pub ece: f64,
    /// The expected calibration error before calibration, for calibrated models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ece_uncalibrated: Option<f64>,
    /// Rows with several labels: the threshold from which on a class is predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The F1 of these predictions over all pairs of a row and a class: 2 TP / (predicted + labels).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_f1: Option<f64>,
    /// Rows with several labels: the log loss of the candidates, the up to 100 most probable classes per row, averaged
    /// over rows and classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// The sum of the probabilities of the candidates, averaged over rows; right if it is near the number of their
    /// labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability_sum: Option<f64>,
    /// The bins of the calibration error.
    pub reliability: Vec<Bin>,
    /// The most frequent confusions.
    pub confused: Vec<Confused>,
    /// Number of rows.
    pub rows: usize,
    /// Number of their labels that the model has.
    pub labels: usize,
    /// Number of rows without such a label; each counts as an error.
    pub unknown_rows: usize,
    /// Number of classes of the model.
    pub classes: usize,
    /// Number of features of the model.
    pub features: usize,
}

/// A bin of a reliability diagram: rows by the probability of their top class; with several labels, pairs of a row and
/// a candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Number of rows.
    pub rows: usize,
    /// Mean probability of the top class.
    pub confidence: f64,
    /// The share of rows whose top class is one of their labels.
    pub accuracy: f64,
}

/// A confusion: a label and a wrong top class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confused {
    /// The label of the rows.
    pub label: String,
    /// Their top class, which is not one of their labels.
    pub best: String,
    /// Number of rows.
    pub rows: usize,
}

/// Reads null as infinity, which JSON does not have.
pub(super) fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}
