//! How far a run has come, beside its weights: what a checkpoint keeps of it, the curve of the bound, and whether it goes astray.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::TracePoint;
use crate::objective::Objective;
use crate::options::Options;
use crate::solve::Problem;
use crate::solve::label_weights::LabelWeights;
use crate::step::Pace;

/// Points of the trace at most: a curve to look at, which weighs little in the model file.
const TRACE_POINTS: usize = 200;

/// How many times the bound of a model that knows nothing an epoch may lose on average: well-chosen rates stay above that bound, and one a
/// hundred times as large is found out.
const ASTRAY: f64 = 10.0;

/// Epochs in a row that may pass without a gain on held-out rows.
const PATIENCE: usize = 3;

/// How far a run has come.
#[derive(Serialize, Deserialize)]
pub(super) struct Course {
    /// Batches passed, in all epochs.
    pub passed: usize,
    /// Rows visited.
    pub updates: u64,
    /// How far the weights of features have come, and the biases.
    pub paces: [Pace; 2],
    trace: Trace,
    /// The sum of the bounds of this epoch's batches.
    epoch_sum: f64,
    /// The least nlpd of held-out rows so far, and for how many epochs it has been so.
    best: Option<(f64, usize)>,
}

impl Course {
    /// At the start of a run of this many batches.
    pub fn new(batches: usize) -> Self {
        let trace = Trace { points: Vec::new(), every: batches.div_ceil(TRACE_POINTS), sum: 0.0, count: 0 };
        Course { passed: 0, updates: 0, paces: Default::default(), trace, epoch_sum: 0.0, best: None }
    }

    /// One more batch of so many rows, with this estimate of the bound.
    pub fn add(&mut self, rows: usize, bound: f64) {
        self.passed += 1;
        self.updates += rows as u64;
        self.epoch_sum += bound;
        self.trace.add(self.updates, bound);
    }

    /// Whether the mean over the batches of an epoch, which ends here, is so bad that the rate must be too large.
    pub fn end_epoch(&mut self, batches: usize, nothing: f64, options: &Options) -> Result<()> {
        let mean = std::mem::take(&mut self.epoch_sum) / batches as f64;
        if mean < ASTRAY * nothing {
            let epoch = self.passed / batches;
            return Err(Error::Diverged { epoch, learning_rate: options.learning_rate });
        }
        Ok(())
    }

    /// Whether this nlpd, that of held-out rows after an epoch, shows no gain over that of several epochs before.
    pub fn no_longer_gains(&mut self, nlpd: f64) -> bool {
        let (least, since) = self.best.unwrap_or((f64::INFINITY, 0));
        self.best = Some(if nlpd < least { (nlpd, 0) } else { (least, since + 1) });
        self.is_over()
    }

    /// Whether held-out rows have ended the run.
    pub fn is_over(&self) -> bool {
        self.best.is_some_and(|(_, since)| since >= PATIENCE)
    }

    pub fn into_trace(self) -> Vec<TracePoint> {
        self.trace.points
    }
}

/// The bound of a model whose weights are all zero: each class is as probable as any other.
pub(super) fn bound_of_nothing(problem: &Problem<'_>, options: &Options, weights: &LabelWeights<'_>) -> f64 {
    let mut own = Vec::new();
    let of_row = |(n, labels): (usize, &[u32])| {
        weights.of_row(n, labels, &mut own);
        let remaining = (problem.classes - labels.len()) as f64;
        let value = match options.objective {
            Objective::OneVsEach | Objective::Merged => remaining * std::f64::consts::LN_2,
            Objective::Softmax | Objective::Bouchard => remaining.ln_1p(),
        };
        -own.iter().sum::<f64>() * value
    };
    problem.labels.iter().enumerate().map(of_row).sum()
}

/// Averages the bound over the updates between two points.
#[derive(Serialize, Deserialize)]
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
