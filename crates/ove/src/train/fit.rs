//! The whole training procedure, shared by the command line, Python and Rust.
//!
//! Settings that are not given are chosen first: the score function by trials on held-out rows (`choice`), hashing by
//! the memory budget, epochs and learning rate on held-out validation rows. Then comes the training run, with early
//! stopping and a smaller learning rate if it diverges, and finally temperature scaling and the model card.

use std::ops::ControlFlow;

use super::calibration::fit_temperature;
use super::checkpoint::{Saved, StateReader};
use super::choice::{self, Compared};
use super::fit_data::FitData;
use super::folds::{self, Calibration};
use super::run::{Progress, Start};
use super::training::{Trained, Training};
use super::{batch, budget, learning_rate, logistic, stochastic, trees, validation, word_start};
use crate::data::{Dataset, Examples, Row};
use crate::error::{Error, Result};
use crate::model::{Model, WordVectors};
use crate::options::{Effort, LinearOptions, ScoreOptions, Solver, TrainOptions, views};
use crate::platform::pool;
use crate::scores::Scores;
use crate::text::Text;

/// Smallest learning rate that is tried after divergence, relative to the first.
const SMALLEST: f64 = 1e-6;

/// Optional inputs of [`fit_with`].
#[derive(Debug, Clone, Default)]
pub struct FitStart<'a> {
    /// A model to continue from; the data must use its numbering of classes and features ([`Model::align`]).
    pub from: Option<&'a Model>,
    /// A checkpoint to resume.
    pub saved: Option<&'a Saved>,
    /// Vectors of words, as the start of factored scores of the same rank: a feature that is one of the words starts at
    /// its vector.
    pub vectors: Option<&'a WordVectors>,
    /// Rows for choosing epochs, learning rate, temperature and threshold, used in place of held-out training rows; for
    /// linear and factored scores.
    pub tune_on: Option<&'a Dataset>,
    /// The text pipeline that produced the rows, for the model card.
    pub text: Option<Text>,
    /// The names of each class, for the model card; empty if classes have none.
    pub label_names: Vec<Vec<String>>,
}

/// The settings that were chosen on validation rows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Chosen {
    /// The learning rate.
    pub learning_rate: f64,
    /// Maximum number of epochs.
    pub epochs: usize,
    /// Number of validation rows.
    pub rows: usize,
}

/// An event during [`fit()`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A step of a comparison of scores or of the learning rate search.
    Choosing,
    /// The score function and the penalty are chosen: that with the least error, the first one of several.
    Compared(&'a [Compared]),
    /// Learning rate and epochs are chosen.
    Chosen(Chosen),
    /// There are too few rows for a validation split: nothing is chosen, and no temperature is fitted.
    TooFewRows,
    /// Scores start from vectors of words.
    Vectors {
        /// Number of features that have a vector.
        known: usize,
        /// Number of all features.
        features: usize,
    },
    /// The validation rows, held out of training or given.
    HeldOut(Examples<'a>),
    /// The training run took a step.
    Step {
        /// The run, which can be saved or copied now.
        training: &'a Training<'a>,
        /// Its progress.
        progress: &'a Progress,
    },
    /// The run diverged and starts again with a smaller learning rate.
    Retrying {
        /// The new learning rate, a tenth of the previous one.
        learning_rate: f64,
    },
    /// The training run ended.
    Trained(&'a Trained),
    /// A temperature was fitted on validation rows.
    Calibrated {
        /// The temperature T.
        temperature: f64,
        /// Number of validation rows.
        rows: usize,
    },
}

/// What to do when a fit is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Stop training and return the model so far; [`Error::Stopped`] while the learning rate is being chosen, when
    /// there is none yet.
    Keep,
    /// Return [`Error::Stopped`].
    Discard,
}

/// A callback that observes a fit and may stop it.
pub type Watch<'a> = dyn FnMut(Event<'_>) -> ControlFlow<Stop> + Send + 'a;

