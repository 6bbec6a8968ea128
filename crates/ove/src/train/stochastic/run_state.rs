//! The state of a run apart from its weights: counters, early stopping, and the trace of the objective.

use serde::{Deserialize, Serialize};

use crate::model::{LikelihoodPoint, TracePoint, or_minus_infinite};
use crate::train::early_stopping::EarlyStopping;
use crate::train::optimizer::Pace;

/// Maximum number of points of the trace, which is stored in the model file.
const TRACE_POINTS: usize = 200;

/// A run has diverged if the mean objective of an epoch is below this factor times its value at w = 0.
///
/// With a good learning rate the objective stays above its value at w = 0; one a hundred times as large is detected.
const DIVERGENCE_FACTOR: f64 = 10.0;

/// What a batch says of the objective over all rows.
pub(super) struct Estimate {
    /// Number of rows of the batch.
    pub rows: usize,
    /// The estimate of the objective.
    pub bound: f64,
    /// What divergence is judged by: the objective, or for the normalised bound −Σ u. The bound at a u of an earlier
    /// visit falls exponentially in the scores where the others fall linearly, and may be −∞ while all is well.
    pub level: f64,
}

/// The state of a run apart from its weights.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunState {
    /// Number of batches done, in all epochs.
    pub passed: usize,
    /// Number of rows visited.
    pub updates: u64,
    /// The paces of the weights and of the biases.
    pub paces: [Pace; 2],
    trace: Trace,
    /// Estimates of the log likelihood at the end of some epochs.
    #[serde(default)]
    pub likelihood: Vec<LikelihoodPoint>,
    /// The sum of the levels of this epoch's batches.
    epoch_sum: f64,
    pub early_stopping: EarlyStopping,
}

impl RunState {
    /// The initial state of a run of this many batches.
    pub fn new(batches: usize) -> Self {
        let trace = Trace { points: Vec::new(), every: batches.div_ceil(TRACE_POINTS), sum: 0.0, count: 0 };
        RunState {
            passed: 0,
            updates: 0,
            paces: Default::default(),
            trace,
            likelihood: Vec::new(),
            epoch_sum: 0.0,
            early_stopping: EarlyStopping::default(),
        }
    }

    /// Records a batch.
    pub fn add(&mut self, estimate: &Estimate) {
        self.passed += 1;
        self.updates += estimate.rows as u64;
        self.epoch_sum += estimate.level;
        self.trace.add(self.updates, estimate.bound);
    }

    /// Ends an epoch; returns whether the run has diverged.
    pub fn end_epoch(&mut self, batches: usize, at_zero: f64) -> bool {
        let mean = std::mem::take(&mut self.epoch_sum) / batches as f64;
        mean < DIVERGENCE_FACTOR * at_zero
    }

    /// Whether the counters are consistent with a run of this many batches and rows.
    pub fn is_within(&self, batches: usize, visits: u64) -> bool {
        self.passed <= batches
            && self.updates <= visits
            && self.trace.count <= self.passed
            && self.early_stopping.epochs() <= self.passed
    }

    pub fn into_traces(self) -> (Vec<TracePoint>, Vec<LikelihoodPoint>) {
        (self.trace.points, self.likelihood)
    }
}

/// The objective along the run, averaged over the updates between two points.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Trace {
    points: Vec<TracePoint>,
    every: usize,
    #[serde(deserialize_with = "or_minus_infinite")]
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
