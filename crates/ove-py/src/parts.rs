//! Training whose work is done in parts, by other processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ove::io::cache::Cached;
use ove::train::checkpoint::Saved;
use ove::train::{FitStart, Part, Stage, Start, Training, fit_in_parts};
use ove::{Error, Examples, TrainOptions};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

use crate::cached::CachedRows;
use crate::errors::exception;
use crate::model::Model;
use crate::settings;
use crate::train::follow;
use crate::watch::{Pulse, Report, watched};

/// Trains a model and has its run done in about `count` parts.
///
/// What came of the parts is kept in `folder`, so that a run that was stopped goes on with what is there.
/// `divide(stage, options, state, parts)` has to do parts, each a range and the path of its file: [`train_parts`] does
/// them, in any process. It is a generator, which yields the share that is done, and is closed if the training is
/// stopped.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, in Python")]
pub fn train_in_parts(
    py: Python<'_>,
    rows: &CachedRows,
    settings: &str,
    folder: PathBuf,
    count: usize,
    threads: usize,
    divide: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let options = settings::options(settings::parsed(settings)?, None)?;
    let Cached { text, data, .. } = &rows.cached;
    // The library knows no exceptions of Python; that of `divide` takes the place of the error that it leads to.
    let raised = Mutex::new(None);
    let work = |pulse: &Pulse| {
        let divide = &mut |training: &mut Training<'_>| {
            let work = |stage: Stage, options: &str, state: &Path, parts: Vec<Missing>| {
                let arguments = (stage.to_string(), options, state, parts);
                let done = Python::attach(|py| follow_parts(divide.bind(py).call1(arguments)?, stage, pulse));
                done.map_err(|exception| {
                    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(exception);
                    Error::Stopped
                })
            };
            do_in_parts(training, &folder, count, &work)
        };
        let start = FitStart { text: text.clone(), ..FitStart::default() };
        let watch = &mut |event: ove::train::Event<'_>| follow(pulse, event);
        let model = ove::with_threads(threads, || fit_in_parts(data, &options, start, watch, divide));
        model.and_then(|model| model).map_err(exception)
    };
    let trained = watched(py, progress, work)?;
    if let Some(exception) = raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(exception);
    }
    let mut model = trained?;
    model.card.columns.clone_from(&data.columns);
    Ok(Model::new(model))
}

/// Lets the parts of a stage be done, until they are or the work has to stop.
fn follow_parts(steps: Bound<'_, PyAny>, stage: Stage, pulse: &Pulse) -> PyResult<()> {
    for share in steps.try_iter()? {
        let share: f64 = share?.extract()?;
        pulse.tell(Report {
            done: if stage == Stage::Nodes { 0.75 * share } else { 0.75 + 0.125 * share },
            bound: None,
            run: None,
        });
        if pulse.is_stopped() {
            steps.call_method0("close")?;
            return Err(PyKeyboardInterrupt::new_err("the training was stopped"));
        }
    }
    Ok(())
}

/// A part that is not done: where its range starts and ends, and the path of its file.
type Missing = (usize, usize, PathBuf);

/// Does the parts of a stage that are missing: its options as JSON, and the file with the plan.
type Work<'a> = dyn Fn(Stage, &str, &Path, Vec<Missing>) -> ove::Result<()> + 'a;

/// Has a run done stage by stage: `work` does the parts that no earlier attempt has done.
fn do_in_parts(training: &mut Training<'_>, folder: &Path, count: usize, work: &Work<'_>) -> ove::Result<()> {
    let options = serde_json::to_string(training.options()).expect("options are JSON");
    if let Some(plan) = usable(&folder.join(format!("{}.plan", Stage::Nodes)))? {
        training.restore(&plan)?;
    }
    loop {
        let parts = training.parts(count)?;
        let Some(stage) = parts.first().map(|part| part.stage) else { return Ok(()) };
        let plan = folder.join(format!("{stage}.plan"));
        training.save(&plan)?;
        let of_part = |Part { range, .. }: &Part| folder.join(format!("{stage}-{}-{}.part", range.start, range.end));
        let mut missing = Vec::new();
        for part in &parts {
            let path = of_part(part);
            if usable(&path)?.is_none() {
                missing.push((part.range.start, part.range.end, path));
            }
        }
        if !missing.is_empty() {
            work(stage, &options, &plan, missing)?;
        }
        for part in &parts {
            training.restore(&Saved::open(&of_part(part))?)?;
        }
    }
}

/// The state in a file; nothing if there is none. A damaged one is removed, to be made again.
fn usable(path: &Path) -> ove::Result<Option<Saved>> {
    match Saved::open(path) {
        Ok(saved) => Ok(Some(saved)),
        Err(_) if !path.exists() => Ok(None),
        Err(_) => fs::remove_file(path).map(|()| None).map_err(|e| Error::file(path, e)),
    }
}

/// Does parts of a run, each a range and the path of its file; those whose files are there are not done again.
#[pyfunction]
pub fn train_parts(
    py: Python<'_>,
    rows: &CachedRows,
    stage: &str,
    options: &str,
    state: PathBuf,
    parts: Vec<Missing>,
    threads: usize,
) -> PyResult<()> {
    let stage: Stage = stage.parse().map_err(exception)?;
    let options: TrainOptions = serde_json::from_str(options)
        .map_err(|error| PyValueError::new_err(format!("options of the run are not JSON: {error}")))?;
    let Cached { text, data, .. } = &rows.cached;
    let work = || {
        let mut examples = Examples::of(data);
        examples.kinds = text.as_ref().map_or(&[], |text| text.kinds());
        let mut training = Training::new(examples, &options, Start::default())?;
        training.restore(&Saved::open(&state)?)?;
        let mut left = parts.iter().filter(|(_, _, path)| !path.exists());
        left.try_for_each(|(start, end, path)| training.work(&Part { stage, range: *start..*end }, path))
    };
    py.detach(|| ove::with_threads(threads, work)).and_then(|done| done).map_err(exception)
}
