//! A trained recommender in Python.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use ove::data::Interactions;
use ove::model::{Prepared, Recommendation, Recommending, User};
use ove::options::RecommenderOptions;
use ove::train::{RecommenderEvent, Stop, fit_recommender as fit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::errors::exception;
use crate::settings;
use crate::watch::{Pulse, Report, watched};

/// The parts of a CSR matrix: offsets, indices, values, and the number of columns.
type Csr<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f32>, usize);

/// A vector per row.
type Vectors<'py> = Bound<'py, PyArray2<f32>>;

/// Lists of the same length: numbers and scores; −1 and −∞ where a list is shorter.
type Lists<'py> = (Bound<'py, PyArray2<i32>>, Vectors<'py>);

/// The score of an item, the parts of the user's items in it, and what makes other explanations of the user fast.
type Explanation<'py> = (f32, Vec<(u32, f32)>, Bound<'py, PyArray1<f32>>);

/// The vector of a user or an item from its interactions.
type Fold = fn(&Recommending<'_>, &[(u32, f32)]) -> Vec<f32>;

/// A trained recommender.
#[pyclass(frozen, module = "ove._ove")]
pub struct Recommender {
    state: RwLock<State>,
}

struct State {
    model: ove::Model,
    prepared: Arc<Prepared>,
}

/// Trains a recommender. `tune_on` are interactions that choose the number of epochs, in place of held-out ones.
#[pyfunction]
pub fn fit_recommender(
    py: Python<'_>,
    data: Csr<'_>,
    settings: &str,
    threads: usize,
    tune_on: Option<Csr<'_>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Recommender> {
    let settings = Value::Object(settings::parsed(settings)?);
    let options = RecommenderOptions::from_settings(&settings).map_err(exception)?;
    let items = data.3;
    let names = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
    let data = interactions(&data, names(data.0.as_array().len() - 1), names(items))?;
    let tune_on = tune_on.map(|part| interactions(&part, data.users.clone(), data.item_names.clone())).transpose()?;
    let work = |pulse: &Pulse| {
        let watch = &mut |event: RecommenderEvent<'_>| {
            match event {
                RecommenderEvent::Choosing { progress } | RecommenderEvent::Step { progress, .. } => {
                    pulse.tell(Report { done: progress.done, bound: progress.bound, run: None });
                }
                _ => {}
            }
            if pulse.is_stopped() { ControlFlow::Break(Stop::Discard) } else { ControlFlow::Continue(()) }
        };
        let model = ove::with_threads(threads, || fit(&data, &options, tune_on.as_ref(), None, watch));
        model.and_then(|model| model).map_err(exception)
    };
    Recommender::new(watched(py, progress, work)??)
}