/// Has the work of a run done elsewhere, part by part ([`Training::parts`]); what is left, the run does itself.
pub type Divide<'a> = dyn FnMut(&mut Training<'_>) -> Result<()> + Send + 'a;

/// Trains a model, choosing the settings that are not given.
///
/// # Errors
/// [`Error::Setting`] or [`Error::Unused`] for invalid settings, [`Error::Mismatch`] for rows that cannot be trained on
/// or weights that exceed the memory budget, [`Error::Diverged`], and [`Error::Stopped`] after [`Stop::Discard`].
///
/// ```
/// use std::ops::ControlFlow;
/// use ove::{TrainOptions, fit, synthetic};
///
/// let data = synthetic::plane(200, 0); // five classes in the plane
/// let model = fit(&data, &TrainOptions::default(), |_| ControlFlow::Continue(()))?;
/// let top = model.top_k(data.rows(), 1);
/// assert_eq!(top.len(), 200);
/// # Ok::<(), ove::Error>(())
/// ```
pub fn fit<'a>(
    data: impl Into<FitData<'a>>,
    options: &TrainOptions,
    mut watch: impl FnMut(Event<'_>) -> ControlFlow<Stop> + Send,
) -> Result<Model> {
    fit_with(data, options, FitStart::default(), &mut watch)
}

/// [`fit()`] that can continue from a model, resume a checkpoint, or use given validation rows.
///
/// # Errors
/// Those of [`fit()`], and [`Error::Mismatch`] if the model or checkpoint does not match the data and options.
pub fn fit_with<'a>(
    data: impl Into<FitData<'a>>,
    options: &TrainOptions,
    start: FitStart<'_>,
    watch: &mut Watch<'_>,
) -> Result<Model> {
    fit_in_parts(data, options, start, watch, &mut |_| Ok(()))
}

/// [`fit_with()`] whose training run is first given to `divide`. The trials that choose settings are not.
///
/// # Errors
/// Those of [`fit_with()`] and of `divide`.
pub fn fit_in_parts<'a>(
    data: impl Into<FitData<'a>>,
    options: &TrainOptions,
    start: FitStart<'_>,
    watch: &mut Watch<'_>,
    divide: &mut Divide<'_>,
) -> Result<Model> {
    let mut data = data.into();
    let kinds = start.text.as_ref().map_or(Vec::new(), |text| text.kinds().to_vec());
    data.examples.kinds = &kinds;
    pool::run(|| Fit { data, given: options, start, watch, divide }.run())
}

struct Fit<'f, 'w, 'x, 'y> {
    data: FitData<'f>,
    /// The options as they were given.
    given: &'f TrainOptions,
    start: FitStart<'f>,
    watch: &'w mut Watch<'x>,
    divide: &'w mut Divide<'y>,
}

/// The indices of the rows to train on, `None` for all, and of the validation rows.
struct Split {
    train: Option<Vec<u32>>,
    held_out: Option<Vec<u32>>,
}

