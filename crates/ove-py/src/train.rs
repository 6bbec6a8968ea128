//! Training.

use std::ops::ControlFlow;

use numpy::PyReadonlyArray1;
use ove::train::budget::{self, Bytes};
use ove::model::Card;
use ove::options::{ForestOptions, Options, Solver};
use ove::train::trees::Growing;
use ove::train::{Begin, learning_rate};
use ove::{Error, HeldOut, Labels, Linear, Problem, Settings, Weights, held_out, solve};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::model::Model;
use crate::rows::Matrix;
use crate::settings::{Choices, Keywords};
use crate::watch::{Pulse, Report, watched};

/// By how much a usual rate is made smaller at most.
const MOST_SLOWED: f64 = 1e6;

/// Trains a model. The labels of row n are `labels[offsets[n]:offsets[n + 1]]`, numbers of `classes`; `start` is a model to go on from.
#[pyfunction]
#[pyo3(signature = (rows, offsets, labels, row_weights, classes, feature_names, keywords, start, progress))]
#[expect(clippy::too_many_arguments, reason = "called from one place, in Python")]
pub fn train(
    py: Python<'_>,
    rows: Matrix<'_>,
    offsets: PyReadonlyArray1<'_, i64>,
    labels: PyReadonlyArray1<'_, u32>,
    row_weights: Option<PyReadonlyArray1<'_, f64>>,
    classes: Vec<String>,
    feature_names: Vec<String>,
    keywords: Keywords,
    start: Option<&Model>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let (choices, memory) = (keywords.choices(), keywords.memory()?);
    let settings = keywords.settings(rows.features(), classes.len())?;
    let labels = as_labels(offsets.as_slice()?, labels.as_slice()?)?;
    let row_weights = row_weights.as_ref().map_or(Ok(&[][..]), |weights| weights.as_slice())?;
    let text = match &rows {
        Matrix::Texts(texts) => {
            let own = texts.get().text.as_ref();
            own.or(start.and_then(|model| model.inner.card.text.as_ref())).cloned()
        }
        _ => None,
    };
    let view = rows.view()?;
    let work = |pulse: &Pulse| {
        let problem = Problem { rows: view.rows()?, labels: &labels, row_weights, classes: classes.len() };
        let (counts, rows) = (problem.counts(), problem.rows.len() as u64);
        let card = Card { feature_names, text, ..Card::new(settings.clone(), classes.clone(), counts, rows) };
        let model = match &settings {
            Settings::Linear(options) => {
                let start = start.and_then(|model| model.inner.linear());
                linear(&problem, options.clone(), choices, start, card, pulse)
            }
            Settings::Forest(options) => forest(&problem, options, memory, card, pulse),
        };
        model.map_err(exception)
    };
    watched(py, progress, work)?.map(Model::new)
}

/// As on the command line: held-out rows choose rate and length of a run that says neither, and its temperature. A usual rate that
/// diverges, as with few rows of large numbers it may, gives way to a tenth of it.
fn linear(
    problem: &Problem<'_>,
    mut options: Options,
    choices: Choices,
    start: Option<&Linear>,
    card: Card,
    pulse: &Pulse,
) -> ove::Result<ove::Model> {
    let chooses = choices.passes && start.is_none() && options.solver == Solver::Stochastic;
    let drawn = if chooses || choices.temperature { held_out::draw(problem, options.seed) } else { Vec::new() };
    let unseen = held_out::copy(problem, &drawn);
    let unseen = (!drawn.is_empty()).then(|| HeldOut::of(&unseen, problem.classes));
    let row_weights = held_out::weights_without(problem, &drawn);
    let problem = Problem { row_weights: &row_weights, ..*problem };
    if chooses {
        options.epochs = learning_rate::epochs_for(problem.rows.len());
        if let Some(unseen) = &unseen {
            options.learning_rate = learning_rate::choose(&problem, &options, unseen, &mut || pulse.flow())?;
        }
    }
    let begin = Begin { start, saved: None, held_out: unseen.filter(|_| chooses) };
    let watch = &mut |p: &ove::Progress<'_>| pulse.tell(Report { done: p.done, bound: Some(p.bound) });
    let least = options.learning_rate / MOST_SLOWED;
    let fit = loop {
        match solve::train_with(begin, &problem, &options, watch) {
            Err(Error::Diverged { .. }) if choices.rate && options.learning_rate > least => {
                options.learning_rate /= 10.0
            }
            other => break other?,
        }
    };
    let temperature = unseen.map(|unseen| unseen.judge(&fit.linear, options.threads)).transpose()?;
    let card = Card { options: Settings::Linear(options), finished: fit.finished, trace: fit.trace, ..card };
    let mut model = ove::Model { weights: Weights::Linear(fit.linear), card };
    if let Some(verdict) = temperature {
        model.calibrate(verdict.temperature);
    }
    Ok(model)
}

fn forest(
    problem: &Problem<'_>,
    options: &ForestOptions,
    memory: Bytes,
    card: Card,
    pulse: &Pulse,
) -> ove::Result<ove::Model> {
    let watch = &mut |growing: &Growing<'_>| match budget::holds_forest(memory, growing.weights) {
        true => pulse.tell(Report { done: growing.done, bound: None }),
        false => ControlFlow::Break(()),
    };
    let grown = solve::forest::train_with(None, problem, options, watch)?;
    budget::check_forest(memory, options.trees, grown.forest.weights())?;
    let options = Settings::Forest(ForestOptions { epochs: Some(grown.epochs), ..options.clone() });
    let card = Card { options, finished: grown.finished, ..card };
    Ok(ove::Model { weights: Weights::Forest(grown.forest), card })
}

fn as_labels(offsets: &[i64], classes: &[u32]) -> PyResult<Labels> {
    let mut labels = Labels::default();
    labels.reserve(offsets.len().saturating_sub(1));
    for pair in offsets.windows(2) {
        let row = classes.get(pair[0] as usize..pair[1] as usize);
        labels.push(row.ok_or_else(|| PyValueError::new_err("label offsets beyond the labels"))?);
    }
    Ok(labels)
}
