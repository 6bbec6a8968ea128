//! The layout of a weight table: the K weights of a feature are adjacent, since a row needs several classes for each of
//! its few features.
//!
//! ```text
//! dense     slot(d, k) = d·K + k                    D·K cells
//! hashed    slot(d, k) = hash(d) + k                any number of cells from K on, with hash(d) in 0..=cells − K
//! ```
//!
//! A table that does not fit in memory is hashed. Two weights may then share a cell (a hash collision); few of these
//! weights are ever updated, and the features of a row rarely collide in the same classes. Biases are never hashed.

use std::ops::Range;

use crate::data::Examples;
use crate::error::{Error, Result};
use crate::platform::random::Stream;

/// Number of features that may share any number of cells. Looking at the weights of all of them takes 0.2 s.
const MOST_HASHED: usize = 1 << 26;

/// The layout of features × classes weights in a table.
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
    /// The layout for these examples: hashed if a number of cells is given, otherwise dense.
    ///
    /// # Errors
    /// [`Error::Setting`] if there are fewer cells than classes, or far fewer than features.
    pub fn of(examples: &Examples<'_>, cells: Option<usize>) -> Result<Self> {
        let (features, classes) = (examples.rows.features(), examples.classes);
        match cells {
            None => Ok(Layout::dense(features, classes)),
            Some(cells) if cells >= classes && features <= Layout::most_hashed_features(cells) => {
                Ok(Layout::hashed(features, classes, cells))
            }
            Some(cells) if cells >= classes => {
                let must = format!("be at least {}, a quarter of the number of features", features.div_ceil(4));
                Err(Error::setting("cells", must, cells))
            }
            Some(cells) => Err(Error::setting("cells", format!("be at least the number of classes, {classes}"), cells)),
        }
    }

    /// A dense layout: a cell per weight.
    pub fn dense(features: usize, classes: usize) -> Self {
        Layout { features, classes, form: Form::Dense }
    }

    /// A hashed layout with the given number of cells.
    ///
    /// # Panics
    /// If there are fewer cells than classes.
    pub fn hashed(features: usize, classes: usize, cells: usize) -> Self {
        assert!(cells >= classes, "at least one cell per class");
        Layout { features, classes, form: Form::Hashed { cells } }
    }

    /// The largest number of features whose weights may share this number of cells.
    ///
    /// Without a limit, the features of a small file could be so many that looking at each of them takes a minute.
    /// Training with a budget of memory stays below: its lists of features take more memory than its cells.
    pub fn most_hashed_features(cells: usize) -> usize {
        MOST_HASHED.max(cells.saturating_mul(size_of::<f32>())).min(u32::MAX as usize)
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Whether the layout is hashed, so that weights may share a cell.
    pub fn is_hashed(&self) -> bool {
        self.form != Form::Dense
    }

    /// Number of cells, without the biases.
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

    /// The entries of a row that may have weights in a range of cells, given the start cells of its features. In a
    /// dense table, the starts increase with the features.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;

    #[test]
    fn far_fewer_cells_than_features_are_refused() {
        let of = |features: usize, cells: usize| {
            let data = Dataset::new(features, vec!["a".into(), "b".into()]);
            Layout::of(&Examples::of(&data), Some(cells)).map_err(|error| error.to_string())
        };
        assert!(of(1 << 26, 2).is_ok() && of(1 << 28, 1 << 26).is_ok());
        let expected = "`cells` must be at least 67108865, a quarter of the number of features, got 30";
        assert_eq!(of((1 << 28) + 1, 30).unwrap_err(), expected);
        assert!(of((1 << 28) + 1, 67_108_865).is_ok());
    }
}
