//! In place of the reader of matrices, without the feature `npz`.

use super::source::Source;
use super::{ReadOptions, wrong_file};
use crate::data::Dataset;
use crate::error::Result;

/// The error that says what is missing.
pub(super) fn read(source: Source, _: &ReadOptions) -> Result<Dataset> {
    let hint = "save it with sklearn.datasets.dump_svmlight_file, or build with feature `npz`";
    Err(wrong_file(source.path(), format!("expected a format that this build reads, found a matrix; {hint}")))
}
