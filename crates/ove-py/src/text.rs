//! Texts to rows.

use std::path::PathBuf;

use numpy::{PyArray1, ToPyArray};
use ove::Dataset;
use ove::io::cache;
use ove::io::read::{Format, ReadOptions};
use ove::text::Text;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::errors::exception;
use crate::settings;

/// The parts of a CSR matrix.
type Parts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f32>>);

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

    /// The offsets, indices and values of a CSR matrix.
    fn parts<'py>(&self, py: Python<'py>) -> Parts<'py> {
        let rows = self.data.rows();
        let mut offsets = vec![0];
        let (mut indices, mut values) = (Vec::with_capacity(rows.entries()), Vec::with_capacity(rows.entries()));
        for row in rows.iter(0..self.data.len()) {
            indices.extend(row.indices.iter().map(|&feature| feature as i32));
            values.extend_from_slice(row.values);
            offsets.push(indices.len() as i64);
        }
        (offsets.to_pyarray(py), indices.to_pyarray(py), values.to_pyarray(py))
    }

    /// The rows of other texts, by the same words.
    fn like(&self, py: Python<'_>, texts: Vec<PyBackedStr>, threads: usize) -> PyResult<TextRows> {
        let text = self.text.as_ref().ok_or_else(|| PyValueError::new_err("the rows were not fitted to texts"))?;
        let data = py.detach(|| ove::with_threads(threads, || text.rows(&borrowed(&texts)))).map_err(exception)?;
        Ok(TextRows { data, text: None })
    }

    /// Number of features.
    #[getter]
    fn features(&self) -> usize {
        self.data.features()
    }
}

/// Finds the vocabulary of texts and makes their rows.
#[pyfunction]
pub fn fit_text(py: Python<'_>, texts: Vec<PyBackedStr>, settings: &str, threads: usize) -> PyResult<TextRows> {
    let options = settings::text_options(settings::parsed(settings)?)?;
    let fitted = py.detach(|| ove::with_threads(threads, || Text::fit(&options, &borrowed(&texts))));
    let (text, data) = fitted.and_then(|fitted| fitted).map_err(exception)?;
    Ok(TextRows { data, text: Some(text) })
}

/// The same for the texts of a file, one per line and followed by a tab and any label, whose rows stay in a folder.
#[pyfunction]
pub fn fit_text_on_disk(
    py: Python<'_>,
    texts: PathBuf,
    folder: PathBuf,
    settings: &str,
    threads: usize,
) -> PyResult<TextRows> {
    let options = settings::text_options(settings::parsed(settings)?)?;
    let read = ReadOptions { format: Some(Format::Tsv), ..ReadOptions::default() };
    let open = || cache::open(&folder, &texts, &read, &options, &mut |_| ());
    let cached = py.detach(|| ove::with_threads(threads, open)).and_then(|cached| cached).map_err(exception)?;
    Ok(TextRows { data: cached.data, text: cached.text })
}

/// The texts, as the library takes them.
pub fn borrowed(texts: &[PyBackedStr]) -> Vec<&str> {
    texts.iter().map(|text| &**text).collect()
}
