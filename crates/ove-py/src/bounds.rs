//! The bounds on scores, and the non-parametric case.

use std::ops::ControlFlow;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use ove::Objective;
use ove::options::LinearOptions;
use ove::train::Progress;
use ove::train::categorical::{self, Method};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::exception;
use crate::settings;
use crate::watch::{Report, watched};

/// N values and N × K derivatives.
type ValuesAndGradient<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// The bound on log p(y) of each row of scores, and its gradient in them. `merge` are the classes of C.
#[pyfunction]
pub fn log_softmax_bound<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'py, f64>,
    y: PyReadonlyArray1<'py, i64>,
    kind: &str,
    merge: Vec<usize>,
) -> PyResult<ValuesAndGradient<'py>> {
    let objective: Objective = kind.parse().map_err(exception)?;
    let classes = scores.as_array().ncols();
    let (scores, y) = (scores.as_slice()?, y.as_slice()?);
    check(classes, scores, y, &merge).map_err(PyValueError::new_err)?;
    let (values, gradient) = py.detach(|| {
        let mut gradient = scores.to_vec();
        let mut row = Row::new(objective, classes, merge);
        let rows = gradient.chunks_mut(classes).zip(y);
        let values: Vec<f64> = rows.map(|(scores, &y)| row.value_and_gradient(scores, y as usize)).collect();
        (values, gradient)
    });
    let rows = values.len();
    Ok((PyArray1::from_vec(py, values), PyArray1::from_vec(py, gradient).reshape([rows, classes])?))
}

fn check(classes: usize, scores: &[f64], y: &[i64], merge: &[usize]) -> Result<(), String> {
    if classes < 2 {
        return Err(format!("`scores` must have at least 2 columns, got {classes}"));
    }
    let rows = scores.len() / classes;
    if rows != y.len() {
        return Err(format!("`y` must have one class per row of `scores`, got {} for {rows}", y.len()));
    }
    if let Some(at) = scores.iter().position(|f| !f.is_finite()) {
        let (row, column) = (at / classes, at % classes);
        return Err(format!("`scores` must be finite, got {} in row {row}, column {column}", scores[at]));
    }
    let last = classes - 1;
    if let Some(n) = y.iter().position(|&y| y < 0 || y as usize >= classes) {
        return Err(format!("`y` must be from 0 to {last}, got {} in row {n}", y[n]));
    }
    match merge.iter().enumerate().find(|&(i, k)| *k >= classes || merge[..i].contains(k)) {
        Some((_, k)) => Err(format!("`merge` must have each class from 0 to {last} at most once, got {k}")),
        None => Ok(()),
    }
}

/// Room for one row in the order of the library: the own class, those of C, the others.
struct Row {
    objective: Objective,
    merge: Vec<usize>,
    order: Vec<usize>,
    scores: Vec<f64>,
    ones: Vec<f64>,
}

impl Row {
    fn new(objective: Objective, classes: usize, merge: Vec<usize>) -> Self {
        Row { objective, merge, order: Vec::new(), scores: Vec::new(), ones: vec![1.0; classes] }
    }

    fn value_and_gradient(&mut self, scores: &mut [f64], y: usize) -> f64 {
        let mut inside = vec![false; scores.len()];
        self.merge.iter().for_each(|&k| inside[k] = true);
        inside[y] = false;
        self.order.clear();
        self.order.push(y);
        self.order.extend(self.merge.iter().filter(|&&k| k != y));
        let merged = self.order.len() - 1;
        self.order.extend((0..scores.len()).filter(|&k| k != y && !inside[k]));
        self.scores.clear();
        self.scores.extend(self.order.iter().map(|&k| scores[k]));
        let (inside, weights) = match self.objective {
            Objective::Merged => (merged, &self.ones[merged + 1..]),
            _ => (0, &self.ones[1..]),
        };
        let value = self.objective.value_and_gradient(&mut self.scores, inside, weights);
        self.order.iter().zip(&self.scores).for_each(|(&k, &derivative)| scores[k] = derivative);
        value
    }
}

/// The probabilities of values that occur so often, and the method that found them.
#[pyfunction]
pub fn estimate(
    py: Python<'_>,
    counts: Vec<u64>,
    method: Option<&str>,
    settings: &str,
    threads: usize,
) -> PyResult<(Vec<f64>, &'static str)> {
    let given = settings::parsed(settings)?;
    let objective = match given.get("objective").and_then(Value::as_str) {
        Some(name) => name.parse().map_err(exception)?,
        None => LinearOptions::default().bound.objective,
    };
    let occurring = counts.iter().filter(|&&count| count > 0).count();
    let method = method.map_or(Ok(Method::best_for(objective, occurring)), str::parse).map_err(exception)?;
    let options = categorical::options(method, &Value::Object(given)).map_err(exception)?;
    let found = watched(py, None, |pulse| {
        let watch = &mut |progress: &Progress, _: &dyn Fn() -> Vec<f64>| {
            pulse.tell(Report { done: progress.done, bound: progress.bound, run: None });
            if pulse.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        ove::with_threads(threads, || categorical::estimate(&counts, method, &options, watch))
    })?;
    Ok((found.and_then(|found| found).map_err(exception)?, method.name()))
}
