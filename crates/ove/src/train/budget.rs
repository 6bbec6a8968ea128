//! The memory budget of the weights.

use crate::error::{Error, Result};
use crate::options::{LinearOptions, ScoreOptions, Solver, StepKind, TrainOptions};
use crate::platform::bytes::Bytes;

/// Bytes that lists of all features may take with any memory budget.
const LISTS: u64 = 1 << 30;

/// Bytes per feature of the lists that every solver needs.
const LIST_BYTES: u64 = 32;

/// Bytes per weight of trees: a weight and its index, during training and again for prediction.
pub(super) const TREE_BYTES: u64 = 12;

/// Switches linear scores to hashed weights if a dense table exceeds the budget, before anything is allocated.
///
/// # Errors
/// [`Error::Mismatch`] if the weights exceed the budget and hashing is not possible.
pub(super) fn fit_to_memory(
    options: &mut TrainOptions,
    features: usize,
    classes: usize,
    may_share: bool,
) -> Result<()> {
    let memory = options.memory;
    // A wrong feature number in the data must not exhaust the memory.
    let lists = Bytes(features as u64 * LIST_BYTES);
    if lists.0 > memory.0.max(LISTS) {
        let message = format!("{features} features need {lists} for their lists alone; `memory` allows {memory}");
        return Err(Error::Mismatch(message));
    }
    let too_large =
        |what: String, needed: Bytes| Err(Error::Mismatch(format!("{what} need {needed}; `memory` allows {memory}")));
    match options.scores.as_mut() {
        Some(ScoreOptions::Linear(LinearOptions { cells: Some(_), .. })) => Ok(()),
        Some(ScoreOptions::Linear(linear)) => {
            let (bytes_per_cell, solver) = match &linear.solver {
                // Six vectors of f64 and six pairs of vectors of f32 take 96 bytes; the rest is for derivatives.
                Solver::Batch(_) => (16 * 8, "batch"),
                // The model reuses the memory of the cells.
                Solver::Stochastic(stochastic) if stochastic.step == StepKind::Sgd => (4, "stochastic"),
                Solver::Stochastic(_) => (12, "stochastic"),
            };
            let (rows, classes) = (features as u64 + 1, classes as u64);
            let needed = Bytes(rows * classes * bytes_per_cell);
            if needed.0 <= memory.0 {
                return Ok(());
            }
            let shared = (memory.0 / bytes_per_cell).saturating_sub(classes);
            if solver == "batch" || shared < classes || !may_share {
                return too_large(format!("{classes} classes times {rows} features in the {solver} solver"), needed);
            }
            linear.cells = Some(shared as usize);
            Ok(())
        }
        Some(ScoreOptions::Factored(factored)) => {
            // A number in training and one in the model, and two more per vector.
            let vectors = (features + classes) as u64;
            let needed = Bytes(vectors * (8 * factored.rank as u64 + 8));
            match needed.0 <= memory.0 {
                true => Ok(()),
                false => too_large(format!("{vectors} vectors of {} numbers", factored.rank), needed),
            }
        }
        _ => Ok(()),
    }
}

/// Fails if the second stage of trees exceeds the budget.
pub(super) fn check_second_stage(memory: Bytes, rivals: usize, bytes: u64) -> Result<()> {
    if bytes <= memory.0 {
        return Ok(());
    }
    let needed = Bytes(bytes);
    Err(Error::Mismatch(format!(
        "the second stage with {rivals} rivals per row needs more than {needed}; `memory` allows {memory}; try fewer \
         `rivals`, or 0 for trees alone"
    )))
}

/// Fails if the weights of trees exceed the budget.
pub(super) fn check_trees(memory: Bytes, trees: usize, weights: usize) -> Result<()> {
    let needed = Bytes(weights as u64 * TREE_BYTES);
    if needed.0 <= memory.0 {
        return Ok(());
    }
    Err(Error::Mismatch(format!(
        "{trees} trees need more than {needed} for their weights; `memory` allows {memory}; try fewer trees, or the \
         stochastic solver, which can hash its weights"
    )))
}
