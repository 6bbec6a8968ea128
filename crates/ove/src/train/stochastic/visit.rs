//! The visit of a row: its state in both phases of a batch.

/// The state of one row of a batch between the phases.
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
    pub weights: Vec<f64>,
    pub excluded: Vec<u32>,
    pub scratch: Vec<f64>,
    pub bound: f64,
}
