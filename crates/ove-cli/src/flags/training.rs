//! The flags of training.
//!
//! Each flag is a setting of the library with the same name. A flag that is not given is not passed on, so the defaults
//! are the library's, and so are the checks which settings can be combined.

use ove::TrainOptions;
use ove::bound::Objective;
use ove::data::View;
use ove::model::WordVectors;
use ove::options::{Effort, RecommenderOptions, Schedule, ScoreKind, StepKind};
use ove::sample::SamplerKind;
use ove::text::{CharRange, Language, TextOptions};
use serde::Serialize;
use serde_json::Value;

use super::choice;

/// Flags of the objective and the penalty.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Objective")]
pub struct ObjectiveFlags {
    /// Objective to maximise [default: one-vs-each; sampled-softmax for factored scores, merged for the second stage of
    /// trees]
    ///
    /// softmax is the exact log probability; one-vs-each is the paper's lower bound on it, merged a tighter bound, and
    /// bouchard Bouchard's bound. sampled-softmax is the softmax over the label and sampled negatives, not a bound.
    /// normalised is a bound that can be sampled too, and that a number per label, learned on the way, makes tight. The
    /// second stage of trees (--rivals) is trained by merged or one-vs-each.
    #[arg(long, value_parser = choice!(Objective))]
    pub objective: Option<Objective>,
    /// For merged: number of most frequent classes in one logarithm; with --sampler rivals, the row's rivals are used
    /// instead [default: 10]
    #[arg(long, value_name = "N")]
    pub merge: Option<usize>,
    /// λ of the L2 penalty λ/2·‖w‖² on the sum over all rows [default: 0; 1 for the batch solver, 0.2 per node of
    /// trees]
    #[arg(long, value_name = "L", value_parser = finite)]
    pub l2: Option<f64>,
}

/// Flags of the stochastic solver.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Stochastic solver")]
pub struct StochasticFlags {
    /// Number of negatives (classes that are not labels) sampled per row [default: 5; 50 for factored scores;
    /// 2048 for recommenders, shared by a batch]
    #[arg(long, alias = "classes", value_name = "S")]
    pub negatives: Option<usize>,
    /// Distribution of the negatives [default: systematic; frequency for factored scores]
    ///
    /// uniform draws a simple random subset; systematic draws classes at equal distances, or adjacent ones if there are
    /// more than 1024, which is faster; frequency prefers frequent classes; rivals prefers hard negatives, the classes
    /// of rows that share a feature with the row.
    #[arg(long, value_parser = choice!(SamplerKind))]
    pub sampler: Option<SamplerKind>,
    /// For the frequency sampler: exponent of the class counts [default: 0.75]
    #[arg(long, value_name = "P", value_parser = finite)]
    pub power: Option<f64>,
    /// Number of rows per batch, between two updates of the weights [default: 256; 512 users for a recommender]
    #[arg(long, value_name = "B")]
    pub batch: Option<usize>,
    /// Step rule [default: adagrad]
    #[arg(long, value_parser = choice!(StepKind))]
    pub step: Option<StepKind>,
    /// Learning rate schedule: `linear` decay to zero, or a factor per epoch (1: constant) [default: linear]
    #[arg(long, value_name = "linear|F")]
    pub schedule: Option<Schedule>,
}

