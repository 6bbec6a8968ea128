//! A training run that the caller advances step by step.
//!
//! Progress bars, checkpoints, Ctrl-C and distributed training all happen between two steps. A step is a batch of rows
//! of the stochastic solver, an iteration of the batch solver, or a time slice of work on trees.
//!
//! ```
//! use ove::train::{Start, Training};
//! use ove::{Examples, TrainOptions, synthetic};
//!
//! let data = synthetic::plane(200, 0);
//! let settings = serde_json::json!({ "scores": "linear", "epochs": 5, "learning_rate": 0.1 });
//! let options = TrainOptions::from_settings(&settings)?;
//! let mut training = Training::new(Examples::of(&data), &options, Start::default())?;
//! while let Some(progress) = training.step()? {
//!     println!("{:.0} %", 100.0 * progress.done);
//! }
//! let trained = training.finish()?;
//! assert!(trained.finished);
//! # Ok::<(), ove::Error>(())
//! ```

use std::path::Path;
use std::sync::OnceLock;

use crate::data::Examples;
use crate::error::{Error, Result};
use crate::model::{Card, LikelihoodPoint, Model, TracePoint};
use crate::options::{LinearOptions, ScoreOptions, Solver, TrainOptions};
use crate::platform::pool;
use crate::scores::Scores;
use crate::train::checkpoint::{self, Identity, Saved, State, StateReader};
use crate::train::fit_data::FitData;
use crate::train::parts::Part;
use crate::train::run::{Outcome, Progress, Run, Start};
use crate::train::{batch, stochastic, trees};

/// The result of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Trained {
    /// The scores.
    pub scores: Scores,
    /// The options, including those that the run chose itself.
    pub options: TrainOptions,
    /// The objective along the run.
    pub trace: Vec<TracePoint>,
    /// For the normalised bound: estimates of the log likelihood along the run.
    pub likelihood: Vec<LikelihoodPoint>,
    /// Whether the run was completed: by all epochs, early stopping, or reaching the tolerance.
    pub finished: bool,
    /// Number of rows visited; for the batch solver, evaluations times rows.
    pub updates: u64,
}

impl Trained {
    /// Builds a model, with the names of classes and features of the data that it was trained on.
    pub fn into_model<'a>(self, data: impl Into<FitData<'a>>, examples: &Examples<'_>) -> Model {
        let data = data.into();
        let card = Card {
            feature_names: data.feature_names.to_vec(),
            finished: self.finished,
            trace: self.trace,
            likelihood: self.likelihood,
            ..Card::new(
                self.options,
                data.classes.to_vec(),
                examples.counts_without_names(),
                examples.ids_without_names().count() as u64,
            )
        };
        Model { scores: self.scores, card }
    }
}

/// A training run that the caller advances step by step.
///
/// Steps run on the current thread pool ([`crate::with_threads`]). Run very small batches from within a pool, since
/// entering one costs as much as such a batch.
///
/// A run can be stopped and resumed; it ends in the same bits as without the interruption:
///
/// ```
/// use ove::train::{Start, Training};
/// use ove::{Examples, TrainOptions, synthetic};
/// use serde_json::json;
///
/// let data = synthetic::plane(200, 0);
/// let settings = json!({ "epochs": 3, "learning_rate": 0.1, "batch": 50, "objective": "one-vs-each" });
/// let options = TrainOptions::from_settings(&settings)?;
/// let start = || Training::new(Examples::of(&data), &options, Start::default());
///
/// let (mut whole, mut first, mut second) = (start()?, start()?, start()?);
/// while whole.step()?.is_some() {}
/// for _ in 0..5 {
///     first.step()?;
/// }
/// second.restore(&first.state())?;
/// while second.step()?.is_some() {}
/// assert_eq!(second.finish()?.scores, whole.finish()?.scores);
/// # Ok::<(), ove::Error>(())
/// ```
pub struct Training<'a> {
    run: Box<dyn Run + 'a>,
    examples: Examples<'a>,
    options: TrainOptions,
    start_digest: Option<u64>,
    validation: Option<Examples<'a>>,
    last: Option<Progress>,
    /// Made when it is first wanted, since it takes a look at every row.
    identity: OnceLock<Identity>,
}

