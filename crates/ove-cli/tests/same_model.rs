//! The same data and settings give the same model file from Rust and from the command line, byte by byte. (The Python
//! package is held to the command line by its own tests.)

use std::ops::ControlFlow;

use ove::io::read::{Input, ReadOptions, read_any};
use ove::text::TextOptions;
use ove::train::FitStart;
use ove::{TrainOptions, fit_with};
use serde_json::{Value, json};

use crate::util::Dir;

/// Texts of several subjects each, made of words that belong to them.
fn texts() -> String {
    let line = |n: u32| {
        let subjects = [n % 7, (n * 5 + 1) % 7, 3 + n % 4];
        let words = |s: &u32| format!("word{s} term{} common{}", s * 3 % 11, n % 5);
        let text: Vec<String> = subjects.iter().map(words).collect();
        let mut labels: Vec<String> = subjects[..1 + n as usize % 3].iter().map(|s| format!("s{s}")).collect();
        labels.dedup();
        format!("{}\t{}\n", text.join(" "), labels.join(" "))
    };
    (0..1200).map(line).collect()
}

/// Trains by [`fit_with`] on a file as the command line reads it.
fn by_library(dir: &Dir, file: &str, first_label: bool, settings: &Value) -> Vec<u8> {
    let options = ReadOptions { first_label, ..ReadOptions::default() };
    let (text, mut data) = match read_any(&dir.path(file), &options).unwrap() {
        Input::Rows(data) => (None, data),
        Input::Texts(texts) => {
            let (text, data) = texts.fit(&TextOptions::default()).unwrap();
            (Some(text), data)
        }
    };
    data.drop_unused_classes();
    let options = TrainOptions::from_settings(settings).unwrap();
    let start = FitStart { text, ..FitStart::default() };
    fit_with(&data, &options, start, &mut |_| ControlFlow::Continue(())).unwrap().to_bytes()
}

#[test]
fn the_library_and_the_command_line_train_the_same_model() {
    let dir = Dir::with_big_data();
    dir.create("texts.tsv", &texts());
    let every_kind = [
        json!({}),
        json!({ "solver": "stochastic", "epochs": 2, "learning-rate": 0.3, "sampler": "rivals", "batch": 64 }),
        json!({ "solver": "batch", "l2": 0.5, "iterations": 10 }),
        json!({ "trees": 2, "seed": 3 }),
        json!({ "scores": "factored", "rank": 6, "epochs": 2, "learning-rate": 0.2 }),
    ];
    for (file, first_label) in [("big.svm", false), ("texts.tsv", false), ("texts.tsv", true)] {
        for settings in &every_kind {
            let flags = settings.as_object().unwrap().iter().map(|(name, value)| match value {
                Value::String(text) => format!(" --{name} {text}"),
                number => format!(" --{name} {number}"),
            });
            let first = if first_label { " --first-label" } else { "" };
            dir.run(&format!("train {file} -o my.model --no-examples{first}{}", flags.collect::<String>())).ok();
            assert!(
                dir.bytes("my.model") == by_library(&dir, file, first_label, settings),
                "{file}{first} {settings}: the model files differ"
            );
        }
    }
}
