//! Every setting of training, with its default.
//!
//! The command line, Python and the model file use these names and values. A setting belongs to the part of training
//! that uses it, and to no other; [`TrainOptions::from_settings`] builds the options from a flat list of names, as flags
//! and keywords give them, and refuses a setting that the chosen scores and solver do not use.
//!
//! ```
//! use ove::TrainOptions;
//! use serde_json::json;
//!
//! let options = TrainOptions::from_settings(&json!({ "objective": "merged", "sampler": "frequency", "epochs": 3 }))?;
//! assert_eq!(options.epochs, Some(3));
//! let error = TrainOptions::from_settings(&json!({ "scores": "trees", "batch": 64 })).unwrap_err();
//! assert_eq!(error.to_string(), "`batch` is a setting of the stochastic solver, which trees do not use");
//! # Ok::<(), ove::Error>(())
//! ```

mod settings;

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bound::Objective;
use crate::error::{Error, Result};
pub use crate::platform::bytes::Bytes;
use crate::platform::names::names;
use crate::sample::SamplerKind;

/// Number of classes from which trees are the default.
///
/// On a fifth of the rows, held out, precision@1 of a linear model and of trees is .335 and .378 (bibtex by the first
/// tag, 148 classes), and .572 and .655, .453 and .554, .403 and .461 (the 100, 300 and 800 most frequent first concepts
/// in a tenth of EURLEX57K), at 7 to 38 times the training time; with the 20 classes of 20 newsgroups .849 and .776.
pub const TREES_FROM: usize = 100;

/// How to train.
///
/// What is `None` is chosen by the data or by the kind of scores; the options in a model's card say what was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainOptions {
    /// How a row and the weights make scores; if not given, linear up to 99 classes and trees from there on.
    pub scores: Option<ScoreOptions>,
    /// How often each row is visited; if not given, chosen on held-out rows.
    pub epochs: Option<usize>,
    /// The step for one row and one visited class; if not given, chosen on held-out rows, or 0.7 for trees.
    pub learning_rate: Option<f64>,
    /// λ of the penalty λ/2·‖w‖² on the sum over all rows; if not given, 0, and 0.2 per node of a tree.
    pub l2: Option<f64>,
    /// How often the labels of each class count.
    pub class_weight: ClassWeight,
    /// The seed of everything random.
    pub seed: u64,
    /// Whether to fit a temperature on held-out rows even if nothing else is chosen on them.
    #[serde(skip)]
    pub calibrate: bool,
    /// The most memory that the weights may take.
    #[serde(skip, default = "usual_memory")]
    pub memory: Bytes,
}

impl Default for TrainOptions {
    fn default() -> Self {
        TrainOptions {
            scores: None,
            epochs: None,
            learning_rate: None,
            l2: None,
            class_weight: ClassWeight::Equal,
            seed: 0,
            calibrate: false,
            memory: usual_memory(),
        }
    }
}

fn usual_memory() -> Bytes {
    Bytes(8_000_000_000)
}

/// How a row and the weights make scores, with the settings that only these scores have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ScoreOptions {
    /// f_k(x) = w_k·x + b_k.
    Linear(LinearOptions),
    /// f_k(x) = (Σ_d x_d u_d)·v_k + b_k, with vectors of a given rank.
    Factored(FactoredOptions),
    /// Trees over the classes.
    Trees(TreeOptions),
}

/// The kinds of scores by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScoreKind {
    /// A weight for each feature and class.
    Linear,
    /// A vector for each feature and each class.
    Factored,
    /// Trees over the classes.
    Trees,
}

names!(ScoreKind, "scores", { Linear => "linear", Factored => "factored", Trees => "trees" });

/// The settings of linear scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinearOptions {
    /// What is maximised.
    #[serde(flatten)]
    pub bound: BoundOptions,
    /// How.
    pub solver: Solver,
    /// Number of cells that all weights share, at least one per class; if not given, each weight has its own.
    pub cells: Option<usize>,
}

/// The settings of factored scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FactoredOptions {
    /// What is maximised.
    #[serde(flatten)]
    pub bound: BoundOptions,
    /// How rows and classes are sampled.
    #[serde(flatten)]
    pub stochastic: StochasticOptions,
    /// Length of the vector of each feature and class.
    pub rank: usize,
}

/// The settings of trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TreeOptions {
    /// Number of trees that vote.
    pub trees: usize,
}

