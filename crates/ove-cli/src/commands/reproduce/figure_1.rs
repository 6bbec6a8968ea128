//! Figure 1: the three bounds on small examples. (a) 200 points over ten values; (b) five classes in the plane; (c) the
//! sampled bound of (b).

use anyhow::Result;
use ove::TrainOptions;
use ove::bound::Objective;
use ove::platform::random::Stream;
use ove::synthetic;
use ove::train::categorical::{Method as Estimate, estimate};
use ove_report::comparison::{self, Method, Outcome};
use ove_report::{Axis, Block, Chart, Layer, Section, Table};
use serde_json::json;

use super::small::norm;
use super::{Results, Setting, csv};
use crate::run;
use crate::run::comparison::Settings;
use crate::terminal::note;

const VALUES: usize = 10;
const POINTS: usize = 200;

/// Runs all three panels.
pub fn run(setting: &Setting<'_>) -> Result<Results> {
    note!("figure 1");
    let mut results = probabilities(setting)?;
    results.add(plane(setting)?);
    Ok(results)
}

/// Panel a.
fn probabilities(setting: &Setting<'_>) -> Result<Results> {
    let counts = counts(setting.seed);
    let by = |objective| {
        let settings = json!({ "solver": "batch", "objective": objective, "tolerance": 1e-10 });
        let options = TrainOptions::from_settings(&settings)?;
        estimate(&counts, Estimate::Batch, &options, &mut |_, _| std::ops::ControlFlow::Continue(()))
    };
    let (exact, ours, bouchard) = (by(Objective::Softmax)?, by(Objective::OneVsEach)?, by(Objective::Bouchard)?);
    let farthest = |p: &[f64]| exact.iter().zip(p).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);

    let bars = [(Method::Softmax, &exact), (Method::OneVsEach, &ours), (Method::Bouchard, &bouchard)];
    let layer = |(method, values): &(Method, &Vec<f64>)| Layer::Bars {
        name: method.name().into(),
        values: values.to_vec(),
        style: method.style(),
    };
    let chart = Chart {
        title: "Estimated probabilities of ten values".into(),
        x: Axis { label: "value".into(), categories: (1..=VALUES).map(|k| k.to_string()).collect(), ..Axis::default() },
        y: Axis { label: "probability".into(), ..Axis::default() },
        layers: bars.iter().map(layer).collect(),
        ..Chart::default()
    };
    let caption = format!(
        "(a) {POINTS} points over {VALUES} values. One-vs-each differs from the exact estimate by at most {:.1e}; \
         Bouchard's bound overestimates the large probabilities and underestimates the small ones, by up to {:.3}.",
        farthest(&ours),
        farthest(&bouchard)
    );
    let rows = (0..VALUES).map(|k| format!("{},{},{},{},{}", k + 1, counts[k], exact[k], ours[k], bouchard[k]));
    Ok(Results {
        sections: vec![Section {
            id: "figure-1".into(),
            title: "Figure 1: probabilities of ten values".into(),
            blocks: vec![Block::Figure { chart, caption }],
        }],
        rows: vec![json!({
            "figure": "1a",
            "softmax": exact,
            "one_vs_each": ours,
            "bouchard": bouchard,
        })],
        curves: vec![("figure-1a.csv".into(), csv("value,count,softmax,one_vs_each,bouchard", rows))],
    })
}

/// Points spread over the values by p(k) ∝ u_k², the largest first.
fn counts(seed: u64) -> Vec<u64> {
    let mut random = Stream::of(&[seed, 10]);
    let masses: Vec<f64> = (0..VALUES).map(|_| random.uniform().powi(2)).collect();
    let total: f64 = masses.iter().sum();
    let mut counts = vec![0; VALUES];
    for _ in 0..POINTS {
        let mut at = random.uniform() * total;
        let k = masses.iter().position(|mass| {
            at -= mass;
            at < 0.0
        });
        counts[k.unwrap_or(VALUES - 1)] += 1;
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

/// Panels b and c.
fn plane(setting: &Setting<'_>) -> Result<Results> {
    let data = synthetic::plane(200, setting.seed);
    let settings = Settings {
        shared: json!({ "l2": 0.1, "seed": setting.seed }),
        stochastic: json!({ "negatives": 1, "batch": 10, "epochs": 100, "step": "sgd", "learning_rate": 0.05 }),
        batch: json!({ "tolerance": 1e-8 }),
    };
    let outcomes: Vec<Outcome> = Method::ALL
        .into_iter()
        .map(|method| run::comparison::run(method, &settings, &data, &data))
        .collect::<Result<_>>()?;
    let softmax = outcomes[0].linear();
    let cells = |outcome: &Outcome| {
        vec![
            outcome.method.name().to_owned(),
            format!("{:.2}", outcome.maximum),
            format!("{:.3}", norm(softmax, outcome.linear())),
            format!("{:.3}", outcome.evaluation.error),
        ]
    };
    let table = Table {
        caption: "The maximised objectives of panel (c), and the distance of the parameters from those of the exact \
                  softmax (eq. 17)."
            .into(),
        head: ["method", "maximum", "norm", "error"].map(String::from).into(),
        rows: outcomes.iter().map(cells).collect(),
    };
    let sampled = &outcomes[3].curve;
    let rows = sampled.iter().map(|point| format!("{},{}", point.epochs, point.bound));
    let figure = |chart, caption: &str| Block::Figure { chart, caption: caption.into() };
    Ok(Results {
        sections: vec![Section {
            id: "figure-1-plane".into(),
            title: "Figure 1: five classes in the plane".into(),
            blocks: vec![
                figure(
                    comparison::plane(&data, &outcomes),
                    "(b) 200 points of five classes and the decision boundaries of the three bounds.",
                ),
                figure(
                    comparison::bounds("The sampled bound and the three maxima", &outcomes),
                    "(c) Batches of ten rows with one negative each. One-vs-each is the tighter bound although it has \
                     no variational parameters.",
                ),
                Block::Table(table),
            ],
        }],
        rows: outcomes
            .iter()
            .map(|outcome| {
                json!({
                    "figure": "1c",
                    "method": outcome.method.name(),
                    "bound": outcome.maximum,
                    "norm": norm(softmax, outcome.linear()),
                    "error": outcome.evaluation.error,
                    "train_seconds": outcome.train_seconds,
                })
            })
            .collect(),
        curves: vec![("figure-1c.csv".into(), csv("epochs,bound", rows))],
    })
}
