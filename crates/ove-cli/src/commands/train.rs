//! `ove train`.

mod recommender;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use ove::io::read::class_weights;
use ove::model::WordVectors;
use ove::options::{LinearOptions, ScoreOptions, Solver};
use ove::text::{Text, TextOptions};
use ove::train::FitStart;
use ove::{Dataset, Error, Examples, Model, Objective, Scores, TrainOptions};
use serde_json::{Value, json};

use super::evaluate;
use crate::files;
use crate::flags::{DataFlags, NameFlags, TextFlags, ThreadFlags, TrainFlags};
use crate::run::checkpoint::{CheckpointFlags, Keeper};
use crate::run::record::{RecordFlags, Recorder};
use crate::run::training::Follower;
use crate::run::{interrupt, memory};
use crate::terminal::{note, say};

/// The heading of flags that belong to no group.
const MORE: &str = "More";

/// Train a model
///
/// Reads labelled rows, maximises the objective and writes the model. Ctrl-C stops training and saves the result so
/// far: as a checkpoint with --checkpoint, otherwise as a model; if there is a MODEL already, as MODEL.partial.
#[derive(clap::Args)]
#[command(after_help = "Example: ove train titles.tsv -o titles.model --valid test.tsv\n\n\
                        More flags, and each in full: ove train --help-all")]
pub struct Args {
    /// Labelled rows: a table (CSV, JSON lines, Parquet, Feather), texts (TSV, fastText), numbers (libsvm, XMC
    /// repository, SciPy, NumPy, IDX, ARFF, 20-newsgroups triples), or with --format interactions users with items; may
    /// be compressed (gz, bz2, xz, zst); `-` is stdin
    data: PathBuf,
    /// Model file to write
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// Validation rows: measured during training and at its end. They choose nothing
    #[arg(long, value_name = "DATA")]
    valid: Option<PathBuf>,
    /// Rows for the choice of epochs, learning rate, temperature and threshold, and for early stopping, in place of
    /// rows held out of training; linear and factored scores
    #[arg(long, value_name = "DATA")]
    tune_on: Option<PathBuf>,
    /// Leave rows of --valid that are training rows too out
    #[arg(long, requires = "valid")]
    drop_shared: bool,
    /// Cache the rows on disk in this folder, for later runs and for data larger than memory
    ///
    /// The stochastic solver visits more than 64 MB of them in another order, which gives another, equally good model.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    input: DataFlags,
    #[command(flatten)]
    names: NameFlags,
    /// Class weights: `balanced` for larger weights of rare classes, or a file with a line `class weight` per class
    #[arg(long, help_heading = MORE, value_name = "balanced|FILE")]
    class_weight: Option<PathBuf>,
    /// Drop weights below T, round the others to 16 bits (bf16), and report the precision on the rows of --valid before
    /// and after
    #[arg(long, help_heading = MORE, value_name = "T")]
    prune: Option<f32>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = MORE)]
    json: bool,
    /// Continue training this model on new rows, which may have new classes and features. Its settings are kept
    ///
    /// The rows of the model are not needed: what they have taught is in its weights. New classes of trees join the
    /// leaf that is nearest to their rows.
    #[arg(long, help_heading = MORE, value_name = "MODEL", conflicts_with = "cache")]
    from: Option<PathBuf>,
    /// Vectors of words as the start of factored scores: a model of `ove embed`, or a file of word2vec or GloVe
    ///
    /// A feature that is one of the words starts at its vector, the others start at random. The length of the vectors
    /// is --rank. Nothing of the file is needed later.
    #[arg(long, help_heading = MORE, value_name = "MODEL", conflicts_with = "from")]
    vectors: Option<PathBuf>,
    /// Do not keep three short training texts in the model, which the page of `ove serve` offers to try
    #[arg(long)]
    no_examples: bool,
    /// After Ctrl-C, replace an existing MODEL by the model so far, instead of writing MODEL.partial
    #[arg(long)]
    keep_partial: bool,
    #[command(flatten)]
    pub threads: ThreadFlags,
    #[command(flatten)]
    checkpoint: CheckpointFlags,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    text: TextFlags,
    #[command(flatten)]
    flags: TrainFlags,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if args.input.are_interactions() {
        return recommender::run(&args);
    }
    // Fail before all rows are read.
    let vectors = args.vectors.as_deref().map(WordVectors::open).transpose()?;
    let given = args.flags.options(TrainOptions::default(), None, vectors.as_ref())?;
    args.check_files()?;
    let mut keeper = args.checkpoint.open()?;
    let mut recorder = args.record.open()?;
    for path in args.valid.iter().chain(&args.tune_on) {
        std::fs::File::open(path).with_context(|| path.display().to_string())?;
    }
    let plan = Plan::read(&args, &args.text.options(given.text()), vectors)?;
    let skipped = plan.data.skipped.count();
    let Some(trained) = plan.train(&args, &mut keeper, &mut recorder)? else {
        match keeper.stopped() {
            true => note!("stopped; a checkpoint was saved, use --resume to continue"),
            false => note!("stopped before training began; no model was saved"),
        }
        return Ok(());
    };
    recorder.finish(trained.evaluation.as_ref().map(|timed| &timed.evaluation));
    trained.report(&args, skipped)
}

