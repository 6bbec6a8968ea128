//! A trained model in Python's hands.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use ove::scores::trees::{Forest, Search};
use ove::scores::linear::Prediction;
use ove::{Row, Weights};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyBytes;

use crate::errors::exception;
use crate::rows::Matrix;
use crate::text::{TextRows, borrowed};

/// A trained model.
#[pyclass(frozen, module = "ove._ove")]
pub struct Model {
    pub inner: ove::Model,
}

impl Model {
    pub fn new(inner: ove::Model) -> Self {
        Model { inner }
    }
}

/// N × K numbers.
type Table<'py> = Bound<'py, PyArray2<f64>>;

/// N × k classes and their probabilities.
type Top<'py> = (Bound<'py, PyArray2<i64>>, Table<'py>);

/// D × K weights and K biases.
type WeightsAndBias<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>);

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| ove::Model::load(&path)).map(Model::new).map_err(exception)
    }

    /// Reads what a model file holds.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| ove::Model::from_bytes(bytes)).map(Model::new).map_err(exception)
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.inner.save(&path)).map_err(exception)
    }

    /// What a model file holds.
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

    /// How many classes.
    #[getter]
    fn classes(&self) -> usize {
        self.inner.classes()
    }

    /// How many features.
    #[getter]
    fn features(&self) -> usize {
        self.inner.features()
    }

    /// Weights (features × classes) and biases of a linear model whose weights have a cell each.
    fn linear<'py>(&self, py: Python<'py>) -> PyResult<Option<WeightsAndBias<'py>>> {
        match self.inner.linear() {
            Some(linear) if !linear.places().is_hashed() => {
                let (features, classes) = (linear.features(), linear.classes());
                let weights = linear.table()[..features * classes].to_pyarray(py).reshape([features, classes])?;
                Ok(Some((weights, linear.bias().to_pyarray(py))))
            }
            _ => Ok(None),
        }
    }

    /// The rows of texts, for a model that was trained on such.
    fn text_rows(&self, py: Python<'_>, texts: Vec<PyBackedStr>, threads: usize) -> PyResult<TextRows> {
        let text = self.inner.card.text.as_ref();
        let text = text.ok_or_else(|| PyValueError::new_err("the model was not trained on texts"))?;
        let data = py.detach(|| text.rows(&borrowed(&texts), threads)).map_err(exception)?;
        Ok(TextRows { data, text: None })
    }

    /// The scores of all classes.
    fn scores<'py>(&self, py: Python<'py>, rows: Matrix<'py>, threads: usize) -> PyResult<Table<'py>> {
        let view = rows.view()?;
        let scores = py.detach(|| self.inner.scores(view.rows()?, threads).map_err(exception))?;
        self.table(py, scores)
    }

    /// The log probabilities of all classes.
    fn log_probabilities<'py>(&self, py: Python<'py>, rows: Matrix<'py>, threads: usize) -> PyResult<Table<'py>> {
        let view = rows.view()?;
        let found = py.detach(|| self.inner.log_probabilities(view.rows()?, threads).map_err(exception))?;
        self.table(py, found)
    }

    /// The `count` best classes of each row with their probabilities.
    fn top<'py>(&self, py: Python<'py>, rows: Matrix<'py>, count: usize, threads: usize) -> PyResult<Top<'py>> {
        let view = rows.view()?;
        let count = count.min(self.inner.classes());
        let (classes, probabilities, len) = py.detach(|| {
            let rows = view.rows()?;
            let mut top = self.inner.top(rows, 0..rows.len(), count, threads).map_err(exception)?;
            if let Weights::Forest(forest) = &self.inner.weights {
                top.iter_mut().enumerate().for_each(|(n, top)| complete(forest, rows.row(n), count, top));
            }
            let all = || top.iter().flatten();
            let classes: Vec<i64> = all().map(|prediction| prediction.class.into()).collect();
            let probabilities: Vec<f64> = all().map(|prediction| prediction.probability).collect();
            PyResult::Ok((classes, probabilities, rows.len()))
        })?;
        let shape = [len, count];
        Ok((classes.to_pyarray(py).reshape(shape)?, probabilities.to_pyarray(py).reshape(shape)?))
    }

    /// What each feature of the first row speaks for a class, with its name if it has one.
    fn explain(&self, rows: Matrix<'_>, class: u32) -> PyResult<Vec<(u32, Option<&str>, f32)>> {
        let view = rows.view()?;
        let spoken = self.inner.explain(view.rows()?.row(0), class);
        let named = |(feature, weight)| (feature, self.inner.card.feature_name(feature as usize), weight);
        Ok(spoken.into_iter().map(named).collect())
    }
}

impl Model {
    fn table<'py>(&self, py: Python<'py>, numbers: Vec<f64>) -> PyResult<Table<'py>> {
        let classes = self.inner.classes();
        let rows = numbers.len() / classes;
        PyArray1::from_vec(py, numbers).reshape([rows, classes])
    }
}

/// A forest names only the classes of the leaves that it searched. Where these are fewer than asked for, the most probable others follow.
fn complete(forest: &Forest, row: Row<'_>, count: usize, top: &mut Vec<Prediction>) {
    if top.len() == count {
        return;
    }
    let mut logs = vec![0.0; forest.classes()];
    forest.log_probabilities(&forest.look(&[row], Search::All)[0], &mut logs);
    let mut others: Vec<u32> = (0..).take(logs.len()).filter(|class| top.iter().all(|p| p.class != *class)).collect();
    others.sort_by(|&a, &b| logs[b as usize].total_cmp(&logs[a as usize]).then(a.cmp(&b)));
    let found = |class: u32| Prediction { class, probability: logs[class as usize].exp() };
    top.extend(others.into_iter().take(count - top.len()).map(found));
}
