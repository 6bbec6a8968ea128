//! The whole policy of training, once, for every interface.
//!
//! What is not given is chosen here: the scores by the number of classes, cells by the memory that is allowed, epochs and
//! learning rate by held-out rows. Then the run, with a smaller learning rate if it diverges and early stopping; then the
//! temperature, and the card.

use std::ops::ControlFlow;

use super::calibration::fit_temperature;
use super::checkpoint::{Saved, StateReader};
use super::fit_data::FitData;
use super::training::{Progress, Start, Trained, Training};
use super::{budget, learning_rate, stochastic, trees, validation};
use crate::data::{Dataset, Examples, Row};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::options::{LinearOptions, ScoreOptions, TREES_FROM, TrainOptions, TreeOptions};
use crate::platform::pool;
use crate::scores::Scores;
use crate::text::Text;

/// By how much a learning rate that diverges is made smaller at most.
const SMALLEST: f64 = 1e-6;

/// What a fit begins with, beside data and options.
#[derive(Debug, Clone, Default)]
pub struct FitStart<'a> {
    /// A model to go on with; the data has to be numbered as it numbers classes and features ([`Model::align`]).
    pub from: Option<&'a Model>,
    /// A checkpoint to resume.
    pub saved: Option<&'a Saved>,
    /// Rows that were never meant for training; what held-out rows decide is then decided by some of these.
    pub validation: Option<&'a Dataset>,
    /// How texts became the rows, for the model's card.
    pub text: Option<Text>,
}

/// What was chosen on held-out rows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Chosen {
    /// The learning rate.
    pub learning_rate: f64,
    /// Epochs at most.
    pub epochs: usize,
    /// Number of held-out rows.
    pub rows: usize,
}

/// What happens along a fit.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A learning rate is being tried.
    Choosing,
    /// Learning rate and epochs are chosen.
    Chosen(Chosen),
    /// There are too few rows to hold some out, so that nothing is chosen and no temperature fitted.
    TooFewRows,
    /// Rows are held out of training, or were given for it.
    HeldOut(Examples<'a>),
    /// The run took a step.
    Step {
        /// The run, which can be saved or copied now.
        training: &'a Training<'a>,
        /// How far it is.
        progress: &'a Progress,
    },
    /// The run diverged, and begins anew with this learning rate.
    Retrying {
        /// A tenth of the one before.
        learning_rate: f64,
    },
    /// The run is over.
    Trained(&'a Trained),
    /// A temperature was fitted on held-out rows.
    Calibrated {
        /// T.
        temperature: f64,
        /// Number of held-out rows.
        rows: usize,
    },
}

/// What to do with a run that is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Make a model of what was reached.
    Keep,
    /// Make nothing: the fit ends with [`Error::Stopped`].
    Discard,
}

/// Follows a fit, and may stop it.
pub type Watch<'a> = dyn FnMut(Event<'_>) -> ControlFlow<Stop> + Send + 'a;

/// Trains a model on rows, choosing what the options leave open.
///
/// # Errors
/// Settings out of range, rows that cannot be trained on, weights that do not fit into memory, divergence.
///
/// ```
/// use std::ops::ControlFlow;
/// use ove::{TrainOptions, fit, synthetic};
///
/// let data = synthetic::plane(200, 0); // five classes in the plane
/// let model = fit(&data, &TrainOptions::default(), |_| ControlFlow::Continue(()))?;
/// let best = model.top_k(data.rows(), 1);
/// assert_eq!(best.len(), 200);
/// # Ok::<(), ove::Error>(())
/// ```
pub fn fit<'a>(
    data: impl Into<FitData<'a>>,
    options: &TrainOptions,
    mut watch: impl FnMut(Event<'_>) -> ControlFlow<Stop> + Send,
) -> Result<Model> {
    fit_with(data, options, FitStart::default(), &mut watch)
}

