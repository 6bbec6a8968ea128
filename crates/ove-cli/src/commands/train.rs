//! `ove train`.

mod continued;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use ove::budget;
use ove::options::{ClassWeight, Options};
use ove::read::class_weights;
use ove::solve::learning_rate;
use ove::text::Text;
use ove::{Dataset, Linear, Model, Settings};
use serde_json::json;

use super::evaluate;
use crate::flags::{DataFlags, TextFlags, TrainFlags};
use crate::run::checkpoint::{CheckpointFlags, Keeper};
use crate::run::memory::{self, Bytes};
use crate::run::record::{RecordFlags, Recorder};
use crate::run::{fit, held_out, interrupt};
use crate::terminal::{note, say};
use continued::Continued;

/// Train a model
///
/// Reads rows with their classes, maximises the objective and writes the model. Ctrl-C ends training early and keeps
/// what was reached: as a checkpoint with --checkpoint, otherwise as a model.
#[derive(clap::Args)]
#[command(after_help = "Example: ove train train.svm -o my.model --valid test.svm --epochs 10")]
pub struct Args {
    /// Rows with classes: libsvm, XMC repository, IDX, ARFF, 20-newsgroups triples, or raw text in TSV or fastText
    /// form; gzipped or not; `-` is stdin
    data: PathBuf,
    /// File for the model
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// Rows to evaluate the model on afterwards; they also serve as the held-out rows, if any are needed
    #[arg(long, value_name = "DATA")]
    valid: Option<PathBuf>,
    /// Convert the data to rows on disk in this folder, unless an earlier run has, and train from there: for data
    /// larger than memory
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    input: DataFlags,
    /// Weight of the labels of each class: higher for rarer classes, or from a file of lines `class weight`
    #[arg(long, value_name = "balanced|FILE")]
    class_weight: Option<PathBuf>,
    /// Memory limit for the weights; beyond it, the stochastic solver hashes weights to shared cells
    #[arg(long, value_name = "BYTES", default_value = "8GB")]
    memory: Bytes,
    /// Linear models: fit a temperature on the rows of --valid, or on a twentieth of the training rows, which are held
    /// out for it
    ///
    /// A model whose epochs and learning rate are not given has them chosen on such rows, and its temperature with
    /// them. A forest always has one.
    #[arg(long)]
    calibrate: bool,
    /// Drop weights below T, store the others in 16 bits, and report the cost on the rows of --valid
    #[arg(long, value_name = "T")]
    prune: Option<f32>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    /// Continue training this linear model with these rows, which may have new classes and features; its text settings
    /// stay
    #[arg(long, value_name = "MODEL", conflicts_with = "cache")]
    from: Option<PathBuf>,
    #[command(flatten)]
    checkpoint: CheckpointFlags,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    text: TextFlags,
    #[command(flatten)]
    flags: TrainFlags,
}

/// Trains.
pub fn run(args: Args) -> Result<()> {
    check(&args.flags.settings(0, true, ClassWeight::Equal).map_err(anyhow::Error::msg)?)?;
    check_output(&args.output)?;
    let mut keeper = args.checkpoint.open()?;
    let mut recorder = args.record.open()?;
    if let Some(valid) = &args.valid {
        // Better now than after all rows are read.
        std::fs::File::open(valid).with_context(|| valid.display().to_string())?;
    }
    let plan = Plan::read(&args)?;
    let skipped = plan.data.skipped.count();
    let Some(trained) = plan.train(&args, &mut keeper, &mut recorder)? else {
        note!("stopped; the checkpoint holds what was reached, and --resume goes on from there");
        return Ok(());
    };
    recorder.finish(trained.evaluation.as_ref().map(|timed| &timed.evaluation));
    trained.print(&args, skipped)
}

/// What is to be trained, on what.
struct Plan {
    text: Option<Text>,
    data: Dataset,
    valid: Option<Dataset>,
    /// The model of --from, and its weights with room for new classes and features.
    from: Option<Continued>,
    weights: Option<Linear>,
    settings: Settings,
}

impl Plan {
    fn read(args: &Args) -> Result<Self> {
        let threads = args.threads();
        let from = Continued::open(args.from.as_deref())?;
        let (text, mut data) = match (&from, &args.cache) {
            (Some(from), _) => args.input.read_more(&args.data, from.text(), threads)?,
            (None, Some(folder)) => args.input.read_cached(folder, &args.data, &args.text.options(), threads)?,
            (None, None) => args.input.read(&args.data, &args.text.options(), threads)?,
        };
        data.drop_unused_classes();
        from.as_ref().map_or(Ok(()), |from| from.number(&mut data))?;
        let class_weight = class_weight(args.class_weight.as_deref(), &data.classes)?;
        let mut settings = match from.as_ref().and_then(|from| from.settings().linear()) {
            Some(own) => args.flags.going_on(own, class_weight).map(Settings::Linear),
            None => args.flags.settings(data.classes.len(), data.bytes_on_disk() <= args.memory.0, class_weight),
        }
        .map_err(anyhow::Error::msg)?;
        keep_within(args.memory, &data, &mut settings, from.as_ref())?;
        let weights = from.as_ref().map(|from| from.start(&data)).transpose()?;
        note!("{} rows, {} features, {} classes", data.len(), data.features(), data.classes.len());
        if let Settings::Linear(Options { cells: Some(cells), .. }) = &settings {
            note!("their weights share {cells} cells, which --memory allows");
        }
        let read_valid = |path: &PathBuf| args.input.read_like(&data, text.as_ref(), path, threads);
        let valid = args.valid.as_ref().map(read_valid).transpose()?;
        Ok(Plan { text, data, valid, from, weights, settings })
    }

