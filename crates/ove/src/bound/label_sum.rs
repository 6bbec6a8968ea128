//! The sum of an objective over the labels of a row, which share their negatives.

/// The weighted sum of `of_label` over the labels; the scores become its derivatives.
///
/// `of_label` takes the number of a label, and its score followed by those of the negatives, which it overwrites with
/// derivatives.
#[inline]
pub(super) fn sum_over_labels(
    scores: &mut [f64],
    label_weights: &[f64],
    scratch: &mut Vec<f64>,
    mut of_label: impl FnMut(usize, &mut [f64]) -> f64,
) -> f64 {
    let (labels, rest) = scores.split_at_mut(label_weights.len());
    if rest.is_empty() {
        // Every class is a label: there are no negatives.
        labels.fill(0.0);
        return 0.0;
    }
    scratch.clear();
    scratch.resize(1 + 2 * rest.len(), 0.0);
    let (visited, sums) = scratch.split_at_mut(1 + rest.len());
    let mut value = 0.0;
    for (number, (label, &weight)) in labels.iter_mut().zip(label_weights).enumerate() {
        visited[0] = *label;
        visited[1..].copy_from_slice(rest);
        value += weight * of_label(number, visited);
        *label = weight * visited[0];
        for (sum, derivative) in sums.iter_mut().zip(&visited[1..]) {
            *sum += weight * derivative;
        }
    }
    rest.copy_from_slice(sums);
    value
}
