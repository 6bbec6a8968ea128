//! Texts to rows.

use ove::Dataset;
use ove::text::{Text, TextOptions};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::errors::exception;

/// The rows of texts.
#[pyclass(frozen, module = "ove._ove")]
pub struct TextRows {
    pub data: Dataset,
    /// What made them, if it was fitted to them.
    pub text: Option<Text>,
}

#[pymethods]
impl TextRows {
    fn __len__(&self) -> usize {
        self.data.len()
    }

    /// How many features a row may have.
    #[getter]
    fn features(&self) -> usize {
        self.data.features()
    }
}

/// Finds the vocabulary of texts and makes their rows.
#[pyfunction]
#[pyo3(signature = (texts, *, ngrams, min_df, hash, sublinear_tf, idf, threads))]
#[expect(clippy::too_many_arguments, reason = "the keywords of Python")]
pub fn fit_text(
    py: Python<'_>,
    texts: Vec<PyBackedStr>,
    ngrams: usize,
    min_df: u32,
    hash: Option<u32>,
    sublinear_tf: bool,
    idf: bool,
    threads: usize,
) -> PyResult<TextRows> {
    let options = TextOptions { ngrams, min_df, hash, sublinear_tf, idf };
    let (text, data) = py.detach(|| Text::fit(&options, &borrowed(&texts), threads)).map_err(exception)?;
    Ok(TextRows { data, text: Some(text) })
}

/// The texts, as the core takes them.
pub fn borrowed(texts: &[PyBackedStr]) -> Vec<&str> {
    texts.iter().map(|text| &**text).collect()
}