    /// Trains and saves; nothing if a checkpoint holds what was reached when it was stopped.
    fn train(mut self, args: &Args, keeper: &mut Keeper, recorder: &mut Recorder) -> Result<Option<Trained>> {
        let start = Instant::now();
        // A continued model keeps its choice.
        let chooses = self.from.is_none() && args.flags.choose_passes(&self.settings);
        let held_out = if chooses || args.calibrate { self.hold_out(args.calibrate) } else { None };
        self.begin_record(args.memory, held_out.as_ref(), recorder);
        interrupt::held(|| {
            let (mut model, updates) = match self.settings.clone() {
                Settings::Linear(mut options) => {
                    if chooses {
                        choose_passes(&mut options, &self.data, held_out.as_ref())?;
                    }
                    let stop_on = held_out.as_ref().filter(|_| chooses);
                    let fit = fit::fit_with(&self.data, &options, self.weights.as_ref(), stop_on, keeper, recorder)?;
                    let updates = fit.updates;
                    (fit::into_model(fit, &self.data, options), updates)
                }
                Settings::Forest(options) => fit::grow(&self.data, options, args.memory, keeper, recorder)?,
            };
            if keeper.stopped() {
                return Ok(None);
            }
            self.complete(&mut model, args, held_out.as_ref())?;
            if !args.checkpoint.is_given() {
                // A resumed run has only a part of the curve, and must end in the same bits.
                model.card.held_out = recorder.held_out();
            }
            let train_seconds = start.elapsed().as_secs_f64();
            let evaluation = self.evaluate(&mut model, args.threads());
            model.save(&args.output).context("saving the model")?;
            // After a signal whose checkpoint could not be written, the earlier ones are still good.
            if model.card.finished || !interrupt::requested() {
                keeper.clear()?;
            }
            anyhow::Ok(Some(Trained { model, updates, train_seconds, evaluation: evaluation? }))
        })
    }

    /// The held-out rows of a linear model: drawn from the validation rows, or else from the training rows.
    fn hold_out(&mut self, calibrates: bool) -> Option<held_out::Rows> {
        let seed = self.settings.linear()?.seed;
        let rows = match &self.valid {
            Some(valid) => held_out::Rows::given(valid, seed),
            None => held_out::Rows::split(&mut self.data, seed),
        };
        if rows.is_none() && calibrates {
            note!("too few rows to fit a temperature on");
        }
        rows
    }

    /// Sets the rows that a linear model is measured on along the run, if that is reported and a copy of the weights is
    /// affordable.
    fn begin_record(&self, memory: Bytes, held_out: Option<&held_out::Rows>, recorder: &mut Recorder) {
        let measured = self.valid.as_ref().or(held_out.map(held_out::Rows::data));
        if let (Some(measured), Settings::Linear(options)) = (measured, &self.settings)
            && (self.valid.is_some() || recorder.is_used())
            && is_small(memory, &self.data, options)
        {
            recorder.hold_out(measured, fit::card(&self.data, self.settings.clone()));
        }
        recorder.begin(self.data.len());
    }

    /// Completes the card, then calibrates and prunes as the flags require.
    fn complete(&mut self, model: &mut Model, args: &Args, held_out: Option<&held_out::Rows>) -> Result<()> {
        model.card.text = self.text.take();
        if let Some(from) = &self.from {
            from.add_to(&mut model.card);
        }
        if let Some(rows) = held_out {
            calibrate(model, rows, args.threads())?;
        }
        match args.prune {
            Some(threshold) => prune(model, threshold, self.valid.as_ref(), args.threads()),
            None => Ok(()),
        }
    }

    /// The model on the rows for validation, which its card keeps too.
    fn evaluate(&self, model: &mut Model, threads: usize) -> Result<Option<evaluate::Timed>> {
        let timed = self.valid.as_ref().map(|valid| evaluate::evaluate(model, valid, threads)).transpose()?;
        model.card.evaluation = timed.as_ref().map(|timed| timed.evaluation.clone());
        Ok(timed)
    }
}

/// A model that is saved, and how that went.
struct Trained {
    model: Model,
    updates: u64,
    train_seconds: f64,
    evaluation: Option<evaluate::Timed>,
}

