//! What each objective costs and gains as the number of classes grows, on made sparse rows.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use ove::synthetic::{Sparse, sparse};
use ove::train::Stop;
use ove::{Dataset, Evaluation, Examples, Model, TrainOptions};
use ove_report::{Axis, Block, Chart, Layer, Section, Style, Table};
use serde_json::{Value, json};

use super::Args;
use crate::run::comparison::stop_if_interrupted;
use crate::run::interrupt;
use crate::terminal::note;

/// Numbers of classes.
const CLASSES: [usize; 4] = [5, 100, 1000, 10_000];

/// Number of rows to train and to test on.
const ROWS: (usize, usize) = (6000, 1000);

const EPOCHS: usize = 5;

/// Above this number of classes an objective over all classes is timed on a part of an epoch, and not trained.
const MOST_CLASSES: usize = 1000;

/// Number of rows that are visited for that time.
const TIMED_ROWS: usize = 200;

/// An objective with its settings for a number of classes. Of the rates .3, 1, 3 and 10, on other rows of 1,000
/// classes, softmax and one-vs-each have the lowest nlpd with 3 (1.14 and 1.90), merged with .3 (5.27; with 1, 5.78).
struct Kind {
    name: &'static str,
    all_classes: bool,
    settings: fn(usize) -> Value,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "exact softmax",
        all_classes: true,
        settings: |_| json!({ "objective": "softmax", "learning_rate": 3.0 }),
    },
    Kind {
        name: "one-vs-each, 20 negatives",
        all_classes: false,
        settings: |_| json!({ "objective": "one-vs-each", "negatives": 20, "learning_rate": 3.0 }),
    },
    Kind {
        name: "merged, 100 classes in one logarithm",
        all_classes: false,
        settings: |classes| {
            // All in one logarithm, it is the softmax.
            let rate = if classes <= 100 { 3.0 } else { 0.3 };
            json!({ "objective": "merged", "merge": 100, "negatives": 20, "learning_rate": rate })
        },
    },
    Kind {
        name: "sampled softmax, 50 negatives",
        all_classes: false,
        settings: |_| json!({ "objective": "sampled-softmax", "negatives": 50, "learning_rate": 3.0 }),
    },
    Kind { name: "trees", all_classes: false, settings: |_| json!({ "scores": "trees" }) },
];

/// An objective on one data set.
struct Outcome {
    classes: usize,
    kind: &'static Kind,
    epoch_seconds: f64,
    /// Unless it was only timed.
    evaluation: Option<Evaluation>,
}

/// All of them.
pub struct Comparison(Vec<Outcome>);

/// Trains every objective on every data set.
pub fn run(args: &Args) -> Result<Comparison> {
    let (share, most) = if args.quick { (10, 100) } else { (1, usize::MAX) };
    let mut outcomes = Vec::new();
    for classes in CLASSES.into_iter().filter(|&classes| classes <= most) {
        let shape = Sparse { rows: ROWS.0 / share, features: 4000, classes, entries: 15, signal: 0.5 };
        let mut data = sparse(shape, args.seed, 0);
        data.drop_unused_classes();
        let mut test = sparse(Sparse { rows: ROWS.1 / share, ..shape }, args.seed, 1);
        test.use_classes(&data.classes);
        for kind in &KINDS {
            note!("{classes} classes: {}", kind.name);
            outcomes.push(one(kind, classes, (&data, &test), args)?);
        }
    }
    Ok(Comparison(outcomes))
}

fn one(kind: &'static Kind, classes: usize, (data, test): (&Dataset, &Dataset), args: &Args) -> Result<Outcome> {
    let is_timed_only = kind.all_classes && classes > MOST_CLASSES;
    let mut settings = (kind.settings)(classes);
    (settings["seed"], settings["epochs"]) = (args.seed.into(), if is_timed_only { 1 } else { EPOCHS }.into());
    let options = TrainOptions::from_settings(&settings)?;
    let train = |data: &Dataset| -> Result<(Model, f64)> {
        let start = Instant::now();
        let model = interrupt::held(|| ove::fit(data, &options, |_| stop()))?;
        stop_if_interrupted()?;
        Ok((model, start.elapsed().as_secs_f64()))
    };
    if is_timed_only {
        let mut part = Examples::of(data).thinned(data.len() / TIMED_ROWS);
        part.classes.clone_from(&data.classes);
        let rows = part.len();
        let (_, seconds) = train(&part)?;
        return Ok(Outcome {
            classes,
            kind,
            epoch_seconds: seconds * data.len() as f64 / rows as f64,
            evaluation: None,
        });
    }
    let (model, seconds) = train(data)?;
    let evaluation = ove::evaluate(&model, test.rows(), &test.labels)?;
    Ok(Outcome { classes, kind, epoch_seconds: seconds / EPOCHS as f64, evaluation: Some(evaluation) })
}

/// Ends a run after Ctrl-C.
fn stop() -> ControlFlow<Stop> {
    if interrupt::requested() { ControlFlow::Break(Stop::Discard) } else { ControlFlow::Continue(()) }
}

