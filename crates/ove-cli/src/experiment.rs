//! The paper's comparison: one data set, four ways to train, the same measures for each.

use std::time::Instant;

use anyhow::{Result, bail};
use ove::bound::objective::Objective;
use ove::options::{Options, Solver};
use ove::train::batch;
use ove::{Dataset, Evaluation, Linear, Model, Problem, evaluate};

use crate::chart::Style;
use crate::{fit, interrupt, progress};

/// The ways to train that the paper compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// SOFT: the exact likelihood, in full.
    Softmax,
    /// BOUCHARD: Bouchard's bound, in full.
    Bouchard,
    /// OVE: the one-vs-each bound, in full.
    OneVsEach,
    /// OVE-SGD: the one-vs-each bound, rows and classes subsampled.
    OneVsEachStochastic,
}

impl Method {
    /// In the order of the paper's table.
    pub const ALL: [Method; 4] = [Method::Softmax, Method::Bouchard, Method::OneVsEach, Method::OneVsEachStochastic];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Method::Softmax => "softmax",
            Method::Bouchard => "bouchard",
            Method::OneVsEach => "one-vs-each",
            Method::OneVsEachStochastic => "one-vs-each-stochastic",
        }
    }

    /// Its look in every chart.
    pub fn style(self) -> Style {
        Style::nth(self as usize)
    }

    /// `base` with this method's objective and solver.
    pub fn options(self, base: &Options) -> Options {
        let (objective, solver) = match self {
            Method::Softmax => (Objective::Softmax, Solver::Batch),
            Method::Bouchard => (Objective::Bouchard, Solver::Batch),
            Method::OneVsEach => (Objective::OneVsEach, Solver::Batch),
            Method::OneVsEachStochastic => (Objective::OneVsEach, Solver::Stochastic),
        };
        Options { objective, solver, ..base.clone() }
    }
}

/// What one method came to.
pub struct Outcome {
    /// The method.
    pub method: Method,
    /// The options.
    pub options: Options,
    /// The model.
    pub model: Model,
    /// How good it is on the test rows.
    pub evaluation: Evaluation,
    /// Its bound on the training rows, exact and without the penalty.
    pub bound: f64,
    /// How long training took.
    pub train_seconds: f64,
    /// The bound along the run: of every step of the full sum, or of every batch.
    pub curve: Vec<CurvePoint>,
}

/// A point of a run.
#[derive(Debug, Clone, Copy)]
pub struct CurvePoint {
    /// Since the start.
    pub seconds: f64,
    /// Rows visited so far, in passes over all rows.
    pub epochs: f64,
    /// The objective summed over all rows less the penalty: exact, or unbiased.
    pub bound: f64,
}

impl Outcome {
    /// Its weights.
    pub fn linear(&self) -> &Linear {
        self.model.linear().expect("every method trains a linear model")
    }

    /// λ/2·‖w‖² of the model.
    pub fn penalty(&self) -> f64 {
        penalty(self.linear(), &self.options)
    }
}

fn penalty(linear: &Linear, options: &Options) -> f64 {
    0.5 * options.l2 * linear.table().iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>()
}

/// Trains by one method and measures.
pub fn run(method: Method, base: &Options, train: &Dataset, test: &Dataset) -> Result<Outcome> {
    let options = method.options(base);
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
            // The penalty moves slowly and needs the whole table: a look each time the run has grown by 2 % is enough.
            if epochs >= seen {
                current_penalty = penalty(&(progress.snapshot)(), &options);
                seen = (1.02 * epochs).max(epochs.floor() + 1.0);
            }
            curve.push(CurvePoint {
                seconds: start.elapsed().as_secs_f64(),
                epochs,
                bound: progress.bound - current_penalty,
            });
            line.hear(progress)
        })
    })?;
    let train_seconds = start.elapsed().as_secs_f64();
    line.finish();
    stop_if_interrupted()?;

    let bound = batch::bound(&problem, &options, &fit.linear);
    let model = fit::into_model(fit, train, options.clone());
    let evaluation = evaluate(&model, test.rows(), &test.labels, base.threads)?;
    Ok(Outcome { method, options, model, evaluation, bound, train_seconds, curve })
}

/// Ends a run of several experiments after Ctrl-C.
pub fn stop_if_interrupted() -> Result<()> {
    if interrupt::requested() { bail!("stopped") } else { Ok(()) }
}

/// The mean bound over the last `window` points at each point, as the paper smooths its stochastic bounds.
pub fn smooth(curve: &[CurvePoint], window: usize) -> Vec<CurvePoint> {
    let mut sum = 0.0;
    let mean = |(i, &point): (usize, &CurvePoint)| {
        sum += point.bound;
        if i >= window {
            sum -= curve[i - window].bound;
        }
        CurvePoint { bound: sum / (i + 1).min(window) as f64, ..point }
    };
    curve.iter().enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_averages_the_last_values() {
        let curve = [4.0, 2.0, 0.0, 10.0].map(|bound| CurvePoint { seconds: 0.0, epochs: 0.0, bound });
        let bounds: Vec<f64> = smooth(&curve, 2).iter().map(|point| point.bound).collect();
        assert_eq!(bounds, [4.0, 3.0, 1.0, 5.0]);
    }
}
