//! The common interface of the solvers, which a training run drives.

use crate::data::Examples;
use crate::error::{Error, Result};
use crate::model::{LikelihoodPoint, TracePoint};
use crate::scores::{Calibration, Scores};
use crate::train::checkpoint::{State, StateReader, Table};
use crate::train::parts::Part;

/// The progress of a run after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The share of the work that is done, from 0 to 1; early stopping or convergence may end the run before 1.
    pub done: f64,
    /// The epoch, or the iteration of the batch solver, from 1.
    pub epoch: usize,
    /// Number of epochs (or iterations) done, including the fraction of the current one.
    pub epochs: f64,
    /// Number of rows visited; for the batch solver, number of evaluations of the objective.
    pub updates: u64,
    /// The objective summed over all rows: exact, or estimated from this batch; trees have none.
    pub bound: Option<f64>,
    /// For the normalised bound: the estimate of the log likelihood at the end of the last epoch.
    pub likelihood: Option<LikelihoodPoint>,
    /// The current learning rate; the batch solver has none.
    pub learning_rate: Option<f64>,
}

/// Optional inputs of a run, in addition to its rows and options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start<'a> {
    /// Initial scores of the same shape, or trees with fewer features and classes; the state of the step rule starts
    /// afresh.
    pub scores: Option<&'a Scores>,
    /// Validation rows for early stopping of the stochastic solver.
    pub validation: Option<Examples<'a>>,
    /// The calibration of trees, if it is known; otherwise the run fits it on rows that it holds out.
    pub calibration: Option<Calibration>,
}

/// The common interface of the solvers.
pub(crate) trait Run: Send + Sync {
    fn step(&mut self) -> Result<Option<Progress>>;

    /// The scalars of the state as JSON, and its tables.
    fn state(&self) -> (String, Vec<Table<'_>>);

    fn restore(&mut self, state: &dyn StateReader) -> Result<()>;

    /// Combines this run with others that started from the same state and trained on other rows or nodes.
    fn merge(&mut self, others: &[State]) -> Result<()>;

    /// The work that other processes can do now, in about `count` parts; none if this run is not divided.
    fn parts(&mut self, _count: usize) -> Result<Vec<Part>> {
        Ok(Vec::new())
    }

    /// Does a part; returns what `restore` adds to the run, as `state` does.
    fn work(&mut self, part: &Part) -> Result<(String, Vec<Table<'static>>)> {
        Err(Error::Mismatch(format!("this run has no {} to divide", part.stage)))
    }

    /// A copy of the current scores; trees have none before the end.
    fn snapshot(&self) -> Option<Scores>;

    fn finish(self: Box<Self>) -> Result<Outcome>;
}

/// The result of a solver.
pub(crate) struct Outcome {
    pub scores: Scores,
    pub trace: Vec<TracePoint>,
    pub likelihood: Vec<LikelihoodPoint>,
    pub finished: bool,
    pub updates: u64,
    /// The number of epochs, if the solver chose it.
    pub epochs: Option<usize>,
}
