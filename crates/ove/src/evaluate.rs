//! How good a model is on rows whose classes are known.
//!
//! Probabilities are those of the exact softmax over all classes, whatever the model was trained with. Precision, nDCG and
//! propensity-scored precision at k are those of the extreme-classification repository; with one class a row, precision at k is at
//! most 1/k. A label that the model never saw is one that no prediction hits: it counts where these measures compare with the best
//! possible ranking, the last as a class without training rows, and `nlpd` and `bound` leave it out. Every row counts
//! once, whatever rows and classes weighed in training.

mod bound;
mod confused;
mod propensity;
mod reliability;
mod rest;
mod row;

use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize};

use crate::data::{Row, Rows};
use crate::error::{Error, Result};
use crate::forest::{Forest, Search, Sight};
use crate::labels::Labels;
use crate::linear::Linear;
use crate::model::{Model, Weights};
use crate::solve::in_pool;
pub use confused::Confused;
pub use reliability::Bin;
use reliability::{bins, calibration_error};
use row::{Measures, Outcome, Task};

/// Rows that one task scores.
const ROWS_A_TASK: usize = 64;

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

/// Evaluates a model on rows. `labels` index the model's classes, as after
/// [`Dataset::use_classes`](crate::Dataset::use_classes).
pub fn evaluate(model: &Model, rows: Rows<'_>, labels: &Labels, threads: usize) -> Result<Evaluation> {
    check(model, rows, labels)?;
    let measures = Measures::new(model);
    let outcomes = in_pool(threads, || {
        Ok(match &model.weights {
            Weights::Linear(linear) => linear_outcomes(linear, model, &measures, rows, labels),
            Weights::Forest(forest) => forest_outcomes(forest, &measures, rows, labels),
        })
    })?;
    Ok(summarise(model, &outcomes, labels))
}

fn linear_outcomes(
    linear: &Linear,
    model: &Model,
    measures: &Measures,
    rows: Rows<'_>,
    labels: &Labels,
) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome::default(); rows.len()];
    outcomes.par_chunks_mut(ROWS_A_TASK).enumerate().for_each(|(task, outcomes)| {
        let mut scorer = Task::new(linear, model, measures);
        for (n, outcome) in (task * ROWS_A_TASK..).zip(outcomes) {
            *outcome = scorer.outcome(rows.row(n), &labels[n], labels.unseen(n));
        }
    });
    outcomes
}

fn forest_outcomes(forest: &Forest, measures: &Measures, rows: Rows<'_>, labels: &Labels) -> Vec<Outcome> {
    let rows: Vec<Row<'_>> = rows.iter(0..rows.len()).collect();
    forest.see(&rows, Search::Nearest, |piece, sights, scratch| {
        let tops = forest.top(&rows[piece.clone()], sights, row::TOP, scratch);
        let seen = piece.zip(sights).zip(&tops);
        let of_row = |((n, sight), top): ((usize, &mut Sight), &Vec<_>)| {
            measures.of_forest(forest, rows[n], sight, top, &labels[n], labels.unseen(n))
        };
        seen.map(of_row).collect()
    })
}

fn check(model: &Model, rows: Rows<'_>, labels: &Labels) -> Result<()> {
    if labels.len() != rows.len() || rows.is_empty() {
        return Err(Error::Mismatch {
            found: format!("labels of {} rows for {} rows", labels.len(), rows.len()),
            allowed: "there has to be at least one row, and each has its own".into(),
        });
    }
    let classes = model.classes();
    match labels.all().iter().find(|&&label| label as usize >= classes) {
        Some(label) => Err(Error::Mismatch {
            found: format!("a row has the class {label}"),
            allowed: format!("the model has {classes} classes"),
        }),
        None => Ok(()),
    }
}

fn summarise(model: &Model, outcomes: &[Outcome], known: &Labels) -> Evaluation {
    let rows = outcomes.len() as f64;
    let sum = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
    let precision = |k: usize| sum(&|o| o.hits_within(k) as f64 / k as f64) / rows;
    let labels: usize = outcomes.iter().map(|o| o.labels).sum();
    let bound = model.linear().map(|_| sum(&|o| o.bound));
    // What no ranking can reach is not missed.
    let psp = |i: usize| match sum(&|o| o.best_propensity[i]) {
        0.0 => 0.0,
        best => sum(&|o| o.propensity[i]) / best,
    };
    let reliability = bins(outcomes, |o| o.confidence);
    Evaluation {
        error: sum(&|o| if o.hits[0] { 0.0 } else { 1.0 }) / rows,
        nlpd: -sum(&|o| o.log_probability) / labels as f64,
        bound,
        gap: bound.map(|bound| sum(&|o| o.exact) - bound),
        effective_rivals: model.linear().map(|_| sum(&|o| o.effective_rivals) / labels as f64),
        precision_at_1: precision(1),
        precision_at_3: precision(3),
        precision_at_5: precision(5),
        ndcg_at_3: sum(&|o| o.normalised_gain(3)) / rows,
        ndcg_at_5: sum(&|o| o.normalised_gain(5)) / rows,
        psp_at_1: psp(0),
        psp_at_3: psp(1),
        psp_at_5: psp(2),
        ece: calibration_error(&reliability),
        ece_uncalibrated: model.is_calibrated().then(|| calibration_error(&bins(outcomes, |o| o.raw_confidence))),
        reliability,
        confused: confused::pairs(outcomes, known, &model.card.classes),
        rows: outcomes.len(),
        labels,
        unknown_rows: outcomes.iter().filter(|o| o.labels == 0).count(),
        classes: model.classes(),
        features: model.features(),
    }
}

/// JSON has no infinity: it is written as null.
pub(crate) fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}
