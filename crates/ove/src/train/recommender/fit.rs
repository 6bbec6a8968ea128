//! The whole training of a recommender: the number of epochs is chosen on held-out interactions.
//!
//! A tenth of each user's interactions is held out. A first run without them measures recall along the way and stops
//! when it does not improve any more; a second run, on all interactions, has as many epochs as the best point of the
//! first. If interactions to tune on are given, there is one run, and the model is that of its best point; if the
//! number of epochs is given too, it is the last one.

use std::ops::ControlFlow;

use super::{EPOCHS, RecommenderTraining};
use crate::data::Interactions;
use crate::error::{Error, Result};
use crate::model::{Mean, Model};
use crate::options::RecommenderOptions;
use crate::platform::pool;
use crate::train::checkpoint::Saved;
use crate::train::fit::Stop;
use crate::train::run::Progress;

/// The share of each user's interactions that is held out.
const HELD_OUT: f64 = 0.1;

/// Length of the lists whose recall is compared.
pub const TOP: usize = 20;

/// The number of points of a run at which recall is measured.
const MEASURES: usize = 12;

/// Number of consecutive measurements without improvement after which the choosing run ends.
const PATIENCE: usize = 3;

/// Minimum number of held-out interactions: with fewer, the default number of epochs is used.
const LEAST: usize = 100;

/// An event during [`fit_recommender`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum RecommenderEvent<'e> {
    /// A step of the run that chooses the number of epochs.
    Choosing {
        /// Its progress.
        progress: &'e Progress,
    },
    /// Recall at 20 of held-out or validation interactions was measured.
    Measured {
        /// The epoch.
        epoch: usize,
        /// The recall.
        recall: Mean,
    },
    /// The number of epochs was chosen.
    Chosen {
        /// The number of epochs.
        epochs: usize,
        /// Recall at 20 after that many.
        recall: Mean,
    },
    /// The training run took a step.
    Step {
        /// The run, which can be saved now.
        training: &'e RecommenderTraining<'e>,
        /// Its progress.
        progress: &'e Progress,
    },
}

/// A callback that observes the training and may stop it.
pub type WatchRecommender<'a> = dyn FnMut(RecommenderEvent<'_>) -> ControlFlow<Stop> + Send + 'a;

/// Trains a recommender; chooses the number of epochs if it is not given.
///
/// `validation` must have the same users and items as `data` ([`Interactions::numbered_as`]). A run that is stopped
/// with [`Stop::Keep`] returns the best model so far.
///
/// # Errors
/// Those of [`RecommenderTraining`], and [`Error::Stopped`] after [`Stop::Discard`].
///
/// ```
/// use std::ops::ControlFlow;
/// use ove::options::RecommenderOptions;
/// use ove::synthetic;
/// use ove::train::fit_recommender;
///
/// let data = synthetic::interactions(500, 60, 5, 0);
/// let mut options = RecommenderOptions::default();
/// options.rank = 8;
/// let model = fit_recommender(&data, &options, None, None, &mut |_| ControlFlow::Continue(()))?;
/// let top = model.recommender()?.recommend(&[7], 10);
/// assert_eq!(top[0].len(), 10);
/// # Ok::<(), ove::Error>(())
/// ```
pub fn fit_recommender(
    data: &Interactions,
    options: &RecommenderOptions,
    validation: Option<&Interactions>,
    saved: Option<&Saved>,
    watch: &mut WatchRecommender<'_>,
) -> Result<Model> {
    pool::run(|| {
        let mut options = options.clone();
        if let Some(saved) = saved {
            options.epochs = saved.epochs().or(options.epochs);
        } else if options.epochs.is_none() && validation.is_none() {
            options.epochs = Some(choose(data, &options, watch)?);
        }
        let mut training = RecommenderTraining::new(data, &options)?;
        if let Some(saved) = saved {
            training.restore(saved)?;
        }
        run(training, options.epochs.is_none(), validation, watch)
    })
}

/// The best point of a run.
struct Best {
    recall: Mean,
    epoch: usize,
    /// The number of measurements since.
    since: usize,
    model: Option<Model>,
}

/// The number of epochs with the best recall of held-out interactions.
fn choose(data: &Interactions, options: &RecommenderOptions, watch: &mut WatchRecommender<'_>) -> Result<usize> {
    let (kept, held_out) = data.split(HELD_OUT, options.seed);
    if held_out.pairs() < LEAST {
        return Ok(EPOCHS);
    }
    let mut training = RecommenderTraining::new(&kept, options)?;
    let mut best: Option<Best> = None;
    while let Some(progress) = training.step()? {
        if watch(RecommenderEvent::Choosing { progress: &progress }).is_break() {
            return Err(Error::Stopped);
        }
        if measure(&training, &progress, &held_out, &mut best, false, watch)? {
            break;
        }
    }
    let best = best.expect("a run ends with a measurement");
    let _ = watch(RecommenderEvent::Chosen { epochs: best.epoch, recall: best.recall });
    Ok(best.epoch)
}

/// Advances a run to its end; if it `stops`, to where the recall of the validation interactions stops improving.
fn run(
    mut training: RecommenderTraining<'_>,
    stops: bool,
    validation: Option<&Interactions>,
    watch: &mut WatchRecommender<'_>,
) -> Result<Model> {
    let mut best: Option<Best> = None;
    while let Some(progress) = training.step()? {
        if let Some(validation) = validation
            && measure(&training, &progress, validation, &mut best, stops, watch)?
            && stops
        {
            break;
        }
        match watch(RecommenderEvent::Step { training: &training, progress: &progress }) {
            ControlFlow::Break(Stop::Discard) => return Err(Error::Stopped),
            ControlFlow::Break(Stop::Keep) => {
                let best = best.and_then(|best| best.model);
                return best.map_or_else(|| training.finish(), Ok);
            }
            ControlFlow::Continue(()) => {}
        }
    }
    match best.filter(|_| stops) {
        Some(Best { model: Some(mut model), epoch, .. }) => {
            model.card.finished = true;
            model.card.options.epochs = Some(epoch);
            if let Some(recommender) = &mut model.card.recommender {
                recommender.options.epochs = Some(epoch);
            }
            Ok(model)
        }
        _ => training.finish(),
    }
}

/// Measures recall if it is due; returns whether it has stopped improving.
fn measure(
    training: &RecommenderTraining<'_>,
    progress: &Progress,
    held_out: &Interactions,
    best: &mut Option<Best>,
    keep: bool,
    watch: &mut WatchRecommender<'_>,
) -> Result<bool> {
    let every = (training.epochs() / MEASURES).max(1) as f64;
    if progress.epochs.fract() != 0.0 || (progress.epochs % every != 0.0 && progress.done < 1.0) {
        return Ok(false);
    }
    let model = training.model();
    let recall = model.recommender()?.measure(held_out, training.data(), &[TOP]).at[0].recall;
    let _ = watch(RecommenderEvent::Measured { epoch: progress.epoch, recall });
    let since = match best {
        Some(best) if best.recall.value >= recall.value => {
            best.since += 1;
            best.since
        }
        _ => {
            let model = keep.then_some(model);
            *best = Some(Best { recall, epoch: progress.epoch, since: 0, model });
            0
        }
    };
    Ok(since >= PATIENCE)
}
