//! Borrowed training data: a data set, or rows in the memory of another program.

use crate::data::{Dataset, Examples};

/// Borrowed training data: rows with labels, and the names of classes and features.
#[derive(Debug, Clone, Copy)]
pub struct FitData<'a> {
    /// The rows, with their labels.
    pub examples: Examples<'a>,
    /// The name of each class.
    pub classes: &'a [String],
    /// The name of each feature; empty if they have none.
    pub feature_names: &'a [String],
    /// Size of memory-mapped rows in bytes; 0 if the rows are in memory.
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
