//! Fitting a model to data, with a progress line.

use std::ops::ControlFlow;

use anyhow::Result;
use ove::budget;
use ove::model::Card;
use ove::options::{ForestOptions, Options};
use ove::solve::{Begin, forest};
use ove::{Dataset, Fit, Linear, Model, Problem, Settings, Weights};

use super::checkpoint::Keeper;
use super::memory::Bytes;
use super::record::Recorder;
use super::{held_out, progress};
use crate::terminal::note;

/// Trains with a progress line.
pub fn fit(data: &Dataset, options: &Options) -> Result<Fit> {
    fit_with(data, options, None, None, &mut Keeper::default(), &mut Recorder::default())
}

/// Trains with progress line, checkpoints and record: from `start` if given, and until `stop_on` no longer improves.
pub fn fit_with(
    data: &Dataset,
    options: &Options,
    start: Option<&Linear>,
    stop_on: Option<&held_out::Rows>,
    keeper: &mut Keeper,
    recorder: &mut Recorder,
) -> Result<Fit> {
    let problem = Problem::of(data);
    let mut line = progress::Line::new(data.len());
    let saved = keeper.take_saved();
    let held_out = stop_on.map(held_out::Rows::view);
    let begin = Begin { start, saved: saved.as_ref(), held_out };
    let fit = ove::solve::train_with(begin, &problem, options, &mut |progress| {
        recorder.update(progress);
        // The keeper decides whether to stop.
        let _ = line.update(progress);
        if progress.done < 1.0 { keeper.save_if_due(progress.epochs, progress.save) } else { ControlFlow::Continue(()) }
    });
    line.finish();
    Ok(fit?)
}

/// Grows a forest with a progress bar; the model, and how many rows were visited.
pub fn grow(
    data: &Dataset,
    options: ForestOptions,
    memory: Bytes,
    keeper: &mut Keeper,
    recorder: &mut Recorder,
) -> Result<(Model, u64)> {
    const STEPS: u64 = 1000;
    let bar = progress::bar(STEPS, "{msg}");
    bar.set_message(format!("{} trees", options.trees));
    let updates = |epochs: usize| (data.len() * epochs * options.trees) as u64;
    let saved = keeper.take_saved();
    let grown = forest::train_with(saved.as_ref(), &Problem::of(data), &options, &mut |growing| {
        bar.set_position((growing.done * STEPS as f64) as u64);
        recorder.update_forest(growing.done, updates(growing.of));
        if !budget::holds_forest(memory, growing.weights) {
            return ControlFlow::Break(());
        }
        if growing.done < 1.0 { keeper.save_if_due(growing.epochs, growing.save) } else { ControlFlow::Continue(()) }
    })?;
    bar.finish_and_clear();
    if options.epochs.is_none() {
        note!("{} epochs: chosen on held-out rows", grown.epochs);
    }
    budget::check_forest(memory, options.trees, grown.forest.weights())?;
    let updates = updates(grown.epochs);
    let options = ForestOptions { epochs: Some(grown.epochs), ..options };
    let card = Card { finished: grown.finished, ..card(data, Settings::Forest(options)) };
    Ok((Model { weights: Weights::Forest(grown.forest), card }, updates))
}

/// The model of a fit, with the names of its data.
pub fn into_model(fit: Fit, data: &Dataset, options: Options) -> Model {
    let card = Card { finished: fit.finished, trace: fit.trace, ..card(data, Settings::Linear(options)) };
    Model { weights: Weights::Linear(fit.linear), card }
}

/// The card of a model that is to be trained on this data.
pub fn card(data: &Dataset, options: Settings) -> Card {
    let card = Card::new(options, data.classes.clone(), Problem::of(data).counts(), data.len() as u64);
    Card { feature_names: data.feature_names.clone(), ..card }
}