impl Fit<'_, '_, '_, '_> {
    fn run(mut self) -> Result<Model> {
        self.given.check()?;
        let all = self.data.examples;
        all.check()?;
        self.check_names()?;
        let (mut options, calibration) = self.resolve()?;
        // A single epoch passes over a part of the data, as in `partial_fit`: no row of it is held out.
        let chooses = options.stochastic().is_some()
            && self.given.learning_rate.is_none()
            && self.given.epochs != Some(1)
            && self.start.from.is_none();
        // Epochs that are given are all taken.
        let stops_early = chooses && self.given.epochs.is_none();
        let has_softmax = !matches!(options.scores, Some(ScoreOptions::Trees(_)));
        if self.start.tune_on.is_some() && !has_softmax {
            return Err(Error::Mismatch(
                "rows to tune on need linear or factored scores; trees choose on rows held out of training".into(),
            ));
        }
        let Split { train, held_out } = match has_softmax && (chooses || options.calibrate) {
            true => self.split(&options)?,
            false => Split { train: None, held_out: None },
        };
        let examples = train.as_deref().map_or(all, |index| all.with_index(index));
        let given = self.start.tune_on.map_or(all, |data| Examples::of(data).with_classes(all.classes));
        let held_out = held_out.as_deref().map(|index| given.with_index(index));
        if let Some(rows) = held_out {
            check_labels(&rows)?;
            self.notify(Event::HeldOut(rows))?;
        }
        let from = match (self.start.from, self.start.vectors) {
            (Some(model), _) => Some(grown(model, &all)?),
            (None, Some(vectors)) => Some(self.start_at(vectors, &options)?),
            (None, None) => None,
        };
        if chooses {
            self.choose(&mut options, &examples, held_out.as_ref(), from.as_ref())?;
        }
        let start = Start {
            scores: from.as_ref(),
            validation: held_out.filter(|_| stops_early),
            calibration: calibration.as_ref().and_then(Calibration::of_run),
        };
        let trained = self.train(&mut options, examples, start)?;
        self.notify(Event::Trained(&trained))?;
        let mut model = trained.into_model(self.data, &examples);
        if let (None, Some(calibration)) = (&held_out, calibration) {
            calibration.apply(&mut model);
        }
        self.complete(&mut model, held_out.as_ref())?;
        Ok(model)
    }

    fn check_names(&self) -> Result<()> {
        let (named, classes) = (self.data.classes.len(), self.data.examples.classes);
        let listed = self.start.label_names.len();
        match (named == classes, [0, classes].contains(&listed)) {
            (true, true) => Ok(()),
            (false, _) => Err(Error::Mismatch(format!("{named} class names do not match {classes} classes"))),
            (_, false) => Err(Error::Mismatch(format!("{listed} lists of label names do not match {classes} classes"))),
        }
    }

    /// Factored scores whose features start at vectors of words.
    fn start_at(&mut self, vectors: &WordVectors, options: &TrainOptions) -> Result<Scores> {
        let examples = self.data.examples;
        let (features, names) = (examples.rows.features(), self.data.feature_names);
        let terms = self.start.text.as_ref().map(Text::names);
        let name = |feature| terms.and_then(|terms| terms.get(feature)).or_else(|| Some(names.get(feature)?.as_str()));
        let start = word_start::factored(vectors, options, [features, examples.classes], name)?;
        self.notify(Event::Vectors { known: start.known, features })?;
        Ok(start.scores)
    }

    /// The options with scores, penalty and cells, and the calibration by models of a part of the rows.
    fn resolve(&mut self) -> Result<(TrainOptions, Option<Calibration>)> {
        let (mut options, mut calibration) = self.choose_scores()?;
        let examples = self.data.examples;
        let (features, classes) = (examples.rows.features(), examples.classes);
        options.l2.get_or_insert(match &options.scores {
            Some(ScoreOptions::Trees(_)) => trees::L2,
            Some(ScoreOptions::Linear(LinearOptions { solver: Solver::Batch(_), .. })) => batch::L2,
            _ => 0.0,
        });
        if matches!(options.scores, Some(ScoreOptions::Trees(_))) {
            options.learning_rate.get_or_insert(trees::LEARNING_RATE);
        }
        budget::fit_to_memory(&mut options, features, classes, self.start.from.is_none())?;
        if matches!(options.scores, Some(ScoreOptions::Trees(_))) && self.start.from.is_none() && calibration.is_none()
        {
            calibration = folds::calibrate_trees(&examples, &options, &mut self.proceed())?;
        }
        Ok((options, calibration))
    }

