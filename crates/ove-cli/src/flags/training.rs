//! The flags of training. Each is a field of [`Options`], with its name, and its default from there.

use ove::Settings;
use ove::objective::Objective;
use ove::options::{ClassWeight, FOREST_FROM, ForestOptions, Options, Solver};
use ove::sampler::SamplerKind;
use ove::step::{Schedule, StepKind};
use ove::text::TextOptions;

use super::choice;

/// What is maximised, with which penalty.
#[derive(clap::Args)]
pub struct ObjectiveFlags {
    /// What is maximised: the paper's bound, a tighter one, the exact log probability, or Bouchard's bound [default:
    /// one-vs-each]
    #[arg(long, value_parser = choice!(Objective))]
    pub objective: Option<Objective>,
    /// For merged: how many of the most frequent classes share one logarithm; with the rivals sampler, the drawn ones
    /// do instead
    #[arg(long, value_name = "N", default_value_t = Options::default().merge)]
    pub merge: usize,
    /// λ of the penalty λ/2·‖w‖² on the sum over all rows; of a forest on those of a node, 0.2 [default: 0]
    #[arg(long, value_name = "L")]
    pub l2: Option<f64>,
}

/// How the stochastic solver samples and steps.
#[derive(clap::Args)]
#[command(next_help_heading = "Stochastic solver")]
pub struct StochasticFlags {
    /// Number of remaining classes drawn per row [default: 5]
    #[arg(long, value_name = "S")]
    pub classes: Option<usize>,
    /// How they are drawn: uniformly, by frequency, or from rows that share a feature [default: uniform]
    #[arg(long, value_parser = choice!(SamplerKind))]
    pub sampler: Option<SamplerKind>,
    /// For the frequency sampler: the power of a class's count
    #[arg(long, value_name = "P", default_value_t = Options::default().power)]
    pub power: f64,
    /// Number of rows per update of the weights
    #[arg(long, value_name = "B", default_value_t = Options::default().batch)]
    pub batch: usize,
    /// How a gradient moves a weight
    #[arg(long, value_parser = choice!(StepKind), default_value_t = Options::default().step)]
    pub step: StepKind,
    /// How the rate falls: `linear` to zero, or by a factor per epoch (1: constant)
    #[arg(long, value_name = "linear|F", default_value_t = Options::default().schedule)]
    pub schedule: Schedule,
}

/// What the stochastic solver and the forest share.
#[derive(clap::Args)]
#[command(next_help_heading = "Stochastic solver and forest")]
pub struct PassFlags {
    /// How often each row is visited; without it and --learning-rate, both are chosen on held-out rows, and training
    /// stops when these no longer gain; by a forest as often as that helps rows held out of some leaves (3 to 12
    /// times), and a third as often by its roots [default: 5]
    #[arg(long, value_name = "E")]
    pub epochs: Option<usize>,
    /// The step for one row and one visited class; chosen on held-out rows without it and --epochs; of a forest, where
    /// rows are scaled to unit length on average, 0.7 [default: 0.1]
    #[arg(long, value_name = "R")]
    pub learning_rate: Option<f64>,
    /// Seed of everything random; same seed, same bits
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    pub seed: u64,
}

/// How the forest is grown.
#[derive(clap::Args)]
#[command(next_help_heading = "Forest")]
pub struct ForestFlags {
    /// Number of trees; if given, a forest is trained however few classes there are [default: 3]
    #[arg(long, value_name = "N", conflicts_with_all = ["objective", "classes", "sampler"])]
    pub trees: Option<usize>,
}

/// When the batch solver stops.
#[derive(clap::Args)]
#[command(next_help_heading = "Batch solver")]
pub struct BatchFlags {
    /// Stop when the gradient is this small beside the first one
    #[arg(long, value_name = "T", default_value_t = Options::default().tolerance)]
    pub tolerance: f64,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", default_value_t = Options::default().iterations)]
    pub iterations: usize,
}

/// How raw text becomes rows.
#[derive(clap::Args)]
#[command(next_help_heading = "Raw text")]
pub struct TextFlags {
    /// The longest n-gram: 1 for words alone, 2 for pairs of neighbours too
    #[arg(long, value_name = "N", default_value_t = TextOptions::default().ngrams)]
    ngrams: usize,
    /// Minimum number of texts that contain a term
    #[arg(long, value_name = "N", default_value_t = TextOptions::default().min_df)]
    min_df: u32,
    /// Number terms by their hash, below N, and keep no vocabulary
    #[arg(long, value_name = "N", conflicts_with = "min_df")]
    hash: Option<u32>,
    /// Count a term 1 + ln(count) times
    #[arg(long)]
    sublinear_tf: bool,
    /// Do not weigh terms by their inverse document frequency
    #[arg(long)]
    no_idf: bool,
}

impl TextFlags {
    /// The options that the flags say.
    pub fn options(&self) -> TextOptions {
        let TextFlags { ngrams, min_df, hash, sublinear_tf, no_idf } = *self;
        TextOptions { ngrams, min_df, hash, sublinear_tf, idf: !no_idf }
    }
}

/// How many threads.
#[derive(clap::Args)]
pub struct ThreadFlags {
    /// Number of threads, 0 for one per core; the result does not depend on it
    #[arg(long, value_name = "N", default_value_t = Options::default().threads)]
    pub threads: usize,
}

/// The ways to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SolverKind {
    /// A linear model, by subsampled rows and classes
    Stochastic,
    /// A linear model, by L-BFGS on the full sum
    Batch,
    /// Trees over the classes, for very many of them
    Forest,
}

