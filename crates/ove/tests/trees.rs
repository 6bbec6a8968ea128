//! Trees over classes: they learn, their probabilities are probabilities, and nothing depends on threads.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ove::platform::random::Stream;
use ove::synthetic::{Sparse, sparse};
use ove::train::{Start, Training};
use ove::{Dataset, Error, Examples, Model, Prediction, Scores, TrainOptions, evaluate, fit, with_threads};
use serde_json::{Value, json};

use crate::file_parts::{joined, parts};
use crate::fitted::{self, options, with};

const CLASSES: usize = 200;

/// Class k has the words k and k + 1 of its own and a few that all classes share; with `several`, a row may have two
/// neighbours.
fn data(rows: usize, several: bool, seed: u64) -> Dataset {
    let mut random = Stream::of(&[seed, 77]);
    let mut data = Dataset::new(CLASSES + 31, (0..CLASSES).map(|k| format!("c{k:03}")).collect());
    for _ in 0..rows {
        let class = random.below(CLASSES as u64) as u32;
        data.push_entry(class, 0.6);
        data.push_entry(class + 1, 0.5);
        data.push_entry(CLASSES as u32 + 1 + random.below(30) as u32, 0.6);
        let next = (class + 1) % CLASSES as u32;
        if several && random.below(2) == 0 { data.end_row(&[class, next]) } else { data.end_row(&[class]) }
    }
    data
}

/// The model of three trees, with some settings changed.
fn model(data: &Dataset, changes: Value) -> Model {
    fitted::model(data, with(&json!({ "scores": "trees" }), changes))
}

#[test]
fn trees_find_the_class_of_rows_they_never_saw() {
    for several in [false, true] {
        let train = data(20_000, several, 0);
        let test = data(1000, several, 1);
        let found = evaluate(&model(&train, json!({})), test.rows(), &test.labels).unwrap();
        assert!(found.error < 0.02, "several {several}: {found:?}");
        assert!(found.ece < 0.1, "several {several}: {found:?}");
    }
}

