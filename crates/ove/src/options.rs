//! The settings of training, with their defaults.
//!
//! The command line, Python and the model file use the same names and values. Each setting belongs to the part of
//! training that uses it. [`TrainOptions::from_settings`] builds the options from a flat list of flags or keywords, and
//! rejects a setting that the chosen scores and solver do not use.
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

mod effort;
mod embedding;
mod recommender;
mod settings;

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bound::Objective;
use crate::data::View;
use crate::error::{Error, Result};
pub use crate::platform::bytes::Bytes;
use crate::platform::names::names;
use crate::sample::SamplerKind;
pub use effort::Effort;
pub(crate) use effort::views;
pub use embedding::EmbeddingOptions;
pub use recommender::RecommenderOptions;

/// Number of classes from which trees are the default; below, linear scores may be chosen too.
///
/// On a fifth of the rows, held out, precision@1 of a linear model and of trees is .335 and .378 (bibtex by the first
/// tag, 148 classes), and .572 and .655, .453 and .554, .403 and .461 (the 100, 300 and 800 most frequent first
/// concepts in a tenth of EURLEX57K), at 7 to 38 times the training time; with the 20 classes of 20 newsgroups .849 and
/// .776.
pub const TREES_FROM: usize = 100;

/// The settings of training.
///
/// A setting that is `None` is chosen from the data or by the kind of scores; the options in a model's card record what
/// was chosen.
///
/// ```
/// use ove::TrainOptions;
/// use ove::options::{FactoredOptions, ScoreOptions};
///
/// let mut factored = FactoredOptions::default();
/// factored.rank = 32;
/// let mut options = TrainOptions::new(ScoreOptions::Factored(factored));
/// options.epochs = Some(5);
/// options.check()?;
/// # Ok::<(), ove::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainOptions {
    /// The score function; if not given, the one that makes the fewest errors on held-out rows: trees, or, below 100
    /// classes and for rows of numbers, linear scores.
    pub scores: Option<ScoreOptions>,
    /// How much work training may take; for trees, and for what is compared if no scores are given.
    #[serde(default)]
    pub effort: Effort,
    /// Number of epochs; if not given, chosen by early stopping on held-out validation rows.
    pub epochs: Option<usize>,
    /// Learning rate, for one row and one visited class; if not given, chosen on held-out rows, or 0.7 for trees.
    pub learning_rate: Option<f64>,
    /// λ of the penalty λ/2·‖w‖² on the sum over all rows; if not given, 0; 1 for the batch solver, and
    /// 0.2 per node of a tree.
    pub l2: Option<f64>,
    /// The weight of each class's labels.
    pub class_weight: ClassWeight,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Whether to hold out validation rows for temperature scaling even if nothing else is chosen on them.
    #[serde(skip)]
    pub calibrate: bool,
    /// The memory budget of the weights.
    #[serde(skip, default = "usual_memory")]
    pub memory: Bytes,
}

impl Default for TrainOptions {
    fn default() -> Self {
        TrainOptions {
            scores: None,
            effort: Effort::default(),
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

/// The score function, with the settings that are specific to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ScoreOptions {
    /// f_k(x) = w_k·x + b_k.
    Linear(LinearOptions),
    /// f_k(x) = (Σ_d x_d u_d)·v_k + b_k, with vectors of length `rank`.
    Factored(FactoredOptions),
    /// Trees over the classes.
    Trees(TreeOptions),
}

/// The kind of score function, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScoreKind {
    /// A weight per feature and class.
    Linear,
    /// A vector per feature and per class.
    Factored,
    /// Trees over the classes.
    Trees,
}

names!(ScoreKind, "scores", { Linear => "linear", Factored => "factored", Trees => "trees" });

/// The settings of linear scores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinearOptions {
    /// The objective.
    #[serde(flatten)]
    pub bound: BoundOptions,
    /// The solver.
    pub solver: Solver,
    /// Number of cells of a hashed weight table, at least one per class; if not given, the table is dense.
    pub cells: Option<usize>,
}

/// The settings of factored scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FactoredOptions {
    /// The objective.
    #[serde(flatten)]
    pub bound: BoundOptions,
    /// The stochastic solver.
    #[serde(flatten)]
    pub stochastic: StochasticOptions,
    /// Length of the vectors.
    pub rank: usize,
}

/// The settings of trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TreeOptions {
    /// Number of trees in the ensemble.
    pub trees: usize,
    /// The second stage: number of the trees' best classes of a row that are the rivals of its labels, and that are
    /// ranked again in a prediction; 0 for trees alone.
    pub rivals: usize,
    /// The objective of the second stage.
    pub objective: Objective,
    /// Number of leaves of each tree, about √K if not given. With one leaf, a tree is one node over all classes.
    pub leaves: Option<usize>,
    /// The kinds of terms that the trees see, one tree after the other; all kinds for all trees if empty.
    #[serde(default)]
    pub views: Vec<View>,
}

/// The settings of the objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BoundOptions {
    /// The objective.
    pub objective: Objective,
    /// For the merged objective: number of most frequent classes that share one logarithm.
    pub merge: usize,
    /// Whether the L2 penalty includes the bias.
    pub penalty_on_bias: bool,
}

/// The solver, with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Solver {
    /// Stochastic gradients over batches of rows and sampled negatives (section 3).
    Stochastic(StochasticOptions),
    /// L-BFGS on the sum over all rows and classes.
    Batch(BatchOptions),
}

/// The solver, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SolverKind {
    /// Stochastic gradients over batches of rows and sampled negatives.
    Stochastic,
    /// L-BFGS on the sum over all rows and classes.
    Batch,
}

