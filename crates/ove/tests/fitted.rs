//! Models as training leaves them.

use std::ops::ControlFlow;

use ove::model::Card;
use ove::{Dataset, ForestOptions, Model, Options, Problem, Settings, Weights, solve, train};

/// A linear model of these rows.
pub fn linear(data: &Dataset, options: Options) -> Model {
    let fit = train(&Problem::of(data), &options, &mut |_| ControlFlow::Continue(())).unwrap();
    model(data, Weights::Linear(fit.linear), Settings::Linear(options))
}

/// A forest of these rows.
pub fn forest(data: &Dataset, options: ForestOptions) -> Model {
    let grown = solve::forest::train(&Problem::of(data), &options, &mut |_| ControlFlow::Continue(())).unwrap();
    model(data, Weights::Forest(grown.forest), Settings::Forest(options))
}

fn model(data: &Dataset, weights: Weights, options: Settings) -> Model {
    let counts = Problem::of(data).counts();
    Model { weights, card: Card::new(options, data.classes.clone(), counts, data.len() as u64) }
}
