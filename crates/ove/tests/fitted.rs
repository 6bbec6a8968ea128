//! Options, runs and models as the tests make them.

use ove::scores::Linear;
use ove::train::{Start, Trained, Training};
use ove::{Dataset, Examples, Model, Result, Scores, TrainOptions};
use serde_json::Value;

/// The options with these settings, named as on the command line.
pub fn options(settings: Value) -> TrainOptions {
    TrainOptions::from_settings(&settings).unwrap()
}

/// Settings with some of them changed.
pub fn with(settings: &Value, changes: Value) -> Value {
    let mut changed = settings.clone();
    changed.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    changed
}

/// A run to its end.
pub fn run(examples: Examples<'_>, options: &TrainOptions) -> Result<Trained> {
    let mut training = Training::new(examples, options, Start::default())?;
    while training.step()?.is_some() {}
    training.finish()
}

/// A run on these rows to its end.
pub fn trained(data: &Dataset, settings: Value) -> Trained {
    run(Examples::of(data), &options(settings)).unwrap()
}

/// The linear scores of a run on these rows.
pub fn linear(data: &Dataset, settings: Value) -> Linear {
    linear_of(trained(data, settings).scores)
}

/// Scores that are known to be linear.
pub fn linear_of(scores: Scores) -> Linear {
    match scores {
        Scores::Linear(linear) => linear,
        other => panic!("scores of another kind: {other:?}"),
    }
}

/// The model of a run on these rows.
pub fn model(data: &Dataset, settings: Value) -> Model {
    trained(data, settings).into_model(data, &Examples::of(data))
}
