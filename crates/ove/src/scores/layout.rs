//! Where a table holds the weights of a feature: K of them side by side, because a row needs several classes of few features.
//!
//! ```text
//! dense     slot(d, k) = d·K + k                    D·K cells
//! hashed    slot(d, k) = hash(d) + k                any number of cells from K on, with hash(d) in 0..=cells − K
//! ```
//!
//! A table that does not fit in memory is hashed. Two weights may then share a cell, which learns for both; few of those weights are ever
//! touched, and those of a row's features rarely meet in the same classes. Biases have cells of their own in either form.

use std::ops::Range;

use crate::data::Examples;
use crate::error::{Error, Result};
use crate::platform::random::Stream;

/// The places of D × K weights in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    features: usize,
    classes: usize,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Dense,
    Hashed { cells: usize },
}

impl Layout {
    /// The layout of a model for these rows, whose weights share so many cells, if a number is given.
    pub fn of(examples: &Examples<'_>, cells: Option<usize>) -> Result<Self> {
        let (features, classes) = (examples.rows.features(), examples.classes);
        match cells {
            None => Ok(Layout::dense(features, classes)),
            Some(cells) if cells >= classes => Ok(Layout::hashed(features, classes, cells)),
            Some(cells) => Err(Error::setting("cells", format!("be at least the number of classes, {classes}"), cells)),
        }
    }

    /// A cell for each weight.
    pub fn dense(features: usize, classes: usize) -> Self {
        Layout { features, classes, form: Form::Dense }
    }

    /// So many cells for all weights, at least one for each class.
    pub fn hashed(features: usize, classes: usize, cells: usize) -> Self {
        assert!(cells >= classes, "the weights of a feature lie side by side");
        Layout { features, classes, form: Form::Hashed { cells } }
    }

    /// D.
    pub fn features(&self) -> usize {
        self.features
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Whether weights may share a cell.
    pub fn is_hashed(&self) -> bool {
        self.form != Form::Dense
    }

    /// How many cells hold the weights, without the biases.
    pub fn cells(&self) -> usize {
        match self.form {
            Form::Dense => self.features * self.classes,
            Form::Hashed { cells } => cells,
        }
    }

    /// The cell of a feature's weight for class 0.
    #[inline(always)]
    pub(crate) fn start(&self, feature: u32) -> usize {
        match self.form {
            Form::Dense => feature as usize * self.classes,
            Form::Hashed { cells } => Stream::of(&[feature.into()]).below((cells - self.classes + 1) as u64) as usize,
        }
    }

    /// The cells of a feature's weights, in class order.
    #[inline(always)]
    pub fn of_feature(&self, feature: u32) -> Range<usize> {
        let start = self.start(feature);
        start..start + self.classes
    }

    /// The entries of a row, whose features start there, that may have weights in a range of cells. In a dense table starts rise with
    /// the features.
    pub(crate) fn entries_within(&self, starts: &[usize], cells: &Range<usize>) -> Range<usize> {
        match self.form {
            Form::Dense => {
                let first_from = |cell: usize| starts.partition_point(|&start| start < cell);
                first_from(cells.start)..first_from(cells.end)
            }
            Form::Hashed { .. } => 0..starts.len(),
        }
    }
}