names!(SolverKind, "solver", { Stochastic => "stochastic", Batch => "batch" });

/// The settings of the stochastic solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StochasticOptions {
    /// Number of negatives per visit of a row.
    #[serde(alias = "classes")]
    pub negatives: usize,
    /// The distribution that negatives are drawn from.
    pub sampler: SamplerKind,
    /// For the frequency sampler: the exponent of the class counts.
    pub power: f64,
    /// Number of rows per batch: all are scored before the weights are updated.
    pub batch: usize,
    /// The step rule.
    pub step: StepKind,
    /// The learning rate schedule.
    pub schedule: Schedule,
}

/// The settings of the batch solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchOptions {
    /// Stops when the norm of the gradient is this small relative to the first one.
    pub tolerance: f64,
    /// Maximum number of iterations.
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
        // Unlike a pairwise bound, the gradient of a sampled softmax is dominated by likely negatives, which are more
        // often frequent classes.
        let bound = BoundOptions { objective: Objective::SampledSoftmax, ..BoundOptions::default() };
        let stochastic =
            StochasticOptions { negatives: 50, sampler: SamplerKind::Frequency, ..StochasticOptions::default() };
        FactoredOptions { bound, stochastic, rank: 64 }
    }
}

impl Default for TreeOptions {
    fn default() -> Self {
        TreeOptions { trees: 3, rivals: 20, objective: Objective::Merged, leaves: None, views: Vec::new() }
    }
}

impl Default for StochasticOptions {
    fn default() -> Self {
        StochasticOptions {
            negatives: 5,
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

/// The weight of each class's labels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ClassWeight {
    /// 1 for every class.
    #[default]
    Equal,
    /// L / (K L_k), where L_k of all L labels are of class k: larger for rarer classes.
    Balanced,
    /// A list of weights, in class order.
    Listed(Vec<f64>),
}

/// The step rule of the stochastic solver, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// The same learning rate for every weight.
    Sgd,
    /// A learning rate per weight that decreases with its squared gradients (Duchi, Hazan and Singer 2011).
    Adagrad,
}

names!(StepKind, "step", { Sgd => "sgd", Adagrad => "adagrad" });

/// The learning rate schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// Linear decay to zero at the end of the last epoch.
    Linear,
    /// Multiplied by this factor after each epoch; 1 keeps the learning rate constant.
    Geometric(f64),
}

impl Schedule {
    /// The factor of the initial learning rate in `epoch` (from 0), when the share `done` of all epochs is done.
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

    /// Parses `linear`, or the factor of a geometric schedule.
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
    /// The default options for a score function.
    pub fn new(scores: ScoreOptions) -> Self {
        TrainOptions { scores: Some(scores), ..TrainOptions::default() }
    }

    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first setting that is not, [`Error::Unused`] for one that the solver does not use.
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
                    Err(Error::setting("cells", "be left out for the batch solver, whose weights are dense", cells))
                }
                (Solver::Batch(batch), None) => {
                    self.batch_uses_no_steps()?;
                    positive("tolerance", Some(batch.tolerance))?;
                    at_least_one("iterations", Some(batch.iterations))?;
                    match linear.bound.objective.is_sampled() {
                        true => Err(Error::setting(
                            "solver",
                            "be stochastic for the objectives sampled-softmax and normalised",
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
            Some(ScoreOptions::Trees(trees)) => trees.check(),
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

    /// The objective of linear or factored scores, or of the second stage of trees, if there is one.
    pub fn objective(&self) -> Option<Objective> {
        match self.scores.as_ref()? {
            ScoreOptions::Trees(trees) => (trees.rivals > 0).then_some(trees.objective),
            _ => self.bound().map(|bound| bound.objective),
        }
    }

    /// The settings of the objective of linear or factored scores.
    pub fn bound(&self) -> Option<&BoundOptions> {
        match self.scores.as_ref()? {
            ScoreOptions::Linear(linear) => Some(&linear.bound),
            ScoreOptions::Factored(factored) => Some(&factored.bound),
            ScoreOptions::Trees(_) => None,
        }
    }

    /// The settings of the stochastic solver, if it is used.
    pub fn stochastic(&self) -> Option<&StochasticOptions> {
        match self.scores.as_ref()? {
            ScoreOptions::Linear(LinearOptions { solver: Solver::Stochastic(stochastic), .. }) => Some(stochastic),
            ScoreOptions::Factored(factored) => Some(&factored.stochastic),
            _ => None,
        }
    }
}

impl TreeOptions {
    fn check(&self) -> Result<()> {
        at_least_one("leaves", self.leaves)?;
        at_least_one("trees", Some(self.trees))?;
        match self.objective {
            Objective::Merged | Objective::OneVsEach => Ok(()),
            // With all rivals of a label in one sum, a sampled softmax and the merged objective are the same; the
            // others need all classes.
            other => Err(Error::setting("objective", "be merged or one-vs-each for the second stage of trees", other)),
        }
    }
}

impl StochasticOptions {
    fn check(&self, objective: Objective) -> Result<()> {
        at_least_one("negatives", Some(self.negatives))?;
        at_least_one("batch", Some(self.batch))?;
        at_least_zero("power", Some(self.power))?;
        let takes_each_once = objective.has_inside() || objective == Objective::OneVsEach;
        if takes_each_once && self.sampler == SamplerKind::Rivals && self.negatives < 2 {
            let must = "be at least 2 with the sampler rivals, some of which are drawn from the other classes";
            return Err(Error::setting("negatives", must, self.negatives));
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
            Err(Error::setting(name, "be a number of at least 0", value))
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