#[pymethods]
impl Recommender {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| ove::Model::load(&path)).map_err(exception).and_then(Recommender::new)
    }

    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| ove::Model::from_bytes(bytes)).map_err(exception).and_then(Recommender::new)
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.read(|state| state.model.save(&path))).map_err(exception)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.read(|state| state.model.to_bytes())))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Recommender>().getattr("from_bytes")?, (self.to_bytes(py),)))
    }

    /// The settings, the names of users and items, and the course of training, as JSON.
    fn card(&self) -> PyResult<String> {
        self.read(|state| serde_json::to_string(&state.model.card)).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The vectors of users and of items, whose inner products are the scores.
    fn factors<'py>(&self, py: Python<'py>) -> PyResult<(Vectors<'py>, Vectors<'py>)> {
        let (users, items, rank) = self.answer(py, 0, |recommending| {
            let counts = [recommending.seen().len(), recommending.model().classes()];
            let users: Vec<f32> =
                (0..counts[0] as u32).flat_map(|user| recommending.user_vector(user)).copied().collect();
            let items: Vec<f32> = (0..counts[1] as u32).flat_map(|item| recommending.item(item)).copied().collect();
            (users, items, recommending.options().rank)
        })?;
        let table = |numbers: Vec<f32>| {
            let count = numbers.len() / rank;
            PyArray1::from_vec(py, numbers).reshape([count, rank])
        };
        Ok((table(users)?, table(items)?))
    }

    /// The vectors of users with these items.
    fn fold_in<'py>(&self, py: Python<'py>, data: Csr<'_>, threads: usize) -> PyResult<Vectors<'py>> {
        let data = interactions(&data, Vec::new(), Vec::new())?;
        self.folded(py, &data, threads, |recommending, items| recommending.fold_in(items))
    }

    /// The vectors of items with these users.
    fn fold_in_items<'py>(&self, py: Python<'py>, data: Csr<'_>, threads: usize) -> PyResult<Vectors<'py>> {
        let data = interactions(&data, Vec::new(), Vec::new())?;
        self.folded(py, &data, threads, |recommending, users| recommending.fold_in_item(users))
    }

    /// The top items per user, without those of the rows of `excluded`, and of only the items `among`, which must be in
    /// increasing order. If `given` is there, it has the items of each user, as of one that the model does not know.
    #[expect(clippy::too_many_arguments)]
    fn top<'py>(
        &self,
        py: Python<'py>,
        users: Vec<u32>,
        given: Option<Csr<'_>>,
        excluded: Csr<'_>,
        among: Option<Vec<u32>>,
        count: usize,
        threads: usize,
    ) -> PyResult<Lists<'py>> {
        let excluded = interactions(&excluded, Vec::new(), Vec::new())?;
        let given = given.map(|given| interactions(&given, Vec::new(), Vec::new())).transpose()?;
        let tops = self.answer(py, threads, |recommending| {
            let user = |(row, &user): (usize, &u32)| match &given {
                Some(given) => recommending.new_user(&weighted(given, row)),
                None => recommending.user(user),
            };
            let known: Vec<User<'_>> = users.iter().enumerate().map(user).collect();
            let excluded: Vec<&[u32]> = (0..users.len()).map(|row| excluded.items_of(row)).collect();
            match &among {
                Some(items) => recommending.top_among(items, &known, &excluded, count),
                None => recommending.top(&known, &excluded, count),
            }
        })?;
        padded(py, &tops, count)
    }

    /// The users or items with the largest cosines per vector.
    fn similar<'py>(
        &self,
        py: Python<'py>,
        users: bool,
        vectors: PyReadonlyArray2<'_, f32>,
        count: usize,
    ) -> PyResult<Lists<'py>> {
        let rank = vectors.as_array().ncols();
        let numbers = vectors.as_slice()?;
        let tops = self.answer(py, 0, |recommending| {
            let similar = |vector| match users {
                true => recommending.users_like(vector, count),
                false => recommending.items_like(vector, count),
            };
            numbers.chunks_exact(rank).map(similar).collect::<Vec<_>>()
        })?;
        padded(py, &tops, count)
    }

    /// How much each item of a user speaks for an item, strongest first.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        user: Csr<'_>,
        shares: Option<PyReadonlyArray1<'_, f32>>,
        item: u32,
    ) -> PyResult<Explanation<'py>> {
        let data = interactions(&user, Vec::new(), Vec::new())?;
        let items = weighted(&data, 0);
        let shares = shares.map(|shares| shares.as_slice().map(<[f32]>::to_vec)).transpose()?;
        if shares.as_ref().is_some_and(|shares| shares.len() != items.len()) {
            return Err(PyValueError::new_err("`user_weights` must be those of another explanation of the same user"));
        }
        let (score, reasons, shares) = self.answer(py, 0, |recommending| {
            let shares = shares.unwrap_or_else(|| recommending.shares(&items));
            let score = recommending.scores(&recommending.new_user(&items))[item as usize];
            (score, recommending.explain_with(&shares, &items, item), shares)
        })?;
        let reasons = reasons.into_iter().map(|reason| (reason.item, reason.score)).collect();
        Ok((score, reasons, shares.to_pyarray(py)))
    }

    /// Gives users the vectors of these interactions; users that are new have the next numbers.
    fn set_users(&self, py: Python<'_>, users: Vec<u32>, data: Csr<'_>) -> PyResult<()> {
        let data = interactions(&data, users.iter().map(u32::to_string).collect(), vec![String::new(); data.3])?;
        py.detach(|| self.change(|model| model.fold_in_users(&users, &data))).map_err(exception)
    }

    /// Gives items the vectors of these interactions with users; items that are new have the next numbers.
    fn set_items(&self, py: Python<'_>, items: Vec<u32>, data: Csr<'_>) -> PyResult<()> {
        let data = interactions(&data, items.iter().map(u32::to_string).collect(), vec![String::new(); data.3])?;
        py.detach(|| self.change(|model| model.fold_in_items(&items, &data))).map_err(exception)
    }
}

