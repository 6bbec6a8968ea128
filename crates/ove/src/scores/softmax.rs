//! Probabilities by the exact softmax over the scores of all classes, eq. 1.

use rayon::prelude::*;

use super::prediction::Prediction;
use crate::data::Row;
use crate::platform::elementary::exp;
use crate::platform::math::log_sum_exp;
use crate::platform::top_k::top_k as largest;

/// Scores whose softmax over all classes gives the probabilities.
pub(crate) trait SoftmaxScores: Send + Sync {
    /// Computes the scores of all classes. Features that the model does not have are ignored.
    fn scores(&self, row: Row<'_>, scores: &mut [f32]);

    fn classes(&self) -> usize;
}

/// The top-k classes of each row.
pub(super) fn top_k(model: &dyn SoftmaxScores, rows: &[Row<'_>], k: usize) -> Vec<Vec<Prediction>> {
    let of_row = |scores: &mut Vec<f32>, row: &Row<'_>| {
        model.scores(*row, scores);
        top_of(scores, k)
    };
    rows.par_iter().map_init(|| vec![0.0; model.classes()], of_row).collect()
}

/// log p(k | x) of all classes, row by row.
pub(super) fn log_probabilities(model: &dyn SoftmaxScores, rows: &[Row<'_>], out: &mut [f64]) {
    all_scores(model, rows, out);
    out.par_chunks_mut(model.classes()).for_each(|scores| {
        let total = log_sum_exp(scores.iter().copied());
        scores.iter_mut().for_each(|score| *score -= total);
    });
}

/// The scores of all classes, row by row.
pub(crate) fn all_scores(model: &dyn SoftmaxScores, rows: &[Row<'_>], out: &mut [f64]) {
    let classes = model.classes();
    let of_row = |scores: &mut Vec<f32>, (row, out): (&Row<'_>, &mut [f64])| {
        model.scores(*row, scores);
        out.iter_mut().zip(&*scores).for_each(|(out, &score)| *out = score.into());
    };
    rows.par_iter().zip(out.par_chunks_mut(classes)).for_each_init(|| vec![0.0; classes], of_row);
}

/// The softmax of scores.
pub fn probabilities(scores: &[f32]) -> Vec<f64> {
    let total = log_sum_exp(scores.iter().map(|&f| f64::from(f)));
    scores.iter().map(|&f| exp(f64::from(f) - total)).collect()
}

/// The top-k classes by score, best first, ties in class order.
pub(crate) fn top_of(scores: &[f32], k: usize) -> Vec<Prediction> {
    let total = log_sum_exp(scores.iter().map(|&f| f64::from(f)));
    let probability = |class: u32| exp(f64::from(scores[class as usize]) - total);
    let best = largest(scores, k);
    best.into_iter().map(|class| Prediction { class, probability: probability(class) }).collect()
}