/// What is maximised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BoundOptions {
    /// The objective.
    pub objective: Objective,
    /// For the merged objective: how many of the most frequent classes share one logarithm.
    pub merge: usize,
    /// Whether the bias is penalised like a weight.
    pub penalty_on_bias: bool,
}

/// How the sum over all rows is maximised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Solver {
    /// Subsampled rows and remaining classes (section 3).
    Stochastic(StochasticOptions),
    /// The full sum, by L-BFGS.
    Batch(BatchOptions),
}

/// The solvers by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SolverKind {
    /// Subsampled rows and remaining classes.
    Stochastic,
    /// The full sum, by L-BFGS.
    Batch,
}

names!(SolverKind, "solver", { Stochastic => "stochastic", Batch => "batch" });

/// The settings of the stochastic solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StochasticOptions {
    /// Number of remaining classes that a row visits.
    pub classes: usize,
    /// How they are drawn.
    pub sampler: SamplerKind,
    /// For the frequency sampler: the power of a class's count.
    pub power: f64,
    /// Number of rows that are scored before the weights move.
    pub batch: usize,
    /// How a gradient moves a weight.
    pub step: StepKind,
    /// How the learning rate falls.
    pub schedule: Schedule,
}

/// The settings of the batch solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchOptions {
    /// Stop when the gradient is this small relative to the first one.
    pub tolerance: f64,
    /// Stop after this many iterations at the latest.
    pub iterations: usize,
}

impl Default for Solver {
    fn default() -> Self {
        Solver::Stochastic(StochasticOptions::default())
    }
}

impl Default for BoundOptions {
    fn default() -> Self {
        BoundOptions { objective: Objective::OneVsEach, merge: 10, penalty_on_bias: true }
    }
}

impl Default for FactoredOptions {
    fn default() -> Self {
        // Unlike a pairwise bound, a sampled softmax moves a vector only towards what separates its class from likely
        // rivals; the classes drawn are those that occur.
        let bound = BoundOptions { objective: Objective::SampledSoftmax, ..BoundOptions::default() };
        let stochastic =
            StochasticOptions { classes: 50, sampler: SamplerKind::Frequency, ..StochasticOptions::default() };
        FactoredOptions { bound, stochastic, rank: 64 }
    }
}

impl Default for TreeOptions {
    fn default() -> Self {
        TreeOptions { trees: 3 }
    }
}

impl Default for StochasticOptions {
    fn default() -> Self {
        StochasticOptions {
            classes: 5,
            sampler: SamplerKind::Systematic,
            power: 0.75,
            batch: 256,
            step: StepKind::Adagrad,
            schedule: Schedule::Linear,
        }
    }
}

impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions { tolerance: 1e-5, iterations: 2000 }
    }
}

/// How often the labels of each class count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ClassWeight {
    /// Once.
    #[default]
    Equal,
    /// The more often the rarer the class is: L / (K L_k), where L_k of all L labels are of class k.
    Balanced,
    /// As often as this list says, in class order.
    Listed(Vec<f64>),
}

/// The step rules by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// The same rate for every weight.
    Sgd,
    /// A rate for each weight that falls with the squares of its gradients (Duchi, Hazan and Singer 2011).
    Adagrad,
}

names!(StepKind, "step", { Sgd => "sgd", Adagrad => "adagrad" });

/// How the learning rate falls.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// In a straight line to zero at the end of the last epoch.
    Linear,
    /// By this factor after each epoch; 1 keeps it constant.
    Geometric(f64),
}

