//! Figure 2: doubly stochastic estimation of ten thousand probabilities from a million points, where the answer is
//! known.

use std::time::Instant;

use anyhow::Result;
use ove::TrainOptions;
use ove::platform::math::log_sum_exp;
use ove::platform::random::Stream;
use ove::train::categorical::{Method, estimate};
use ove_report::{Axis, Block, Chart, Layer, Section, Style};
use serde_json::json;

use super::{Results, Setting, csv};
use crate::run::comparison::stop_if_interrupted;
use crate::run::{interrupt, progress};
use crate::terminal::note;

const POINTS: usize = 1_000_000;
const VALUES: usize = 10_000;
const BATCH: usize = 100;

/// Number of batches between two measurements of the estimate.
const INTERVAL: u64 = 1000;

/// Runs the experiment.
pub fn run(setting: &Setting<'_>) -> Result<Results> {
    note!("figure 2");
    let counts = counts(setting.seed);
    let exact: Vec<f64> = counts.iter().map(|&count| count as f64 / POINTS as f64).collect();
    // As in the paper: 0.5/b, times 0.9 after each of the 20 epochs, 2·10⁵ batches in all.
    let options = TrainOptions::from_settings(&json!({
        "objective": "one-vs-each",
        "negatives": 10,
        "batch": BATCH,
        "epochs": 20,
        "step": "sgd",
        "learning_rate": 0.5 / BATCH as f64,
        "schedule": 0.9,
        "seed": setting.seed,
    }))?;
    let mut errors = Vec::new();
    let mut line = progress::Line::new(POINTS);
    let start = Instant::now();
    let estimated = interrupt::held(|| {
        estimate(&counts, Method::Stochastic, &options, &mut |progress, scores| {
            let batches = progress.updates / BATCH as u64;
            if batches.is_multiple_of(INTERVAL) {
                errors.push((batches as f64, distance(&exact, &softmax(&scores()))));
            }
            line.update(progress);
            interrupt::flow()
        })
    })?;
    let seconds = start.elapsed().as_secs_f64();
    line.finish();
    stop_if_interrupted()?;
    let error = distance(&exact, &estimated);
    Ok(report(&exact, &estimated, &errors, error, seconds))
}

/// The counts of values among points drawn from p(k) ∝ u_k², without the values that do not occur.
fn counts(seed: u64) -> Vec<u64> {
    let mut random = Stream::of(&[seed, 20]);
    let mut cumulative = Vec::with_capacity(VALUES);
    let mut total = 0.0;
    for _ in 0..VALUES {
        total += random.uniform().powi(2);
        cumulative.push(total);
    }
    let mut counts = vec![0; VALUES];
    for _ in 0..POINTS {
        let at = random.uniform() * total;
        counts[cumulative.partition_point(|&c| c <= at).min(VALUES - 1)] += 1;
    }
    counts.retain(|&count| count > 0);
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let total = log_sum_exp(scores.iter().copied());
    scores.iter().map(|f| (f - total).exp()).collect()
}

/// The absolute norm of the difference.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

fn report(exact: &[f64], estimated: &[f64], errors: &[(f64, f64)], error: f64, seconds: f64) -> Results {
    let ranked = |p: &[f64]| p.iter().enumerate().map(|(rank, &p)| (rank as f64 + 1.0, p)).collect::<Vec<_>>();
    let series = |name: &str, points, nth| Layer::Line { name: name.into(), points, style: Style::nth(nth) };
    let sorted = Chart {
        title: "Ten thousand probabilities".into(),
        x: Axis { label: "value, by its exact probability".into(), ..Axis::default() },
        y: Axis { label: "probability".into(), ..Axis::default() },
        layers: vec![series("estimated", ranked(estimated), 3), series("exact", ranked(exact), 0)],
        ..Chart::default()
    };
    let along = Chart {
        title: "Distance to the exact estimate".into(),
        x: Axis { label: "batches of 100 points".into(), ..Axis::default() },
        y: Axis { label: "absolute norm of the difference".into(), ..Axis::default() },
        layers: vec![series("sum of absolute differences", errors.to_vec(), 3)],
        ..Chart::default()
    };
    let figure = |chart, caption: String| Block::Figure { chart, caption };
    let updates = (errors.last().map_or(0.0, |last| last.0) * BATCH as f64 / seconds) as u64;
    let blocks = vec![
        figure(
            sorted,
            "(a, b) The exact estimates N_k/N in decreasing order, and those of the sampled bound for the same values: \
             mean and range."
                .into(),
        ),
        figure(
            along,
            format!(
                "(c) From uniform probabilities to a distance of {error:.3} in {seconds:.1} s; the maximum distance of \
                 two distributions is 2."
            ),
        ),
        Block::Settings(vec![
            ("points, values".into(), format!("{POINTS}, of which {} values occur", exact.len())),
            ("per update".into(), format!("{BATCH} points, 10 negatives each")),
            ("learning rate".into(), "0.5/100, times 0.9 per epoch".into()),
            ("updates per second".into(), format!("{updates} points")),
        ]),
    ];
    Results {
        sections: vec![Section {
            id: "figure-2".into(),
            title: "Figure 2: a million points over ten thousand values".into(),
            blocks,
        }],
        rows: vec![json!({
            "figure": "2",
            "absolute_norm": error,
            "first_absolute_norm": errors.first().map(|e| e.1),
            "train_seconds": seconds,
        })],
        curves: vec![
            ("figure-2c.csv".into(), csv("batches,absolute_norm", errors.iter().map(|(b, e)| format!("{b},{e}")))),
            (
                "figure-2ab.csv".into(),
                csv("exact,estimated", exact.iter().zip(estimated).map(|(a, b)| format!("{a},{b}"))),
            ),
        ],
    }
}
