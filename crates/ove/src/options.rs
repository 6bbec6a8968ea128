//! Every setting of training, with its default. The command line, Python and the model file use these names and values.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::names::names;
use crate::objective::Objective;
use crate::sampler::SamplerKind;
use crate::step::{Schedule, StepKind};

/// How the objective is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// Subsampled rows and remaining classes (section 3).
    Stochastic,
    /// The full sum, by L-BFGS.
    Batch,
}

names!(Solver, "solver", { Stochastic => "stochastic", Batch => "batch" });

/// How often the labels of each class count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeight {
    /// Once.
    #[default]
    Equal,
    /// The more often the rarer the class is: L / (K L_k), where L_k of all L labels are of class k.
    Balanced,
    /// As often as this list says, in class order.
    Listed(Vec<f64>),
}

/// How to train.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// What is maximised.
    pub objective: Objective,
    /// How.
    pub solver: Solver,
    /// λ of the penalty λ/2·‖w‖² that is taken off the sum over all rows.
    pub l2: f64,
    /// Whether the bias is penalised like a weight.
    pub penalty_on_bias: bool,
    /// Merged objective: how many of the most frequent classes share one logarithm. With the rivals sampler, the drawn ones do instead.
    pub merge: usize,
    /// How often the labels of each class count.
    #[serde(default)]
    pub class_weight: ClassWeight,

    /// Stochastic: how many remaining classes a row visits.
    pub classes: usize,
    /// Stochastic: how they are drawn.
    pub sampler: SamplerKind,
    /// Frequency sampler: the power of a class's count.
    pub power: f64,
    /// Stochastic: how many rows see the same weights before these move.
    pub batch: usize,
    /// Stochastic: how often each row is visited.
    pub epochs: usize,
    /// Stochastic: how a gradient moves a weight.
    pub step: StepKind,
    /// Stochastic: the step for one row and one visited class.
    pub learning_rate: f64,
    /// Stochastic: how the rate falls.
    pub schedule: Schedule,
    /// Stochastic: the seed of everything random.
    pub seed: u64,
    /// Stochastic: how many cells all weights share, at least one for each class; without it each weight has its own.
    #[serde(default)]
    pub cells: Option<usize>,

    /// Batch: stop when the gradient is this small beside the first one.
    pub tolerance: f64,
    /// Batch: stop after so many iterations at the latest.
    pub iterations: usize,

    /// Threads, 0 for as many as there are cores. They change no bit of the result, so the model file leaves them out.
    #[serde(skip)]
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            objective: Objective::OneVsEach,
            solver: Solver::Stochastic,
            l2: 0.0,
            penalty_on_bias: true,
            merge: 10,
            class_weight: ClassWeight::Equal,
            classes: 5,
            sampler: SamplerKind::Uniform,
            power: 0.75,
            batch: 256,
            epochs: 5,
            step: StepKind::Adagrad,
            learning_rate: 0.1,
            schedule: Schedule::Linear,
            seed: 0,
            cells: None,
            tolerance: 1e-5,
            iterations: 2000,
            threads: 0,
        }
    }
}

impl Options {
    /// Whether every setting lies in its range.
    pub fn check(&self) -> Result<()> {
        let reject = |name, found: &dyn fmt::Display, allowed: &str| {
            Err(Error::Option { name, found: found.to_string(), allowed: allowed.into() })
        };
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !(self.l2.is_finite() && self.l2 >= 0.0) {
            return reject("l2", &self.l2, "it is a number that is not negative");
        }
        if !(self.power.is_finite() && self.power >= 0.0) {
            return reject("power", &self.power, "it is a number that is not negative");
        }
        if !positive(self.learning_rate) {
            return reject("learning-rate", &self.learning_rate, "it is a positive number");
        }
        if !positive(self.tolerance) {
            return reject("tolerance", &self.tolerance, "it is a positive number");
        }
        if let ClassWeight::Listed(weights) = &self.class_weight
            && let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0))
        {
            return reject("class-weight", weight, "weights are finite and not negative");
        }
        if let Schedule::Geometric(factor) = self.schedule
            && !(positive(factor) && factor <= 1.0)
        {
            return reject("schedule", &factor, "the factor an epoch lies above 0 and is at most 1");
        }
        if let (Some(cells), Solver::Batch) = (self.cells, self.solver) {
            return reject("cells", &cells, "the batch solver has one for each weight");
        }
        for (name, value) in
            [("classes", self.classes), ("batch", self.batch), ("epochs", self.epochs), ("iterations", self.iterations)]
        {
            if value == 0 {
                return reject(name, &value, "it is at least 1");
            }
        }
        Ok(())
    }
}

/// Classes from which on a forest is the better choice. On a fifth of the rows, held out, precision@1 of a linear model and of a forest is .335 and
/// .378 (bibtex by the first tag, 148 classes), and .572 and .655, .453 and .554, .403 and .461 (the 100, 300 and 800 most frequent first
/// concepts in a tenth of EURLEX57K), after 7 to 38 times the training; with the 20 classes of 20 newsgroups .849 and .776.
pub const FOREST_FROM: usize = 100;

/// How to train a [`Forest`](crate::forest::Forest).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForestOptions {
    /// How many trees vote.
    pub trees: usize,
    /// How often each row is visited by leaves, and a third as often (at least twice) by roots; if not given, as often as that helps held-out rows.
    pub epochs: Option<usize>,
    /// The step for one row, if rows have unit length on average (others are scaled to it); it falls in a straight line.
    pub learning_rate: f64,
    /// λ of the penalty λ/2·‖w‖² on the sum over the rows of a node, scaled likewise. Held-out rows of long texts like less, those of short
    /// ones more: P@5 .693, .695, .696 with 0.5, 0.2, 0.1 (EURLEX57K), .1693, .1688, .1686 (titles).
    pub l2: f64,
    /// How often the labels of each class count.
    pub class_weight: ClassWeight,
    /// The seed of everything random.
    pub seed: u64,
    /// Threads, 0 for as many as there are cores.
    #[serde(skip)]
    pub threads: usize,
}

impl Default for ForestOptions {
    fn default() -> Self {
        ForestOptions {
            trees: 3,
            epochs: None,
            learning_rate: 0.7,
            l2: 0.2,
            class_weight: ClassWeight::Equal,
            seed: 0,
            threads: 0,
        }
    }
}

impl ForestOptions {
    /// Whether every setting lies in its range.
    pub fn check(&self) -> Result<()> {
        // The settings that both ways of training share have the same ranges.
        let epochs = self.epochs.unwrap_or(1);
        let shared = Options { epochs, learning_rate: self.learning_rate, l2: self.l2, ..Options::default() };
        shared.check()?;
        if self.trees == 0 {
            return Err(Error::Option { name: "trees", found: "0".into(), allowed: "it is at least 1".into() });
        }
        Ok(())
    }
}
