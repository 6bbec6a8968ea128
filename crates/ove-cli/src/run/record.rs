//! Reports the progress of a run to a page (`--watch`) and to a folder (`--log`).
//!
//! Error and nlpd of validation rows are measured at fixed shares of the work, so they do not depend on the clock.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use ove::model::{Card, HeldOutPoint};
use ove::train::{Progress, Training};
use ove::{Dataset, Evaluation, Examples, Model};
use serde::Serialize;

use super::log::{self, Log};
use super::{memory, progress};
use crate::terminal::note;

/// Time between two reports.
const INTERVAL: Duration = Duration::from_millis(500);

/// Number of measurements on validation rows during a run.
const MEASURES: u32 = 20;

/// Approximate number of validation rows in a measurement.
const HELD_OUT: usize = 1000;

/// Flags for reporting the progress of a run.
#[derive(clap::Args)]
#[command(next_help_heading = "Monitoring")]
pub struct RecordFlags {
    /// Show the progress on a web page at this local address (default: a free port)
    #[cfg(feature = "serve")]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0")]
    watch: Option<String>,
    /// Write TensorBoard event files and metrics.jsonl to this folder
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
}

/// The state of a run at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Moment {
    /// Seconds since the start.
    pub seconds: f64,
    /// The share of the work that is done, from 0 to 1.
    pub done: f64,
    /// The epoch, or the iteration of the batch solver; `None` for trees, whose nodes are in different epochs.
    pub epoch: Option<usize>,
    /// Number of rows visited, or of evaluations of the batch solver.
    pub updates: u64,
    /// Mean number of updates per second since the start.
    pub updates_per_second: f64,
    /// The bound per row, smoothed; `None` for trees.
    pub bound: Option<f64>,
    /// The current learning rate of the stochastic solver.
    pub learning_rate: Option<f64>,
    /// The last error on validation rows.
    pub error: Option<f64>,
    /// The last nlpd on validation rows.
    pub nlpd: Option<f64>,
    /// Memory in use.
    pub memory_bytes: Option<u64>,
}

/// A destination of progress reports.
pub trait Sink: Send {
    /// Reports a moment, with all measurements on validation rows so far.
    fn write(&mut self, moment: &Moment, held_out: &[HeldOutPoint]) -> Result<()>;

    /// Ends the report.
    fn finish(self: Box<Self>) {}
}

/// Observes a run and reports its progress.
pub struct Recorder {
    start: Instant,
    reported: Option<Instant>,
    rows: f64,
    bound: Option<f64>,
    moment: Moment,
    rows_held_out: Option<Dataset>,
    held_out: Vec<HeldOutPoint>,
    sinks: Vec<Box<dyn Sink>>,
}

impl RecordFlags {
    /// The file that --log appends to.
    pub fn metrics(&self) -> Option<PathBuf> {
        self.log.as_ref().map(|folder| folder.join(log::METRICS))
    }

    /// Opens log and page before the data are read, so that errors show up early.
    pub fn open(&self) -> Result<Recorder> {
        let mut recorder = Recorder::default();
        if let Some(folder) = &self.log {
            recorder.sinks.push(Box::new(Log::new(folder)?));
        }
        #[cfg(feature = "serve")]
        if let Some(address) = &self.watch {
            recorder.sinks.push(Box::new(crate::serve::watch::Live::open(address)?));
        }
        Ok(recorder)
    }
}

impl Default for Recorder {
    /// A recorder without sinks.
    fn default() -> Self {
        Recorder {
            start: Instant::now(),
            reported: None,
            rows: 1.0,
            bound: None,
            moment: Moment::default(),
            rows_held_out: None,
            held_out: Vec::new(),
            sinks: Vec::new(),
        }
    }
}

impl Recorder {
    /// Starts the clock of a run on this many rows.
    pub fn begin(&mut self, rows: usize) {
        self.start = Instant::now();
        self.rows = rows as f64;
    }

