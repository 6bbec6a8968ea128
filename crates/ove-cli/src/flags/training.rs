//! The flags of training.
//!
//! Each is a setting of the library, by its name, and its default is the library's: a flag that is not given is not passed
//! on. Which settings go together is for the library to say.

use ove::TrainOptions;
use ove::bound::Objective;
use ove::options::{Schedule, ScoreKind, StepKind};
use ove::sample::SamplerKind;
use ove::text::TextOptions;
use serde::Serialize;
use serde_json::Value;

use super::choice;

/// What is maximised, with which penalty.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Objective")]
pub struct ObjectiveFlags {
    /// What is maximised [default: one-vs-each; sampled-softmax for factored scores]
    ///
    /// one-vs-each is the paper's bound, merged a tighter one, softmax the exact log probability, bouchard Bouchard's
    /// bound. sampled-softmax puts the drawn classes into one logarithm; it is not a bound.
    #[arg(long, value_parser = choice!(Objective))]
    pub objective: Option<Objective>,
    /// For merged: number of most frequent classes that share one logarithm; with --sampler rivals, the row's rivals do
    /// instead [default: 10]
    #[arg(long, value_name = "N")]
    pub merge: Option<usize>,
    /// λ of the penalty λ/2·‖w‖² on the sum over all rows [default: 0; per node of a tree 0.2]
    #[arg(long, value_name = "L")]
    pub l2: Option<f64>,
}

/// How the stochastic solver samples and steps.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Stochastic solver")]
pub struct StochasticFlags {
    /// Number of remaining classes (negatives) that each row visits [default: 5; 50 for factored scores]
    #[arg(long, value_name = "S")]
    pub classes: Option<usize>,
    /// How they are drawn [default: systematic; frequency for factored scores]
    ///
    /// uniform draws a simple random subset, systematic one that is faster to visit, frequency prefers frequent classes,
    /// rivals those of rows that share a feature.
    #[arg(long, value_parser = choice!(SamplerKind))]
    pub sampler: Option<SamplerKind>,
    /// For the frequency sampler: the power of a class's count [default: 0.75]
    #[arg(long, value_name = "P")]
    pub power: Option<f64>,
    /// Number of rows that are scored before the weights move [default: 256]
    #[arg(long, value_name = "B")]
    pub batch: Option<usize>,
    /// How a gradient moves a weight [default: adagrad]
    #[arg(long, value_parser = choice!(StepKind))]
    pub step: Option<StepKind>,
    /// How the learning rate falls: `linear` to zero, or a factor per epoch (1: constant) [default: linear]
    #[arg(long, value_name = "linear|F")]
    pub schedule: Option<Schedule>,
}

/// What the stochastic solver and trees share.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Stochastic solver and trees")]
pub struct PassFlags {
    /// How often each row is visited [default: chosen on held-out rows]
    ///
    /// Without it and --learning-rate, the stochastic solver chooses both on a twentieth of the rows (or on those of
    /// --valid) and stops early when these no longer gain. Trees try 3, 6 and 12 epochs on rows held out of some leaves;
    /// their roots pass a third as often.
    #[arg(long, value_name = "E")]
    pub epochs: Option<usize>,
    /// The step for one row and one visited class [default: chosen on held-out rows; 0.7 for trees]
    #[arg(long, value_name = "R")]
    pub learning_rate: Option<f64>,
    /// Seed of everything random; same seed, same bits [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// When the batch solver stops.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Batch solver")]
pub struct BatchFlags {
    /// Stop when the gradient is this small relative to the first one [default: 1e-5]
    #[arg(long, value_name = "T")]
    pub tolerance: Option<f64>,
    /// Stop after this many iterations at the latest [default: 2000]
    #[arg(long, value_name = "N")]
    pub iterations: Option<usize>,
}

/// How raw text becomes rows.
#[derive(clap::Args)]
#[command(next_help_heading = "Raw text")]
pub struct TextFlags {
    /// Length of the longest n-gram: 1 for words alone, 2 for pairs of neighbours too
    #[arg(long, value_name = "N", default_value_t = TextOptions::default().ngrams)]
    ngrams: usize,
    /// Number of texts that a term has to occur in
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
    /// The options that the flags give.
    pub fn options(&self) -> TextOptions {
        let TextFlags { ngrams, min_df, hash, sublinear_tf, no_idf } = *self;
        TextOptions { ngrams, min_df, hash, sublinear_tf, idf: !no_idf }
    }
}

/// How many threads.
#[derive(clap::Args, Clone, Copy)]
pub struct ThreadFlags {
    /// Number of threads; 0 means one per core. It changes no bit of the result
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

/// The flags of linear scores.
#[derive(clap::Args, Serialize)]
pub struct LinearFlags {
    #[command(flatten)]
    #[serde(flatten)]
    pub objective: ObjectiveFlags,
    #[command(flatten)]
    #[serde(flatten)]
    pub passes: PassFlags,
    #[command(flatten)]
    #[serde(flatten)]
    pub stochastic: StochasticFlags,
    #[command(flatten)]
    #[serde(flatten)]
    pub batch: BatchFlags,
}

/// The flags of every way to train.
#[derive(clap::Args, Serialize)]
pub struct TrainFlags {
    /// How a row and the weights make scores [default: linear below 100 classes, trees from there on]
    ///
    /// linear has a weight for each feature and class, factored a vector for each feature and each class, and trees look
    /// at √K classes per row. Settings that only some of them have choose these: --rank means factored, --trees trees,
    /// and any setting of a solver linear scores.
    #[arg(long, value_parser = choice!(ScoreKind))]
    scores: Option<ScoreKind>,
    /// How linear scores are trained: subsampled rows and classes, or L-BFGS on the full sum; `forest` is the same as
    /// --scores trees [default: stochastic]
    #[arg(long, value_parser = ["stochastic", "batch", "forest"])]
    solver: Option<String>,
    /// For factored scores: length of the vector of each feature and class [default: 64]
    #[arg(long, value_name = "R")]
    rank: Option<usize>,
    /// For trees: number of trees that vote [default: 3]
    #[arg(long, value_name = "N")]
    trees: Option<usize>,
    /// Leave the biases out of the penalty
    #[arg(long)]
    #[serde(skip)]
    no_penalty_on_bias: bool,
    /// The most memory that the weights may take; the stochastic solver lets linear weights share it where there are too
    /// many [default: 8GB]
    #[arg(long, value_name = "BYTES")]
    memory: Option<String>,
    /// Fit a temperature on the rows of --valid, or on a twentieth of the training rows, which are held out for it
    ///
    /// A model whose epochs and learning rate are chosen on held-out rows has its temperature fitted on them anyway, and
    /// trees always calibrate theirs.
    #[arg(long)]
    calibrate: bool,
    #[command(flatten)]
    #[serde(flatten)]
    pub linear: LinearFlags,
}

impl TrainFlags {
    /// The settings that were given, by name, with the weight of each class.
    fn settings(&self, class_weight: Option<Value>) -> Value {
        let mut settings = serde_json::to_value(self).expect("flags are numbers and names");
        if self.no_penalty_on_bias {
            settings["penalty_on_bias"] = false.into();
        }
        settings["class_weight"] = class_weight.unwrap_or_default();
        settings
    }

    /// The options that the flags give; what is not given stays as in `base`.
    pub fn options(&self, base: TrainOptions, class_weight: Option<Value>) -> ove::Result<TrainOptions> {
        base.with_settings(&self.settings(class_weight))
    }
}