impl Args {
    /// Checks before training that the model file can be created, and that it is none of the files that are read.
    fn check_files(&self) -> Result<()> {
        let path = &self.output;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if path.is_dir() || path.file_name().is_none() {
            bail!("{}: is a folder; the model must be a file", path.display());
        }
        if !folder.is_dir() {
            bail!("{}: there is no folder {}", path.display(), folder.display());
        }
        let metrics = self.record.metrics();
        files::separate(
            &[("--output", Some(path)), ("--log", metrics.as_ref())],
            &[
                ("the data", Some(&self.data)),
                ("--valid", self.valid.as_ref()),
                ("--from", self.from.as_ref()),
                ("--vectors", self.vectors.as_ref()),
                ("--class-weight", self.class_weight.as_ref()),
            ],
        )?;
        Ok(ove::io::atomic::check_place(path)?)
    }

    /// Where the model goes: half of one does not replace another.
    fn output_of(&self, model: &Model) -> PathBuf {
        let is_partial = !model.card.finished && interrupt::requested();
        if !is_partial || self.keep_partial || !self.output.is_file() {
            return self.output.clone();
        }
        let mut partial = self.output.clone().into_os_string();
        partial.push(".partial");
        partial.into()
    }
}

/// The inputs of a training.
struct Plan {
    text: Option<Text>,
    data: Dataset,
    label_names: Vec<Vec<String>>,
    valid: Option<Dataset>,
    tune_on: Option<Dataset>,
    /// The model to continue from.
    from: Option<Model>,
    /// The vectors of words to start from.
    vectors: Option<WordVectors>,
    options: TrainOptions,
}

impl Plan {
    fn read(args: &Args, text_options: &TextOptions, vectors: Option<WordVectors>) -> Result<Self> {
        let from = args.from.as_deref().map(Model::load).transpose()?;
        from.as_ref().map_or(Ok(()), Model::check_predicts_rows)?;
        let names = args.names.read()?;
        let (text, mut data) = match (&from, &args.cache) {
            (Some(from), _) => args.input.read_more(&args.data, from)?,
            (None, Some(folder)) => args.input.read_cached(folder, &args.data, text_options)?,
            (None, None) => args.input.read_named(&args.data, text_options, names.as_ref())?,
        };
        data.drop_unused_classes();
        if let Some(from) = &from {
            from.align(&mut data)?;
        }
        let class_weight = class_weight(args.class_weight.as_deref(), &data.classes)?;
        let base = from.as_ref().map_or_else(TrainOptions::default, |from| from.card.options.clone());
        let options = args.flags.options(base, class_weight, vectors.as_ref())?;
        if let Some(from) = &from {
            check_same_scores(&from.card.options, &options)?;
        }
        let label_names = names.map_or(Ok(Vec::new()), |names| names.names.of(&data.classes))?;
        let rows = data.len() - data.name_rows;
        note!("{rows} rows, {} features, {} classes", data.features(), data.classes.len());
        let read_valid = |path: &PathBuf| args.input.read_like(&data, text.as_ref(), path);
        let mut valid = args.valid.as_ref().map(read_valid).transpose()?;
        if let Some(valid) = &mut valid {
            leave_out_shared(&data, valid, args.drop_shared);
        }
        let tune_on = args.tune_on.as_ref().map(read_valid).transpose()?;
        Ok(Plan { text, data, label_names, valid, tune_on, from, vectors, options })
    }

