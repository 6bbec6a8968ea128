//! Recommenders: interactions in, vectors and top items out.

use std::ops::ControlFlow;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods, ToPyArray};
use ove::data::Interactions;
use ove::model::{Recommendation, Recommending};
use ove::options::RecommenderOptions;
use ove::train::{RecommenderEvent, Stop, fit_recommender};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::exception;
use crate::model::Model;
use crate::settings;
use crate::watch::{Pulse, Report, watched};

/// Users × k items, −1 where there are no more, and their scores.
type Top<'py> = (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray2<f32>>);

/// A table of vectors.
type Vectors<'py> = Bound<'py, PyArray2<f32>>;

/// The parts of a CSR matrix: offsets, items in increasing order per user, weights.
type Parts<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f32>);

/// The items of each user.
fn lists(parts: &Parts<'_>) -> PyResult<Vec<Vec<(u32, f32)>>> {
    let (offsets, items, weights) = (parts.0.as_slice()?, parts.1.as_slice()?, parts.2.as_slice()?);
    let of_user = |pair: &[i64]| {
        let range = pair[0] as usize..pair[1] as usize;
        match (items.get(range.clone()), weights.get(range)) {
            (Some(items), Some(weights)) => {
                Ok(items.iter().map(|&item| item as u32).zip(weights.iter().copied()).collect())
            }
            _ => Err(PyValueError::new_err("offsets must lie within the items")),
        }
    };
    offsets.windows(2).map(of_user).collect()
}

/// Trains a recommender on users with `items` items; both are numbered from 0.
#[pyfunction]
pub fn train_recommender(
    py: Python<'_>,
    parts: Parts<'_>,
    items: usize,
    settings: &str,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let settings = Value::Object(settings::parsed(settings)?);
    let options = RecommenderOptions::from_settings(&settings).map_err(exception)?;
    let mut data = Interactions::new((0..items).map(|item| item.to_string()).collect());
    for (user, chosen) in lists(&parts)?.into_iter().enumerate() {
        if let Some((item, weight)) =
            chosen.iter().find(|(item, weight)| *item as usize >= items || !(weight.is_finite() && *weight > 0.0))
        {
            let message = format!("the item {item} of user {user} has the weight {weight}, which must be above 0");
            return Err(PyValueError::new_err(message));
        }
        data.push(user.to_string(), chosen);
    }
    let work = |pulse: &Pulse| {
        let watch = &mut |event: RecommenderEvent<'_>| {
            if let RecommenderEvent::Step { progress, .. } = event {
                pulse.tell(Report { done: progress.done, bound: progress.bound });
            }
            if pulse.is_stopped() { ControlFlow::Break(Stop::Discard) } else { ControlFlow::Continue(()) }
        };
        let model = ove::with_threads(threads, || fit_recommender(&data, &options, None, None, watch));
        model.and_then(|model| model).map_err(exception)
    };
    watched(py, progress, work)?.map(Model::new)
}

/// The vectors of users and of items.
#[pyfunction]
pub fn recommender_vectors<'py>(py: Python<'py>, model: &Model) -> PyResult<(Vectors<'py>, Vectors<'py>)> {
    let recommender = ready(model)?;
    let (users, items) = (model.inner.features(), model.inner.classes());
    Ok((table(py, users, |user| recommender.user(user))?, table(py, items, |item| recommender.item(item))?))
}

/// Vectors as the rows of an array.
fn table<'a, 'py>(py: Python<'py>, count: usize, vector: impl Fn(u32) -> &'a [f32]) -> PyResult<Vectors<'py>> {
    let numbers: Vec<f32> = (0..count as u32).flat_map(vector).copied().collect();
    let width = numbers.len() / count.max(1);
    PyArray1::from_vec(py, numbers).reshape([count, width])
}