impl Outcome {
    /// How far the bound is below the exact log probability, per row.
    fn gap(&self) -> Option<f64> {
        let evaluation = self.evaluation.as_ref()?;
        Some(evaluation.gap?.max(0.0) / evaluation.rows as f64)
    }
}

impl Comparison {
    /// The table of all figures.
    pub fn table(&self) -> Table {
        let number =
            |value: Option<f64>, digits: usize| value.map_or("—".into(), |value| format!("{value:.digits$}"));
        let cells = |outcome: &Outcome| {
            let evaluation = outcome.evaluation.as_ref();
            vec![
                outcome.classes.to_string(),
                outcome.kind.name.into(),
                format!("{:.0}", 1000.0 * outcome.epoch_seconds),
                number(outcome.gap(), 2),
                number(evaluation.map(|e| e.nlpd), 3),
                number(evaluation.map(|e| e.error), 3),
            ]
        };
        Table {
            caption: format!(
                "{} rows with 15 words each, {EPOCHS} epochs, the same for all; gap, nlpd and error on new rows. The gap of \
                 trees is that of their second stage. A dash stands for what has no bound, or was only timed on {TIMED_ROWS} rows.",
                ROWS.0
            ),
            head: ["classes", "objective", "ms per epoch", "gap per row", "nlpd", "error"].map(String::from).into(),
            rows: self.0.iter().map(cells).collect(),
        }
    }

    /// Time, gap and error by the number of classes.
    pub fn charts(&self) -> [(&'static str, Chart); 3] {
        let time = |outcome: &Outcome| Some(1000.0 * outcome.epoch_seconds);
        let error = |outcome: &Outcome| Some(outcome.evaluation.as_ref()?.error);
        [
            ("epoch-time", self.chart("What an epoch costs", "milliseconds per epoch", true, &time)),
            ("gap", self.chart("How far the bounds are from the softmax", "gap per row", true, &Outcome::gap)),
            ("error", self.chart("What the models get wrong", "error on new rows", false, &error)),
        ]
    }

    fn chart(&self, title: &str, label: &str, log: bool, of: &dyn Fn(&Outcome) -> Option<f64>) -> Chart {
        let line = |(n, kind): (usize, &Kind)| {
            let own = self.0.iter().filter(|outcome| outcome.kind.name == kind.name);
            let points: Vec<(f64, f64)> =
                own.filter_map(|outcome| Some((outcome.classes as f64, of(outcome)?))).collect();
            (points.iter().any(|(_, y)| *y > 0.0)).then(|| Layer::Line {
                name: kind.name.into(),
                points,
                style: Style::nth(n),
            })
        };
        let most = self.0.iter().map(|outcome| outcome.classes).max().unwrap_or(1) as f64;
        Chart {
            title: title.into(),
            x: Axis { label: "classes".into(), log: true, range: Some((4.0, 1.8 * most)), ..Axis::default() },
            y: Axis { label: label.into(), log, ..Axis::default() },
            layers: KINDS.iter().enumerate().filter_map(line).collect(),
            ..Chart::default()
        }
    }

    /// The section of the page.
    pub fn sections(&self) -> Vec<Section> {
        let captions = [
            "The exact softmax visits every class for every row, so its time grows with their number. A bound that is a sum over \
             classes is estimated from a few negatives without bias, at a cost that hardly grows.",
            "The price: one-vs-each is below the log probability by an amount that grows with the number of classes, since it \
             counts every class by itself. Merged, the hundred most frequent classes share one logarithm: with up to 100 \
             classes that is the softmax itself, without a gap. With many more, most classes are outside of it, and the \
             gap is back.",
            "The gap is not the error: what is predicted is always the exact softmax of the scores. Sampled softmax is not \
             a bound, and does well with many classes; trees, which ove train takes from 100 classes on, visit a few \
             groups of classes per row.",
        ];
        let figures = self.charts().into_iter().zip(captions);
        let mut blocks = vec![Block::Text(
            "A softmax compares a class with all others at once. The one-vs-each bound compares it with each other class by \
             itself, which makes the objective a sum, so that a step may use a few classes only. The same rows, trained \
             with each objective from five to ten thousand classes:"
                .into(),
        )];
        blocks.extend(figures.map(|((_, chart), caption)| Block::Figure { chart, caption: caption.into() }));
        blocks.push(Block::Table(self.table()));
        vec![Section { id: "method".into(), title: "What each bound costs and gains".into(), blocks }]
    }

    /// The figures of `--json`.
    pub fn json(&self) -> Vec<Value> {
        let object = |outcome: &Outcome| {
            let evaluation = outcome.evaluation.as_ref();
            json!({
                "classes": outcome.classes,
                "objective": outcome.kind.name,
                "epoch_seconds": outcome.epoch_seconds,
                "gap": outcome.gap(),
                "nlpd": evaluation.map(|e| e.nlpd),
                "error": evaluation.map(|e| e.error),
            })
        };
        self.0.iter().map(object).collect()
    }
}
