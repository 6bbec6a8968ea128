//! What an evaluation found, as a record: [`crate::evaluate`] makes it, and a model's card keeps it.

use serde::{Deserialize, Deserializer, Serialize};

/// What an evaluation found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The share of rows whose best class is none of theirs, eq. 18.
    pub error: f64,
    /// −log p(label), averaged over the labels of all rows, eq. 18; p is the softmax over all classes, other labels of the row too.
    #[serde(deserialize_with = "or_infinite")]
    pub nlpd: f64,
    /// The objective that the model was trained with, summed over the labels of all rows; trees have none.
    pub bound: Option<f64>,
    /// How far the bound lies below the exact value, the log probability of each label among the classes it was told from: itself
    /// and those that are no labels of its row. With one label a row, that is −nlpd times the rows.
    pub gap: Option<f64>,
    /// K_eff = (Σ σ_m)² / Σ σ_m², σ_m = σ(f_m − f_y) over the remaining classes m of a label y, averaged over the labels of all rows: how
    /// many rivals carry the gradient of eq. 16. Far below K − 1, most classes that are drawn uniformly are drawn in vain.
    pub effective_rivals: Option<f64>,
    /// Precision at 1.
    pub precision_at_1: f64,
    /// Precision at 3: labels among the best three classes, divided by three.
    pub precision_at_3: f64,
    /// Precision at 5.
    pub precision_at_5: f64,
    /// Normalised discounted cumulative gain at 3: beside that of a ranking with all labels in front.
    pub ndcg_at_3: f64,
    /// Normalised discounted cumulative gain at 5.
    pub ndcg_at_5: f64,
    /// Propensity-scored precision at 1 (Jain, Prabhu and Varma 2016): rare classes count more.
    pub psp_at_1: f64,
    /// Propensity-scored precision at 3.
    pub psp_at_3: f64,
    /// Propensity-scored precision at 5.
    pub psp_at_5: f64,
    /// Expected calibration error of the best class's probability, in 15 bins of equal width.
    pub ece: f64,
    /// The same before calibration, of a forest or of a linear model with a temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ece_uncalibrated: Option<f64>,
    /// The bins of that error.
    pub reliability: Vec<Bin>,
    /// The classes that are most often taken for another.
    pub confused: Vec<Confused>,
    /// How many rows were evaluated.
    pub rows: usize,
    /// How many labels they have that the model knows.
    pub labels: usize,
    /// How many rows have no such label. Each counts as an error.
    pub unknown_rows: usize,
    /// K.
    pub classes: usize,
    /// D.
    pub features: usize,
}

/// The rows whose best class has a probability in one bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// How many.
    pub rows: usize,
    /// Their mean probability of the best class.
    pub confidence: f64,
    /// The share of them whose best class is one of theirs.
    pub accuracy: f64,
}

/// A class that was taken for another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confused {
    /// The class of the rows.
    pub label: String,
    /// What the model takes them for, which none of their labels is.
    pub best: String,
    /// How many rows.
    pub rows: usize,
}

/// JSON has no infinity: it is written as null.
pub(super) fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}
