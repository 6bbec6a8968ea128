//! A class with its probability.

/// A class with its probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The class.
    pub class: u32,
    /// Its probability.
    pub probability: f64,
}
