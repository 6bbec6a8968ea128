//! Training.

use std::ops::ControlFlow;

use numpy::PyReadonlyArray1;
use ove::data::Doubt;
use ove::train::{Event, FitData, FitStart, Stop};
use ove::{Dataset, Examples, Labels};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::model::Model;
use crate::rows::Matrix;
use crate::settings;
use crate::watch::{Pulse, Report, watched};
use crate::word_vectors::WordVectors;

/// Trains a model. The labels of row n are `labels[offsets[n]:offsets[n + 1]]`, which index `classes`.
///
/// The last `name_rows` rows are names of classes. `start` is a model to go on from, whose settings hold where none are
/// given; `vectors` are vectors of words as the start of factored scores. `tune_on` are rows with label offsets and
/// labels for choosing settings, in place of held-out rows.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, in Python")]
pub fn train(
    py: Python<'_>,
    rows: Matrix<'_>,
    offsets: PyReadonlyArray1<'_, i64>,
    labels: PyReadonlyArray1<'_, u32>,
    row_weights: Option<PyReadonlyArray1<'_, f64>>,
    classes: Vec<String>,
    feature_names: Vec<String>,
    label_names: Vec<Vec<String>>,
    name_rows: usize,
    settings: &str,
    threads: usize,
    start: Option<&Model>,
    vectors: Option<&WordVectors>,
    tune_on: Option<(Matrix<'_>, PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, u32>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let from = start.map(|model| &model.inner);
    let options = settings::options(settings::parsed(settings)?, from.map(|model| &model.card.options))?;
    let labels = as_labels(offsets.as_slice()?, labels.as_slice()?)?;
    let row_weights = row_weights.as_ref().map_or(Ok(&[][..]), |weights| weights.as_slice())?.to_vec();
    let (text, bytes_on_disk) = match &rows {
        Matrix::Texts(texts) => (texts.get().text.clone(), texts.get().data.bytes_on_disk()),
        _ => (None, 0),
    };
    let tune_on = tune_on.map(|(rows, offsets, labels)| {
        let labels = as_labels(offsets.as_slice()?, labels.as_slice()?)?;
        rows.view()?.read(|rows| {
            let mut data = Dataset::new(rows.features(), classes.clone());
            for (n, row) in rows.iter(0..rows.len()).enumerate() {
                row.indices.iter().zip(row.values).for_each(|(&feature, &value)| data.push_entry(feature, value));
                data.end_row(&labels[n]);
            }
            Ok(data)
        })
    });
    let tune_on = tune_on.transpose()?;
    let view = rows.view()?;
    let work = |pulse: &Pulse| {
        view.read(|rows| {
            let mut examples = Examples::new(rows, &labels, &row_weights, classes.len());
            examples.name_rows = name_rows;
            let data = FitData { examples, classes: &classes, feature_names: &feature_names, bytes_on_disk };
            let vectors = vectors.map(|vectors| &vectors.inner);
            let tune_on = tune_on.as_ref();
            let start = FitStart { from, vectors, text, label_names, tune_on, ..FitStart::default() };
            let watch = &mut |event: Event<'_>| follow(pulse, event);
            let model = ove::with_threads(threads, || ove::fit_with(data, &options, start, watch));
            model.and_then(|model| model).map_err(exception)
        })
    };
    watched(py, progress, work)?.map(Model::new)
}

/// What to say if there are nearly as many classes as rows.
#[pyfunction]
pub fn many_classes(classes: Vec<String>, rows: usize) -> Option<String> {
    Doubt::many_classes(&classes, rows).map(|doubt| doubt.to_string())
}

/// Passes progress on. A stop means that Python raised an exception, so that no model is wanted.
pub fn follow(pulse: &Pulse, event: Event<'_>) -> ControlFlow<Stop> {
    match event {
        Event::Choosing => pulse.tell(Report::default()),
        Event::Step { progress, .. } => {
            let run = Some((progress.epochs, progress.updates));
            pulse.tell(Report { done: progress.done, bound: progress.bound, run });
        }
        _ => {}
    }
    match (pulse.is_stopped(), pulse.is_enough()) {
        (true, _) => ControlFlow::Break(Stop::Discard),
        (_, true) => ControlFlow::Break(Stop::Keep),
        _ => ControlFlow::Continue(()),
    }
}

fn as_labels(offsets: &[i64], classes: &[u32]) -> PyResult<Labels> {
    let mut labels = Labels::default();
    labels.reserve(offsets.len().saturating_sub(1));
    for pair in offsets.windows(2) {
        let row = classes.get(pair[0] as usize..pair[1] as usize);
        labels.push(row.ok_or_else(|| PyValueError::new_err("label offsets must lie within the labels"))?);
    }
    Ok(labels)
}
