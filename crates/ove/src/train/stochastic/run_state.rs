//! How far a run has come, beside its weights: what a checkpoint keeps of it, and the curve of the objective.

use serde::{Deserialize, Serialize};

use crate::model::TracePoint;
use crate::train::early_stopping::EarlyStopping;
use crate::train::optimizer::Pace;

/// Points of the trace at most: a curve to look at, which takes little room in the model file.
const TRACE_POINTS: usize = 200;

/// An epoch diverges if its mean objective is below this many times that at w = 0: well-chosen rates stay above the
/// latter, and one a hundred times as large is found out.
const DIVERGENCE_FACTOR: f64 = 10.0;

/// How far a run has come.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunState {
    /// Batches passed, in all epochs.
    pub passed: usize,
    /// Rows visited.
    pub updates: u64,
    /// How far the weights of features have come, and the biases.
    pub paces: [Pace; 2],
    trace: Trace,
    /// The sum of the objectives of this epoch's batches.
    epoch_sum: f64,
    pub early_stopping: EarlyStopping,
}

impl RunState {
    /// The start of a run of this many batches.
    pub fn new(batches: usize) -> Self {
        let trace = Trace { points: Vec::new(), every: batches.div_ceil(TRACE_POINTS), sum: 0.0, count: 0 };
        RunState {
            passed: 0,
            updates: 0,
            paces: Default::default(),
            trace,
            epoch_sum: 0.0,
            early_stopping: EarlyStopping::default(),
        }
    }

    /// One more batch, with its number of rows and its estimate of the objective.
    pub fn add(&mut self, rows: usize, bound: f64) {
        self.passed += 1;
        self.updates += rows as u64;
        self.epoch_sum += bound;
        self.trace.add(self.updates, bound);
    }

    /// Ends an epoch; whether its mean objective is so low that the run has diverged.
    pub fn end_epoch(&mut self, batches: usize, at_zero: f64) -> bool {
        let mean = std::mem::take(&mut self.epoch_sum) / batches as f64;
        mean < DIVERGENCE_FACTOR * at_zero
    }

    /// Whether a run of this many batches and rows visited in all can have come so far.
    pub fn is_within(&self, batches: usize, visits: u64) -> bool {
        self.passed <= batches
            && self.updates <= visits
            && self.trace.count <= self.passed
            && self.early_stopping.epochs() <= self.passed
    }

    pub fn into_trace(self) -> Vec<TracePoint> {
        self.trace.points
    }
}

/// Averages the objective over the updates between two points.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Trace {
    points: Vec<TracePoint>,
    every: usize,
    sum: f64,
    count: usize,
}

impl Trace {
    fn add(&mut self, updates: u64, bound: f64) {
        self.sum += bound;
        self.count += 1;
        if self.count == self.every {
            self.points.push(TracePoint { updates, bound: self.sum / self.count as f64 });
            (self.sum, self.count) = (0.0, 0);
        }
    }
}