/// The interactions of training: offsets, items, weights.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "the parts of a CSR matrix")]
pub fn recommender_seen<'py>(
    py: Python<'py>,
    model: &Model,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f32>>)> {
    let seen = ready(model)?.seen();
    let (mut offsets, mut items, mut weights) = (vec![0i64], Vec::new(), Vec::new());
    for user in 0..seen.len() {
        items.extend(seen.items_of(user).iter().map(|&item| item as i32));
        weights.extend_from_slice(seen.weights_of(user));
        offsets.push(items.len() as i64);
    }
    Ok((offsets.to_pyarray(py), items.to_pyarray(py), weights.to_pyarray(py)))
}

/// The `count` best items per vector, without the items of `excluded`.
#[pyfunction]
pub fn recommender_top<'py>(
    py: Python<'py>,
    model: &Model,
    vectors: PyReadonlyArray2<'py, f32>,
    excluded: Parts<'py>,
    count: usize,
    threads: usize,
) -> PyResult<Top<'py>> {
    let recommender = ready(model)?;
    let excluded: Vec<Vec<u32>> =
        lists(&excluded)?.into_iter().map(|items| items.into_iter().map(|(item, _)| item).collect()).collect();
    let rank = recommender.item(0).len();
    if vectors.shape() != [excluded.len(), rank] {
        return Err(PyValueError::new_err(format!("`vectors` must have the shape [{}, {rank}]", excluded.len())));
    }
    let numbers = vectors.as_slice()?;
    let tops: Vec<Vec<Recommendation>> = py
        .detach(|| {
            let rows: Vec<&[f32]> = numbers.chunks_exact(rank).collect();
            let lists: Vec<&[u32]> = excluded.iter().map(Vec::as_slice).collect();
            ove::with_threads(threads, || recommender.top(&rows, &lists, count))
        })
        .map_err(exception)?;
    let (mut items, mut scores) = (Vec::with_capacity(tops.len() * count), Vec::with_capacity(tops.len() * count));
    for top in &tops {
        for n in 0..count {
            items.push(top.get(n).map_or(-1, |one| one.item as i32));
            scores.push(top.get(n).map_or(f32::MIN, |one| one.score));
        }
    }
    let shape = [tops.len(), count];
    Ok((PyArray1::from_vec(py, items).reshape(shape)?, PyArray1::from_vec(py, scores).reshape(shape)?))
}

/// The vectors of users from their items.
#[pyfunction]
pub fn fold_in<'py>(py: Python<'py>, model: &Model, users: Parts<'py>) -> PyResult<Vectors<'py>> {
    let recommender = ready(model)?;
    let users = checked(lists(&users)?, &recommender)?;
    let rank = recommender.item(0).len();
    let vectors: Vec<f32> = py.detach(|| users.iter().flat_map(|items| recommender.fold_in(items)).collect());
    PyArray1::from_vec(py, vectors).reshape([users.len(), rank])
}

/// How much each item of the one user speaks for an item, the strongest first.
#[pyfunction]
pub fn explain(model: &Model, user: Parts<'_>, item: u32) -> PyResult<Vec<(u32, f32)>> {
    let recommender = ready(model)?;
    let users = checked(lists(&user)?, &recommender)?;
    if item as usize >= model.inner.classes() {
        return Err(PyValueError::new_err(format!("`itemid` must be below {}, got {item}", model.inner.classes())));
    }
    let reasons = users.first().map(|items| recommender.explain(items, item)).unwrap_or_default();
    Ok(reasons.into_iter().map(|reason| (reason.item, reason.score)).collect())
}

fn ready(model: &Model) -> PyResult<Recommending<'_>> {
    model.inner.recommender().map_err(exception)
}

/// Lists whose items the model has, with positive weights.
fn checked(users: Vec<Vec<(u32, f32)>>, recommender: &Recommending<'_>) -> PyResult<Vec<Vec<(u32, f32)>>> {
    let items = recommender.model().classes();
    let is_wrong = |(item, weight): &(u32, f32)| *item as usize >= items || !(weight.is_finite() && *weight > 0.0);
    match users.iter().flatten().find(|one| is_wrong(one)) {
        Some((item, weight)) => {
            let message = format!("item {item} of weight {weight}: items are below {items}, weights are above 0");
            Err(PyValueError::new_err(message))
        }
        None => Ok(users),
    }
}
