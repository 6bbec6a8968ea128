//! The main job: texts in many classes, a model, predictions with their reasons, and an evaluation.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use ove::io::read::{Input, ReadOptions, read_any, read_texts};
use ove::text::TextOptions;
use ove::train::FitStart;
use ove::{Evaluation, Model, Prediction, TrainOptions};
use ove_report::model::evaluation_page;
use ove_report::{Block, Section, Table};
use serde_json::{Value, json};

use super::Args;
use super::titles::{CLASSES, titles};
use crate::files;
use crate::run::checkpoint::Keeper;
use crate::run::comparison::stop_if_interrupted;
use crate::run::interrupt;
use crate::run::record::Recorder;
use crate::run::training::Follower;
use crate::terminal::{note, say};

/// Number of titles to train and to test on.
const ROWS: (usize, usize) = (30_000, 5_000);

/// Titles that are shown with their predictions.
const SHOWN: [&str; 3] =
    ["Owls and the flight of herons near Oslo", "Timber and roofs of Kyoto", "Songs without storms"];

/// Number of classes per shown title, and of words that speak for each.
const TOP: usize = 3;
const WORDS: usize = 3;

/// A trained and evaluated model.
pub struct Job {
    /// Where it was saved.
    pub model_path: PathBuf,
    train_path: PathBuf,
    test_path: PathBuf,
    model: Model,
    evaluation: Evaluation,
    train_seconds: f64,
    predict_seconds: f64,
    shown: Vec<Shown>,
}

/// A class of a shown title.
struct Shown {
    text: String,
    class: String,
    probability: f64,
    words: String,
}

/// Makes the titles, trains with the defaults, and evaluates.
pub fn run(args: &Args) -> Result<Job> {
    let path = |name: &str| args.output.join(name);
    let (train_path, test_path, model_path) = (path("train.tsv"), path("test.tsv"), path("titles.model"));
    let share = if args.quick { 10 } else { 1 };
    for (path, rows, part) in [(&train_path, ROWS.0 / share, 0), (&test_path, ROWS.1 / share, 1)] {
        let made = titles(rows, args.seed, part);
        let lines = made.texts.iter().zip(&made.labels).map(|(text, label)| format!("{text}\t{label}\n"));
        files::write(path, &lines.collect::<String>())?;
    }
    note!("{} titles in up to {CLASSES} classes", ROWS.0 / share);
    let Input::Texts(texts) = read_any(&train_path, &ReadOptions::default())? else { unreachable!("it is a .tsv") };
    let (text, data) = texts.fit(&TextOptions::default())?;
    let mut test = read_texts(&test_path, &ReadOptions::default())?.rows(&text);
    test.use_classes(&data.classes);

    let start = Instant::now();
    let mut model = interrupt::held(|| {
        let (mut keeper, mut recorder) = (Keeper::default(), Recorder::default());
        let mut follower = Follower::new(data.len(), &mut keeper, &mut recorder);
        let options = TrainOptions::from_settings(&json!({ "seed": args.seed }))?;
        let start = FitStart { text: Some(text), ..FitStart::default() };
        ove::fit_with(&data, &options, start, &mut |event| follower.follow(event))
    })?;
    stop_if_interrupted()?;
    let train_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let evaluation = ove::evaluate(&model, test.rows(), &test.labels)?;
    let predict_seconds = start.elapsed().as_secs_f64();
    model.card.examples = data.examples;
    model.card.evaluation = Some(evaluation.clone());
    model.save(&model_path)?;
    let shown = SHOWN.iter().flat_map(|text| shown(&model, text)).collect();
    Ok(Job { model_path, train_path, test_path, model, evaluation, train_seconds, predict_seconds, shown })
}

