//! Table 2 extended: five objectives by stochastic training with the paper's settings, 200 rows and one class per
//! update.
//!
//! All objectives take steps of the same size η along their gradients. What a run costs is counted per update, so that
//! it does not depend on when a run has come near its maximum.

use std::time::Instant;

use anyhow::Result;
use ove::model::LikelihoodPoint;
use ove::train::{Start, Training};
use ove::{Dataset, Evaluation, Examples, Objective, TrainOptions, evaluate};
use ove_report::{Block, Section, Table};
use serde_json::json;

use super::small::{self, BATCH, SETS};
use super::{Results, Setting};
use crate::run::comparison::stop_if_interrupted;
use crate::run::{interrupt, progress};
use crate::terminal::note;

/// The objectives in the order of the table; one-vs-each is what the cost is compared with.
const OBJECTIVES: [Objective; 5] =
    [Objective::Softmax, Objective::OneVsEach, Objective::Merged, Objective::Bouchard, Objective::Normalised];

/// Number of classes in C for the merged objective: fewer than each data set has.
const MERGED: usize = 3;

/// Epochs and η for each of [`SETS`], the same for all objectives.
const RUNS: [(usize, f64); 3] = [(40, 0.0033), (150, 0.0003), (400, 0.0016)];

/// The result of one objective on one data set.
struct Outcome {
    set: &'static str,
    objective: Objective,
    evaluation: Evaluation,
    /// Microseconds per update, a batch of rows, in the fastest epoch.
    cost: f64,
    /// The estimate of the log likelihood of the training rows, which the normalised bound keeps.
    likelihood: Option<LikelihoodPoint>,
    rows: usize,
}

/// Runs every objective on the data sets that exist.
pub fn run(setting: &Setting<'_>) -> Result<Results> {
    let (mut outcomes, mut absent) = (Vec::new(), Vec::new());
    for (set, run) in SETS.iter().zip(RUNS) {
        let Some((train, test)) = small::load(setting.data, set)? else {
            absent.push(Block::Text(small::missing(setting.data, set)));
            continue;
        };
        for objective in OBJECTIVES {
            note!("{}: {objective}", set.name);
            outcomes.push(train_and_evaluate(set.name, objective, run, setting.seed, &train, &test)?);
        }
    }
    let mut blocks = vec![Block::Table(table(&outcomes)), settings()];
    blocks.extend(absent);
    let title = "Table 2 extended: likelihood and cost by stochastic training".into();
    Ok(Results {
        sections: vec![Section { id: "likelihood".into(), title, blocks }],
        rows: outcomes.iter().map(|outcome| outcome.row(&outcomes)).collect(),
        curves: Vec::new(),
    })
}

/// The settings of an objective. The learning rate is the step for one visited class, so that where one class is drawn
/// it is η times the number of classes that it stands for.
fn options(objective: Objective, (epochs, step): (usize, f64), seed: u64, classes: usize) -> Result<TrainOptions> {
    let stands_for = match objective {
        Objective::Softmax | Objective::Bouchard => 1,
        Objective::Merged => classes - 1 - MERGED,
        _ => classes - 1,
    };
    let settings = json!({
        "scores": "linear",
        "objective": objective.to_string(),
        "merge": MERGED,
        "l2": 1.0,
        "negatives": 1,
        "batch": BATCH,
        "epochs": epochs,
        "step": "sgd",
        "learning_rate": step * stands_for as f64,
        "seed": seed,
    });
    Ok(TrainOptions::from_settings(&settings)?)
}