#[test]
fn probabilities_of_all_classes_sum_to_one() {
    let train = data(5000, false, 0);
    let model = model(&train, json!({}));
    let logs = model.log_probabilities(train.rows());
    for (n, top) in model.top_k_within(train.rows(), 0..20, 5).iter().enumerate() {
        let logs = &logs[n * CLASSES..(n + 1) * CLASSES];
        let sum: f64 = logs.iter().map(|log| log.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        for prediction in top {
            let exact = logs[prediction.class as usize].exp();
            assert!((prediction.probability - exact).abs() < 1e-6, "{prediction:?} {exact}");
        }
    }
}

/// With several labels, a probability is that of being one of them: the sum is the number of labels.
#[test]
fn probabilities_of_several_labels_sum_to_their_number() {
    let (train, test) = (data(20_000, true, 0), data(1000, true, 1));
    let model = model(&train, json!({}));
    let sum: f64 = model.log_probabilities(test.rows()).iter().map(|log| log.exp()).sum();
    let labels = test.labels.all().len() as f64;
    assert!((sum / labels - 1.0).abs() < 0.05, "{sum} of {labels}");
    for top in model.top_k(test.rows(), 1) {
        assert!(top[0].probability < 1.0, "{top:?}");
    }
}

/// With few rows, trees of a part of them calibrate those of all, however many trees and leaves there are.
#[test]
fn few_rows_have_calibrated_probabilities_too() {
    for (several, trees) in [(true, json!({})), (true, json!({ "trees": 1, "leaves": 1 })), (false, json!({}))] {
        let (train, test) = (data(800, several, 0), data(1000, several, 1));
        let settings = options(with(&json!({ "scores": "trees" }), trees.clone()));
        let model = fit(&train, &settings, |_| ControlFlow::Continue(())).unwrap();
        let found = evaluate(&model, test.rows(), &test.labels).unwrap();
        assert!(found.ece < 0.1, "{trees}: {found:?}");
        let sum: f64 = model.log_probabilities(test.rows()).iter().map(|log| log.exp()).sum();
        let labels = test.labels.all().len() as f64;
        assert!((sum / labels - 1.0).abs() < 0.1, "{trees}: {sum} of {labels}");
    }
}

/// A hundred held-out rows are few for a calibration: up to 20,000 rows, a fit has it from a fold.
#[test]
fn a_calibration_that_is_given_is_kept() {
    let (train, test) = (data(6000, false, 0), data(1000, false, 1));
    let settings = options(json!({ "scores": "trees", "trees": 1 }));
    let fitted = fit(&train, &settings, |_| ControlFlow::Continue(())).unwrap();
    let by_run = model(&train, json!({ "trees": 1 }));
    let calibration = |model: &Model| match &model.scores {
        Scores::Trees(trees) => trees.calibration,
        _ => panic!("trees"),
    };
    assert_ne!(calibration(&fitted), calibration(&by_run));
    let nlpd = |model: &Model| evaluate(model, test.rows(), &test.labels).unwrap().nlpd;
    assert!(nlpd(&fitted) < nlpd(&by_run) + 0.01, "{} {}", nlpd(&fitted), nlpd(&by_run));
}

#[test]
fn rows_are_predicted_the_same_together_and_alone() {
    let train = data(3000, true, 0);
    let model = model(&train, json!({}));
    for (n, found) in model.top_k(train.rows(), 5).iter().enumerate() {
        assert_eq!(*found, model.top_k_within(train.rows(), n..n + 1, 5)[0], "row {n}");
    }
}

/// The leaves that are searched may have fewer classes than are asked for.
#[test]
fn as_many_classes_are_found_as_are_asked_for() {
    for several in [false, true] {
        let train = data(3000, several, 0);
        let model = model(&train, json!({}));
        let logs = model.log_probabilities(train.rows());
        for count in [0, 1, 5, CLASSES - 1, CLASSES, CLASSES + 1] {
            for (n, top) in model.top_k_within(train.rows(), 0..100, count).iter().enumerate() {
                let mut classes: Vec<u32> = top.iter().map(|found| found.class).collect();
                classes.sort_unstable();
                classes.dedup();
                assert_eq!((top.len(), classes.len()), (count.min(CLASSES), count.min(CLASSES)), "row {n} of {count}");
                for found in top {
                    let exact = logs[n * CLASSES + found.class as usize].exp();
                    assert!((found.probability - exact).abs() < 1e-6, "{count}: {found:?} {exact}");
                }
                assert!(top.is_sorted_by(|a, b| a.probability >= b.probability), "row {n} of {count}: {top:?}");
                let best = top.first().is_none_or(|best| {
                    let row = &logs[n * CLASSES..(n + 1) * CLASSES];
                    row.iter().all(|&log| log <= row[best.class as usize])
                });
                assert!(best, "row {n} of {count}: {top:?}");
            }
        }
    }
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let train = data(3000, true, 0);
    let with = |threads| with_threads(threads, || model(&train, json!({}))).unwrap();
    let one = with(1);
    for threads in [2, 3, 7] {
        assert!(with(threads) == one, "{threads} threads");
    }
    assert!(model(&train, json!({ "seed": 1 })).scores != one.scores);
}

#[test]
fn a_file_gives_the_same_trees_back() {
    for several in [false, true] {
        let train = data(2000, several, 0);
        let model = model(&train, json!({ "trees": 2 }));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trees.model");
        model.save(&path).unwrap();
        assert!(Model::load(&path).unwrap() == model);
        assert!(Model::map(&path).unwrap() == model);
    }
}

/// Every tensor of the file, with one number changed at a time. One that is no number, or beyond every place, is
/// refused wherever it stands. With its lowest bit changed, an order of classes or a number of leaves is refused;
/// others are refused too, or are what another model would have in their place, and nothing else.
#[test]
fn a_file_with_a_number_changed_is_refused_or_that_of_another_model() {
    let train = data(500, false, 0);
    let model = model(&train, json!({ "trees": 1 }));
    let bytes = model.to_bytes();
    let (header, data) = parts(&bytes);
    let (mut tensors, mut refused, mut others) = (0, 0, 0);
    for (name, tensor) in header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__") {
        tensors += 1;
        let place = |i: usize| tensor["data_offsets"][i].as_u64().unwrap() as usize;
        let width = if tensor["dtype"] == "U16" { 2 } else { 4 };
        let numbers = (place(1) - place(0)) / width;
        // The first, the last, and some between.
        for number in (0..numbers).step_by(numbers.div_ceil(40)).chain([numbers - 1]) {
            let at = place(0) + number * width;
            let changed = |change: &dyn Fn(&mut [u8])| {
                let mut changed = data.to_vec();
                change(&mut changed[at..at + width]);
                changed
            };
            let open = |data: &[u8]| Model::from_bytes(&joined(&header, data));
            let found = open(&changed(&|bytes| bytes[width - 2..].fill(0xff)));
            assert!(matches!(found, Err(Error::ModelFile { .. })), "{name} {number}");

            let changed = changed(&|bytes| bytes[0] ^= 1);
            match (name.as_str(), open(&changed)) {
                (_, Err(Error::ModelFile { .. })) => refused += 1,
                (_, Err(other)) => panic!("{name} {number}: {other}"),
                ("order" | "leaves", Ok(_)) => panic!("{name} {number} is not refused"),
                (_, Ok(other)) => {
                    others += 1;
                    assert!(other.scores != model.scores, "{name} {number}");
                    assert!(parts(&other.to_bytes()).1 == changed, "{name} {number} is saved as it was");
                    assert_eq!(other.top_k_within(train.rows(), 0..5, 5).len(), 5);
                }
            }
        }
    }
    assert!(tensors == 7 && refused > 100 && others > 10, "{tensors} {refused} {others}");
    let cut = Model::from_bytes(&bytes[..bytes.len() - 5]);
    assert!(matches!(cut, Err(Error::ModelFile { .. })));
}