/// Trains a model that goes on from another, resumes a checkpoint, or is given rows for validation.
///
/// # Errors
/// As [`fit`], and [`Error::Stopped`] if it was stopped with [`Stop::Discard`].
pub fn fit_with<'a>(
    data: impl Into<FitData<'a>>,
    options: &TrainOptions,
    start: FitStart<'_>,
    watch: &mut Watch<'_>,
) -> Result<Model> {
    let data = data.into();
    pool::run(|| Fit { data, given: options, start, watch }.run())
}

struct Fit<'f, 'w, 'x> {
    data: FitData<'f>,
    /// The options as they were given.
    given: &'f TrainOptions,
    start: FitStart<'f>,
    watch: &'w mut Watch<'x>,
}

/// The rows that a fit trains on, and those that it holds out.
struct Split {
    train: Option<Vec<u32>>,
    held_out: Option<Vec<u32>>,
}

impl Fit<'_, '_, '_> {
    fn run(mut self) -> Result<Model> {
        self.given.check()?;
        let all = self.data.examples;
        all.check()?;
        self.check_names()?;
        let mut options = self.resolve()?;
        let chooses = options.stochastic().is_some()
            && self.given.epochs.is_none()
            && self.given.learning_rate.is_none()
            && self.start.from.is_none();
        let has_softmax = !matches!(options.scores, Some(ScoreOptions::Trees(_)));
        let Split { train, held_out } = match has_softmax && (chooses || options.calibrate) {
            true => self.split(&options)?,
            false => Split { train: None, held_out: None },
        };
        let examples = train.as_deref().map_or(all, |index| all.with_index(index));
        let given = self.start.validation.map_or(all, |data| Examples::of(data).with_classes(all.classes));
        let held_out = held_out.as_deref().map(|index| given.with_index(index));
        if let Some(rows) = held_out {
            self.tell(Event::HeldOut(rows))?;
        }
        if chooses {
            self.choose(&mut options, &examples, held_out.as_ref())?;
        }
        let from = self.start.from.map(|model| grown(model, &all)).transpose()?;
        let start = Start { scores: from.as_ref(), validation: held_out.filter(|_| chooses) };
        let trained = self.train(&mut options, examples, start)?;
        self.tell(Event::Trained(&trained))?;
        let mut model = trained.into_model(self.data, &examples);
        self.complete(&mut model, held_out.as_ref())?;
        Ok(model)
    }

    fn check_names(&self) -> Result<()> {
        let (named, classes) = (self.data.classes.len(), self.data.examples.classes);
        match named == classes {
            true => Ok(()),
            false => Err(Error::Mismatch(format!("{named} class names do not match {classes} classes"))),
        }
    }

    /// The options with scores, penalty and cells, which do not depend on held-out rows.
    fn resolve(&self) -> Result<TrainOptions> {
        let (data, mut options) = (self.data, self.given.clone());
        let (features, classes) = (data.examples.rows.features(), data.examples.classes);
        // Trees go through their rows in many orders, so these have to fit in memory.
        let rows_fit = data.bytes_on_disk <= options.memory.0;
        options.scores.get_or_insert_with(|| match classes >= TREES_FROM && rows_fit {
            true => ScoreOptions::Trees(TreeOptions::default()),
            false => ScoreOptions::Linear(LinearOptions::default()),
        });
        let is_trees = matches!(options.scores, Some(ScoreOptions::Trees(_)));
        options.l2.get_or_insert(if is_trees { trees::L2 } else { 0.0 });
        if is_trees {
            options.learning_rate.get_or_insert(trees::LEARNING_RATE);
        }
        budget::fit_to_memory(&mut options, features, classes, self.start.from.is_none())?;
        Ok(options)
    }

    /// Which rows are held out: some of those given for it, or else a twentieth of the training rows.
    fn split(&mut self, options: &TrainOptions) -> Result<Split> {
        let (train, held_out) = match self.start.validation {
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
            self.tell(Event::TooFewRows)?;
        }
        Ok(Split { train, held_out })
    }

    /// Epochs by the number of rows, and the learning rate that held-out rows prefer; a run that is resumed has chosen.
    fn choose(
        &mut self,
        options: &mut TrainOptions,
        examples: &Examples<'_>,
        held_out: Option<&Examples<'_>>,
    ) -> Result<()> {
        if let Some(saved) = self.start.saved {
            saved.identity().adopt_choices(self.given, options);
            return Ok(());
        }
        options.epochs = Some(learning_rate::epochs_for(self.data.examples.len()));
        let Some(held_out) = held_out else {
            options.learning_rate = Some(stochastic::LEARNING_RATE);
            return Ok(());
        };
        let mut stopped = None;
        let mut go_on = || {
            if stopped.is_none() {
                stopped = (self.watch)(Event::Choosing).break_value();
            }
            stopped.is_none()
        };
        let rate = learning_rate::choose(examples, options, stochastic::LEARNING_RATE, held_out, &mut go_on)?;
        if stopped == Some(Stop::Discard) {
            return Err(Error::Stopped);
        }
        options.learning_rate = Some(rate);
        let epochs = options.epochs.unwrap_or_default();
        self.tell(Event::Chosen(Chosen { learning_rate: rate, epochs, rows: held_out.len() }))
    }

    /// The run; a learning rate that was not given gives way to a tenth of it where it diverges, as with few rows of
    /// large numbers it may.
    fn train(&mut self, options: &mut TrainOptions, examples: Examples<'_>, start: Start<'_>) -> Result<Trained> {
        let may_retry = options.stochastic().is_some() && self.given.learning_rate.is_none();
        if options.stochastic().is_some() {
            options.epochs.get_or_insert(stochastic::EPOCHS);
            options.learning_rate.get_or_insert(stochastic::LEARNING_RATE);
        }
        let mut saved = self.start.saved;
        if let (true, Some(saved)) = (may_retry, saved) {
            saved.identity().adopt_choices(self.given, options);
        }
        let least = options.learning_rate.unwrap_or_default() * SMALLEST;
        loop {
            // A run that begins anew is none that the checkpoint is of.
            match (self.train_once(options, examples, start, saved.take()), options.learning_rate) {
                (Err(Error::Diverged { .. }), Some(rate)) if may_retry && rate > least => {
                    options.learning_rate = Some(rate / 10.0);
                    self.tell(Event::Retrying { learning_rate: rate / 10.0 })?;
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
        while let Some(progress) = training.step()? {
            match (self.watch)(Event::Step { training: &training, progress: &progress }) {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(Stop::Keep) => break,
                ControlFlow::Break(Stop::Discard) => return Err(Error::Stopped),
            }
        }
        training.finish()
    }

    /// Adds what a model has beside its scores.
    fn complete(&mut self, model: &mut Model, held_out: Option<&Examples<'_>>) -> Result<()> {
        model.card.text = self.start.text.take();
        if let Some(from) = self.start.from {
            model.card.rows += from.card.rows;
            model.card.counts.iter_mut().zip(&from.card.counts).for_each(|(new, old)| *new += old);
            if model.card.text.is_none() {
                model.card.text.clone_from(&from.card.text);
            }
        }
        let Some(rows) = held_out else { return Ok(()) };
        let Some(softmax) = model.scores.softmax() else { return Ok(()) };
        let scores = |row: Row<'_>, out: &mut [f32]| softmax.scores(row, out);
        let temperature = fit_temperature(rows, &scores).temperature;
        model.calibrate(temperature);
        self.tell(Event::Calibrated { temperature, rows: rows.len() })
    }

    /// Tells of an event between runs, where a stop means that nothing is kept.
    fn tell(&mut self, event: Event<'_>) -> Result<()> {
        match (self.watch)(event) {
            ControlFlow::Break(Stop::Discard) => Err(Error::Stopped),
            _ => Ok(()),
        }
    }
}

/// The scores of a model with room for the features and classes of these rows.
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
