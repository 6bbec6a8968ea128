//! `ove train`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use ove::model::Card;
use ove::options::{ClassWeight, Options, Solver};
use ove::read::class_weights;
use ove::step::StepKind;
use ove::{Dataset, Fit, Model, Problem};
use serde_json::json;

use crate::input::DataFlags;
use crate::memory::{self, Bytes};
use crate::settings::{self, BatchFlags, ObjectiveFlags, StochasticFlags, ThreadFlags, choice};
use crate::{evaluate, interrupt, progress};
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Train a model
///
/// Reads rows with their classes, maximises the objective and writes the model. Ctrl-C ends training early and keeps what was
/// reached.
#[derive(clap::Args)]
#[command(after_help = "Example: ove train train.svm -o my.model --valid test.svm --epochs 10")]
pub struct Args {
    /// Rows with classes: libsvm, XMC repository, IDX, ARFF or 20-newsgroups triples, gzipped or not; `-` is stdin
    data: PathBuf,
    /// Where the model goes
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
    /// Rows to evaluate the model on afterwards
    #[arg(long, value_name = "DATA")]
    valid: Option<PathBuf>,
    #[command(flatten)]
    input: DataFlags,
    #[command(flatten)]
    objective: ObjectiveFlags,
    /// Leave the biases out of the penalty
    #[arg(long)]
    no_penalty_on_bias: bool,
    /// How often the labels of a class count: the more the rarer it is, or as a file of lines `class weight` says
    #[arg(long, value_name = "balanced|FILE")]
    class_weight: Option<PathBuf>,
    /// Subsampled rows and classes, or L-BFGS on the full sum
    #[arg(long, value_parser = choice!(Solver), default_value_t = Options::default().solver)]
    solver: Solver,
    /// The most memory that the weights may take; the stochastic solver lets weights share it where there are too many
    #[arg(long, value_name = "BYTES", default_value = "8GB")]
    memory: Bytes,
    #[command(flatten)]
    threads: ThreadFlags,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    stochastic: StochasticFlags,
    #[command(flatten)]
    batch: BatchFlags,
}

/// Trains.
pub fn run(args: Args) -> Result<()> {
    let mut options = settings::options(
        args.solver,
        !args.no_penalty_on_bias,
        &args.objective,
        &args.stochastic,
        &args.batch,
        &args.threads,
    );
    options.check()?;
    check_output(&args.output)?;
    if let Some(valid) = &args.valid {
        // Better now than after hours of training.
        std::fs::File::open(valid).with_context(|| valid.display().to_string())?;
    }
    let mut data = args.input.read(&args.data)?;
    data.drop_unused_classes();
    options.class_weight = class_weight(args.class_weight.as_deref(), &data.classes)?;
    let valid = args.valid.as_deref();
    keep_within(args.memory, &data, &mut options)?;
    eprintln!("{} rows, {} features, {} classes", data.len(), data.features(), data.classes.len());
    if let Some(cells) = options.cells {
        eprintln!("their weights share {cells} cells, which --memory allows");
    }

    let start = Instant::now();
    let (model, fit_summary) = interrupt::held(|| {
        let fit = fit(&data, &options)?;
        let summary = (fit.updates, fit.finished, fit.trace.last().map(|point| point.bound));
        let model = into_model(fit, &data, options);
        model.save(&args.output).context("saving the model")?;
        anyhow::Ok((model, summary))
    })?;
    let (updates, finished, bound) = fit_summary;
    let train_seconds = start.elapsed().as_secs_f64();
    if !finished {
        eprintln!("{}", unfinished(&model.card.options));
    }
    let evaluation = match valid {
        Some(path) => {
            Some(evaluate::evaluate(&model, &args.input.read_for(&model, path, true)?, args.threads.threads)?)
        }
        None => None,
    };
    let facts = json!({
        "model": args.output,
        "rows": model.card.rows,
        "classes": model.linear.classes(),
        "features": model.linear.features(),
        "bound": bound,
        "finished": finished,
        "train_seconds": train_seconds,
        "updates_per_second": updates as f64 / train_seconds,
        "peak_memory_bytes": memory::peak_bytes(),
    });
    if args.json {
        // The figures of the validation rows take the place of those that training has too.
        let mut object = facts.as_object().cloned().unwrap_or_default();
        object.extend(evaluation.map(|e| e.json()).unwrap_or_default());
        say!("{}", serde_json::Value::Object(object))?;
        return Ok(());
    }
    say!("model            {}", args.output.display())?;
    say!("train seconds    {train_seconds:.2} ({:.0} updates/s)", updates as f64 / train_seconds)?;
    if let Some(bound) = bound {
        say!("bound            {bound:.2} ({:.4} a row)", bound / model.card.rows as f64)?;
    }
    if let Some(evaluation) = evaluation {
        evaluation.print()?;
    }
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

/// The training problem of a data set.
pub fn problem(data: &Dataset) -> Problem<'_> {
    Problem { rows: data.rows(), labels: &data.labels, row_weights: &data.row_weights, classes: data.classes.len() }
}

/// Trains with a progress line.
pub fn fit(data: &Dataset, options: &Options) -> Result<Fit> {
    let problem = problem(data);
    let mut line = progress::Line::new(data.len());
    let fit = ove::train(&problem, options, &mut |progress| line.hear(progress));
    line.finish();
    Ok(fit?)
}

/// The model of a fit, with the names of its data.
pub fn into_model(fit: Fit, data: &Dataset, options: Options) -> Model {
    let card = Card {
        options,
        counts: problem(data).counts(),
        rows: data.len() as u64,
        classes: data.classes.clone(),
        feature_names: data.feature_names.clone(),
        finished: fit.finished,
        trace: fit.trace,
    };
    Model { linear: fit.linear, card }
}

fn unfinished(options: &Options) -> String {
    if interrupt::requested() {
        "stopped early; the model holds what was reached".into()
    } else {
        format!("the tolerance {} was not reached within {} iterations", options.tolerance, options.iterations)
    }
}

/// Refuses a place where no file can be made, before anything is trained for it.
fn check_output(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() || path.file_name().is_none() {
        bail!("{}: a folder, but the model is a file", path.display());
    }
    if !folder.is_dir() {
        bail!("{}: the folder {} is not there", path.display(), folder.display());
    }
    Ok(())
}

/// Has weights share cells where the budget is too small for all of them, before anything is allocated. Refuses where that does not help.
fn keep_within(memory: Bytes, data: &Dataset, options: &mut Options) -> Result<()> {
    let bytes_a_cell = match (options.solver, options.step) {
        // Six vectors in 64 bits and six pairs of vectors in 32 take 96 bytes; the rest is for the derivatives of the rows.
        (Solver::Batch, _) => 16 * 8,
        // The model takes the memory of the cells that it is made from.
        (Solver::Stochastic, StepKind::Sgd) => 4,
        (Solver::Stochastic, StepKind::Adagrad) => 12,
    };
    let (features, classes) = (data.features() as u64 + 1, data.classes.len() as u64);
    let needed = Bytes(features * classes * bytes_a_cell);
    if needed.0 <= memory.0 {
        return Ok(());
    }
    let shared = (memory.0 / bytes_a_cell).saturating_sub(classes);
    if options.solver == Solver::Batch || shared < classes {
        bail!(
            "{classes} classes times {features} features need {needed} for the {} solver, but --memory allows {memory}",
            options.solver,
        );
    }
    options.cells = Some(shared as usize);
    Ok(())
}
