//! Evaluation of a model on rows with known labels.
//!
//! Probabilities are those of the model: the exact softmax over all classes for any objective, or those of the trees.
//! Precision, nDCG and propensity-scored precision at k are defined as in the extreme classification repository; with
//! one label per row, precision at k is at most 1/k. A label that did not occur in training is never predicted: nDCG
//! and propensity-scored precision count it in the best possible ranking, the latter as a class without training rows,
//! and `nlpd` and `bound` ignore it. Every row counts once, regardless of row and class weights in training.

mod confused;
mod per_row;
mod propensity;
mod reliability;

use rayon::prelude::*;

use crate::data::{Labels, Row, Rows};
use crate::error::{Error, Result};
use crate::model::{Evaluation, Model};
use crate::platform::elementary::ln;
use crate::platform::pool;
use crate::scores::{OwnProbabilities, Probabilities, SoftmaxScores};
use per_row::{Measures, Outcome, Scorer};
use reliability::{bins, calibration_error};

/// Number of rows that a task scores.
const ROWS_PER_TASK: usize = 64;

/// The values of k in the metrics at k.
const AT: [usize; 3] = [1, 3, 5];

/// Number of top classes that the metrics need.
const TOP: usize = 5;

/// Number of top classes per row whose probabilities are measured if rows have several labels.
const CANDIDATES: usize = 100;

/// Evaluates a model on rows with known labels.
///
/// `labels` are numbered as the model's classes, as after [`Dataset::use_classes`](crate::Dataset::use_classes).
///
/// # Errors
/// [`Error::Mismatch`] if there are no rows, or rows and labels do not match.
pub fn evaluate(model: &Model, rows: Rows<'_>, labels: &Labels) -> Result<Evaluation> {
    check(model, rows, labels)?;
    let measures = Measures::new(model);
    let outcomes = pool::run(|| match model.scores.predictor().probabilities() {
        Probabilities::Softmax(softmax) => by_softmax(softmax, model, &measures, rows, labels),
        Probabilities::Own(own) => by_measures(own, &measures, rows, labels),
    });
    Ok(summarise(model, &measures, &outcomes, labels))
}

/// The outcomes of scores with a softmax.
fn by_softmax(
    softmax: &dyn SoftmaxScores,
    model: &Model,
    measures: &Measures,
    rows: Rows<'_>,
    labels: &Labels,
) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome::default(); rows.len()];
    outcomes.par_chunks_mut(ROWS_PER_TASK).enumerate().for_each(|(task, outcomes)| {
        let mut scorer = Scorer::new(softmax, model.card.temperature, measures);
        for (n, outcome) in (task * ROWS_PER_TASK..).zip(outcomes) {
            *outcome = scorer.outcome(rows.row(n), &labels[n], labels.unseen(n));
        }
    });
    outcomes
}

/// The outcomes of scores with their own probabilities.
fn by_measures(own: &dyn OwnProbabilities, measures: &Measures, rows: Rows<'_>, labels: &Labels) -> Vec<Outcome> {
    let rows: Vec<Row<'_>> = rows.iter(0..rows.len()).collect();
    let measured = own.measure(&rows, &|n| labels[n].to_vec(), measures.top());
    measured.iter().enumerate().map(|(n, row)| measures.of_measured(row, &labels[n], labels.unseen(n))).collect()
}

fn check(model: &Model, rows: Rows<'_>, labels: &Labels) -> Result<()> {
    if rows.is_empty() {
        return Err(Error::Mismatch("evaluation needs at least one row, got none".into()));
    }
    if labels.len() != rows.len() {
        let message = format!("labels of {} rows do not match {} rows", labels.len(), rows.len());
        return Err(Error::Mismatch(message));
    }
    let classes = model.classes();
    match labels.all().iter().find(|&&label| label as usize >= classes) {
        Some(label) => {
            Err(Error::Mismatch(format!("a label must be below the model's number of classes, {classes}, got {label}")))
        }
        None => Ok(()),
    }
}

fn summarise(model: &Model, measures: &Measures, outcomes: &[Outcome], known: &Labels) -> Evaluation {
    let rows = outcomes.len() as f64;
    let sum = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
    let precision = |k: usize| sum(&|o| o.hits_within(k) as f64 / k as f64) / rows;
    let labels: usize = outcomes.iter().map(|o| o.labels).sum();
    let bound = measures.has_bound().then(|| sum(&|o| o.bound));
    let has_softmax = model.scores.softmax().is_some();
    // 0 if no row has a label.
    let psp = |i: usize| match sum(&|o| o.best_propensity[i]) {
        0.0 => 0.0,
        best => sum(&|o| o.propensity[i]) / best,
    };
    let of_top = |confidence: fn(&Outcome) -> f64| bins(outcomes.iter().map(|o| (confidence(o), o.hits[0])));
    let pairs = || outcomes.iter().flat_map(|o| &o.candidates).map(|&(p, is_label)| (f64::from(p), is_label));
    let logistic = measures.logistic;
    let (reliability, raw) = match logistic {
        Some(logistic) => (bins(pairs()), bins(pairs().map(|(p, is_label)| (logistic.inverse(p), is_label)))),
        None => (of_top(|o| o.confidence), of_top(|o| o.raw_confidence)),
    };
    let threshold = logistic.map(|logistic| f64::from(logistic.threshold));
    let unseen: usize = (0..known.len()).map(|n| known.unseen(n)).sum();
    let log_loss = |(p, is_label): (f64, bool)| -ln((if is_label { p } else { 1.0 - p }).max(1e-9));
    Evaluation {
        error: sum(&|o| if o.hits[0] { 0.0 } else { 1.0 }) / rows,
        nlpd: -sum(&|o| o.log_probability) / labels as f64,
        bound,
        gap: bound.map(|bound| sum(&|o| o.exact) - bound),
        effective_rivals: has_softmax.then(|| sum(&|o| o.effective_rivals) / labels as f64),
        precision_at_1: precision(1),
        precision_at_3: precision(3),
        precision_at_5: precision(5),
        ndcg_at_3: sum(&|o| o.normalised_gain(3)) / rows,
        ndcg_at_5: sum(&|o| o.normalised_gain(5)) / rows,
        psp_at_1: psp(0),
        psp_at_3: psp(1),
        psp_at_5: psp(2),
        ece: calibration_error(&reliability),
        ece_uncalibrated: model.is_calibrated().then(|| calibration_error(&raw)),
        threshold,
        micro_f1: threshold.map(|threshold| {
            let predicted = pairs().filter(|&(p, _)| p >= threshold).count();
            let hits = pairs().filter(|&(p, is_label)| is_label && p >= threshold).count();
            2.0 * hits as f64 / (predicted + labels + unseen).max(1) as f64
        }),
        log_loss: logistic.map(|_| pairs().map(log_loss).sum::<f64>() / pairs().count().max(1) as f64),
        probability_sum: logistic.map(|_| pairs().map(|(p, _)| p).sum::<f64>() / rows),
        reliability,
        confused: confused::pairs(outcomes, known, &model.card.classes),
        rows: outcomes.len(),
        labels,
        unknown_rows: outcomes.iter().filter(|o| o.labels == 0).count(),
        classes: model.classes(),
        features: model.features(),
    }
}
