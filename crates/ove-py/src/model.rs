//! A trained model in Python.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use ove::model::Card;
use ove::scores::Linear;
use ove::{Rows, Scores};
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;

use crate::errors::exception;
use crate::rows::Matrix;
use crate::settings;
use crate::text::{TextRows, borrowed};

/// A trained model.
#[pyclass(frozen, module = "ove._ove")]
pub struct Model {
    pub inner: ove::Model,
}

/// N × K numbers.
type Table<'py> = Bound<'py, PyArray2<f64>>;

/// N × k classes and their probabilities.
type Top<'py> = (Bound<'py, PyArray2<i64>>, Table<'py>);

/// Lists, one after another: where each starts, and what they have.
type Lists<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// D × K weights and K biases.
type WeightsAndBias<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>);

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| ove::Model::load(&path)).map(Model::new).map_err(exception)
    }

    /// Maps a model file: processes that do so share its memory.
    #[staticmethod]
    fn map(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| ove::Model::map(&path)).map(Model::new).map_err(exception)
    }

    /// A model of linear scores from weights (features × classes) and biases, trained elsewhere.
    #[staticmethod]
    fn linear_of(
        weights: PyReadonlyArray2<'_, f32>,
        bias: PyReadonlyArray1<'_, f32>,
        classes: Vec<String>,
        settings: &str,
    ) -> PyResult<Self> {
        let shape = weights.as_array().dim();
        let (weights, bias) = (weights.as_slice()?, bias.as_slice()?);
        if shape.1 != classes.len() || bias.len() != classes.len() {
            let message = format!("weights of shape {shape:?} and {} biases for {} classes", bias.len(), classes.len());
            return Err(PyValueError::new_err(message));
        }
        let options = settings::options(settings::parsed(settings)?, None)?;
        let scores = Scores::Linear(Linear::new(classes.len(), [weights, bias].concat()));
        let counts = vec![0; classes.len()];
        Ok(Model::new(ove::Model { scores, card: Card::new(options, classes, counts, 0) }))
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| ove::Model::from_bytes(bytes)).map(Model::new).map_err(exception)
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.inner.save(&path)).map_err(exception)
    }

    /// Writes the model as shards of about so many bytes, and an index at this path.
    fn save_in_shards(&self, py: Python<'_>, path: PathBuf, bytes: u64) -> PyResult<()> {
        py.detach(|| self.inner.save_in_shards(&path, bytes)).map_err(exception)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.to_bytes()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Model>().getattr("from_bytes")?, (self.to_bytes(py),)))
    }

    /// What the model knows beside its weights, as JSON.
    fn card(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner.card).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// Number of features.
    #[getter]
    fn features(&self) -> usize {
        self.inner.features()
    }

    /// Weights (features × classes) and biases of linear scores whose weights have a cell each.
    fn linear<'py>(&self, py: Python<'py>) -> PyResult<WeightsAndBias<'py>> {
        let without = |reason: &str| Err(PyAttributeError::new_err(reason.to_owned()));
        match (self.inner.scores.linear(), &self.inner.scores) {
            (Some(linear), _) if !linear.is_hashed() => {
                let (features, classes) = (linear.features(), linear.classes());
                let weights = linear.table()[..features * classes].to_pyarray(py).reshape([features, classes])?;
                Ok((weights, linear.bias().to_pyarray(py)))
            }
            (Some(_), _) => without("its weights share cells, since `memory` does not hold one for each"),
            (None, Scores::Factored(_)) => without("factored scores have a vector for each feature and each class"),
            (None, _) => without("trees have weights for their nodes, not for classes"),
        }
    }

    /// The name of each feature; empty if they have none.
    fn feature_names(&self) -> Vec<&str> {
        let card = &self.inner.card;
        (0..self.inner.features()).map_while(|feature| card.feature_name(feature)).collect()
    }

    /// The rows of texts, for a model that was trained on texts.
    fn text_rows(&self, py: Python<'_>, texts: Vec<PyBackedStr>, threads: usize) -> PyResult<TextRows> {
        let text = self.inner.card.text.as_ref();
        let text = text.ok_or_else(|| PyValueError::new_err("the model was not trained on texts"))?;
        let data = py.detach(|| ove::with_threads(threads, || text.rows(&borrowed(&texts)))).map_err(exception)?;
        Ok(TextRows { data, text: None })
    }

    /// The rows of more texts to train on, whose new words follow those of the model.
    fn more_text_rows(&self, py: Python<'_>, texts: Vec<PyBackedStr>, threads: usize) -> PyResult<TextRows> {
        let text = self.inner.card.text.as_ref();
        let text = text.ok_or_else(|| PyValueError::new_err("the model was not trained on texts"))?;
        let rows = || {
            let text = text.extended(&borrowed(&texts))?;
            Ok(TextRows { data: text.rows(&borrowed(&texts)), text: Some(text) })
        };
        py.detach(|| ove::with_threads(threads, rows)).and_then(|rows| rows).map_err(exception)
    }

    /// The scores of all classes.
    fn scores<'py>(&self, py: Python<'py>, rows: Matrix<'py>, threads: usize) -> PyResult<Table<'py>> {
        let scores = with_rows(py, &rows, threads, |rows| self.inner.scores(rows))?;
        self.table(py, scores)
    }

    /// The log probabilities of all classes.
    fn log_probabilities<'py>(&self, py: Python<'py>, rows: Matrix<'py>, threads: usize) -> PyResult<Table<'py>> {
        let found = with_rows(py, &rows, threads, |rows| self.inner.log_probabilities(rows))?;
        self.table(py, found)
    }

    /// The `k` best classes of each row with their probabilities.
    fn top_k<'py>(&self, py: Python<'py>, rows: Matrix<'py>, k: usize, threads: usize) -> PyResult<Top<'py>> {
        let (classes, probabilities) = with_rows(py, &rows, threads, |rows| {
            let top = self.inner.top_k(rows, k);
            let best = top.iter().flatten();
            best.map(|prediction| (i64::from(prediction.class), prediction.probability)).unzip::<_, _, Vec<_>, Vec<_>>()
        })?;
        let k = k.min(self.inner.classes());
        let shape = [classes.len() / k, k];
        Ok((classes.to_pyarray(py).reshape(shape)?, probabilities.to_pyarray(py).reshape(shape)?))
    }

    /// The labels of each row: those of row n are `classes[offsets[n]:offsets[n + 1]]`, best first.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: Matrix<'py>,
        threshold: Option<f64>,
        threads: usize,
    ) -> PyResult<Lists<'py>> {
        let found = with_rows(py, &rows, threads, |rows| self.inner.predict_within(rows, 0..rows.len(), threshold))?;
        let (mut offsets, mut classes) = (vec![0], Vec::new());
        for row in found {
            classes.extend(row.iter().map(|prediction| i64::from(prediction.class)));
            offsets.push(classes.len() as i64);
        }
        Ok((PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, classes)))
    }

    /// The threshold that held-out rows chose, for a model of rows with several labels.
    #[getter]
    fn threshold(&self) -> Option<f64> {
        self.inner.several_labels().map(|logistic| logistic.threshold.into())
    }

    /// Number of rows without a feature that the model knows.
    fn unknown_rows(&self, rows: Matrix<'_>) -> PyResult<usize> {
        rows.view()?.read(|rows| Ok((0..rows.len()).filter(|&n| self.inner.knows_nothing_of(rows.row(n))).count()))
    }

    /// The contribution of each feature of the first row to the score of a class, with its name if it has one.
    fn explain(&self, rows: Matrix<'_>, class: u32) -> PyResult<Vec<(u32, Option<&str>, f32)>> {
        let view = rows.view()?;
        let contributions = self.inner.explain(view.rows()?.row(0), class);
        let named = |(feature, weight)| (feature, self.inner.card.feature_name(feature as usize), weight);
        Ok(contributions.into_iter().map(named).collect())
    }
}

impl Model {
    pub fn new(inner: ove::Model) -> Self {
        Model { inner }
    }

    fn table<'py>(&self, py: Python<'py>, numbers: Vec<f64>) -> PyResult<Table<'py>> {
        let classes = self.inner.classes();
        let rows = numbers.len() / classes;
        PyArray1::from_vec(py, numbers).reshape([rows, classes])
    }
}

/// Works on rows with so many threads and with the interpreter released.
fn with_rows<R: Send>(
    py: Python<'_>,
    rows: &Matrix<'_>,
    threads: usize,
    work: impl Fn(Rows<'_>) -> R + Send + Sync,
) -> PyResult<R> {
    let view = rows.view()?;
    py.detach(|| view.read(|rows| ove::with_threads(threads, || work(rows)).map_err(exception)))
}
