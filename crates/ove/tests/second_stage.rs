//! The second stage of trees: nothing depends on threads or on interruptions, and its settings are checked.

use ove::train::{Start, Training};
use ove::{Dataset, Error, Examples, Model, Scores, TrainOptions, with_threads};
use serde_json::{Value, json};

use crate::fitted::{self, options, with};

const CLASSES: usize = 120;

/// Class k has a word of its own and one that it shares with its neighbour, among words that mean nothing; a twentieth of
/// the labels are random. With `several`, a row may have two labels.
fn data(rows: usize, several: bool, seed: u64) -> Dataset {
    let mut random = ove::platform::random::Stream::of(&[seed, 91]);
    let mut data = Dataset::new(2 * CLASSES + 60, (0..CLASSES).map(|k| format!("c{k:03}")).collect());
    for _ in 0..rows {
        let class = random.below(CLASSES as u64) as u32;
        let mut labels = vec![if random.below(20) == 0 { random.below(CLASSES as u64) as u32 } else { class }];
        let mut words = vec![class / 2, 2 * CLASSES as u32 + random.below(60) as u32];
        if random.below(3) > 0 {
            words.push(CLASSES as u32 + class);
        }
        let other = (class + 40) % CLASSES as u32;
        if several && random.below(2) == 0 && labels[0] != other {
            words.extend([other / 2, CLASSES as u32 + other]);
            labels.push(other);
        }
        words.sort_unstable();
        words.dedup();
        words.into_iter().for_each(|word| data.push_entry(word, 0.6));
        labels.sort_unstable();
        data.end_row(&labels);
    }
    data
}

fn settings() -> Value {
    json!({ "scores": "trees", "epochs": 3 })
}

fn model(data: &Dataset, changes: Value) -> Model {
    fitted::model(data, with(&settings(), changes))
}

fn has_second_stage(model: &Model) -> bool {
    let Scores::Trees(trees) = &model.scores else { panic!("trees") };
    trees.second_stage().is_some()
}

#[test]
fn rows_are_predicted_the_same_together_and_alone() {
    let train = data(6000, true, 0);
    let model = model(&train, json!({}));
    let together = model.top_k(train.rows(), 5);
    for n in (0..train.len()).step_by(61) {
        assert_eq!(together[n], model.top_k_within(train.rows(), n..n + 1, 5)[0], "row {n}");
    }
}

#[test]
fn same_bits_for_any_number_of_threads_and_after_any_interruption() {
    let train = data(6000, true, 0);
    let settings = json!({ "scores": "trees", "trees": 1, "epochs": 1, "learning_rate": 0.1 });
    let whole = with_threads(1, || fitted::trained(&train, settings.clone())).unwrap();
    assert!(whole.finished && whole.trace.len() == 7, "{:?}", whole.trace);
    assert!(whole.trace.is_sorted_by(|a, b| a.bound < b.bound), "the objective rises: {:?}", whole.trace);
    let options = options(settings);
    let start = || Training::new(Examples::of(&train), &options, Start::default()).unwrap();
    // Within the nodes, the search for rivals and the waves.
    let mut run = start();
    let (mut steps, mut resumed) = (0, 0);
    while let Some(progress) = with_threads(2, || run.step()).unwrap().unwrap() {
        steps += 1;
        if (progress.done > 0.5 && resumed == 0) || (progress.bound.is_some() && steps % 17 == 0) {
            let state = run.state();
            run = start();
            with_threads(3, || run.restore(&state)).unwrap().unwrap();
            resumed += 1;
        }
    }
    assert!(resumed >= 3, "{resumed}");
    let interrupted = run.finish().unwrap();
    assert!(interrupted.finished && interrupted.scores == whole.scores && interrupted.trace == whole.trace);
}

#[test]
fn settings_of_the_second_stage() {
    let refused = |settings| TrainOptions::from_settings(&settings).unwrap_err().to_string();
    for objective in ["softmax", "bouchard", "sampled-softmax"] {
        let found = refused(json!({ "trees": 2, "objective": objective }));
        let must = "be merged or one-vs-each for the second stage of trees";
        assert_eq!(found, format!("`objective` must {must}, got {objective}"));
    }
    let other = refused(json!({ "scores": "linear", "rivals": 5 }));
    assert_eq!(other, "`rivals` is a setting of trees, which linear scores do not use");
    let negative = refused(json!({ "rivals": -1 }));
    assert_eq!(negative, "`rivals` must be an integer of at least 0, got -1");
    // Neither rows for a fit nor for a second stage.
    let small = data(2000, false, 0);
    assert!(!has_second_stage(&model(&small, json!({}))));
    let large = data(6000, false, 0);
    let tight = options(json!({ "scores": "trees", "trees": 1, "epochs": 1, "rivals": 100, "memory": "1MB" }));
    let Err(found) = fitted::run(Examples::of(&large), &tight) else { panic!("more than a megabyte of candidates") };
    assert!(matches!(&found, Error::Mismatch(m) if m.contains("try fewer `rivals`, or 0")), "{found}");
}