#[test]
fn a_row_is_explained_by_the_weights_of_its_features() {
    let train = data(4000, false, 0);
    let model = model(&train, json!({}));
    let row = train.rows().row(3);
    let class = train.labels[3][0];
    let weights = model.weights_of(class);
    let reasons = model.explain(row, class);
    assert_eq!(reasons.len(), row.indices.len());
    for (&(feature, reason), &value) in reasons.iter().zip(row.values) {
        let weight = weights.iter().find(|(of, _)| *of == feature).map_or(0.0, |(_, weight)| *weight);
        assert!((reason - weight * value).abs() < 1e-6, "{feature}: {reason} {weight} {value}");
    }
    assert!(reasons[0].1 > 0.0, "the class's own word speaks for it: {reasons:?}");
}

#[test]
fn small_weights_can_be_dropped() {
    let train = data(5000, false, 0);
    let mut model = model(&train, json!({}));
    let before = model.weight_count();
    model.prune(0.2).unwrap();
    assert!(model.weight_count() < before && model.weight_count() > 0);
    let found = evaluate(&model, train.rows(), &train.labels).unwrap();
    assert!(found.error < 0.05, "{found:?}");
}

#[test]
fn a_class_that_weighs_more_pulls_its_words_more() {
    let train = data(4000, false, 0);
    let pull = |weight: f64| {
        let mut list = vec![1.0; CLASSES];
        list[7] = weight;
        // Small steps, so that no class reaches its margin.
        let model = model(&train, json!({ "class_weight": list, "epochs": 1, "learning_rate": 0.1 }));
        model.weights_of(7).iter().find(|(feature, _)| *feature == 7).unwrap().1
    };
    assert!(pull(5.0) > 1.2 * pull(1.0), "{} {}", pull(5.0), pull(1.0));
}

#[test]
fn what_speaks_for_a_class_are_its_words() {
    let train = data(10_000, false, 0);
    let mut weights = model(&train, json!({})).weights_of(50);
    weights.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut best: Vec<u32> = weights[..2].iter().map(|&(feature, _)| feature).collect();
    best.sort_unstable();
    assert_eq!(best, [50, 51]);
}

#[test]
fn a_run_that_is_ended_early_leaves_trees() {
    let train = data(60_000, false, 0);
    let examples = Examples::of(&train);
    let options = options(json!({ "scores": "trees", "epochs": 20 }));
    let mut training = Training::new(examples, &options, Start::default()).unwrap();
    // One thread, so that a step is far from the end on any machine.
    let progress = with_threads(1, || training.step()).unwrap().unwrap().unwrap();
    assert!((0.0..1.0).contains(&progress.done) && training.snapshot().is_none(), "{progress:?}");
    let stopped = training.finish().unwrap();
    assert!(!stopped.finished);
    let top = stopped.into_model(&train, &examples).top_k_within(train.rows(), 0..10, 5);
    assert!(top.iter().all(|top| top.len() == 5));
}