impl<'a> Training<'a> {
    /// Prepares a run. The options must specify the scores ([`fit()`](crate::fit) chooses them).
    ///
    /// # Errors
    /// [`Error::Setting`] or [`Error::Unused`] for invalid settings, [`Error::Mismatch`] for rows that cannot be
    /// trained on or initial scores of another shape.
    pub fn new(examples: Examples<'a>, options: &TrainOptions, start: Start<'a>) -> Result<Self> {
        options.check()?;
        examples.check()?;
        check_class_weight(&examples, options)?;
        let Some(scores) = &options.scores else {
            return Err(Error::setting("scores", "be given", "none"));
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
        Ok(Training {
            run,
            examples,
            options: options.clone(),
            start_digest,
            validation: start.validation,
            last: None,
            identity: OnceLock::new(),
        })
    }

    /// Takes the next step; returns `None` at the end of the run.
    ///
    /// # Errors
    /// [`Error::Diverged`], or [`Error::Mismatch`] if the weights of trees exceed the memory budget.
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

    /// The rows that the run trains on.
    pub fn examples(&self) -> Examples<'a> {
        self.examples
    }

    /// The progress after the last step.
    pub fn progress(&self) -> Option<Progress> {
        self.last
    }

    /// A copy of the whole state of the run.
    pub fn state(&self) -> State {
        let (facts, tables) = self.run.state();
        State::new(self.identity().clone(), facts, &tables)
    }

    /// Restores the state or checkpoint of a run on the same rows with the same options.
    ///
    /// The run then ends in the same bits as the other would have.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for the state of another run, [`Error::Checkpoint`] for a damaged one.
    pub fn restore(&mut self, state: &dyn StateReader) -> Result<()> {
        self.identity().check(state.identity())?;
        let run = &mut self.run;
        pool::run(|| run.restore(state))
    }

    /// Merges this run with others that started from the same state.
    ///
    /// The weights become the mean over all runs, weighted by the number of rows that each visited; for trees, the
    /// finished nodes are combined.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for runs with other options or another shape, and for the batch solver, whose steps use all
    /// rows.
    pub fn merge(&mut self, others: &[State]) -> Result<()> {
        let own = self.identity();
        others.iter().try_for_each(|other| own.check_options(other.identity()))?;
        let run = &mut self.run;
        pool::run(|| run.merge(others))
    }

    /// Writes the state to a checkpoint file, atomically; [`Saved::open`] reads it.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let (facts, tables) = self.run.state();
        checkpoint::write(path, self.identity(), &facts, &tables)
    }

    /// Divides the work that other processes can do now into about `count` parts; there are none if the run has to go
    /// on by itself.
    ///
    /// Another process restores the state of this run ([`Training::save`], [`Training::restore`]) and does a part
    /// ([`Training::work`]); this run restores what came of it. When all parts are done, there may be new ones. Those
    /// of rivals must be restored in order.
    ///
    /// # Errors
    /// Those of [`Training::step`].
    pub fn parts(&mut self, count: usize) -> Result<Vec<Part>> {
        let run = &mut self.run;
        pool::run(|| run.parts(count.max(1)))
    }

    /// Does a part of the work and writes what came of it to a file, atomically. The run itself does not advance.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a part that this run does not have, [`Error::File`] if the file cannot be written.
    pub fn work(&mut self, part: &Part, path: &Path) -> Result<()> {
        let run = &mut self.run;
        let (facts, tables) = pool::run(|| run.work(part))?;
        checkpoint::write(path, self.identity(), &facts, &tables)
    }

    /// Restores a checkpoint file.
    ///
    /// # Errors
    /// Those of [`Training::restore`].
    pub fn resume(&mut self, saved: &Saved) -> Result<()> {
        self.restore(saved)
    }

    /// A copy of the current scores; trees have none before the end.
    pub fn snapshot(&self) -> Option<Scores> {
        let run = &self.run;
        pool::run(|| run.snapshot())
    }

    /// Ends the run, complete or not, and returns its result.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a weight is not finite, [`Error::Mismatch`] if the weights of trees exceed the memory
    /// budget.
    pub fn finish(self) -> Result<Trained> {
        let Training { run, mut options, .. } = self;
        let Outcome { scores, trace, likelihood, finished, updates, epochs } = pool::run(|| run.finish())?;
        options.epochs = epochs.or(options.epochs);
        Ok(Trained { scores, options, trace, likelihood, finished, updates })
    }

    fn identity(&self) -> &Identity {
        let make = || Identity::new(&self.examples, &self.options, self.start_digest, self.validation.as_ref());
        self.identity.get_or_init(make)
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