/// The flags of linear models.
#[derive(clap::Args)]
pub struct LinearFlags {
    #[command(flatten)]
    objective: ObjectiveFlags,
    #[command(flatten)]
    pub threads: ThreadFlags,
    #[command(flatten)]
    passes: PassFlags,
    #[command(flatten)]
    stochastic: StochasticFlags,
    #[command(flatten)]
    batch: BatchFlags,
}

impl LinearFlags {
    /// The options that the flags say.
    pub fn options(&self, solver: Solver) -> Options {
        self.options_beside(solver, Options::default())
    }

    /// The same, where a flag that is not given means what is usual.
    fn options_beside(&self, solver: Solver, usual: Options) -> Options {
        Options {
            objective: self.objective.objective.unwrap_or(usual.objective),
            solver,
            l2: self.objective.l2.unwrap_or(usual.l2),
            merge: self.objective.merge,
            classes: self.stochastic.classes.unwrap_or(usual.classes),
            sampler: self.stochastic.sampler.unwrap_or(usual.sampler),
            power: self.stochastic.power,
            batch: self.stochastic.batch,
            epochs: self.passes.epochs.unwrap_or(usual.epochs),
            step: self.stochastic.step,
            learning_rate: self.passes.learning_rate.unwrap_or(usual.learning_rate),
            schedule: self.stochastic.schedule,
            seed: self.passes.seed,
            tolerance: self.batch.tolerance,
            iterations: self.batch.iterations,
            threads: self.threads.threads,
            ..usual
        }
    }

    /// Whether a flag is given that only linear models have.
    fn are_given(&self) -> bool {
        self.objective.objective.is_some() || self.stochastic.classes.is_some() || self.stochastic.sampler.is_some()
    }
}

/// The flags of every way to train.
#[derive(clap::Args)]
pub struct TrainFlags {
    /// How to train; a forest from 100 classes on, unless an objective, classes or a sampler are given [default:
    /// stochastic]
    #[arg(long, value_enum)]
    solver: Option<SolverKind>,
    /// Leave the biases out of the penalty
    #[arg(long)]
    no_penalty_on_bias: bool,
    #[command(flatten)]
    pub linear: LinearFlags,
    #[command(flatten)]
    pub forest: ForestFlags,
}

impl TrainFlags {
    /// The settings for this number of classes; a forest is the default only if the rows fit in memory, as it visits
    /// them in many orders.
    pub fn settings(
        &self,
        classes: usize,
        rows_fit: bool,
        class_weight: ClassWeight,
    ) -> Result<Settings, &'static str> {
        let is_large = classes >= FOREST_FROM && rows_fit && !self.linear.are_given();
        let usual = if is_large || self.forest.trees.is_some() { SolverKind::Forest } else { SolverKind::Stochastic };
        let solver = self.solver.unwrap_or(usual);
        if solver != SolverKind::Forest {
            self.refuse_trees()?;
        }
        let linear = |solver| {
            let options = self.linear.options(solver);
            Settings::Linear(Options {
                penalty_on_bias: !self.no_penalty_on_bias,
                class_weight: class_weight.clone(),
                ..options
            })
        };
        Ok(match solver {
            SolverKind::Stochastic => linear(Solver::Stochastic),
            SolverKind::Batch => linear(Solver::Batch),
            SolverKind::Forest => Settings::Forest(self.forest(class_weight)),
        })
    }

    /// Refuses --trees for a linear model, where it would have no effect.
    fn refuse_trees(&self) -> Result<(), &'static str> {
        match self.forest.trees {
            Some(_) => Err("--trees: a linear model has none; they go with --solver forest"),
            None => Ok(()),
        }
    }

    /// Whether the data is to choose how often and how far the stochastic solver steps.
    pub fn choose_passes(&self, settings: &Settings) -> bool {
        let passes = &self.linear.passes;
        let is_stochastic = settings.linear().is_some_and(|options| options.solver == Solver::Stochastic);
        is_stochastic && passes.epochs.is_none() && passes.learning_rate.is_none()
    }

    /// The options for a continued linear model: its own objective, penalty, classes, sampler, passes and rate, unless
    /// a flag is given.
    pub fn going_on(&self, own: &Options, class_weight: ClassWeight) -> Result<Options, &'static str> {
        self.refuse_trees()?;
        let solver = match self.solver {
            None => own.solver,
            Some(SolverKind::Stochastic) => Solver::Stochastic,
            Some(SolverKind::Batch) => Solver::Batch,
            Some(SolverKind::Forest) => {
                return Err("--solver forest: the model of --from is linear, and stays linear");
            }
        };
        let penalty_on_bias = own.penalty_on_bias && !self.no_penalty_on_bias;
        Ok(Options { penalty_on_bias, class_weight, ..self.linear.options_beside(solver, own.clone()) })
    }

    fn forest(&self, class_weight: ClassWeight) -> ForestOptions {
        let usual = ForestOptions::default();
        let passes = &self.linear.passes;
        ForestOptions {
            trees: self.forest.trees.unwrap_or(usual.trees),
            epochs: passes.epochs.or(usual.epochs),
            learning_rate: passes.learning_rate.unwrap_or(usual.learning_rate),
            l2: self.linear.objective.l2.unwrap_or(usual.l2),
            class_weight,
            seed: passes.seed,
            threads: self.linear.threads.threads,
        }
    }
}
