//! Several labels a row: each is told from the classes that the row does not have.
//!
//! ```text
//! Σ_{y ∈ Y} c_y log p̃(y | y and the classes outside Y)
//! ```
//!
//! The labels Y of a row do not compete with each other, so the remaining classes are the same for all of them: they are
//! visited once, and their derivatives are summed over the labels. The weight c_y says how often a label counts.

use super::objective::Objective;

impl Objective {
    /// Value and derivatives for the visited classes of a row: its labels, which count `label_weights` times, then as in
    /// [`Objective::value_and_gradient`] the `inside` classes of C and those outside it with their `weights`, none of them a
    /// label of the row. `scratch` is room to work in.
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
            // w e^f = e^{f + log w}: with these scores it is the exact softmax of the drawn classes.
            let drawn = &mut scores[label_weights.len()..];
            drawn.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight.ln());
            return Objective::Softmax.of_labels(scores, label_weights, weights.len(), &[], scratch);
        }
        let &[weight] = label_weights else {
            return self.of_several(scores, label_weights, inside, weights, scratch);
        };
        let value = weight * self.value_and_gradient(scores, inside, weights);
        if weight != 1.0 {
            scores.iter_mut().for_each(|derivative| *derivative *= weight);
        }
        value
    }

    fn of_several(
        self,
        scores: &mut [f64],
        label_weights: &[f64],
        inside: usize,
        weights: &[f64],
        scratch: &mut Vec<f64>,
    ) -> f64 {
        let (labels, rest) = scores.split_at_mut(label_weights.len());
        if rest.is_empty() {
            // The row has every class, and nothing to be told from.
            labels.fill(0.0);
            return 0.0;
        }
        scratch.clear();
        scratch.resize(1 + 2 * rest.len(), 0.0);
        let (visited, sums) = scratch.split_at_mut(1 + rest.len());
        let mut value = 0.0;
        for (label, &weight) in labels.iter_mut().zip(label_weights) {
            visited[0] = *label;
            visited[1..].copy_from_slice(rest);
            value += weight * self.value_and_gradient(visited, inside, weights);
            *label = weight * visited[0];
            for (sum, derivative) in sums.iter_mut().zip(&visited[1..]) {
                *sum += weight * derivative;
            }
        }
        rest.copy_from_slice(sums);
        value
    }
}