    /// Whether the run is reported anywhere.
    pub fn is_used(&self) -> bool {
        !self.sinks.is_empty()
    }

    /// Uses a sample of these rows for measurements during the run.
    pub fn measure_on(&mut self, data: &Dataset) {
        self.rows_held_out = Some(Examples::of(data).thinned(data.len().div_ceil(HELD_OUT)));
    }

    /// Uses a sample of held-out rows for measurements, unless others were given or nothing is reported.
    pub fn hold_out(&mut self, rows: &Examples<'_>) {
        if self.is_used() && self.rows_held_out.is_none() {
            self.rows_held_out = Some(rows.thinned(rows.len().div_ceil(HELD_OUT)));
        }
    }

    /// Records the progress of a run.
    pub fn update(&mut self, training: &Training<'_>, progress: &Progress) {
        self.bound = progress::smooth(self.bound, progress);
        let measures = f64::from(MEASURES);
        let due = (progress.done * measures) as usize > self.held_out.len();
        if due
            && let Some(data) = &self.rows_held_out
            && let Some(measured) = measure(data, training, progress.updates)
        {
            // A resumed run starts after the first measurements.
            self.held_out.resize((progress.done * measures) as usize, measured);
        }
        // The nodes of trees are in different epochs.
        self.moment.epoch = progress.bound.map(|_| progress.epoch);
        self.moment.learning_rate = progress.learning_rate;
        self.moment.bound = self.bound.map(|bound| bound / self.rows);
        self.moment.error = self.held_out.last().map(|point| point.error);
        self.moment.nlpd = self.held_out.last().map(|point| point.nlpd);
        self.report(progress.done, progress.updates, due || progress.done >= 1.0);
    }

    fn report(&mut self, done: f64, updates: u64, due: bool) {
        if !self.is_used() || (!due && self.reported.is_some_and(|reported| reported.elapsed() < INTERVAL)) {
            return;
        }
        self.reported = Some(Instant::now());
        let seconds = self.start.elapsed().as_secs_f64();
        self.moment = Moment {
            seconds,
            done,
            updates,
            updates_per_second: updates as f64 / seconds.max(1e-9),
            memory_bytes: memory::resident_bytes(),
            ..self.moment
        };
        self.sinks.retain_mut(|sink| match sink.write(&self.moment, &self.held_out) {
            Ok(()) => true,
            Err(error) => {
                // A failing log must not stop the training.
                note!("warning: the log could not be written and ends here: {error:#}");
                false
            }
        });
    }

    /// The measurements of error and nlpd so far.
    pub fn held_out(&self) -> Vec<HeldOutPoint> {
        self.held_out.clone()
    }

    /// Ends the record with the evaluation on all validation rows.
    pub fn finish(mut self, evaluation: Option<&Evaluation>) {
        self.moment.error = evaluation.map(|e| e.error);
        self.moment.nlpd = evaluation.map(|e| e.nlpd);
        self.report(self.moment.done, self.moment.updates, true);
        self.sinks.into_iter().for_each(Sink::finish);
    }
}

/// The current error and nlpd on some rows; `None` if a copy of the scores would be large relative to the memory
/// budget.
fn measure(data: &Dataset, training: &Training<'_>, updates: u64) -> Option<HeldOutPoint> {
    let (examples, options) = (training.examples(), training.options());
    let weights = (examples.rows.features() as u64 + 1) * examples.classes as u64;
    if 4 * weights > options.memory.0 / 4 {
        return None;
    }
    let classes = (0..examples.classes).map(|class| class.to_string()).collect();
    let card = Card::new(options.clone(), classes, vec![1; examples.classes], examples.len() as u64);
    let model = Model { scores: training.snapshot()?, card };
    Some(match ove::evaluate(&model, data.rows(), &data.labels) {
        Ok(e) => HeldOutPoint { updates, error: e.error, nlpd: e.nlpd },
        Err(_) => HeldOutPoint { updates, error: 1.0, nlpd: f64::INFINITY },
    })
}
