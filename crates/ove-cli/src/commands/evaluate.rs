//! `ove evaluate`.

pub(super) mod recommender;
mod words;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use ove::{Dataset, Evaluation, Model};
use ove_report::model::evaluation_page;
use serde_json::{Map, Value};

use crate::files;
use crate::flags::{DataFlags, ThreadFlags};
use crate::run::memory;
use crate::terminal::say;

/// Evaluate a model on rows with known labels, a recommender on later interactions, or word vectors
///
/// Probabilities are normalised over all classes; those of a model of rows with several labels are the probabilities
/// that a class is one of them. If a row has several labels, each counts in nlpd and bound, and the row is an error if
/// its top class is not one of them. A label that did not occur in training is ignored in nlpd and
/// bound and counts as missed in the other metrics.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Labelled rows, or texts for a model that was trained on texts, or interactions for a recommender
    #[arg(required_unless_present_any = ["analogies", "similarities"])]
    data: Option<PathBuf>,
    #[command(flatten)]
    input: DataFlags,
    #[command(flatten)]
    pub threads: ThreadFlags,
    /// Write an HTML page with charts: calibration, the most frequent confusions, and the training of the model
    #[arg(long, value_name = "HTML")]
    report: Option<PathBuf>,
    /// For a recommender: interactions whose items are not recommended; `none` for no such items [default: those of
    /// training]
    #[arg(long, value_name = "FILE|none")]
    seen: Option<PathBuf>,
    /// For word vectors: questions `a b c d` under lines `: section`, as in questions-words.txt of word2vec
    #[arg(long, value_name = "FILE")]
    analogies: Option<PathBuf>,
    /// For word vectors: pairs of words with a number that says how similar they are; may be repeated
    #[arg(long, value_name = "FILE")]
    similarities: Vec<PathBuf>,
    /// For analogies: accuracy is also given among this many of the most frequent words
    #[arg(long, value_name = "N", default_value_t = 30_000, requires = "analogies")]
    limit: usize,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if args.analogies.is_some() || !args.similarities.is_empty() {
        return words::run(&args);
    }
    let Some(path) = &args.data else { unreachable!("it is required") };
    let inputs = [("the model", Some(&args.model)), ("the data", Some(path))];
    files::separate(&[("--report", args.report.as_ref())], &inputs)?;
    let model = Model::load(&args.model)?;
    model.check_predicts_rows()?;
    if model.card.recommender.is_some() {
        return recommender::run(&args, path, &model);
    }
    if args.seen.is_some() {
        bail!("`seen` is a setting of recommenders, which this model is not");
    }
    let data = args.input.read_for(&model, path, true)?;
    let timed = evaluate(&model, &data)?;
    if let Some(report) = &args.report {
        let page = evaluation_page(&model, &timed.evaluation, &path.display().to_string());
        files::write(report, &page.html())?;
    }
    if args.json {
        say!("{}", Value::Object(timed.json()))?;
    } else {
        timed.print()?;
    }
    Ok(())
}

/// An evaluation with the time it took.
pub struct Timed {
    /// The metrics.
    pub evaluation: Evaluation,
    /// The time to score all rows.
    pub predict_seconds: f64,
}

/// Evaluates a model and measures the time.
pub fn evaluate(model: &Model, data: &Dataset) -> Result<Timed> {
    let start = Instant::now();
    let evaluation = ove::evaluate(model, data.rows(), &data.labels)?;
    Ok(Timed { evaluation, predict_seconds: start.elapsed().as_secs_f64() })
}

impl Timed {
    /// The keys of `--json`.
    pub fn json(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut map)) = serde_json::to_value(&self.evaluation) else { unreachable!("it is a struct") };
        map.insert("predict_seconds".into(), self.predict_seconds.into());
        map.insert("peak_memory_bytes".into(), memory::peak_bytes().into());
        map
    }

    /// Prints the metrics as text.
    pub fn print(&self) -> Result<()> {
        let e = &self.evaluation;
        say!("rows             {} ({:.2} s)", e.rows, self.predict_seconds)?;
        if e.unknown_rows > 0 {
            say!("unknown labels   {} rows, counted as errors and ignored in nlpd and bound", e.unknown_rows)?;
        }
        say!("error            {:.4}", e.error)?;
        say!("nlpd             {:.4}", e.nlpd)?;
        if let (Some(bound), Some(gap)) = (e.bound, e.gap) {
            let (per_row, below) = (per(bound, e), per(gap, e));
            say!("bound            {bound:.2} ({per_row:.4} per row, {below:.4} below the exact value)")?;
        }
        if let Some(rivals) = e.effective_rivals {
            say!("rivals           {rivals:.1} effective of {} negatives in the gradient", e.classes - 1)?;
        }
        say!("precision@1/3/5  {:.4} {:.4} {:.4}", e.precision_at_1, e.precision_at_3, e.precision_at_5)?;
        say!("nDCG@3/5         {:.4} {:.4}", e.ndcg_at_3, e.ndcg_at_5)?;
        say!("PSP@1/3/5        {:.4} {:.4} {:.4}", e.psp_at_1, e.psp_at_3, e.psp_at_5)?;
        if let (Some(f1), Some(threshold)) = (e.micro_f1, e.threshold) {
            say!("micro F1         {f1:.4} (of the classes with a probability of at least {threshold:.3})")?;
        }
        if let (Some(loss), Some(sum)) = (e.log_loss, e.probability_sum) {
            let labels = e.labels as f64 / e.rows as f64;
            say!("log loss         {loss:.4} (probabilities sum to {sum:.2} per row; it has {labels:.2} labels)")?;
        }
        let before = e.ece_uncalibrated.map_or(String::new(), |ece| format!(" ({ece:.4} before calibration)"));
        say!("ECE              {:.4}{before}", e.ece)?;
        Ok(())
    }
}

fn per(total: f64, e: &Evaluation) -> f64 {
    total / (e.rows - e.unknown_rows).max(1) as f64
}
