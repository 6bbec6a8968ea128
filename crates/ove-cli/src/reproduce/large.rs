//! The large experiment (section 4.2 and figure 3d): AmazonCat-13K with one label a row, one row and five remaining classes an update.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use ove::options::Options;
use ove::step::{Schedule, StepKind};
use ove::{Dataset, Fit, evaluate};
use serde_json::json;

use super::{Results, Setting, csv, find, read};
use crate::chart::{Axis, Chart, Layer, Style};
use crate::experiment::stop_if_interrupted;
use crate::page::{Block, Section, Table};
use crate::{interrupt, memory, train};

const NAME: &str = "amazoncat-13k";

/// Runs the experiment on the real set or on a generated one of its shape, whichever lies in the data folder.
pub fn run(setting: &Setting<'_>) -> Result<Results> {
    let section = |blocks| Section { id: "large".into(), title: "Large scale: one update a row".into(), blocks };
    let file = |name| find(setting.data, NAME, name);
    let Some((train_path, test_path)) = file("train.txt").zip(file("test.txt")) else {
        let text = format!(
            "{NAME} was not found: looked for {folder}/{NAME}/train.txt and test.txt (.gz or not) in the form of the extreme \
             classification repository, where the real set comes from. `ove generate {NAME} -o {folder}/{NAME}` makes a set of the same shape.",
            folder = setting.data.display()
        );
        eprintln!("{text}");
        return Ok(Results { sections: vec![section(vec![Block::Text(text)])], ..Results::default() });
    };
    eprintln!("large: reading {}", train_path.display());
    let mut data = read(&train_path)?;
    data.drop_unused_classes();
    let options = Options {
        classes: 5,
        batch: 1,
        epochs: 5,
        step: StepKind::Sgd,
        learning_rate: 0.5,
        schedule: Schedule::Geometric(0.5),
        seed: setting.seed,
        threads: setting.threads,
        ..Options::default()
    };
    eprintln!("large: training");
    let start = Instant::now();
    let fit = interrupt::held(|| train::fit(&data, &options))?;
    let seconds = start.elapsed().as_secs_f64();
    stop_if_interrupted()?;
    report(data, &test_path, fit, options, seconds).map(|(blocks, row, curve)| Results {
        sections: vec![section(blocks)],
        rows: vec![row],
        curves: vec![("figure-3d.csv".into(), curve)],
    })
}

fn report(
    data: Dataset,
    test: &Path,
    fit: Fit,
    options: Options,
    seconds: f64,
) -> Result<(Vec<Block>, serde_json::Value, String)> {
    let rows = data.len() as f64;
    let updates_per_second = fit.updates as f64 / seconds;
    let curve: Vec<(f64, f64)> = fit.trace.iter().map(|p| (p.updates as f64 / rows, p.bound / rows)).collect();
    let (threads, settings) = (options.threads, settings(&options));
    let model = train::into_model(fit, &data, options);
    let majority = 1.0 - model.card.counts.iter().copied().max().unwrap_or(0) as f64 / rows;
    drop(data);

    eprintln!("large: evaluating {}", test.display());
    let mut test = read(test)?;
    test.use_classes(&model.card.classes);
    let evaluation = evaluate(&model, test.rows(), &test.labels, threads)?;
    let peak = memory::peak_bytes();
    let chart = Chart {
        title: "The bound while it is sampled, a row".into(),
        x: Axis { label: "epochs".into(), ..Axis::default() },
        y: Axis { label: "one-vs-each bound of one row".into(), ..Axis::default() },
        layers: vec![Layer::Line {
            name: "mean of the estimates since the last point".into(),
            points: curve.clone(),
            style: Style::nth(3),
        }],
        ..Chart::default()
    };
    let line = |name: &str, ours: String, paper: &str| vec![name.to_owned(), ours, paper.to_owned()];
    let table = Table {
        caption: "The paper ran on the real set and its own machine; a generated set has its shape, not its words, so errors compare only on the real one.".into(),
        head: ["", "ours", "paper"].map(String::from).into(),
        rows: vec![
            line("training rows", model.card.rows.to_string(), "1186239"),
            line("weights", format!("{} × {}", model.classes(), model.features() + 1), "2919 × 203883"),
            line("seconds for five epochs", format!("{seconds:.1}"), "1560"),
            line("updates a second", format!("{updates_per_second:.0}"), "3802"),
            line("test error", format!("{:.4}", evaluation.error), "0.5311"),
            line("error of always the largest class", format!("{majority:.4}"), "0.79"),
            line("peak memory", peak.map_or("unknown".into(), |bytes| memory::Bytes(bytes).to_string()), "—"),
        ],
    };
    let blocks = vec![
        Block::Table(table),
        Block::Figure {
            chart,
            caption: "Figure 3d: one row and five remaining classes an update, the rate halved after each epoch."
                .into(),
        },
        Block::Settings(settings),
    ];
    let row = json!({
        "set": NAME,
        "error": evaluation.error,
        "train_seconds": seconds,
        "updates_per_second": updates_per_second,
        "peak_memory_bytes": peak,
    });
    Ok((blocks, row, csv("epochs,bound_a_row", curve.iter().map(|(e, b)| format!("{e},{b}")))))
}

fn settings(o: &Options) -> Vec<(String, String)> {
    vec![
        ("an update sees".into(), format!("{} row, {} remaining classes", o.batch, o.classes)),
        ("step".into(), format!("{}, rate {} times {} an epoch", o.step, o.learning_rate, o.schedule)),
        ("seed".into(), o.seed.to_string()),
    ]
}