/// The most probable classes of a text, each with the words that speak for it.
fn shown(model: &Model, text: &str) -> Vec<Shown> {
    let rows = model.card.text.as_ref().expect("a model of texts").rows(&[text]);
    let class = |&Prediction { class, probability }: &Prediction| {
        let mut products = model.explain(rows.rows().row(0), class);
        products.sort_by(|a, b| b.1.total_cmp(&a.1));
        let word = |&(feature, product): &(u32, f32)| {
            format!("{} +{product:.1}", model.card.feature_name(feature as usize).unwrap_or_default())
        };
        let words: Vec<String> = products.iter().filter(|(_, product)| *product > 0.0).take(WORDS).map(word).collect();
        let class = model.card.classes[class as usize].clone();
        Shown { text: text.to_owned(), class, probability, words: words.join(", ") }
    };
    model.top_k(rows.rows(), TOP)[0].iter().map(class).collect()
}

impl Job {
    /// The sections of the page.
    pub fn sections(&self) -> Vec<Section> {
        let (train, test, model) = (self.train_path.display(), self.test_path.display(), self.model_path.display());
        let e = &self.evaluation;
        let figures = [
            ("command", format!("ove train {train} -o {model} --valid {test}")),
            ("training titles", self.model.card.rows.to_string()),
            ("classes", self.model.classes().to_string()),
            ("training", format!("{:.1} s", self.train_seconds)),
            ("new titles", e.rows.to_string()),
            ("their evaluation", format!("{:.2} s", self.predict_seconds)),
            ("right at once", format!("{:.1} %", 100.0 * e.precision_at_1)),
            ("calibration error", format!("{:.1} %", 100.0 * e.ece)),
        ];
        let mut measured = evaluation_page(&self.model, e, "new titles").sections.swap_remove(0);
        (measured.id, measured.title) = ("measured".into(), "Measured on new titles".into());
        measured.blocks.insert(0, Block::Text(
            "If a model says 80 %, it should be right in 80 of 100 cases. Some titles name no country, or have a word of \
             another subject: nobody could be sure of those, and the probabilities say so."
                .into(),
        ));
        vec![
            Section {
                id: "job".into(),
                title: "From texts to a model".into(),
                blocks: vec![
                    Block::Text(format!(
                        "The titles are in {train}, one per line with a tab before the class. One command trains; everything \
                         that is not given is chosen."
                    )),
                    Block::Settings(figures.map(|(name, value)| (name.to_owned(), value)).into()),
                ],
            },
            Section {
                id: "why".into(),
                title: "What it says, and why".into(),
                blocks: vec![
                    Block::Text("The words are those that add most to the score of a class.".into()),
                    Block::Settings(vec![
                        ("classes of titles typed in".into(), format!("ove predict {model} - --top 3")),
                        ("the same on a page".into(), format!("ove serve {model}")),
                    ]),
                    Block::Table(self.table()),
                ],
            },
            measured,
        ]
    }

    fn table(&self) -> Table {
        let cells = |(n, shown): (usize, &Shown)| {
            let text = if n % TOP == 0 { shown.text.clone() } else { String::new() };
            vec![text, shown.class.clone(), format!("{:.1} %", 100.0 * shown.probability), shown.words.clone()]
        };
        Table {
            caption:
                "Three titles that the model has not seen, the most probable classes of each, and the words that speak \
                      for them. The last one names no country."
                    .into(),
            head: ["title", "class", "probability", "words that speak for it"].map(String::from).into(),
            rows: self.shown.iter().enumerate().map(cells).collect(),
        }
    }

    /// The figures of `--json`.
    pub fn json(&self) -> Value {
        json!({
            "model": self.model_path,
            "rows": self.model.card.rows,
            "classes": self.model.classes(),
            "train_seconds": self.train_seconds,
            "predict_seconds": self.predict_seconds,
            "error": self.evaluation.error,
            "nlpd": self.evaluation.nlpd,
            "ece": self.evaluation.ece,
            "precision_at_1": self.evaluation.precision_at_1,
        })
    }

    /// Prints what the page shows first.
    pub fn print(&self) -> Result<()> {
        let e = &self.evaluation;
        say!(
            "{} titles in {} classes: trained in {:.1} s; of {} new titles {:.1} % right at once, calibration error {:.1} %\n",
            self.model.card.rows,
            self.model.classes(),
            self.train_seconds,
            e.rows,
            100.0 * e.precision_at_1,
            100.0 * e.ece
        )?;
        say!("{}", self.table().text())?;
        Ok(())
    }
}