impl Recommender {
    fn new(model: ove::Model) -> PyResult<Self> {
        model.recommender().map_err(exception)?;
        Ok(Recommender { state: RwLock::new(State { model, prepared: Arc::default() }) })
    }

    fn read<R>(&self, work: impl FnOnce(&State) -> R) -> R {
        work(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, work: impl FnOnce(&mut ove::Model) -> ove::Result<()>) -> ove::Result<()> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        work(&mut state.model)?;
        state.prepared = Arc::default();
        Ok(())
    }

    /// Works with so many threads and with the interpreter released.
    fn answer<R: Send>(
        &self,
        py: Python<'_>,
        threads: usize,
        work: impl FnOnce(&Recommending<'_>) -> R + Send,
    ) -> PyResult<R> {
        py.detach(|| {
            self.read(|state| {
                let recommending = state.model.recommender_with(state.prepared.clone())?;
                ove::with_threads(threads, || work(&recommending))
            })
        })
        .map_err(exception)
    }

    fn folded<'py>(&self, py: Python<'py>, data: &Interactions, threads: usize, fold: Fold) -> PyResult<Vectors<'py>> {
        let (numbers, rank) = self.answer(py, threads, |recommending| {
            let vectors = (0..data.len()).flat_map(|row| fold(recommending, &weighted(data, row)));
            (vectors.collect::<Vec<f32>>(), recommending.options().rank)
        })?;
        PyArray1::from_vec(py, numbers).reshape([data.len(), rank])
    }
}

/// The interactions of a CSR matrix whose values are above 0; without names, there is none per row.
fn interactions(data: &Csr<'_>, users: Vec<String>, items: Vec<String>) -> PyResult<Interactions> {
    let (offsets, indices, values) = (data.0.as_slice()?, data.1.as_slice()?, data.2.as_slice()?);
    let outside = |&&index: &&i32| usize::try_from(index).map_or(true, |index| index >= data.3);
    if let Some(index) = indices.iter().find(outside) {
        return Err(PyValueError::new_err(format!("column numbers must be below {}, got {index}", data.3)));
    }
    let mut out = Interactions::new(items);
    let mut names = users.into_iter();
    for pair in offsets.windows(2) {
        let range = pair[0] as usize..pair[1] as usize;
        let (Some(indices), Some(values)) = (indices.get(range.clone()), values.get(range)) else {
            return Err(PyValueError::new_err("row offsets must lie within the values"));
        };
        let chosen = indices.iter().map(|&index| index as u32).zip(values.iter().copied());
        out.push(names.next().unwrap_or_default(), chosen.collect());
    }
    Ok(out)
}

fn weighted(data: &Interactions, row: usize) -> Vec<(u32, f32)> {
    data.items_of(row).iter().copied().zip(data.weights_of(row).iter().copied()).collect()
}

fn padded<'py>(py: Python<'py>, tops: &[Vec<Recommendation>], count: usize) -> PyResult<Lists<'py>> {
    let (mut numbers, mut scores) = (Vec::new(), Vec::new());
    for top in tops {
        numbers.extend(top.iter().map(|one| one.item as i32));
        scores.extend(top.iter().map(|one| one.score));
        numbers.resize(numbers.len() + count - top.len(), -1);
        scores.resize(numbers.len(), f32::NEG_INFINITY);
    }
    let shape = [tops.len(), count];
    Ok((PyArray1::from_vec(py, numbers).reshape(shape)?, PyArray1::from_vec(py, scores).reshape(shape)?))
}