    /// Trains and saves the model; `None` if the run was stopped and there is a checkpoint or nothing to save.
    fn train(mut self, args: &Args, keeper: &mut Keeper, recorder: &mut Recorder) -> Result<Option<Trained>> {
        let start = Instant::now();
        if let Some(valid) = &self.valid {
            recorder.measure_on(valid);
        }
        recorder.begin(self.data.len());
        interrupt::held(|| {
            let saved = keeper.take_saved();
            let mut follower = Follower::new(self.data.len(), keeper, recorder);
            let start_from = FitStart {
                from: self.from.as_ref(),
                saved: saved.as_ref(),
                vectors: self.vectors.as_ref(),
                tune_on: self.tune_on.as_ref(),
                text: self.text.take(),
                label_names: std::mem::take(&mut self.label_names),
            };
            let fitted = ove::fit_with(&self.data, &self.options, start_from, &mut |event| follower.follow(event));
            let updates = follower.updates;
            let mut model = match fitted {
                Err(Error::Stopped) => return Ok(None),
                fitted => fitted?,
            };
            note_choices(&self.options, &model);
            if !args.no_examples {
                model.card.examples = std::mem::take(&mut self.data.examples);
            }
            model.card.columns.clone_from(&self.data.columns);
            if let Some(threshold) = args.prune {
                prune(&mut model, threshold, self.valid.as_ref())?;
            }
            if !args.checkpoint.is_given() {
                // A resumed run has only a part of these points, and its model must have the same bits.
                model.card.held_out = recorder.held_out();
            }
            let train_seconds = start.elapsed().as_secs_f64();
            let evaluation = self.evaluate(&mut model);
            let output = args.output_of(&model);
            model.save(&output).context("saving the model")?;
            // If the checkpoint of a stopped run could not be written, the earlier ones are still useful.
            if model.card.finished || !interrupt::requested() {
                keeper.clear()?;
            }
            anyhow::Ok(Some(Trained { model, output, updates, train_seconds, evaluation: evaluation? }))
        })
    }

    /// Evaluates the model on the validation rows and stores the result in its card.
    fn evaluate(&self, model: &mut Model) -> Result<Option<evaluate::Timed>> {
        let timed = self.valid.as_ref().map(|valid| evaluate::evaluate(model, valid)).transpose()?;
        model.card.evaluation = timed.as_ref().map(|timed| timed.evaluation.clone());
        Ok(timed)
    }
}

/// Reports the choices other than the learning rate.
fn note_choices(given: &TrainOptions, model: &Model) {
    let chosen = &model.card.options;
    if let (None, Some(epochs), Some(ScoreOptions::Trees(trees))) = (given.epochs, chosen.epochs, &chosen.scores) {
        note!("{} trees, {epochs} epochs: chosen on held-out rows", trees.trees);
    }
    if let Scores::Trees(trees) = &model.scores
        && let Some(mix) = trees.second_stage()
    {
        note!("second stage over {} classes per row, with κ {:.2}: chosen on held-out rows", mix.rivals, mix.kappa);
    }
    if let Some(ScoreOptions::Linear(LinearOptions { cells: Some(cells), .. })) = &chosen.scores {
        note!("weights are hashed to {cells} cells to fit in --memory");
    }
}

/// Tells of validation rows that are training rows too, and leaves them out if that is wanted.
fn leave_out_shared(data: &Dataset, valid: &mut Dataset, drop: bool) {
    let Some((doubt, new)) = Examples::of(valid).shared_with(&Examples::of(data)) else { return };
    if !drop || new.is_empty() {
        note!("warning: --valid: {doubt}; --drop-shared leaves them out");
        return;
    }
    note!("--valid: {doubt}; {} rows are left", new.len());
    let mut left = Examples::of(valid).with_index(&new).thinned(1);
    left.classes = std::mem::take(&mut valid.classes);
    *valid = left;
}

/// A saved model, with the statistics of its training.
struct Trained {
    model: Model,
    /// Where it was saved.
    output: PathBuf,
    updates: u64,
    train_seconds: f64,
    evaluation: Option<evaluate::Timed>,
}