/// Whoever waits for a step can stop the run: most of the time before the first node must not pass in one piece.
#[test]
fn the_preparation_is_divided_into_steps() {
    let shape = Sparse { rows: 60_000, features: 20_000, classes: 20_000, entries: 20, signal: 0.5 };
    let train = sparse(shape, 1, 0);
    let options = options(json!({ "scores": "trees", "trees": 3, "epochs": 1 }));
    let timed = |since: &mut Instant| std::mem::replace(since, Instant::now()).elapsed();
    let mut since = Instant::now();
    let mut training = Training::new(Examples::of(&train), &options, Start::default()).unwrap();
    let mut pieces = vec![timed(&mut since)];
    while training.step().unwrap().unwrap().done == 0.0 {
        pieces.push(timed(&mut since));
    }
    let (longest, all) = (pieces.iter().max().unwrap(), pieces.iter().sum::<Duration>());
    // What counts is how long Ctrl-C waits. A machine so fast that the preparation takes less than half a second may
    // spend most of it in one of the pieces that are not cut by time, such as the index of the rows of each class; up
    // to 250 ms are half of what `test_running.py` allows for a run of any kind.
    let slice = Duration::from_millis(250);
    assert!(pieces.len() > 5 && *longest < (all / 2).max(slice), "{pieces:?}");
    // What is stopped there has nothing to save, and goes on from nothing.
    let fresh = || Training::new(Examples::of(&train), &options, Start::default()).unwrap();
    let mut resumed = fresh();
    resumed.restore(&fresh().state()).unwrap();
    assert!(resumed.step().unwrap().is_some());
}

#[test]
fn epochs_are_chosen_on_held_out_rows() {
    let grow = |data: &Dataset, epochs: Option<usize>, threads| {
        with_threads(threads, || fitted::trained(data, json!({ "trees": 1, "epochs": epochs }))).unwrap()
    };
    let epochs = |trained: &ove::train::Trained| trained.options.epochs.unwrap();
    // Eight rows of a class are few to learn it from in three epochs.
    let clear = data(2000, false, 0);
    // Labels that have nothing to do with their rows: more epochs learn them by heart.
    let mut random = Stream::of(&[3]);
    let mut noise = Dataset::new(300, clear.classes.clone());
    for _ in 0..20_000 {
        (0..3).for_each(|part| noise.push_entry(100 * part + random.below(100) as u32, 0.6));
        noise.end_row(&[random.below(CLASSES as u64) as u32]);
    }
    assert_eq!(epochs(&grow(&noise, None, 1)), 3);
    let chosen = grow(&clear, None, 1);
    assert!(epochs(&chosen) > 3, "{}", epochs(&chosen));
    // The choice is the same for any number of threads, and nothing but a choice.
    for again in [grow(&clear, None, 2), grow(&clear, chosen.options.epochs, 2)] {
        assert!(epochs(&again) == epochs(&chosen) && again.scores == chosen.scores);
    }
    assert!(epochs(&grow(&data(400, false, 0), None, 1)) > 3, "too few rows to choose on");
}

/// The same rows with all values times `factor`.
fn times(factor: f32, plain: &Dataset) -> Dataset {
    let mut scaled = Dataset::new(plain.rows().features(), plain.classes.clone());
    for n in 0..plain.len() {
        let row = plain.rows().row(n);
        row.indices.iter().zip(row.values).for_each(|(&feature, &value)| scaled.push_entry(feature, factor * value));
        scaled.end_row(&plain.labels[n]);
    }
    scaled
}

fn top(data: &Dataset) -> Vec<Vec<Prediction>> {
    model(data, json!({})).top_k_within(data.rows(), 0..100, 5)
}

#[test]
fn rows_in_other_units_get_the_same_probabilities() {
    let plain = data(5000, true, 0);
    assert_eq!(top(&plain), top(&times(32.0, &plain)));
}

#[test]
fn rows_without_length_or_beyond_all_lengths_get_probabilities() {
    let plain = data(1000, false, 0);
    for factor in [0.0, 1e-30, 1e25] {
        for row in top(&times(factor, &plain)) {
            assert!(row.iter().all(|found| (0.0..=1.0).contains(&found.probability)), "× {factor:e}: {row:?}");
        }
    }
}

#[test]
fn settings_out_of_range_are_named() {
    let refused = |settings| TrainOptions::from_settings(&settings).unwrap_err().to_string();
    assert_eq!(refused(json!({ "trees": 0 })), "`trees` must be at least 1, got 0");
    assert_eq!(refused(json!({ "trees": 1, "epochs": 0 })), "`epochs` must be at least 1, got 0");
    let negative = json!({ "trees": 1, "learning_rate": -1 });
    assert_eq!(refused(negative), "`learning-rate` must be a positive number, got -1");
}
