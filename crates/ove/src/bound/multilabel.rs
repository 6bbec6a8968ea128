//! Several labels per row: each label is compared with the row's negatives, the classes that are not its labels.
//!
//! ```text
//! Σ_{y ∈ Y} c_y log p̃(y | y and the classes outside Y)
//! ```
//!
//! The labels Y of a row do not compete with each other, so they have the same negatives: these are visited once, and
//! their derivatives are summed over the labels. c_y is the weight of a label.

use super::label_sum::sum_over_labels;
use super::objective::Objective;
use crate::platform::elementary::ln;

impl Objective {
    /// Returns the value and overwrites `scores` with derivatives, for a row with any number of labels.
    ///
    /// `scores` are those of the labels, with their `label_weights`, then as in [`Objective::value_and_gradient`] those
    /// of the `inside` classes in C and of the classes outside it with their `weights`. None of these is a label of the
    /// row. `scratch` is a buffer.
    ///
    /// # Panics
    /// If there is no label, or the lengths do not match.
    #[inline]
    pub fn of_labels(
        self,
        scores: &mut [f64],
        label_weights: &[f64],
        inside: usize,
        weights: &[f64],
        scratch: &mut Vec<f64>,
    ) -> f64 {
        if self == Objective::SampledSoftmax {
            // w e^f = e^{f + log w}: with these scores it is the exact softmax over the drawn classes.
            let drawn = &mut scores[label_weights.len()..];
            drawn.iter_mut().zip(weights).for_each(|(score, weight)| *score += ln(*weight));
            return Objective::Softmax.of_labels(scores, label_weights, weights.len(), &[], scratch);
        }
        let &[weight] = label_weights else {
            let own = |_, visited: &mut [f64]| self.value_and_gradient(visited, inside, weights);
            return sum_over_labels(scores, label_weights, scratch, own);
        };
        let value = weight * self.value_and_gradient(scores, inside, weights);
        if weight != 1.0 {
            scores.iter_mut().for_each(|derivative| *derivative *= weight);
        }
        value
    }
}
