//! How good a model is on rows whose classes are known.
//!
//! Probabilities are those of the exact softmax over all classes, whatever the model was trained with. Precision and nDCG at k are
//! those of the extreme-classification repository; with one class a row, precision at k is at most 1/k.

use rayon::prelude::*;
use serde::Serialize;

use crate::data::{NO_CLASS, Rows};
use crate::error::{Error, Result};
use crate::math::log_sum_exp;
use crate::model::Model;
use crate::solve::all_classes::AllClasses;
use crate::solve::in_pool;

/// Rows that one task scores.
const ROWS_A_TASK: usize = 64;

/// Bins of equal width for the calibration error.
const BINS: usize = 15;

/// What an evaluation found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// The share of rows whose best class is not theirs, eq. 18.
    pub error: f64,
    /// −log p of the row's class, averaged over rows, eq. 18.
    pub nlpd: f64,
    /// The objective that the model was trained with, summed over rows: a lower bound on −nlpd · rows.
    pub bound: f64,
    /// How far the bound lies below the exact log likelihood.
    pub gap: f64,
    /// Precision at 1.
    pub precision_at_1: f64,
    /// Precision at 3.
    pub precision_at_3: f64,
    /// Precision at 5.
    pub precision_at_5: f64,
    /// Normalised discounted cumulative gain at 5.
    pub ndcg_at_5: f64,
    /// Propensity-scored precision at 1 (Jain, Prabhu and Varma 2016): rare classes count more.
    pub psp_at_1: f64,
    /// Expected calibration error of the best class's probability, in 15 bins of equal width.
    pub ece: f64,
    /// How many rows were evaluated.
    pub rows: usize,
    /// How many of them have a class that the model does not know. Each counts as an error; `nlpd` and `bound` leave them out.
    pub unknown_rows: usize,
    /// K.
    pub classes: usize,
    /// D.
    pub features: usize,
}

/// What one row contributes.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// How many classes come before the row's own; `usize::MAX` for an unknown class.
    rank: usize,
    log_probability: f64,
    bound: f64,
    /// The probability of the best class.
    confidence: f64,
}

/// Evaluates a model on rows. `labels` index the model's classes; [`NO_CLASS`] stands for a class it does not know.
pub fn evaluate(model: &Model, rows: Rows<'_>, labels: &[u32], threads: usize) -> Result<Evaluation> {
    if labels.len() != rows.len() || rows.is_empty() {
        return Err(Error::Mismatch {
            found: format!("{} labels for {} rows", labels.len(), rows.len()),
            allowed: "there has to be at least one row and one label for each".into(),
        });
    }
    if let Some(n) = labels.iter().position(|&label| label != NO_CLASS && label as usize >= model.linear.classes()) {
        return Err(Error::Mismatch {
            found: format!("row {n} has the class {}", labels[n]),
            allowed: format!("the model has {} classes", model.linear.classes()),
        });
    }
    let mass: Vec<f64> = model.card.counts.iter().map(|&count| count as f64).collect();
    let objective = AllClasses::new(&model.card.options, &mass);
    let mut outcomes = vec![Outcome::default(); rows.len()];
    in_pool(threads, || {
        outcomes.par_chunks_mut(ROWS_A_TASK).enumerate().for_each(|(task, outcomes)| {
            let classes = model.linear.classes();
            let (mut scores, mut wide, mut visited) = (vec![0.0; classes], vec![0.0; classes], vec![0.0; classes]);
            for (n, outcome) in (task * ROWS_A_TASK..).zip(outcomes) {
                model.linear.scores(rows.row(n), &mut scores);
                for (wide, &score) in wide.iter_mut().zip(&scores) {
                    *wide = f64::from(score);
                }
                *outcome = outcome_of(labels[n], &mut wide, &mut visited, &objective);
            }
        });
        Ok(())
    })?;
    Ok(summarise(model, labels, &outcomes))
}

fn outcome_of(own: u32, scores: &mut [f64], visited: &mut [f64], objective: &AllClasses) -> Outcome {
    let total = log_sum_exp(scores.iter().copied());
    let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let confidence = (best - total).exp();
    if own == NO_CLASS {
        return Outcome { rank: usize::MAX, log_probability: 0.0, bound: 0.0, confidence };
    }
    let score = scores[own as usize];
    let before = scores[..own as usize].iter().filter(|&&f| f >= score).count();
    let after = scores[own as usize + 1..].iter().filter(|&&f| f > score).count();
    let bound = objective.value_and_gradient(own, scores, visited);
    Outcome { rank: before + after, log_probability: score - total, bound, confidence }
}

fn summarise(model: &Model, labels: &[u32], outcomes: &[Outcome]) -> Evaluation {
    let rows = outcomes.len();
    let share = |within: usize| outcomes.iter().filter(|o| o.rank < within).count() as f64 / rows as f64;
    let gain = |o: &Outcome| if o.rank < 5 { 1.0 / (o.rank as f64 + 2.0).log2() } else { 0.0 };
    let known = labels.iter().filter(|&&label| label != NO_CLASS).count();
    let log_likelihood: f64 = outcomes.iter().map(|o| o.log_probability).sum();
    let bound = outcomes.iter().map(|o| o.bound).sum();
    Evaluation {
        error: outcomes.iter().filter(|o| o.rank > 0).count() as f64 / rows as f64,
        nlpd: -log_likelihood / known as f64,
        bound,
        gap: log_likelihood - bound,
        precision_at_1: share(1),
        precision_at_3: share(3) / 3.0,
        precision_at_5: share(5) / 5.0,
        ndcg_at_5: outcomes.iter().map(gain).sum::<f64>() / rows as f64,
        psp_at_1: propensity_scored_precision(model, labels, outcomes),
        ece: calibration_error(outcomes),
        rows,
        unknown_rows: rows - known,
        classes: model.linear.classes(),
        features: model.linear.features(),
    }
}

/// Σ over hits of 1/p_l beside the same sum if every row were hit, with the propensities p_l = 1/(1 + C (N_l + B)^−A),
/// C = (log N − 1)(B + 1)^A, A = 0.55, B = 1.5.
fn propensity_scored_precision(model: &Model, labels: &[u32], outcomes: &[Outcome]) -> f64 {
    let (a, b) = (0.55, 1.5f64);
    let c = ((model.card.rows as f64).ln() - 1.0) * (b + 1.0).powf(a);
    let inverse = |label: u32| 1.0 + c * (model.card.counts[label as usize] as f64 + b).powf(-a);
    let (mut reached, mut possible) = (0.0, 0.0);
    for (outcome, &label) in outcomes.iter().zip(labels).filter(|(_, label)| **label != NO_CLASS) {
        possible += inverse(label);
        if outcome.rank == 0 {
            reached += inverse(label);
        }
    }
    if possible > 0.0 { reached / possible } else { 0.0 }
}

/// Σ over bins of |hits − Σ confidence| / rows.
fn calibration_error(outcomes: &[Outcome]) -> f64 {
    let mut bins = [(0.0, 0.0); BINS];
    for outcome in outcomes {
        let bin = &mut bins[((outcome.confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += f64::from(u8::from(outcome.rank == 0));
        bin.1 += outcome.confidence;
    }
    bins.iter().map(|(hits, confidence): &(f64, f64)| (hits - confidence).abs()).sum::<f64>() / outcomes.len() as f64
}