impl Trained {
    fn print(self, args: &Args, skipped: usize) -> Result<()> {
        let Trained { model, updates, train_seconds, evaluation } = self;
        let (finished, bound) = (model.card.finished, model.card.trace.last().map(|point| point.bound));
        if !finished {
            note!("{}", unfinished(&model.card.options));
        }
        if args.json {
            let facts = json!({
                "model": args.output,
                "rows": model.card.rows,
                "classes": model.classes(),
                "features": model.features(),
                "bound": bound,
                "finished": finished,
                "temperature": model.card.temperature,
                "skipped_rows": skipped,
                "train_seconds": train_seconds,
                "updates_per_second": updates as f64 / train_seconds,
                "peak_memory_bytes": memory::peak_bytes(),
            });
            // The figures of the validation rows take the place of those that training has too.
            let mut object = facts.as_object().cloned().unwrap_or_default();
            object.extend(evaluation.map(|e| e.json()).unwrap_or_default());
            say!("{}", serde_json::Value::Object(object))?;
            return Ok(());
        }
        say!("model            {}", args.output.display())?;
        say!("train seconds    {train_seconds:.2} ({:.0} updates/s)", updates as f64 / train_seconds)?;
        if let Some(bound) = bound {
            say!("bound            {bound:.2} ({:.4} per row)", bound / model.card.rows as f64)?;
        }
        evaluation.map_or(Ok(()), |evaluation| evaluation.print())
    }
}

impl Args {
    fn threads(&self) -> usize {
        self.flags.linear.threads.threads
    }
}

/// Drops small weights and says what is lost.
fn prune(model: &mut Model, threshold: f32, valid: Option<&Dataset>, threads: usize) -> Result<()> {
    let precision = |model: &Model| -> Result<String> {
        Ok(match valid {
            Some(data) => {
                let e = evaluate::evaluate(model, data, threads)?.evaluation;
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

/// What `--class-weight` says for these classes.
fn class_weight(flag: Option<&Path>, classes: &[String]) -> Result<ClassWeight> {
    Ok(match flag {
        None => ClassWeight::Equal,
        Some(word) if word == "balanced" => ClassWeight::Balanced,
        Some(path) => ClassWeight::Listed(class_weights::read(path, classes)?),
    })
}

/// Epochs by the number of rows, and the learning rate that held-out rows prefer.
fn choose_passes(options: &mut Options, data: &Dataset, held_out: Option<&held_out::Rows>) -> Result<()> {
    options.epochs = learning_rate::epochs_for(data.len());
    if let Some(rows) = held_out {
        options.learning_rate = rows.learning_rate(data, options)?;
        let (rate, epochs) = (options.learning_rate, options.epochs);
        note!("learning rate {rate:.2e}, at most {epochs} epochs: chosen on {} held-out rows", rows.len());
    }
    Ok(())
}

/// Fits the temperature of a linear model on held-out rows.
fn calibrate(model: &mut Model, rows: &held_out::Rows, threads: usize) -> Result<()> {
    if let Some(linear) = model.linear() {
        let temperature = rows.temperature(linear, threads)?;
        model.calibrate(temperature);
        note!("temperature {temperature:.3}, fitted on {} held-out rows", rows.len());
    }
    Ok(())
}

/// Checks the options before the data is read.
fn check(settings: &Settings) -> ove::Result<()> {
    match settings {
        Settings::Linear(options) => options.check(),
        Settings::Forest(options) => options.check(),
    }
}

fn unfinished(settings: &Settings) -> String {
    match settings {
        Settings::Linear(options) if !interrupt::requested() => {
            format!("the tolerance {} was not reached within {} iterations", options.tolerance, options.iterations)
        }
        _ => "stopped early; the model holds what was reached".into(),
    }
}

/// Refuses, before training, a path where no file can be created.
fn check_output(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() || path.file_name().is_none() {
        bail!("{}: a folder, but the model is a file", path.display());
    }
    if !folder.is_dir() {
        bail!("{}: the folder {} is not there", path.display(), folder.display());
    }
    Ok(ove::file::check_place(path)?)
}

/// Whether a second copy of the weights, to measure held-out rows with, takes at most a quarter of the budget.
fn is_small(memory: Bytes, data: &Dataset, options: &Options) -> bool {
    let cells = options.cells.unwrap_or((data.features() + 1) * data.classes.len()) as u64;
    cells * 4 <= memory.0 / 4
}

/// Memory that lists of all features may take regardless of --memory.
const LISTS: u64 = 1 << 30;

/// Hashes weights to shared cells if the budget is too small for all of them, before any allocation; fails if that is
/// not enough.
fn keep_within(memory: Bytes, data: &Dataset, settings: &mut Settings, from: Option<&Continued>) -> Result<()> {
    // Lists of all features, several of which every way to train makes: a mistaken number of a feature must not fill
    // the memory.
    let lists = Bytes(data.features() as u64 * 32);
    if lists.0 > memory.0.max(LISTS) {
        bail!("{} features need {lists} for their lists alone, but --memory allows {memory}", data.features());
    }
    let Settings::Linear(options) = settings else { return Ok(()) };
    if let Some(cells) = from.and_then(Continued::cells) {
        options.cells = Some(cells);
        return Ok(());
    }
    let may_share = from.is_none();
    Ok(budget::keep_within(memory, data.features(), data.classes.len(), may_share, options)?)
}
