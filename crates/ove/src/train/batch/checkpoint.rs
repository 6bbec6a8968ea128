//! The checkpoint of the batch solver: the point, its gradient, the curvature and the pairs of L-BFGS.

use serde::{Deserialize, Serialize};

use super::lbfgs::{MEMORY, Pair, State};
use crate::error::Result;
use crate::model::TracePoint;
use crate::train::checkpoint::{F32, F64, StateReader, Table};

/// The scalars of the state.
#[derive(Serialize, Deserialize)]
struct Facts {
    number: usize,
    value: f64,
    first: f64,
    pairs: Vec<Products>,
    trace: Vec<TracePoint>,
}

/// The inner products of a [`Pair`].
#[derive(Serialize, Deserialize)]
struct Products {
    s_y: f64,
    s_gradient: f64,
    s_younger: Vec<f64>,
}

/// The state of a run.
pub(super) fn state<'a>(state: &'a State, trace: &[TracePoint]) -> (String, Vec<Table<'a>>) {
    let products = |pair: &Pair| {
        let Pair { s_y, s_gradient, ref s_younger, .. } = *pair;
        Products { s_y, s_gradient, s_younger: s_younger.clone() }
    };
    let pairs = state.memory.iter().map(products).collect();
    let facts = Facts { number: state.number, value: state.value, first: state.first, pairs, trace: trace.to_vec() };
    let mut tables = vec![
        Table::new("x", F64, &state.x),
        Table::new("gradient", F64, &state.gradient),
        Table::new("curvature", F64, &state.curvature),
    ];
    for (i, pair) in state.memory.iter().enumerate() {
        tables.push(Table::new(format!("s{i}"), F32, &pair.s));
        tables.push(Table::new(format!("y{i}"), F32, &pair.y));
    }
    (serde_json::to_string(&facts).expect("facts are numbers"), tables)
}

/// Reads the state of a run with the given numbers of weights and curvature values, and its trace.
pub(super) fn restore(saved: &dyn StateReader, weights: usize, curvature: usize) -> Result<(State, Vec<TracePoint>)> {
    let facts: Facts = saved.parse_facts()?;
    if facts.pairs.len() > MEMORY {
        let pairs = facts.pairs.len();
        return Err(saved.unusable(format!("it has {pairs} pairs of L-BFGS, more than the maximum of {MEMORY}")));
    }
    // Each pair has its products with newer pairs, except the newest, which is computed at the next step.
    let has_products = |(i, pair): (usize, &Products)| pair.s_younger.len() + 2 + i >= facts.pairs.len();
    let evaluations = facts.trace.last().map_or(0, |point| point.updates);
    if !facts.pairs.iter().enumerate().all(has_products) || evaluations > u64::from(u32::MAX) {
        return Err(saved.unusable("numbers that no run has".into()));
    }
    fn vector<T: bytemuck::Pod>(saved: &dyn StateReader, name: &str, length: usize) -> Result<Vec<T>> {
        let mut numbers = vec![T::zeroed(); length];
        saved.read_into(name, &mut numbers)?;
        Ok(numbers)
    }
    let narrow = |name: String| vector::<f32>(saved, &name, weights);
    let wide = |name| vector::<f64>(saved, name, weights);
    let mut memory = Vec::with_capacity(MEMORY);
    for (i, Products { s_y, s_gradient, s_younger }) in facts.pairs.into_iter().enumerate() {
        memory.push(Pair { s: narrow(format!("s{i}"))?, y: narrow(format!("y{i}"))?, s_y, s_gradient, s_younger });
    }
    let state = State {
        number: facts.number,
        x: wide("x")?,
        value: facts.value,
        gradient: wide("gradient")?,
        first: facts.first,
        curvature: vector(saved, "curvature", curvature)?,
        memory,
    };
    Ok((state, facts.trace))
}
