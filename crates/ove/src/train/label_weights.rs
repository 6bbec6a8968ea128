//! The weight of each label of each row: w_n c_y, the weight of its row times that of its class.

use crate::data::Examples;
use crate::options::ClassWeight;

/// The weights of rows and classes.
pub(crate) struct LabelWeights<'a> {
    /// w_n; empty: all 1.
    rows: &'a [f64],
    /// c_y; empty: all 1.
    classes: Vec<f64>,
}

impl<'a> LabelWeights<'a> {
    pub fn new(examples: &Examples<'a>, class_weight: &ClassWeight) -> Self {
        let classes = match class_weight {
            ClassWeight::Equal => Vec::new(),
            ClassWeight::Balanced => balanced(&examples.counts()),
            ClassWeight::Listed(weights) => weights.clone(),
        };
        LabelWeights { rows: examples.row_weights, classes }
    }

    /// Overwrites `weights` with the weight of each label of row `n`.
    #[inline]
    pub fn of_row(&self, n: usize, labels: &[u32], weights: &mut Vec<f64>) {
        let row = self.rows.get(n).copied().unwrap_or(1.0);
        weights.clear();
        weights.extend(labels.iter().map(|&label| self.classes.get(label as usize).map_or(row, |class| row * class)));
    }
}

/// L / (K L_k), where L_k of all L labels are of class k: all classes have equal total weight, and the sum over labels
/// is L.
fn balanced(counts: &[u64]) -> Vec<f64> {
    let share = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    // The weight of a class that never occurs is never used.
    counts.iter().map(|&count| share / count.max(1) as f64).collect()
}
