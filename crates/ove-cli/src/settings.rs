//! The flags of training. Each is a field of [`Options`], with its name, and its default from there.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use ove::objective::Objective;
use ove::options::{ClassWeight, Options, Solver};
use ove::sampler::SamplerKind;
use ove::step::{Schedule, StepKind};

/// A flag that takes one of a few names, which `--help` then lists.
macro_rules! choice {
    ($kind:ty) => {
        PossibleValuesParser::new(<$kind>::ALL.iter().map(|value| value.name()))
            .map(|name| name.parse::<$kind>().expect("one of the names"))
    };
}
pub(crate) use choice;

/// What is maximised, with which penalty.
#[derive(clap::Args)]
pub struct ObjectiveFlags {
    /// What is maximised: the paper's bound, a tighter one, the exact log probability, or Bouchard's bound
    #[arg(long, value_parser = choice!(Objective), default_value_t = Options::default().objective)]
    pub objective: Objective,
    /// For merged: how many of the most frequent classes share one logarithm; with the rivals sampler, the drawn ones do instead
    #[arg(long, value_name = "N", default_value_t = Options::default().merge)]
    pub merge: usize,
    /// λ of the penalty λ/2·‖w‖² on the sum over all rows
    #[arg(long, value_name = "L", default_value_t = Options::default().l2)]
    pub l2: f64,
}

/// How the stochastic solver samples and steps.
#[derive(clap::Args)]
#[command(next_help_heading = "Stochastic solver")]
pub struct StochasticFlags {
    /// How many remaining classes a row visits
    #[arg(long, value_name = "S", default_value_t = Options::default().classes)]
    pub classes: usize,
    /// How these are drawn: all alike, the frequent ones more often, or those of rows that share a feature
    #[arg(long, value_parser = choice!(SamplerKind), default_value_t = Options::default().sampler)]
    pub sampler: SamplerKind,
    /// For the frequency sampler: the power of a class's count
    #[arg(long, value_name = "P", default_value_t = Options::default().power)]
    pub power: f64,
    /// How many rows see the same weights before these move
    #[arg(long, value_name = "B", default_value_t = Options::default().batch)]
    pub batch: usize,
    /// How often each row is visited
    #[arg(long, value_name = "E", default_value_t = Options::default().epochs)]
    pub epochs: usize,
    /// How a gradient moves a weight
    #[arg(long, value_parser = choice!(StepKind), default_value_t = Options::default().step)]
    pub step: StepKind,
    /// The step for one row and one visited class
    #[arg(long, value_name = "R", default_value_t = Options::default().learning_rate)]
    pub learning_rate: f64,
    /// How the rate falls: `linear` to zero, or a factor an epoch (1: constant)
    #[arg(long, value_name = "linear|F", default_value_t = Options::default().schedule)]
    pub schedule: Schedule,
    /// Seed of everything random; same seed, same bits
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    pub seed: u64,
}

/// When the batch solver stops.
#[derive(clap::Args)]
#[command(next_help_heading = "Batch solver")]
pub struct BatchFlags {
    /// Stop when the gradient is this small beside the first one
    #[arg(long, value_name = "T", default_value_t = Options::default().tolerance)]
    pub tolerance: f64,
    /// Stop after so many iterations at the latest
    #[arg(long, value_name = "N", default_value_t = Options::default().iterations)]
    pub iterations: usize,
}

/// How many threads.
#[derive(clap::Args)]
pub struct ThreadFlags {
    /// Threads, 0 for one a core; they change no bit of the result
    #[arg(long, value_name = "N", default_value_t = Options::default().threads)]
    pub threads: usize,
}

/// The options that the flags say, but for the class weights and the cells, which need the data.
pub fn options(
    solver: Solver,
    penalty_on_bias: bool,
    objective: &ObjectiveFlags,
    stochastic: &StochasticFlags,
    batch: &BatchFlags,
    threads: &ThreadFlags,
) -> Options {
    Options {
        objective: objective.objective,
        solver,
        l2: objective.l2,
        penalty_on_bias,
        merge: objective.merge,
        class_weight: ClassWeight::Equal,
        classes: stochastic.classes,
        sampler: stochastic.sampler,
        power: stochastic.power,
        batch: stochastic.batch,
        epochs: stochastic.epochs,
        step: stochastic.step,
        learning_rate: stochastic.learning_rate,
        schedule: stochastic.schedule,
        seed: stochastic.seed,
        cells: None,
        tolerance: batch.tolerance,
        iterations: batch.iterations,
        threads: threads.threads,
    }
}