impl Schedule {
    /// The part of the first rate that is left in `epoch` (from 0) after this `done` share of all epochs.
    pub fn factor(self, epoch: usize, done: f64) -> f64 {
        match self {
            Schedule::Linear => 1.0 - done,
            Schedule::Geometric(factor) => factor.powi(epoch as i32),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Linear => f.write_str("linear"),
            Schedule::Geometric(factor) => write!(f, "{factor}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = Error;

    /// Reads `linear`, or the factor of a geometric schedule.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "linear" => Ok(Schedule::Linear),
            number => number.parse().map(Schedule::Geometric).map_err(|_| {
                Error::setting("schedule", "be `linear` or the factor per epoch (1: constant)", format!("`{text}`"))
            }),
        }
    }
}

impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Text(String),
            Factor(f64),
        }
        match Given::deserialize(deserializer)? {
            Given::Factor(factor) => Ok(Schedule::Geometric(factor)),
            Given::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

impl TrainOptions {
    /// The options for these kinds of scores, everything else at its default.
    pub fn new(scores: ScoreOptions) -> Self {
        TrainOptions { scores: Some(scores), ..TrainOptions::default() }
    }

    /// Checks that every setting lies in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first setting that does not.
    pub fn check(&self) -> Result<()> {
        at_least_zero("l2", self.l2)?;
        positive("learning-rate", self.learning_rate)?;
        at_least_one("epochs", self.epochs)?;
        if let ClassWeight::Listed(weights) = &self.class_weight {
            weights.iter().try_for_each(|&weight| at_least_zero("class-weight", Some(weight)))?;
        }
        match &self.scores {
            None => Ok(()),
            Some(ScoreOptions::Linear(linear)) => match (&linear.solver, linear.cells) {
                (Solver::Stochastic(stochastic), cells) => {
                    at_least_one("cells", cells)?;
                    stochastic.check(linear.bound.objective)
                }
                (Solver::Batch(_), Some(cells)) => {
                    Err(Error::setting("cells", "be left out for the batch solver, which shares no weights", cells))
                }
                (Solver::Batch(batch), None) => {
                    self.batch_uses_no_steps()?;
                    positive("tolerance", Some(batch.tolerance))?;
                    at_least_one("iterations", Some(batch.iterations))?;
                    match linear.bound.objective.is_sampled() {
                        true => Err(Error::setting(
                            "solver",
                            "be stochastic for the objective sampled-softmax",
                            SolverKind::Batch,
                        )),
                        false => Ok(()),
                    }
                }
            },
            Some(ScoreOptions::Factored(factored)) => {
                at_least_one("rank", Some(factored.rank))?;
                factored.stochastic.check(factored.bound.objective)
            }
            Some(ScoreOptions::Trees(trees)) => at_least_one("trees", Some(trees.trees)),
        }
    }

    fn batch_uses_no_steps(&self) -> Result<()> {
        for (name, is_given) in [("epochs", self.epochs.is_some()), ("learning-rate", self.learning_rate.is_some())] {
            if is_given {
                return Err(Error::Unused {
                    name: name.into(),
                    owner: "the stochastic solver and of trees",
                    chosen: "the batch solver does",
                });
            }
        }
        Ok(())
    }

    /// The objective that linear or factored scores are trained with; trees have none.
    pub fn objective(&self) -> Option<Objective> {
        self.bound().map(|bound| bound.objective)
    }

    /// What linear or factored scores maximise.
    pub fn bound(&self) -> Option<&BoundOptions> {
        match self.scores.as_ref()? {
            ScoreOptions::Linear(linear) => Some(&linear.bound),
            ScoreOptions::Factored(factored) => Some(&factored.bound),
            ScoreOptions::Trees(_) => None,
        }
    }

    /// The settings of the stochastic solver, where it trains.
    pub fn stochastic(&self) -> Option<&StochasticOptions> {
        match self.scores.as_ref()? {
            ScoreOptions::Linear(LinearOptions { solver: Solver::Stochastic(stochastic), .. }) => Some(stochastic),
            ScoreOptions::Factored(factored) => Some(&factored.stochastic),
            _ => None,
        }
    }
}

impl StochasticOptions {
    fn check(&self, objective: Objective) -> Result<()> {
        at_least_one("classes", Some(self.classes))?;
        at_least_one("batch", Some(self.batch))?;
        at_least_zero("power", Some(self.power))?;
        if objective == Objective::Merged && self.sampler == SamplerKind::Rivals && self.classes < 2 {
            return Err(Error::setting("classes", "be at least 2 for merged rivals", self.classes));
        }
        match self.schedule {
            Schedule::Geometric(factor) if !(factor > 0.0 && factor <= 1.0) => {
                Err(Error::setting("schedule", "be `linear` or a factor above 0 and at most 1", factor))
            }
            _ => Ok(()),
        }
    }
}

fn at_least_one(name: &'static str, value: Option<usize>) -> Result<()> {
    match value {
        Some(0) => Err(Error::setting(name, "be at least 1", 0)),
        _ => Ok(()),
    }
}

fn at_least_zero(name: &'static str, value: Option<f64>) -> Result<()> {
    match value {
        Some(value) if !(value.is_finite() && value >= 0.0) => {
            Err(Error::setting(name, "be a number that is at least 0", value))
        }
        _ => Ok(()),
    }
}

fn positive(name: &'static str, value: Option<f64>) -> Result<()> {
    match value {
        Some(value) if !(value.is_finite() && value > 0.0) => Err(Error::setting(name, "be a positive number", value)),
        _ => Ok(()),
    }
}