    /// The scores that are given, those of the model to continue from, or those that make the fewest errors. A resumed
    /// run compares again and comes to the same choice.
    fn choose_scores(&mut self) -> Result<(TrainOptions, Option<Calibration>)> {
        let mut options = self.given.clone();
        if let (Effort::Best, Some(ScoreOptions::Trees(trees))) = (options.effort, &mut options.scores)
            && trees.views.is_empty()
        {
            trees.views = views(self.data.examples.kinds);
        }
        // Trees and the batch solver visit their rows in random order, so these must fit in memory.
        let rows_fit = self.data.bytes_on_disk <= options.memory.0;
        match (&options.scores, self.start.from) {
            (Some(_), _) => {}
            (None, Some(from)) => options.scores.clone_from(&from.card.options.scores),
            // Only such scores are tuned on given rows.
            (None, None) if !rows_fit || self.start.tune_on.is_some() => {
                options.scores = Some(ScoreOptions::Linear(LinearOptions::default()));
            }
            (None, None) => {
                let examples = self.data.examples;
                let chosen = choice::choose(&examples, &options, &mut self.proceed())?;
                if !chosen.compared.is_empty() {
                    self.notify(Event::Compared(&chosen.compared))?;
                }
                if chosen.too_few {
                    self.notify(Event::TooFewRows)?;
                }
                return Ok((chosen.options, chosen.calibration));
            }
        }
        Ok((options, None))
    }

