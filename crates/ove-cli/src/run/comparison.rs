//! Runs the comparison of the paper: one data set, four methods, the same measures for each.

use std::time::Instant;

use anyhow::{Result, bail};
use ove::objective::Objective;
use ove::options::{Options, Solver};
use ove::solve::batch;
use ove::{Dataset, Linear, Problem, evaluate};
use ove_report::comparison::{CurvePoint, Method, Outcome};

use super::{fit, interrupt, progress};

/// `base` with the objective and the solver of a method.
fn options_of(method: Method, base: &Options) -> Options {
    let (objective, solver) = match method {
        Method::Softmax => (Objective::Softmax, Solver::Batch),
        Method::Bouchard => (Objective::Bouchard, Solver::Batch),
        Method::OneVsEach => (Objective::OneVsEach, Solver::Batch),
        Method::OneVsEachStochastic => (Objective::OneVsEach, Solver::Stochastic),
    };
    Options { objective, solver, ..base.clone() }
}

/// λ/2·‖w‖².
fn penalty(linear: &Linear, options: &Options) -> f64 {
    0.5 * options.l2 * linear.table().iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>()
}

/// Trains by one method and evaluates the model on the test rows.
pub fn run(method: Method, base: &Options, train: &Dataset, test: &Dataset) -> Result<Outcome> {
    let options = options_of(method, base);
    let problem = Problem::of(train);
    let mut line = progress::Line::new(train.len());
    let mut curve = Vec::new();
    let (mut current_penalty, mut seen) = (0.0, 0.0);
    let start = Instant::now();
    let fit = interrupt::held(|| {
        ove::train(&problem, &options, &mut |progress| {
            let epochs = match options.solver {
                Solver::Batch => progress.updates as f64,
                Solver::Stochastic => progress.updates as f64 / train.len() as f64,
            };
            // The penalty changes slowly and needs the whole table: computing it each time the run has grown by 2 % is
            // enough.
            if epochs >= seen {
                current_penalty = penalty(&(progress.snapshot)(), &options);
                seen = (1.02 * epochs).max(epochs.floor() + 1.0);
            }
            curve.push(CurvePoint {
                seconds: start.elapsed().as_secs_f64(),
                epochs,
                bound: progress.bound - current_penalty,
            });
            line.update(progress)
        })
    })?;
    let train_seconds = start.elapsed().as_secs_f64();
    line.finish();
    stop_if_interrupted()?;

    let maximum = batch::bound(&problem, &options, &fit.linear) - penalty(&fit.linear, &options);
    let model = fit::into_model(fit, train, options);
    let evaluation = evaluate(&model, test.rows(), &test.labels, base.threads)?;
    Ok(Outcome { method, model, evaluation, maximum, train_seconds, curve })
}

/// Fails after Ctrl-C, which ends a series of runs.
pub fn stop_if_interrupted() -> Result<()> {
    if interrupt::requested() { bail!("stopped") } else { Ok(()) }
}
