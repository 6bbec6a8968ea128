//! The second stage of trees: it gains on rows that it never saw, its probabilities are probabilities, and nothing depends
//! on threads or on interruptions.

use ove::train::{Start, Training};
use ove::{Dataset, Error, Examples, Model, Scores, TrainOptions, evaluate, with_threads};
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

/// Trees that were hardly trained, which leave much to a second stage.
fn weak() -> Value {
    json!({ "scores": "trees", "trees": 1, "epochs": 1, "learning_rate": 0.1 })
}

fn model(data: &Dataset, changes: Value) -> Model {
    fitted::model(data, with(&weak(), changes))
}

fn has_second_stage(model: &Model) -> bool {
    let Scores::Trees(trees) = &model.scores else { panic!("trees") };
    trees.second_stage().is_some()
}

#[test]
fn labels_of_rows_it_never_saw_become_more_probable() {
    for several in [false, true] {
        let (train, test) = (data(6000, several, 0), data(3000, several, 1));
        let measured = |changes| {
            let model = model(&train, changes);
            (has_second_stage(&model), evaluate(&model, test.rows(), &test.labels).unwrap())
        };
        let (stage, alone) = measured(json!({ "rivals": 0 }));
        assert!(!stage && alone.bound.is_none());
        for objective in ["merged", "one-vs-each"] {
            let (stage, both) = measured(json!({ "objective": objective }));
            assert!(stage, "{objective}, several: {several}");
            assert!(both.nlpd < alone.nlpd, "{objective}, several: {several}: {} {}", both.nlpd, alone.nlpd);
            assert!(both.error <= alone.error + 0.005, "{} {}", both.error, alone.error);
            assert!(both.bound.unwrap() < 0.0 && both.gap.unwrap() > 0.0, "{:?} {:?}", both.bound, both.gap);
        }
    }
}

#[test]
fn probabilities_of_all_classes_are_those_of_the_top() {
    for several in [false, true] {
        let train = data(6000, several, 0);
        let model = model(&train, json!({ "rivals": 7 }));
        assert!(has_second_stage(&model));
        let logs = model.log_probabilities(train.rows());
        for count in [1, 5, 7, 9, CLASSES] {
            for (n, top) in model.top_k_within(train.rows(), 0..50, count).iter().enumerate() {
                let logs = &logs[n * CLASSES..(n + 1) * CLASSES];
                let sum: f64 = logs.iter().map(|log| log.exp()).sum();
                assert!(several || (sum - 1.0).abs() < 1e-4, "{sum}");
                let mut classes: Vec<u32> = top.iter().map(|found| found.class).collect();
                classes.sort_unstable();
                classes.dedup();
                assert_eq!((top.len(), classes.len()), (count, count));
                assert!(top.iter().take(7).is_sorted_by(|a, b| a.probability >= b.probability), "{top:?}");
                for found in top.iter().take(7) {
                    let exact = logs[found.class as usize].exp();
                    assert!((found.probability - exact).abs() < 1e-6, "{count}: {found:?} {exact}");
                }
            }
        }
    }
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
    let settings = weak();
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
fn a_run_that_is_ended_within_the_second_stage_is_a_model() {
    let train = data(6000, false, 0);
    let options = options(weak());
    let mut training = Training::new(Examples::of(&train), &options, Start::default()).unwrap();
    let mut last = 0.0;
    while training.progress().is_none_or(|progress| progress.bound.is_none() || progress.done < 0.95) {
        let progress = training.step().unwrap().unwrap();
        assert!((last..=1.0).contains(&progress.done), "{last} {progress:?}");
        last = progress.done;
    }
    let stopped = training.finish().unwrap();
    assert!(!stopped.finished);
    let model = stopped.into_model(&train, &Examples::of(&train));
    assert!(has_second_stage(&model));
    assert!(evaluate(&model, train.rows(), &train.labels).unwrap().error < 0.4);
}

#[test]
fn a_file_gives_the_same_second_stage_back() {
    let train = data(6000, true, 0);
    let mut model = model(&train, json!({}));
    let path = tempfile::tempdir().unwrap();
    let path = path.path().join("second.model");
    let before = model.weight_count();
    for threshold in [0.0, 0.3] {
        model.prune(threshold).unwrap();
        model.save(&path).unwrap();
        for read in [Model::load(&path).unwrap(), Model::map(&path).unwrap()] {
            assert!(read == model && has_second_stage(&read));
            assert_eq!(read.top_k_within(train.rows(), 0..9, 5), model.top_k_within(train.rows(), 0..9, 5));
        }
    }
    assert!(model.weight_count() < before);
}

#[test]
fn both_stages_explain_a_row() {
    let train = data(6000, false, 0);
    let model = model(&train, json!({}));
    assert!(has_second_stage(&model));
    let (row, class) = (train.rows().row(3), train.labels[3][0]);
    let (weights, reasons) = (model.weights_of(class), model.explain(row, class));
    for (&(feature, reason), &value) in reasons.iter().zip(row.values) {
        let weight = weights.iter().find(|(of, _)| *of == feature).map_or(0.0, |(_, weight)| *weight);
        assert!((reason - weight * value).abs() < 1e-6, "{feature}: {reason} {weight} {value}");
    }
    let mut alone = model.clone();
    alone.prune(1e9).unwrap();
    assert!(alone.weights_of(class).is_empty());
    let trees_alone = self::model(&train, json!({ "rivals": 0 }));
    assert!(trees_alone.weights_of(class) != weights);
}

#[test]
fn a_row_that_weighs_more_is_learned_more() {
    // Two halves of the rows contradict each other; the heavier one wins.
    let mut train = data(6000, false, 0);
    let heavy = |n: usize| n.is_multiple_of(2);
    let mut contradicting = Dataset::new(train.rows().features(), train.classes.clone());
    for n in 0..train.len() {
        let row = train.rows().row(n);
        row.indices.iter().zip(row.values).for_each(|(&feature, &value)| contradicting.push_entry(feature, value));
        let class = train.labels[n][0];
        contradicting.end_row(&[if heavy(n) { class } else { (class + 2) % CLASSES as u32 }]);
    }
    contradicting.row_weights = (0..train.len()).map(|n| if heavy(n) { 4.0 } else { 0.25 }).collect();
    train = contradicting;
    let model = model(&train, json!({ "trees": 3, "epochs": 3, "learning_rate": 0.7 }));
    assert!(has_second_stage(&model));
    let right = |of: &dyn Fn(usize) -> bool| {
        let rows: Vec<usize> = (0..train.len()).filter(|&n| of(n)).collect();
        let hits =
            rows.iter().filter(|&&n| model.top_k_within(train.rows(), n..n + 1, 1)[0][0].class == train.labels[n][0]);
        hits.count() as f64 / rows.len() as f64
    };
    assert!(right(&heavy) > 0.7 && right(&|n| !heavy(n)) < 0.3, "{} {}", right(&heavy), right(&|n| !heavy(n)));
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
