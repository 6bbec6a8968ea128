//! A training run that is pulled: whoever drives it takes one step after another.
//!
//! Progress bars, checkpoints, Ctrl-C and several machines all work between two steps. A step is a batch of rows of the
//! stochastic solver, an iteration of the batch solver, or a slice of work on the nodes of trees.
//!
//! ```
//! use ove::train::{Start, Training};
//! use ove::{Examples, TrainOptions, synthetic};
//!
//! let data = synthetic::plane(200, 0);
//! let options = TrainOptions::from_settings(&serde_json::json!({ "epochs": 5, "learning_rate": 0.1 }))?;
//! let mut training = Training::new(Examples::of(&data), &options, Start::default())?;
//! while let Some(progress) = training.step()? {
//!     println!("{:.0} %", 100.0 * progress.done);
//! }
//! let trained = training.finish()?;
//! assert!(trained.finished);
//! # Ok::<(), ove::Error>(())
//! ```

use std::path::Path;

use crate::data::Examples;
use crate::error::{Error, Result};
use crate::model::{Card, Model, TracePoint};
use crate::options::{LinearOptions, ScoreOptions, Solver, TrainOptions};
use crate::platform::pool;
use crate::scores::Scores;
use crate::train::checkpoint::{self, Identity, Saved, State, StateReader, Table};
use crate::train::fit_data::FitData;
use crate::train::{batch, stochastic, trees};

/// How far a run is, after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The share of the work that is done at the latest, from 0 to 1.
    pub done: f64,
    /// The epoch, or the iteration of the batch solver, from 1.
    pub epoch: usize,
    /// Epochs (or iterations) done, with the part of the current one.
    pub epochs: f64,
    /// Rows visited so far; evaluations so far for the batch solver.
    pub updates: u64,
    /// The objective on the scale of all rows: exact, or this batch's estimate; trees have none.
    pub bound: Option<f64>,
    /// The learning rate in use; the batch solver has none.
    pub learning_rate: Option<f64>,
}

/// Where a run begins, beside its rows and options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start<'a> {
    /// The scores of an earlier run, of the same shape; the steps start afresh.
    pub scores: Option<&'a Scores>,
    /// Held-out rows on which the stochastic solver stops early.
    pub validation: Option<Examples<'a>>,
}

/// What a run came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Trained {
    /// The scores.
    pub scores: Scores,
    /// The options, with what the run chose itself.
    pub options: TrainOptions,
    /// The curve of the objective.
    pub trace: Vec<TracePoint>,
    /// Whether training ran to its end: all epochs, early stopping, or the tolerance reached within the iterations.
    pub finished: bool,
    /// Rows visited; evaluations times rows for the batch solver.
    pub updates: u64,
}

impl Trained {
    /// The model, with the names of the classes and features of the rows that it was trained on.
    pub fn into_model<'a>(self, data: impl Into<FitData<'a>>, examples: &Examples<'_>) -> Model {
        let data = data.into();
        let card = Card {
            feature_names: data.feature_names.to_vec(),
            finished: self.finished,
            trace: self.trace,
            ..Card::new(self.options, data.classes.to_vec(), examples.counts(), examples.len() as u64)
        };
        Model { scores: self.scores, card }
    }
}

/// A run of any kind.
pub(crate) trait Run: Send + Sync {
    fn step(&mut self) -> Result<Option<Progress>>;

    /// The few numbers of the state, as JSON, and its tables.
    fn state(&self) -> (String, Vec<Table<'_>>);

    fn restore(&mut self, state: &dyn StateReader) -> Result<()>;

    /// Combines this run with others that began in the same state and trained on other rows, or other nodes.
    fn merge(&mut self, others: &[State]) -> Result<()>;

    /// The scores as they are now; a copy. Trees have none before their end.
    fn snapshot(&self) -> Option<Scores>;

    fn finish(self: Box<Self>) -> Result<Outcome>;
}

/// What a run leaves.
pub(crate) struct Outcome {
    pub scores: Scores,
    pub trace: Vec<TracePoint>,
    pub finished: bool,
    pub updates: u64,
    /// The epochs that the run chose, if it did.
    pub epochs: Option<usize>,
}

/// A run that is stepped.
///
/// Steps run on the threads of the pool that they are taken in ([`crate::with_threads`]); drive a run of very small
/// batches from within a pool, since entering it costs as much as such a batch.
pub struct Training<'a> {
    run: Box<dyn Run + 'a>,
    examples: Examples<'a>,
    options: TrainOptions,
    start_digest: Option<u64>,
    validation: Option<Examples<'a>>,
    last: Option<Progress>,
}

