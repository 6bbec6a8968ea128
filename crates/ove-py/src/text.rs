//! Texts to rows.

use ove::Dataset;
use ove::text::Text;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::errors::exception;
use crate::settings;

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

/// The texts, as the library takes them.
pub fn borrowed(texts: &[PyBackedStr]) -> Vec<&str> {
    texts.iter().map(|text| &**text).collect()
}
