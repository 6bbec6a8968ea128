//! Word vectors in Python.

use std::ops::ControlFlow;
use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, ToPyArray};
use ove::io::vectors::VectorFormat;
use ove::io::{Corpus, Sentences};
use ove::options::EmbeddingOptions;
use ove::train::{EmbeddingEvent, Stop, fit_embedding};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use serde_json::Value;

use crate::errors::exception;
use crate::model::Model;
use crate::settings;
use crate::watch::{Pulse, Report, watched};

/// Name of a section, right answers, covered questions and all.
type Section = (String, usize, usize, usize);

/// Words with their vectors.
#[pyclass(frozen, module = "ove._ove")]
pub struct WordVectors {
    pub inner: ove::model::WordVectors,
}

/// Trains an embedding on a file, or on lists of words.
#[pyfunction]
pub fn fit_words(
    py: Python<'_>,
    path: Option<PathBuf>,
    sentences: &Bound<'_, PyAny>,
    settings: &str,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let settings = Value::Object(settings::parsed(settings)?);
    let options = EmbeddingOptions::from_settings(&settings).map_err(exception)?;
    let corpus = match path {
        Some(path) => Corpus::File(path),
        None => Corpus::Sentences(numbered(sentences)?),
    };
    let work = |pulse: &Pulse| {
        let watch = &mut |event: EmbeddingEvent<'_>| {
            if let EmbeddingEvent::Step { progress, .. } = event {
                pulse.tell(Report { done: progress.done, ..Report::default() });
            }
            if pulse.is_stopped() { ControlFlow::Break(Stop::Discard) } else { ControlFlow::Continue(()) }
        };
        let model = ove::with_threads(threads, || fit_embedding(corpus, &options, None, watch));
        model.and_then(|model| model).map_err(exception)
    };
    Ok(Model::new(watched(py, progress, work)??))
}

/// The words of an iterable of lists, one list at a time.
fn numbered(sentences: &Bound<'_, PyAny>) -> PyResult<Sentences> {
    let mut failure = None;
    let list = |sentence: Bound<'_, PyAny>| {
        let words = sentence.extract::<Vec<PyBackedStr>>();
        words.map_err(|_| PyValueError::new_err(format!("`corpus` must have lists of strings, got {sentence:?}")))
    };
    let lists = sentences.try_iter()?.map_while(|sentence| match sentence.and_then(list) {
        Ok(words) => Some(words),
        Err(error) => {
            failure = Some(error);
            None
        }
    });
    let all = Sentences::of(lists);
    failure.map_or(Ok(all), Err)
}

#[pymethods]
impl WordVectors {
    /// Those of a trained model.
    #[staticmethod]
    fn of_model(py: Python<'_>, model: &Model) -> PyResult<Self> {
        py.detach(|| model.inner.word_vectors()).map(|inner| WordVectors { inner }).map_err(exception)
    }

    /// Those of a file of word2vec or GloVe; `None` for a model file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Option<Self>> {
        py.detach(|| {
            if ove::model::WordVectors::is_model(&path)? {
                return Ok(None);
            }
            ove::model::WordVectors::open(&path).map(|inner| Some(WordVectors { inner }))
        })
        .map_err(exception)
    }

    /// From words and a vector for each.
    #[staticmethod]
    fn of_table(words: Vec<String>, vectors: PyReadonlyArray2<'_, f32>) -> PyResult<Self> {
        let rank = vectors.as_array().ncols();
        let inner = ove::model::WordVectors::new(words, rank, vectors.as_slice()?.to_vec()).map_err(exception)?;
        Ok(WordVectors { inner })
    }

    /// The words.
    fn words(&self) -> &[String] {
        self.inner.words()
    }

    /// Length of the vectors.
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    /// A vector per word.
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let shape = [self.inner.words().len(), self.inner.rank()];
        self.inner.vectors().to_pyarray(py).reshape(shape)
    }

    /// The vector of a word, if it has one.
    fn vector<'py>(&self, py: Python<'py>, word: &str) -> Option<Bound<'py, PyArray1<f32>>> {
        self.inner.get(word).map(|vector| vector.to_pyarray(py))
    }

    /// The words with the largest cosines, with these.
    fn most_similar(
        &self,
        py: Python<'_>,
        positive: Vec<String>,
        negative: Vec<String>,
        count: usize,
    ) -> PyResult<Vec<(&str, f32)>> {
        let [plus, minus] = [&positive, &negative].map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
        let found = py.detach(|| self.inner.most_similar(&plus, &minus, count)).map_err(exception)?;
        Ok(found.into_iter().map(|one| (self.inner.words()[one.word as usize].as_str(), one.score)).collect())
    }

    /// The cosine of two words.
    fn similarity(&self, a: &str, b: &str) -> PyResult<f32> {
        self.inner.similarity(a, b).map_err(exception)
    }

    /// The results of a file of analogies: of each section, and of all.
    fn analogies(
        &self,
        py: Python<'_>,
        path: PathBuf,
        limit: Option<usize>,
        threads: usize,
    ) -> PyResult<(Vec<Section>, f64)> {
        let found = py.detach(|| ove::with_threads(threads, || self.inner.analogies(&path, limit)));
        let found = found.and_then(|found| found).map_err(exception)?;
        let accuracy = found.total().accuracy();
        let sections = found.sections.into_iter();
        let named = sections.map(|section| (section.name, section.correct, section.covered, section.questions));
        Ok((named.collect(), accuracy))
    }

    /// Spearman's correlation, covered pairs and all.
    fn similarities(&self, py: Python<'_>, path: PathBuf) -> PyResult<(f64, usize, usize)> {
        let found = py.detach(|| self.inner.similarities(&path)).map_err(exception)?;
        Ok((found.spearman, found.covered, found.pairs))
    }

    /// Writes the vectors in one of the forms of others.
    fn export(&self, py: Python<'_>, path: PathBuf, format: &str) -> PyResult<()> {
        let format: VectorFormat = format.parse().map_err(exception)?;
        py.detach(|| self.inner.export(&path, format)).map_err(exception)
    }
}
