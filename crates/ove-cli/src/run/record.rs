//! What a run says of itself while it lasts: to a page (`--watch`) and to a folder (`--log`). On the way, error and nlpd of held-out rows are
//! measured at fixed shares of the work, so that they are the same whatever the clock says.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use ove::model::{Card, HeldOutPoint};
use ove::{Dataset, Evaluation, Linear, Model, Problem, Progress, Weights};
use serde::Serialize;

use super::log::Log;
use super::{memory, progress};
use crate::serve::watch::Live;

/// How often a run is told of.
const INTERVAL: Duration = Duration::from_millis(500);

/// How often held-out rows are measured along a run, and how many of them.
const MEASURES: u32 = 20;
const HELD_OUT: usize = 1000;

/// Who hears of a run.
#[derive(clap::Args)]
#[command(next_help_heading = "Watching")]
pub struct RecordFlags {
    /// Show the run on a page while it lasts, at this address of this machine (the default finds a free port)
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0")]
    watch: Option<String>,
    /// Write TensorBoard event files and metrics.jsonl into this folder
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
}

/// A moment of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Moment {
    /// Since the start.
    pub seconds: f64,
    /// The share of the work, from 0 to 1.
    pub done: f64,
    /// The epoch, or the iteration of the batch solver; a forest has many nodes, each in its own.
    pub epoch: Option<usize>,
    /// Rows visited, or evaluations of the batch solver.
    pub updates: u64,
    /// On average since the start.
    pub updates_per_second: f64,
    /// The bound a row, smoothed; a forest has none.
    pub bound: Option<f64>,
    /// The rate in use, of the stochastic solver.
    pub learning_rate: Option<f64>,
    /// The last error of held-out rows.
    pub error: Option<f64>,
    /// The last nlpd of held-out rows.
    pub nlpd: Option<f64>,
    /// Memory in use.
    pub memory_bytes: Option<u64>,
}

/// Hears of a run, and tells of it.
pub struct Recorder {
    start: Instant,
    told: Option<Instant>,
    rows: f64,
    bound: Option<f64>,
    moment: Moment,
    rows_held_out: Option<Sample>,
    held_out: Vec<HeldOutPoint>,
    log: Option<Log>,
    live: Option<Live>,
}

/// Some held-out rows, and the card of the model to come.
struct Sample {
    data: Dataset,
    card: Card,
}

impl RecordFlags {
    /// Opens what was asked for: better now than after the data is read.
    pub fn open(&self) -> Result<Recorder> {
        Ok(Recorder {
            log: self.log.as_deref().map(Log::new).transpose()?,
            live: self.watch.as_deref().map(Live::open).transpose()?,
            ..Recorder::default()
        })
    }
}

impl Default for Recorder {
    /// Tells nobody.
    fn default() -> Self {
        Recorder {
            start: Instant::now(),
            told: None,
            rows: 1.0,
            bound: None,
            moment: Moment::default(),
            rows_held_out: None,
            held_out: Vec::new(),
            log: None,
            live: None,
        }
    }
}

impl Recorder {
    /// A run on so many rows begins.
    pub fn begin(&mut self, rows: usize) {
        self.start = Instant::now();
        self.rows = rows as f64;
    }

    /// Whether somebody hears of the run.
    pub fn is_heard(&self) -> bool {
        self.log.is_some() || self.live.is_some()
    }

    /// Measures some of these rows along the run of the model that this card is for.
    pub fn hold_out(&mut self, data: &Dataset, card: Card) {
        let some: Vec<u32> = (0..data.len() as u32).step_by(data.len().div_ceil(HELD_OUT).max(1)).collect();
        self.rows_held_out = Some(Sample { data: ove::held_out::copy(&Problem::of(data), &some), card });
    }

    /// Hears of a linear model.
    pub fn hear(&mut self, progress: &Progress<'_>) {
        self.bound = Some(progress::smooth(self.bound, progress));
        let measures = f64::from(MEASURES);
        let due = (progress.done * measures) as usize > self.held_out.len();
        if due && let Some(sample) = &mut self.rows_held_out {
            let measured = sample.measure((progress.snapshot)(), progress.updates);
            // A run that goes on from a checkpoint starts behind its first marks.
            self.held_out.resize((progress.done * measures) as usize, measured);
        }
        let stochastic = progress.learning_rate > 0.0;
        self.moment.epoch = Some(progress.epoch);
        self.moment.learning_rate = stochastic.then_some(progress.learning_rate);
        self.moment.bound = self.bound.map(|bound| bound / self.rows);
        self.moment.error = self.held_out.last().map(|point| point.error);
        self.moment.nlpd = self.held_out.last().map(|point| point.nlpd);
        self.tell(progress.done, progress.updates, due || progress.done >= 1.0);
    }

    /// Hears of a forest that makes so many updates in all.
    pub fn hear_growing(&mut self, done: f64, updates: u64) {
        self.tell(done, (done * updates as f64) as u64, done >= 1.0);
    }

    fn tell(&mut self, done: f64, updates: u64, due: bool) {
        if !self.is_heard() || (!due && self.told.is_some_and(|told| told.elapsed() < INTERVAL)) {
            return;
        }
        self.told = Some(Instant::now());
        let seconds = self.start.elapsed().as_secs_f64();
        self.moment = Moment {
            seconds,
            done,
            updates,
            updates_per_second: updates as f64 / seconds.max(1e-9),
            memory_bytes: memory::resident_bytes(),
            ..self.moment
        };
        if let Some(Err(error)) = self.log.as_mut().map(|log| log.write(&self.moment)) {
            // Hours of training are worth more than their log.
            eprintln!("the log ends here: {error:#}");
            self.log = None;
        }
        if let Some(live) = &self.live {
            live.show(self.moment, &self.held_out);
        }
    }

    /// The curves of error and nlpd.
    pub fn held_out(&self) -> Vec<HeldOutPoint> {
        self.held_out.clone()
    }

    /// The run is over, and this was measured on all held-out rows.
    pub fn finish(mut self, evaluation: Option<&Evaluation>) {
        self.moment.error = evaluation.map(|e| e.error);
        self.moment.nlpd = evaluation.map(|e| e.nlpd);
        self.tell(self.moment.done, self.moment.updates, true);
        if let Some(live) = self.live {
            live.finish();
        }
    }
}

impl Sample {
    fn measure(&mut self, linear: Linear, updates: u64) -> HeldOutPoint {
        let model = Model { weights: Weights::Linear(linear), card: self.card.clone() };
        // 0 threads: those that train, which wait meanwhile.
        match ove::evaluate(&model, self.data.rows(), &self.data.labels, 0) {
            Ok(e) => HeldOutPoint { updates, error: e.error, nlpd: e.nlpd },
            Err(_) => HeldOutPoint { updates, error: 1.0, nlpd: f64::INFINITY },
        }
    }
}
