//! The paper's comparison: four methods on one data set, with the same metrics for each.

use std::time::Instant;

use anyhow::{Result, bail};
use ove::scores::Scores;
use ove::train::{Start, Training, batch};
use ove::{Dataset, Examples, TrainOptions, evaluate};
use ove_report::comparison::{CurvePoint, Method, Outcome};
use serde_json::{Value, json};

use super::{interrupt, progress};

/// The settings of a comparison, by name.
pub struct Settings {
    /// Settings of all methods.
    pub shared: Value,
    /// Settings of the stochastic method.
    pub stochastic: Value,
    /// Settings of the batch methods.
    pub batch: Value,
}

impl Settings {
    /// The options of a method.
    pub fn of(&self, method: Method) -> ove::Result<TrainOptions> {
        let (objective, solver, own) = match method {
            Method::Softmax => ("softmax", "batch", &self.batch),
            Method::Bouchard => ("bouchard", "batch", &self.batch),
            Method::OneVsEach => ("one-vs-each", "batch", &self.batch),
            Method::OneVsEachStochastic => ("one-vs-each", "stochastic", &self.stochastic),
        };
        let mut settings = self.shared.clone();
        for (name, value) in own.as_object().into_iter().flatten() {
            settings[name] = value.clone();
        }
        settings["objective"] = json!(objective);
        settings["solver"] = json!(solver);
        TrainOptions::from_settings(&settings)
    }
}

/// λ/2·‖w‖².
fn penalty(scores: &Scores, options: &TrainOptions) -> f64 {
    let linear = scores.linear().expect("the scores are linear");
    let square = linear.table().iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>();
    0.5 * options.l2.unwrap_or(0.0) * square
}

/// Trains with one method and evaluates the model on the test rows.
pub fn run(method: Method, settings: &Settings, train: &Dataset, test: &Dataset) -> Result<Outcome> {
    let options = settings.of(method)?;
    let examples = Examples::of(train);
    let mut line = progress::Line::new(train.len());
    let mut curve = Vec::new();
    let (mut current_penalty, mut next) = (0.0, 0.0);
    let start = Instant::now();
    let trained = interrupt::held(|| {
        let mut training = Training::new(examples, &options, Start::default())?;
        while let Some(progress) = training.step()? {
            let epochs = match method {
                Method::OneVsEachStochastic => progress.updates as f64 / train.len() as f64,
                _ => progress.updates as f64,
            };
            // The penalty changes slowly and needs the whole table, so it is computed whenever the epochs have grown by
            // 2 %.
            if epochs >= next
                && let Some(scores) = training.snapshot()
            {
                current_penalty = penalty(&scores, &options);
                next = (1.02 * epochs).max(epochs.floor() + 1.0);
            }
            let bound = progress.bound.unwrap_or_default() - current_penalty;
            curve.push(CurvePoint { seconds: start.elapsed().as_secs_f64(), epochs, bound });
            line.update(&progress);
            if interrupt::requested() {
                break;
            }
        }
        training.finish()
    })?;
    let train_seconds = start.elapsed().as_secs_f64();
    line.finish();
    stop_if_interrupted()?;

    let linear = trained.scores.linear().expect("the scores are linear");
    let maximum = batch::bound(&examples, &options, &linear) - penalty(&trained.scores, &options);
    drop(linear);
    let model = trained.into_model(train, &examples);
    let evaluation = evaluate(&model, test.rows(), &test.labels)?;
    Ok(Outcome { method, model, evaluation, maximum, train_seconds, curve })
}

/// Fails after Ctrl-C, to end a series of runs.
pub fn stop_if_interrupted() -> Result<()> {
    if interrupt::requested() { bail!("stopped") } else { Ok(()) }
}
