//! What one row of a batch carries through both phases.

/// What one row of a batch leaves between the phases.
#[derive(Clone, Default)]
pub(super) struct Visit<H> {
    /// The number of the row.
    pub row: usize,
    /// What its scores keep of it.
    pub hidden: H,
    /// The labels, the classes of C, the sample.
    pub classes: Vec<u32>,
    /// How often each label counts.
    pub label_weights: Vec<f64>,
    /// Number of classes that belong to C.
    pub inside: usize,
    /// First the scores, then the derivatives, weighted and in units of the rate.
    pub derivatives: Vec<f64>,
    pub weights: Vec<f64>,
    pub excluded: Vec<u32>,
    pub scratch: Vec<f64>,
    pub bound: f64,
}