impl<'a> Training<'a> {
    /// A run before its first step. The options have to say which scores to train ([`fit()`](crate::fit) chooses).
    ///
    /// # Errors
    /// Settings out of range, rows that cannot be trained on, a start of another shape.
    pub fn new(examples: Examples<'a>, options: &TrainOptions, start: Start<'a>) -> Result<Self> {
        options.check()?;
        examples.check()?;
        check_class_weight(&examples, options)?;
        let Some(scores) = &options.scores else {
            return Err(Error::setting("scores", "be given for a run", "none"));
        };
        let run: Box<dyn Run + 'a> = pool::run(|| match scores {
            ScoreOptions::Linear(linear @ LinearOptions { solver: Solver::Stochastic(_), .. }) => {
                stochastic::linear(examples, options, linear, start)
            }
            ScoreOptions::Linear(linear @ LinearOptions { solver: Solver::Batch(batch), .. }) => {
                batch::run(examples, options, linear, batch, start)
            }
            ScoreOptions::Factored(factored) => stochastic::factored(examples, options, factored, start),
            ScoreOptions::Trees(trees) => trees::run(examples, options, trees, start),
        })?;
        let start_digest = start.scores.map(Scores::digest);
        Ok(Training { run, examples, options: options.clone(), start_digest, validation: start.validation, last: None })
    }

    /// Takes the next step; `None` once the run is at its end.
    ///
    /// # Errors
    /// [`Error::Diverged`], or what the weights need beyond the memory that is allowed.
    pub fn step(&mut self) -> Result<Option<Progress>> {
        let run = &mut self.run;
        let progress = pool::run(|| run.step())?;
        self.last = progress.or(self.last);
        Ok(progress)
    }

    /// The options of the run.
    pub fn options(&self) -> &TrainOptions {
        &self.options
    }

    /// The rows that it trains on.
    pub fn examples(&self) -> Examples<'a> {
        self.examples
    }

    /// How far the run was after its last step.
    pub fn progress(&self) -> Option<Progress> {
        self.last
    }

    /// The whole state of the run, in memory.
    pub fn state(&self) -> State {
        let (facts, tables) = self.run.state();
        State::new(self.identity(), facts, &tables)
    }

    /// Goes on from a state or checkpoint of a run on the same rows with the same options; it ends in the bits in which
    /// that run would have ended.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a state of another run, [`Error::Checkpoint`] for one that is damaged.
    pub fn restore(&mut self, state: &dyn StateReader) -> Result<()> {
        self.identity().check(state.identity())?;
        let run = &mut self.run;
        pool::run(|| run.restore(state))
    }

    /// Combines this run with others that began in the same state: the weights become the mean of all, weighted by the
    /// rows that each visited, in the order given; the finished nodes of trees are joined.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for runs with other options or another shape, and for the batch solver, whose steps use all rows.
    pub fn merge(&mut self, others: &[State]) -> Result<()> {
        let own = self.identity();
        others.iter().try_for_each(|other| own.check_options(other.identity()))?;
        let run = &mut self.run;
        pool::run(|| run.merge(others))
    }

    /// Writes the state to a file, beside its place first; [`Saved::open`] reads it.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let (facts, tables) = self.run.state();
        checkpoint::write(path, &self.identity(), &facts, &tables)
    }

    /// Goes on from a checkpoint file.
    ///
    /// # Errors
    /// As [`Training::restore`].
    pub fn resume(&mut self, saved: &Saved) -> Result<()> {
        self.restore(saved)
    }

    /// The scores as they are now, copied; trees have none before their end.
    pub fn snapshot(&self) -> Option<Scores> {
        let run = &self.run;
        pool::run(|| run.snapshot())
    }

    /// Ends the run, wherever it is.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a weight is not finite.
    pub fn finish(self) -> Result<Trained> {
        let Training { run, mut options, .. } = self;
        let Outcome { scores, trace, finished, updates, epochs } = pool::run(|| run.finish())?;
        options.epochs = epochs.or(options.epochs);
        Ok(Trained { scores, options, trace, finished, updates })
    }

    fn identity(&self) -> Identity {
        Identity::new(&self.examples, &self.options, self.start_digest, self.validation.as_ref())
    }
}

fn check_class_weight(examples: &Examples<'_>, options: &TrainOptions) -> Result<()> {
    match &options.class_weight {
        crate::options::ClassWeight::Listed(weights) if weights.len() != examples.classes => {
            Err(Error::Mismatch(format!("{} class weights do not match {} classes", weights.len(), examples.classes)))
        }
        _ => Ok(()),
    }
}
