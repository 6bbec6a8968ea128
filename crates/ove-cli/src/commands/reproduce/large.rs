//! The large experiment (section 4.2 and figure 3d): one label per row, one row and five negatives per update.
//!
//! On AmazonCat-13K as in the paper, and on library titles with ten times as many classes.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use ove::io::read::{ReadOptions, read_texts};
use ove::text::{Text, TextOptions};
use ove::train::{Start, Trained, Training};
use ove::{Dataset, Evaluation, Examples, Model, TrainOptions, evaluate};
use ove_report::{Axis, Block, Chart, Layer, Section, Style, Table};
use serde_json::json;

use super::{Results, Setting, csv, find, read};
use crate::run::comparison::stop_if_interrupted;
use crate::run::{interrupt, memory, progress};
use crate::terminal::note;

/// A data set of the experiment.
struct Set {
    name: &'static str,
    /// The files with training and test rows.
    files: [&'static str; 2],
    /// Its origin.
    source: &'static str,
    /// The initial learning rate.
    learning_rate: f64,
    /// Number of cells of hashed weights, if there are too many weights.
    cells: Option<usize>,
    /// The paper's values for the lines of the table, if it uses the data set.
    paper: Option<[&'static str; 7]>,
}

const SETS: [Set; 2] = [
    Set {
        name: "amazoncat-13k",
        files: ["train.txt", "test.txt"],
        source: "the extreme classification repository; `ove generate amazoncat-13k` generates data of the same shape",
        learning_rate: 0.5,
        cells: None,
        paper: Some(["1186239", "2919 × 203883", "1560", "3802", "0.5311", "0.79", "—"]),
    },
    Set {
        name: "yso-titles",
        files: ["train.tsv", "test.tsv"],
        source: "the Annif project's corpora: titles with subjects of the general Finnish ontology, a line per title \
                 with a tab and its labels",
        learning_rate: 1.0,
        // A dense table of 2.5 billion weights would take 10 GB.
        cells: Some(750_000_000),
        paper: None,
    },
];

/// Number of negatives per update, and the factor of the learning rate per epoch, as in the paper.
const CLASSES: usize = 5;
const DECAY: f64 = 0.5;

/// Runs the experiment on each data set in the data folder.
pub fn run(setting: &Setting<'_>) -> Result<Results> {
    let mut results = Results::default();
    let mut blocks = Vec::new();
    for set in &SETS {
        let file = |name| find(setting.data, set.name, name);
        let [train, test] = set.files.map(file);
        match train.zip(test) {
            Some(files) => blocks.extend(run_set(set, files, setting, &mut results)?),
            None => {
                let text = format!(
                    "{} was not found: looked for {} and {} (.gz or not) in {}. It comes from {}.",
                    set.name,
                    set.files[0],
                    set.files[1],
                    setting.data.join(set.name).display(),
                    set.source
                );
                note!("{text}");
                blocks.push(Block::Text(text));
            }
        }
    }
    results.sections.push(Section { id: "large".into(), title: "Large scale: one update per row".into(), blocks });
    Ok(results)
}

fn run_set(
    set: &Set,
    (train_path, test_path): (PathBuf, PathBuf),
    setting: &Setting<'_>,
    results: &mut Results,
) -> Result<Vec<Block>> {
    note!("large: reading {}", train_path.display());
    let (text, mut data) = read_train(&train_path)?;
    data.drop_unused_classes();
    let options = TrainOptions::from_settings(&json!({
        "negatives": CLASSES,
        "batch": 1,
        "epochs": 5,
        "step": "sgd",
        "learning_rate": set.learning_rate,
        "schedule": DECAY,
        "cells": set.cells.filter(|&cells| cells / data.classes.len() <= data.features()),
        "seed": setting.seed,
    }))?;
    note!("large: training on {}", set.name);
    let start = Instant::now();
    let trained = interrupt::held(|| train(&data, &options))?;
    let seconds = start.elapsed().as_secs_f64();
    stop_if_interrupted()?;

    let rows = data.len() as f64;
    let curve: Vec<_> = trained.trace.iter().map(|p| (p.updates as f64 / rows, p.bound / rows)).collect();
    let outcome = Outcome::new(set, text, data, &test_path, trained, seconds)?;
    results.rows.push(outcome.row(set));
    let name = if set.paper.is_some() { "figure-3d.csv".into() } else { format!("large-{}.csv", set.name) };
    results.curves.push((name, outcome.csv(&curve)));
    Ok(outcome.blocks(set, curve))
}

fn train(data: &Dataset, options: &TrainOptions) -> Result<Trained> {
    let mut training = Training::new(Examples::of(data), options, Start::default())?;
    let mut line = progress::Line::new(data.len());
    while let Some(progress) = training.step()? {
        line.update(&progress);
        if interrupt::requested() {
            break;
        }
    }
    line.finish();
    Ok(training.finish()?)
}

/// Reads rows of numbers, or texts with the default text options.
fn read_train(path: &Path) -> Result<(Option<Text>, Dataset)> {
    if is_text(path) {
        let (text, data) = read_texts(path, &first_label())?.fit(&TextOptions::default())?;
        return Ok((Some(text), data));
    }
    Ok((None, read(path)?))
}

fn is_text(path: &Path) -> bool {
    path.to_string_lossy().trim_end_matches(".gz").ends_with(".tsv")
}

fn first_label() -> ReadOptions {
    ReadOptions { first_label: true, ..ReadOptions::default() }
}

/// The results on a data set.
struct Outcome {
    model: Model,
    evaluation: Evaluation,
    seconds: f64,
    updates_per_second: f64,
    peak: Option<u64>,
}

impl Outcome {
    fn new(set: &Set, text: Option<Text>, data: Dataset, test: &Path, trained: Trained, seconds: f64) -> Result<Self> {
        let updates_per_second = trained.updates as f64 / seconds;
        let model = trained.into_model(&data, &Examples::of(&data));
        drop(data);
        note!("large: evaluating {}", set.name);
        let mut test = match &text {
            Some(text) => read_texts(test, &first_label())?.rows(text),
            None => read(test)?,
        };
        test.use_classes(&model.card.classes);
        let evaluation = evaluate(&model, test.rows(), &test.labels)?;
        Ok(Outcome { model, evaluation, seconds, updates_per_second, peak: memory::peak_bytes() })
    }

    fn row(&self, set: &Set) -> serde_json::Value {
        json!({
            "set": set.name,
            "error": self.evaluation.error,
            "train_seconds": self.seconds,
            "updates_per_second": self.updates_per_second,
            "peak_memory_bytes": self.peak,
        })
    }

    fn csv(&self, curve: &[(f64, f64)]) -> String {
        csv("epochs,bound_a_row", curve.iter().map(|(e, b)| format!("{e},{b}")))
    }

    fn blocks(&self, set: &Set, curve: Vec<(f64, f64)>) -> Vec<Block> {
        let chart = Chart {
            title: format!("{}: the sampled bound per row", set.name),
            x: Axis { label: "epochs".into(), ..Axis::default() },
            y: Axis { label: "one-vs-each bound of one row".into(), ..Axis::default() },
            layers: vec![Layer::Line {
                name: "mean of the estimates since the last point".into(),
                points: curve,
                style: Style::nth(3),
            }],
            ..Chart::default()
        };
        let figure = if set.paper.is_some() { "Figure 3d: one" } else { "One" };
        let caption = format!("{figure} row and five negatives per update, the learning rate halved after each epoch.");
        let seed = self.model.card.options.seed.to_string();
        let settings = vec![
            ("per update".into(), format!("1 row, {CLASSES} negatives")),
            ("step".into(), format!("sgd, learning rate {} times {DECAY} per epoch", set.learning_rate)),
            ("seed".into(), seed),
        ];
        vec![Block::Table(self.table(set)), Block::Figure { chart, caption }, Block::Settings(settings)]
    }

    fn table(&self, set: &Set) -> Table {
        let (model, rows) = (&self.model, self.model.card.rows as f64);
        let majority = 1.0 - model.card.counts.iter().copied().max().unwrap_or(0) as f64 / rows;
        let ours = [
            ("training rows", model.card.rows.to_string()),
            ("weights", format!("{} × {}", model.classes(), model.features() + 1)),
            ("seconds for five epochs", format!("{:.1}", self.seconds)),
            ("updates per second", format!("{:.0}", self.updates_per_second)),
            ("test error", format!("{:.4}", self.evaluation.error)),
            ("error of the majority class", format!("{majority:.4}")),
            ("peak memory", self.peak.map_or("unknown".into(), |bytes| memory::Bytes(bytes).to_string())),
        ];
        let caption = match set.paper {
            Some(_) => {
                "amazoncat-13k. The paper used the real data and another machine; generated data have the same shape \
                 but not the same words, so errors are comparable only for the real data."
            }
            None => "yso-titles. The same experiment on real titles, classified by their first subject.",
        };
        let lines = ours.into_iter().enumerate().map(|(i, (name, value))| {
            [name.to_owned(), value].into_iter().chain(set.paper.map(|paper| paper[i].to_owned())).collect()
        });
        let head = ["", "ours"].into_iter().chain(set.paper.map(|_| "paper")).map(String::from).collect();
        Table { caption: caption.into(), head, rows: lines.collect() }
    }
}