impl Trained {
    fn report(self, args: &Args, skipped: usize) -> Result<()> {
        let Trained { model, output, updates, train_seconds, evaluation } = self;
        let (finished, objective) = (model.card.finished, model.card.trace.last().map(|point| point.bound));
        let is_bound = model.card.options.objective().is_some_and(Objective::is_bound);
        if !finished {
            note!("{}", unfinished(&model.card.options, &output));
        }
        if args.json {
            let facts = json!({
                "model": output,
                "rows": model.card.rows,
                "classes": model.classes(),
                "features": model.features(),
                "objective": objective,
                "bound": objective.filter(|_| is_bound),
                "finished": finished,
                "temperature": model.card.temperature,
                "skipped_rows": skipped,
                "train_seconds": train_seconds,
                "updates_per_second": updates as f64 / train_seconds,
                "peak_memory_bytes": memory::peak_bytes(),
            });
            // Keys that both have are those of the evaluation.
            let mut object = facts.as_object().cloned().unwrap_or_default();
            if let Some(point) = model.card.likelihood.last() {
                object.insert("log_likelihood".into(), point.estimate.into());
                object.insert("log_likelihood_bias".into(), point.bias.into());
            }
            object.extend(evaluation.map(|e| e.json()).unwrap_or_default());
            say!("{}", Value::Object(object))?;
            return Ok(());
        }
        say!("model            {}", output.display())?;
        say!("train seconds    {train_seconds:.2} ({:.0} updates/s)", updates as f64 / train_seconds)?;
        if let Some(objective) = objective {
            let name = if is_bound { "bound" } else { "objective" };
            say!("{name:<17}{objective:.2} ({:.4} per row)", objective / model.card.rows as f64)?;
        }
        if let Some(point) = model.card.likelihood.last() {
            let per_row = point.estimate / model.card.rows as f64;
            say!("log likelihood   {:.2} ({per_row:.4} per row), estimated", point.estimate)?;
            say!("its bias         {:+.4} per label, on the rows visited last", point.bias)?;
        }
        evaluation.map_or(Ok(()), |evaluation| evaluation.print())
    }
}

/// Prunes the weights and reports the precision before and after.
fn prune(model: &mut Model, threshold: f32, valid: Option<&Dataset>) -> Result<()> {
    let precision = |model: &Model| -> Result<String> {
        Ok(match valid {
            Some(data) => {
                let e = evaluate::evaluate(model, data)?.evaluation;
                format!(", precision@1/3/5 {:.4} {:.4} {:.4}", e.precision_at_1, e.precision_at_3, e.precision_at_5)
            }
            None => String::new(),
        })
    };
    let before = precision(model)?;
    note!("before pruning: {} weights{before}", model.weight_count());
    model.prune(threshold)?;
    note!("after pruning:  {} weights{}", model.weight_count(), precision(model)?);
    Ok(())
}

/// The value of `--class-weight` for these classes, as a setting.
fn class_weight(flag: Option<&Path>, classes: &[String]) -> Result<Option<Value>> {
    Ok(match flag {
        None => None,
        Some(word) if word == "balanced" => Some(json!("balanced")),
        Some(path) => Some(json!(class_weights::read(path, classes)?)),
    })
}

fn unfinished(options: &TrainOptions, output: &Path) -> String {
    match &options.scores {
        Some(ScoreOptions::Linear(LinearOptions { solver: Solver::Batch(batch), .. })) if !interrupt::requested() => {
            format!("the tolerance {} was not reached within {} iterations", batch.tolerance, batch.iterations)
        }
        _ => format!("stopped before the end; the model so far was saved as {}", output.display()),
    }
}

/// Checks that a model goes on with the kind of scores that it has.
fn check_same_scores(own: &TrainOptions, wanted: &TrainOptions) -> Result<()> {
    let kind = |options: &TrainOptions| options.scores.as_ref().map(ScoreOptions::kind);
    match (kind(own), kind(wanted)) {
        (Some(own), Some(wanted)) if own != wanted => {
            bail!("--from: the model has {own} scores and goes on with them; it cannot become {wanted}")
        }
        _ => Ok(()),
    }
}