    /// What is called between the steps of a choice, when there is no model to keep yet.
    fn proceed(&mut self) -> impl FnMut() -> Result<()> {
        || match (self.watch)(Event::Choosing) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(_) => Err(Error::Stopped),
        }
    }

    /// The validation split: a sample of the given validation rows, or a twentieth of the training rows.
    fn split(&mut self, options: &TrainOptions) -> Result<Split> {
        let (train, held_out) = match self.start.tune_on {
            Some(data) => {
                let given = Examples::of(data).with_classes(self.data.examples.classes);
                (None, validation::sample_given(&given, options.seed))
            }
            None => match validation::split(&self.data.examples, options.seed) {
                Some((held_out, train)) => (Some(train), Some(held_out)),
                None => (None, None),
            },
        };
        if held_out.is_none() {
            self.notify(Event::TooFewRows)?;
        }
        Ok(Split { train, held_out })
    }

    /// Chooses epochs by the number of rows and the learning rate on validation rows; a resumed run keeps its choices.
    fn choose(
        &mut self,
        options: &mut TrainOptions,
        examples: &Examples<'_>,
        held_out: Option<&Examples<'_>>,
        scores: Option<&Scores>,
    ) -> Result<()> {
        if let Some(saved) = self.start.saved {
            saved.identity().adopt_choices(self.given, options);
            return Ok(());
        }
        options.epochs.get_or_insert(learning_rate::epochs_for(self.data.examples.len()));
        let mut rate = learning_rate::default(examples, options);
        let Some(held_out) = held_out else {
            options.learning_rate = Some(rate);
            return Ok(());
        };
        if learning_rate::is_searched(examples, options) {
            let start = Start { scores, ..Start::default() };
            rate = learning_rate::choose(examples, options, start, rate, held_out, &mut self.proceed())?;
        }
        options.learning_rate = Some(rate);
        let epochs = options.epochs.unwrap_or_default();
        self.notify(Event::Chosen(Chosen { learning_rate: rate, epochs, rows: held_out.len() }))
    }

    /// Trains; if the run diverges, as it may with few rows of large values, it is retried with a tenth of the learning
    /// rate, unless that was given.
    fn train(&mut self, options: &mut TrainOptions, examples: Examples<'_>, start: Start<'_>) -> Result<Trained> {
        let may_retry = options.stochastic().is_some() && self.given.learning_rate.is_none();
        if options.stochastic().is_some() {
            options.epochs.get_or_insert(stochastic::EPOCHS);
            options.learning_rate.get_or_insert(learning_rate::default(&examples, options));
        }
        let mut saved = self.start.saved;
        if let (true, Some(saved)) = (may_retry, saved) {
            saved.identity().adopt_choices(self.given, options);
        }
        let least = options.learning_rate.unwrap_or_default() * SMALLEST;
        loop {
            // A retried run does not match the checkpoint.
            match (self.train_once(options, examples, start, saved.take()), options.learning_rate) {
                (Err(Error::Diverged { .. }), Some(rate)) if may_retry && rate > least => {
                    options.learning_rate = Some(rate / 10.0);
                    self.notify(Event::Retrying { learning_rate: rate / 10.0 })?;
                }
                (other, _) => return other,
            }
        }
    }

    fn train_once(
        &mut self,
        options: &TrainOptions,
        examples: Examples<'_>,
        start: Start<'_>,
        saved: Option<&Saved>,
    ) -> Result<Trained> {
        let mut training = Training::new(examples, options, start)?;
        if let Some(saved) = saved {
            training.restore(saved)?;
        }
        (self.divide)(&mut training)?;
        while let Some(progress) = training.step()? {
            match (self.watch)(Event::Step { training: &training, progress: &progress }) {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(Stop::Keep) => break,
                ControlFlow::Break(Stop::Discard) => return Err(Error::Stopped),
            }
        }
        training.finish()
    }

    /// Completes the card and calibrates the scores.
    fn complete(&mut self, model: &mut Model, held_out: Option<&Examples<'_>>) -> Result<()> {
        model.card.text = self.start.text.take();
        model.card.label_names = std::mem::take(&mut self.start.label_names);
        if let Some(from) = self.start.from {
            model.card.rows += from.card.rows;
            model.card.counts.iter_mut().zip(&from.card.counts).for_each(|(new, old)| *new += old);
            if model.card.label_names.is_empty() && !from.card.label_names.is_empty() {
                model.card.label_names.clone_from(&from.card.label_names);
                model.card.label_names.resize(model.card.classes.len(), Vec::new());
            }
            if model.card.text.is_none() {
                model.card.text.clone_from(&from.card.text);
            }
        }
        let Some(softmax) = model.scores.softmax() else { return Ok(()) };
        let all = self.data.examples;
        if all.ids().any(|id| all.labels[id].len() > 1) {
            let earlier = self.start.from.and_then(|from| from.card.logistic);
            model.card.logistic = model.card.logistic.or(earlier).or_else(|| Some(logistic::default(&all)));
        }
        let Some(rows) = held_out else { return Ok(()) };
        let scores = |row: Row<'_>, out: &mut [f32]| softmax.scores(row, out);
        let temperature = fit_temperature(rows, &scores).temperature;
        model.calibrate(temperature);
        if model.card.logistic.is_some() {
            model.card.logistic = logistic::of_softmax(&model.scores, rows).or(model.card.logistic);
        }
        self.notify(Event::Calibrated { temperature, rows: rows.len() })
    }

    /// Reports an event outside of a run, where only [`Stop::Discard`] has an effect.
    fn notify(&mut self, event: Event<'_>) -> Result<()> {
        match (self.watch)(event) {
            ControlFlow::Break(Stop::Discard) => Err(Error::Stopped),
            _ => Ok(()),
        }
    }
}

/// Checks that validation rows have classes of the training rows; a row may have none.
fn check_labels(rows: &Examples<'_>) -> Result<()> {
    let unknown = |&id: &usize| rows.labels[id].iter().any(|&label| label as usize >= rows.classes);
    match rows.ids().find(unknown) {
        None => Ok(()),
        Some(id) => Err(Error::Mismatch(format!(
            "validation row {id} has a class beyond the {} of the training rows; see `Dataset::use_classes`",
            rows.classes
        ))),
    }
}

/// The scores of a model, extended to the features and classes of these rows.
fn grown(model: &Model, examples: &Examples<'_>) -> Result<Scores> {
    let (shape, features, classes) = (model.scores.shape(), examples.rows.features(), examples.classes);
    if features < shape.features || classes < shape.classes {
        return Err(Error::Mismatch(format!(
            "the data has {features} features and {classes} classes, fewer than the model's {} and {}",
            shape.features, shape.classes
        )));
    }
    model.scores.predictor().grown(features, classes)
}
