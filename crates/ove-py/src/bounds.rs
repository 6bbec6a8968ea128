//! The bounds on scores, and the non-parametric case.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use ove::train::categorical::Method;
use ove::options::{Options, Solver};
use ove::{Objective, Settings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::settings::Keywords;
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
        return Err(format!("scores of {classes} class, but a probability needs at least two classes"));
    }
    if scores.len() != y.len() * classes {
        return Err(format!("{} classes for {} rows, but each has its own", y.len(), scores.len() / classes));
    }
    if let Some(at) = scores.iter().position(|f| !f.is_finite()) {
        return Err(format!(
            "row {}, column {}: the score {}, but scores are finite",
            at / classes,
            at % classes,
            scores[at]
        ));
    }
    if let Some(n) = y.iter().position(|&y| y < 0 || y as usize >= classes) {
        return Err(format!("row {n} has the class {}, but classes run from 0 to {}", y[n], classes - 1));
    }
    match merge.iter().enumerate().find(|&(i, k)| *k >= classes || merge[..i].contains(k)) {
        Some((_, k)) => Err(format!("merge has {k}, but each class from 0 to {} may stand there once", classes - 1)),
        None => Ok(()),
    }
}

/// Room for one row in the order of the core: the own class, those of C, the others.
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
    method: Option<String>,
    keywords: Keywords,
) -> PyResult<(Vec<f64>, &'static str)> {
    let Settings::Linear(options) = keywords.settings(0, counts.len())? else {
        return Err(PyValueError::new_err("solver is `forest`, but values have no features"));
    };
    let options = Options { solver: Solver::Stochastic, ..options };
    let occurring = counts.iter().filter(|&&count| count > 0).count();
    let method: Method = match method {
        Some(name) => name.parse().map_err(exception)?,
        None => Method::best_for(options.objective, occurring),
    };
    let found = watched(py, None, |pulse| {
        let watch = &mut |p: &ove::Progress<'_>| pulse.tell(Report { done: p.done, bound: Some(p.bound) });
        ove::train::categorical::estimate(&counts, method, &options, watch)
    })?;
    Ok((found.map_err(exception)?, method.name()))
}