/// Flags that the stochastic solver and trees share.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Stochastic solver and trees")]
pub struct PassFlags {
    /// Number of epochs, passes over all rows [default: chosen on held-out rows]
    ///
    /// If --learning-rate is not given, the stochastic solver chooses it on a twentieth of the rows, which is held out,
    /// or on those of --valid; if --epochs is not given either, it uses early stopping. Trees try 3, 6 and 12 epochs on
    /// held-out rows of some leaves; their roots have a third as many.
    #[arg(long, value_name = "E")]
    pub epochs: Option<usize>,
    /// Learning rate, for one row and one class [default: chosen on held-out rows; 0.7 for trees]
    #[arg(long, value_name = "R", value_parser = finite)]
    pub learning_rate: Option<f64>,
    /// Seed of the random numbers; the same seed gives the same bits [default: 0]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Flags of the batch solver.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Batch solver")]
pub struct BatchFlags {
    /// Stop when the norm of the gradient, relative to the first one, is below T [default: 1e-5]
    #[arg(long, value_name = "T", value_parser = finite)]
    pub tolerance: Option<f64>,
    /// Maximum number of iterations [default: 2000]
    #[arg(long, value_name = "N")]
    pub iterations: Option<usize>,
}

/// Flags of the text pipeline.
#[derive(clap::Args)]
#[command(next_help_heading = "Raw text")]
pub struct TextFlags {
    /// Maximum length of n-grams: 1 for single words, 2 for pairs of adjacent words as well, 0 for --chars alone
    /// [default: 1; 2 with --effort best]
    #[arg(long, value_name = "N")]
    ngrams: Option<usize>,
    /// N-grams of A to B characters within words as well, such as 3-5
    ///
    /// For names, misspellings, and languages that join words.
    #[arg(long, value_name = "A-B")]
    chars: Option<CharRange>,
    /// Use the stems of words in this language, by its Snowball stemmer, in place of the words; `auto` finds the
    /// language by its most frequent words
    ///
    /// Trees on different views (--effort best, --views) have stems beside the words.
    #[arg(long, value_parser = choice!(Language))]
    stem: Option<Language>,
    /// Texts are tokens separated by spaces: take them as they are, in upper and lower case
    #[arg(long)]
    tokens: bool,
    /// Minimum document frequency: number of texts that a term must occur in
    #[arg(long, value_name = "N", default_value_t = TextOptions::default().min_df)]
    min_df: u32,
    /// Hash terms to N features, without a vocabulary
    #[arg(long, value_name = "N", conflicts_with = "min_df")]
    hash: Option<u32>,
    /// Use 1 + ln(count) as term frequency
    #[arg(long)]
    sublinear_tf: bool,
    /// Do not weight terms by inverse document frequency
    #[arg(long)]
    no_idf: bool,
}

impl TextFlags {
    /// The options that the flags give; those that are not given are taken from `base`.
    pub fn options(&self, base: TextOptions) -> TextOptions {
        let TextFlags { ngrams, chars, stem, tokens, min_df, hash, sublinear_tf, no_idf } = *self;
        let (ngrams, chars, stem) = (ngrams.unwrap_or(base.ngrams), chars.or(base.chars), stem.or(base.stem));
        TextOptions { ngrams, chars, stem, tokens, min_df, hash, sublinear_tf, idf: !no_idf, ..base }
    }
}

/// The number of threads.
#[derive(clap::Args, Clone, Copy)]
pub struct ThreadFlags {
    /// Number of threads; 0 means one per core. Results do not depend on it
    #[arg(long, help_heading = "More", value_name = "N", default_value_t = 0)]
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

/// Flags of recommenders.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Recommenders (--format interactions)")]
pub struct RecommenderFlags {
    /// Number that scores are divided by [default: 0.1]
    #[arg(long, value_name = "T", value_parser = finite)]
    pub temperature: Option<f64>,
    /// Whether scores are cosines, not inner products [default: true]
    #[arg(long, value_name = "true|false")]
    pub normalize: Option<bool>,
    /// Share of the numbers of a user vector that are zero at each visit [default: 0]
    #[arg(long, value_name = "P", value_parser = finite)]
    pub dropout: Option<f64>,
    /// Weight of the mean of the vectors of a user's items, which is added to the user's vector [default: 3]
    #[arg(long, value_name = "H", value_parser = finite)]
    pub history: Option<f64>,
    /// Weight of the scores by which items occur with those of the user, beside the cosines [default: 5]
    #[arg(long, value_name = "W", value_parser = finite)]
    pub co_occurrence: Option<f64>,
}

/// The flags of training.
#[derive(clap::Args, Serialize)]
#[command(next_help_heading = "Model")]
pub struct TrainFlags {
    /// Score function [default: trees, or linear for rows of numbers, whichever makes fewer errors on held-out rows]
    ///
    /// linear has a weight per feature and class; factored has a vector per feature and per class; trees search a few
    /// clusters of about √K classes per row. If it is not given, other flags imply it: --rank implies factored,
    /// --trees, --rivals, --leaves and --views imply trees, and any flag of the objective or a solver implies linear.
    #[arg(long, value_parser = choice!(ScoreKind))]
    scores: Option<ScoreKind>,
    /// How much work training may take [default: default]
    ///
    /// fast trains three trees alone and compares nothing. best trains nine trees with a second stage, for texts on
    /// different views: words and pairs, stems (--stem auto), and for short texts n-grams of characters; views and
    /// epochs are chosen on held-out rows.
    #[arg(long, value_parser = choice!(Effort))]
    effort: Option<Effort>,
    /// Solver of linear scores: stochastic gradients with sampled negatives, or L-BFGS on all rows (batch); `forest` is
    /// an alias of --scores trees [default: stochastic]
    #[arg(long, value_parser = ["stochastic", "batch", "forest"])]
    solver: Option<String>,
    /// For factored scores: length of the vectors [default: 64]
    #[arg(long, value_name = "R")]
    rank: Option<usize>,
    /// For trees: number of trees in the ensemble [default: 3]
    #[arg(long, value_name = "N")]
    trees: Option<usize>,
    /// For trees: number of their best classes per row that are the rivals of its labels in a second stage, trained by
    /// the bound, which ranks these classes again; 0 for trees alone [default: 20]
    ///
    /// The second stage is dropped where it does not help on held-out rows, and needs 5,000 rows to be trained.
    #[arg(long, value_name = "N")]
    rivals: Option<usize>,
    /// For trees: number of leaves of each tree; 1 is a single node over all classes [default: about √K]
    #[arg(long, value_name = "N")]
    leaves: Option<usize>,
    /// For trees on texts: kinds of terms that the trees see, one tree after the other, such as
    /// words+ngrams,stems,chars [default: all kinds for all trees; with --effort best, chosen on held-out rows]
    ///
    /// Kinds are words, ngrams (of words), stems and chars (n-grams of characters); those that --ngrams, --stem and
    /// --chars give. Each kind is scaled to the same length.
    #[arg(long, value_name = "VIEWS", value_delimiter = ',')]
    views: Option<Vec<View>>,
    /// Do not apply the L2 penalty to the biases
    #[arg(long)]
    #[serde(skip)]
    no_penalty_on_bias: bool,
    /// Memory budget of the weights; the stochastic solver hashes linear weights that exceed it [default: 8GB]
    #[arg(long, value_name = "BYTES")]
    memory: Option<String>,
    /// Calibrate probabilities by temperature scaling on the rows of --tune-on, or on a held-out twentieth of the rows
    ///
    /// Not needed if epochs and learning rate are chosen on held-out rows, which are then used for calibration as well,
    /// nor for trees, which are always calibrated.
    #[arg(long)]
    calibrate: bool,
    #[command(flatten)]
    #[serde(flatten)]
    pub linear: LinearFlags,
    #[command(flatten)]
    #[serde(flatten)]
    recommender: RecommenderFlags,
}

impl TrainFlags {
    /// The options of a recommender.
    pub fn recommender(&self) -> ove::Result<RecommenderOptions> {
        let mut settings = self.settings(None);
        if !self.calibrate {
            settings["calibrate"] = Value::Null;
        }
        RecommenderOptions::from_settings(&settings)
    }

    /// The settings that were given, by name, with the class weights.
    fn settings(&self, class_weight: Option<Value>) -> Value {
        let mut settings = serde_json::to_value(self).expect("flags are numbers and names");
        if self.no_penalty_on_bias {
            settings["penalty_on_bias"] = false.into();
        }
        settings["class_weight"] = class_weight.unwrap_or_default();
        settings
    }

    /// The options from the flags; those that are not given are taken from `base`. Vectors of words give the rank.
    pub fn options(
        &self,
        base: TrainOptions,
        class_weight: Option<Value>,
        vectors: Option<&WordVectors>,
    ) -> ove::Result<TrainOptions> {
        let mut settings = self.settings(class_weight);
        if let (Some(vectors), None | Some(ScoreKind::Factored), None) = (vectors, self.scores, self.rank) {
            settings["rank"] = vectors.rank().into();
        }
        base.with_settings(&settings)
    }
}

/// Parses a number that is neither infinite nor NaN, which settings as JSON cannot hold.
fn finite(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if f64::is_finite(number) => Ok(number),
        _ => Err("it must be a finite number".into()),
    }
}