fn train_and_evaluate(
    set: &'static str,
    objective: Objective,
    run: (usize, f64),
    seed: u64,
    train: &Dataset,
    test: &Dataset,
) -> Result<Outcome> {
    let options = options(objective, run, seed, train.classes.len())?;
    let examples = Examples::of(train);
    let mut line = progress::Line::new(train.len());
    let updates = train.len().div_ceil(BATCH);
    // The fastest epoch, on which other programs had the least influence.
    let mut fastest = f64::INFINITY;
    let trained = interrupt::held(|| {
        let mut training = Training::new(examples, &options, Start::default())?;
        let (mut start, mut done) = (Instant::now(), 0);
        while let Some(progress) = training.step()? {
            line.update(&progress);
            done += 1;
            if done % updates == 0 {
                fastest = fastest.min(start.elapsed().as_secs_f64());
                start = Instant::now();
            }
            if interrupt::requested() {
                break;
            }
        }
        training.finish()
    })?;
    line.finish();
    stop_if_interrupted()?;
    let likelihood = trained.likelihood.last().copied();
    let model = trained.into_model(train, &examples);
    let evaluation = evaluate(&model, test.rows(), &test.labels)?;
    Ok(Outcome { set, objective, evaluation, cost: 1e6 * fastest / updates as f64, likelihood, rows: train.len() })
}

impl Outcome {
    /// The outcome of another objective on the same data set.
    fn beside<'a>(&self, all: &'a [Outcome], objective: Objective) -> &'a Outcome {
        all.iter().find(|other| other.set == self.set && other.objective == objective).expect("all objectives ran")
    }

    /// The cost relative to that of one-vs-each.
    fn relative_cost(&self, all: &[Outcome]) -> f64 {
        self.cost / self.beside(all, Objective::OneVsEach).cost
    }

    /// How far the nlpd is above that of the exact softmax.
    fn nlpd_above(&self, all: &[Outcome]) -> f64 {
        self.evaluation.nlpd - self.beside(all, Objective::Softmax).evaluation.nlpd
    }

    fn row(&self, all: &[Outcome]) -> serde_json::Value {
        json!({
            "set": self.set,
            "objective": self.objective.to_string(),
            "error": self.evaluation.error,
            "nlpd": self.evaluation.nlpd,
            "nlpd_above_softmax": self.nlpd_above(all),
            "microseconds_per_update": self.cost,
            "relative_cost": self.relative_cost(all),
            "log_likelihood": self.likelihood.map(|point| point.estimate),
            "log_likelihood_bias": self.likelihood.map(|point| point.bias),
        })
    }
}

fn table(outcomes: &[Outcome]) -> Table {
    let row = |outcome: &Outcome| {
        let likelihood = outcome.likelihood.map_or("—".to_owned(), |point| {
            format!("{:.3} ({:+.3})", point.estimate / outcome.rows as f64, point.bias)
        });
        vec![
            outcome.set.to_owned(),
            outcome.objective.to_string(),
            format!("{:.3}", outcome.evaluation.error),
            format!("{:.3}", outcome.evaluation.nlpd),
            format!("{:+.3}", outcome.nlpd_above(outcomes)),
            format!("{:.0}", outcome.cost),
            format!("{:.2}", outcome.relative_cost(outcomes)),
            likelihood,
        ]
    };
    let head = ["set", "objective", "error", "nlpd", "above softmax", "µs per update", "cost", "log likelihood"];
    Table {
        caption: "Error and nlpd on the test rows, how far the nlpd is above that of the exact softmax trained by the \
                  same steps, and the cost of an update in the fastest epoch, also \
                  relative to one-vs-each. The log likelihood is the estimate \
                  per training row that the normalised bound keeps, with its bias on the rows visited last."
            .into(),
        head: head.map(String::from).into(),
        rows: outcomes.iter().map(row).collect(),
    }
}

fn settings() -> Block {
    let of_set = |(set, (epochs, step)): (&small::Set, (usize, f64))| {
        (set.name.to_owned(), format!("{epochs} epochs, η = {step}, decaying to zero"))
    };
    let mut settings: Vec<(String, String)> = SETS.iter().zip(RUNS).map(of_set).collect();
    settings.push((
        "each update".into(),
        format!("{BATCH} rows, λ = 1, SGD; one class drawn per row, all classes for softmax and Bouchard"),
    ));
    settings.push(("merged".into(), format!("the {MERGED} most frequent classes share a logarithm")));
    Block::Settings(settings)
}
