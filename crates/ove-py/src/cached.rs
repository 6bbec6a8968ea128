//! Rows in a cache on disk, which several processes make and read.

use std::path::PathBuf;

use ove::io::cache::{self, Cached, parts};
use ove::io::read::{Columns, ReadOptions};
use ove::text::TextOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::exception;
use crate::settings;

/// Rows in a cache on disk, which any process can open.
#[pyclass(frozen, module = "ove._ove")]
pub struct CachedRows {
    pub cached: Cached,
}

#[pymethods]
impl CachedRows {
    /// Opens the cache of a file, and makes it if there is none. The settings are those of texts and of training.
    #[staticmethod]
    fn of_file(
        py: Python<'_>,
        folder: PathBuf,
        path: PathBuf,
        reading: Reading,
        settings: &str,
        threads: usize,
    ) -> PyResult<Self> {
        let (read, options) = (reading.options()?, settings::text_options(settings::parsed(settings)?)?);
        CachedRows::opened(py, threads, || cache::open(&folder, &path, &read, &options, &mut |_| {}))
    }

    /// Opens a cache that another process has made.
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf, threads: usize) -> PyResult<Self> {
        CachedRows::opened(py, threads, || cache::reopen(&folder))
    }

    fn __len__(&self) -> usize {
        self.cached.data.len()
    }

    /// Number of classes.
    #[getter]
    fn classes(&self) -> usize {
        self.cached.data.classes.len()
    }

    /// Number of features.
    #[getter]
    fn features(&self) -> usize {
        self.cached.data.features()
    }
}

impl CachedRows {
    fn opened(py: Python<'_>, threads: usize, open: impl FnOnce() -> ove::Result<Cached> + Send) -> PyResult<Self> {
        let mut cached = run(py, threads, open)?;
        cached.data.drop_unused_classes();
        Ok(CachedRows { cached })
    }
}

/// How files are read: their format, and the columns of tables as JSON.
#[derive(FromPyObject)]
pub struct Reading(Option<String>, String);

impl Reading {
    fn options(&self) -> PyResult<ReadOptions> {
        let Reading(format, columns) = self;
        let columns: Columns =
            serde_json::from_str(columns).map_err(|error| PyValueError::new_err(format!("`columns`: {error}")))?;
        let format = format.as_deref().map(str::parse).transpose().map_err(exception)?;
        Ok(ReadOptions { format, or_lines: columns == Columns::default(), columns, ..ReadOptions::default() })
    }
}

/// The settings of texts with what the first texts decide, as JSON.
#[pyfunction]
pub fn resolve_texts(py: Python<'_>, path: PathBuf, reading: Reading, settings: &str) -> PyResult<String> {
    let (read, options) = (reading.options()?, settings::text_options(settings::parsed(settings)?)?);
    let options = run(py, 1, || parts::resolve(&path, &read, &options))?;
    Ok(serde_json::to_string(&options).expect("options are JSON"))
}

/// Counts the terms of a file and writes the counts; returns whether it has texts. The options are resolved ones.
#[pyfunction]
pub fn count_terms(py: Python<'_>, path: PathBuf, reading: Reading, options: &str, to: PathBuf) -> PyResult<bool> {
    let (read, options) = (reading.options()?, text_options(options)?);
    run(py, 1, || parts::count(&path, &read, &options, &to))
}

/// Adds up the counts of all files.
#[pyfunction]
pub fn add_up_terms(py: Python<'_>, counts: Vec<PathBuf>, options: &str, to: PathBuf) -> PyResult<()> {
    let options = text_options(options)?;
    run(py, 0, || parts::add_up(&counts, &options, &to))
}

/// Writes the rows of a file to a folder, with the counts of all files if they have texts.
#[pyfunction]
pub fn write_rows(
    py: Python<'_>,
    path: PathBuf,
    reading: Reading,
    counts: Option<PathBuf>,
    folder: PathBuf,
) -> PyResult<()> {
    let read = reading.options()?;
    run(py, 1, || parts::rows(&path, &read, counts.as_deref(), &folder))
}

/// Joins the rows of all files, each in a folder, in one cache.
#[pyfunction]
pub fn join_rows(
    py: Python<'_>,
    files: Vec<PathBuf>,
    reading: Reading,
    counts: Option<PathBuf>,
    folders: Vec<PathBuf>,
    folder: PathBuf,
) -> PyResult<()> {
    let read = reading.options()?;
    run(py, 0, || parts::join(&files, &read, counts.as_deref(), &folders, &folder))
}

fn text_options(json: &str) -> PyResult<TextOptions> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(format!("options of texts are not JSON: {error}")))
}

/// Works with so many threads and with the interpreter released.
fn run<R: Send>(py: Python<'_>, threads: usize, work: impl FnOnce() -> ove::Result<R> + Send) -> PyResult<R> {
    py.detach(|| ove::with_threads(threads, work)).and_then(|done| done).map_err(exception)
}
