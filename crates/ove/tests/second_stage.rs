//! The second stage of trees: nothing depends on threads or on interruptions, and its settings are checked.

use ove::train::{Start, Training};
use ove::{Dataset, Error, Examples, Model, Scores, TrainOptions, evaluate, with_threads};
use serde_json::{Value, json};

use crate::fitted::{self, options, with};

const CLASSES: usize = 120;

/// Class k has a word of its own and one that it shares with its neighbour, among words that mean nothing; a twentieth
/// of the labels are random. With `several`, a row may have two labels.
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

/// A weak forest, which a second stage helps.
fn weak(rivals: usize) -> Value {
    json!({ "scores": "trees", "trees": 1, "epochs": 1, "learning_rate": 0.005, "rivals": rivals })
}

fn kept(train: &Dataset) -> Model {
    let model = fitted::model(train, weak(20));
    assert!(has_second_stage(&model), "it helps this forest");
    model
}

#[test]
fn a_kept_second_stage_has_the_same_bits_for_any_number_of_threads() {
    let train = data(6000, true, 0);
    let one = with_threads(1, || kept(&train)).unwrap();
    for threads in [2, 3, 7] {
        assert!(with_threads(threads, || kept(&train)).unwrap() == one, "{threads} threads");
    }
}

#[test]
fn a_kept_second_stage_is_in_the_file_mapped_or_pruned() {
    let train = data(6000, true, 0);
    let model = kept(&train);
    let folder = tempfile::tempdir().unwrap();
    let file = |model: &Model, name: &str| {
        let path = folder.path().join(name);
        model.save(&path).unwrap();
        Model::map(&path).unwrap()
    };
    let mapped = file(&model, "whole");
    assert!(has_second_stage(&mapped) && mapped == model && Model::from_bytes(&model.to_bytes()).unwrap() == model);
    assert_eq!(mapped.top_k_within(train.rows(), 0..500, 8), model.top_k_within(train.rows(), 0..500, 8));
    let mut pruned = model.clone();
    pruned.prune(0.06).unwrap();
    let again = file(&pruned, "pruned");
    assert!(has_second_stage(&again) && again == pruned && again.weight_count() < model.weight_count());
    let precision = |model: &Model| evaluate(model, train.rows(), &train.labels).unwrap().precision_at_1;
    assert!((precision(&again) - precision(&model)).abs() < 0.1);
}

/// The weights of a class are those of the trees plus κ times those of the second stage, and a row is explained by
/// them.
#[test]
fn both_stages_explain_a_row() {
    let train = data(6000, false, 0);
    let (both, trees) = (kept(&train), fitted::model(&train, weak(0)));
    let Scores::Trees(stages) = &both.scores else { panic!("trees") };
    let kappa = stages.second_stage().unwrap().kappa;
    assert!(kappa > 0.0 && !has_second_stage(&trees));
    let (mut moved, mut corrects) = (0, 0);
    for class in 0..CLASSES as u32 {
        let row = train.rows().row((0..train.len()).find(|&n| train.labels[n] == [class]).unwrap());
        let (all, first) = (both.weights_of(class), trees.weights_of(class));
        let of = |weights: &[(u32, f32)], feature: u32| {
            weights.iter().find(|(d, _)| *d == feature).map_or(0.0, |&(_, weight)| weight)
        };
        for ((feature, share), &value) in both.explain(row, class).into_iter().zip(row.values) {
            assert!((share - of(&all, feature) * value).abs() < 1e-6);
            let second = of(&all, feature) - of(&first, feature);
            moved += usize::from(second != 0.0);
            corrects += usize::from(feature == class / 2 && second > 0.0);
        }
    }
    // The word of a class and its neighbour speaks for both of them in the second stage too.
    assert!(moved > CLASSES && corrects > CLASSES / 2, "{moved} {corrects}");
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
