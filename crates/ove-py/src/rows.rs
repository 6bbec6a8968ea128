//! Rows as Python holds them, in the form that the library reads.
//!
//! | what | how it is read |
//! |---|---|
//! | values, 32-bit floats | where they are |
//! | 32-bit indices | where they are: none is negative, so the unsigned number has the same bits |
//! | 64-bit indices | one 32-bit copy |
//! | offsets of rows | where they are |
//! | dense rows | where they are, with one list of all features |
//!
//! What is read where it is can be changed by another thread of Python while the library works on it. Checksums before
//! and after find that.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use ove::Rows;
use ove::platform::digest::Digest;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::text::TextRows;

/// Rows from Python.
#[derive(FromPyObject)]
pub enum Matrix<'py> {
    /// Of texts.
    Texts(Bound<'py, TextRows>),
    /// Dense, C-ordered.
    Dense(PyReadonlyArray2<'py, f32>),
    /// The parts of a CSR matrix: offsets, indices, values, and the number of features.
    Sparse(PyReadonlyArray1<'py, i64>, Indices<'py>, PyReadonlyArray1<'py, f32>, usize),
}

/// The features of all entries.
#[derive(FromPyObject)]
pub enum Indices<'py> {
    /// 32 bits.
    Narrow(PyReadonlyArray1<'py, i32>),
    /// 64 bits.
    Wide(PyReadonlyArray1<'py, i64>),
}

/// A view that needs no interpreter.
pub enum View<'a> {
    /// Rows that Rust owns.
    Owned(Rows<'a>),
    /// Dense values, and the features of every row.
    Dense(Vec<u32>, &'a [f32]),
    /// The parts of a CSR matrix.
    Sparse(Cow<'a, [usize]>, Cow<'a, [u32]>, &'a [f32], usize),
}

impl Matrix<'_> {
    /// Number of features.
    pub fn features(&self) -> usize {
        match self {
            Matrix::Texts(texts) => texts.get().data.features(),
            Matrix::Dense(values) => values.as_array().ncols(),
            Matrix::Sparse(_, _, _, features) => *features,
        }
    }

    /// The view.
    pub fn view(&self) -> PyResult<View<'_>> {
        Ok(match self {
            Matrix::Texts(texts) => View::Owned(texts.get().data.rows()),
            Matrix::Dense(values) => View::Dense((0..self.features() as u32).collect(), values.as_slice()?),
            Matrix::Sparse(offsets, indices, values, features) => {
                View::Sparse(as_offsets(offsets.as_slice()?)?, indices.view()?, values.as_slice()?, *features)
            }
        })
    }
}

impl View<'_> {
    /// Works on the rows; raises an exception if they were changed meanwhile.
    pub fn read<R>(&self, work: impl FnOnce(Rows<'_>) -> PyResult<R>) -> PyResult<R> {
        let before = self.digest();
        // Features that were checked and then changed lead to a panic, for which the change is the better reason.
        let done = catch_unwind(AssertUnwindSafe(|| work(self.rows()?)));
        if self.digest() != before {
            return Err(PyValueError::new_err("`X` was changed by another thread while it was read"));
        }
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// The checksum of what Python could change.
    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        match self {
            View::Owned(_) => {}
            View::Dense(_, values) => digest.update(bytemuck::cast_slice(values)),
            View::Sparse(offsets, indices, values, _) => {
                digest.update(bytemuck::cast_slice(offsets));
                digest.update(bytemuck::cast_slice(indices));
                digest.update(bytemuck::cast_slice(values));
            }
        }
        digest.finish()
    }

    /// The rows, after a check that they are rows.
    pub fn rows(&self) -> PyResult<Rows<'_>> {
        match self {
            View::Owned(rows) => Ok(*rows),
            View::Dense(indices, values) => Rows::dense(indices, values).map_err(exception),
            View::Sparse(offsets, indices, values, features) => {
                Rows::new(*features, offsets, indices, values).map_err(exception)
            }
        }
    }
}

impl Indices<'_> {
    fn view(&self) -> PyResult<Cow<'_, [u32]>> {
        Ok(match self {
            // A negative number becomes one above all features, which the rows refuse.
            Indices::Narrow(indices) => Cow::Borrowed(bytemuck::cast_slice(indices.as_slice()?)),
            Indices::Wide(indices) => {
                let narrow = |&index: &i64| u32::try_from(index).map_err(|_| index);
                let indices: Result<Vec<u32>, i64> = indices.as_slice()?.iter().map(narrow).collect();
                Cow::Owned(indices.map_err(|index| {
                    PyValueError::new_err(format!("features must be from 0 to {}, got {index}", u32::MAX))
                })?)
            }
        })
    }
}

/// On 64-bit machines where they are. A negative one becomes one beyond all entries, which the rows refuse.
fn as_offsets(offsets: &[i64]) -> PyResult<Cow<'_, [usize]>> {
    match bytemuck::try_cast_slice(offsets) {
        Ok(offsets) => Ok(Cow::Borrowed(offsets)),
        Err(_) => {
            let offsets: Result<Vec<usize>, _> = offsets.iter().map(|&offset| usize::try_from(offset)).collect();
            offsets.map(Cow::Owned).map_err(|_| PyValueError::new_err("row offsets must lie in memory"))
        }
    }
}
