//! The state of one row of a batch between the two phases.

/// One row of a batch with its candidates.
#[derive(Clone, Default)]
pub(super) struct Visit<H> {
    /// The number of the row.
    pub row: usize,
    /// The state of the score function for this row.
    pub hidden: H,
    /// The candidates: the labels, then the classes of C, then the sample.
    pub classes: Vec<u32>,
    /// The weight of each label.
    pub label_weights: Vec<f64>,
    /// Number of candidates in C.
    pub inside: usize,
    /// First the scores, then the derivatives, weighted and in units of the learning rate.
    pub derivatives: Vec<f64>,
    /// The number of classes that each sampled candidate stands for.
    pub weights: Vec<f64>,
    /// The labels and the classes of C, sorted: what is not sampled.
    pub excluded: Vec<u32>,
    /// Buffer for several labels.
    pub scratch: Vec<f64>,
    /// The value of the objective.
    pub bound: f64,
    /// For the normalised bound: the new number u of each label.
    pub normalisers: Vec<f64>,
}

impl<H> Visit<H> {
    /// For the normalised bound: the estimate −Σ u of the log probabilities of the labels, at the new numbers.
    pub fn log_probability(&self) -> f64 {
        -self.label_weights.iter().zip(&self.normalisers).map(|(weight, u)| weight * u).sum::<f64>()
    }
}
