//! What a model is trained on, wherever it lies: a data set, or rows that another program holds.

use crate::data::{Dataset, Examples};

/// The rows to train on, borrowed, with the names of their classes and features.
#[derive(Debug, Clone, Copy)]
pub struct FitData<'a> {
    /// The rows, with their labels.
    pub examples: Examples<'a>,
    /// The name of each class.
    pub classes: &'a [String],
    /// The name of each feature; empty where they have none.
    pub feature_names: &'a [String],
    /// The bytes of rows that stay on disk; 0 if they are in memory.
    pub bytes_on_disk: u64,
}

impl<'a> From<&'a Dataset> for FitData<'a> {
    fn from(data: &'a Dataset) -> Self {
        FitData {
            examples: Examples::of(data),
            classes: &data.classes,
            feature_names: &data.feature_names,
            bytes_on_disk: data.bytes_on_disk(),
        }
    }
}
