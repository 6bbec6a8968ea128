//! The policy of a fit: what it chooses, what it tells, how it is stopped, and that it goes on from a checkpoint in the
//! bits of a fit that never stopped.

use std::ops::ControlFlow;
use std::path::Path;

use ove::data::Examples;
use ove::options::{ScoreOptions, Solver};
use ove::synthetic::{Sparse, plane, sparse};
use ove::train::checkpoint::Saved;
use ove::train::{Event, FitStart, Start, Stop, Training};
use ove::{Dataset, Error, Model, Result, TrainOptions, evaluate, fit, fit_with, with_threads};
use serde_json::{Value, json};

use crate::fitted::{options, with};

const SHAPE: Sparse = Sparse { rows: 1500, features: 60, classes: 12, entries: 8, signal: 0.5 };

/// What a fit tells, in a word each; of steps only the first.
fn told(data: &Dataset, settings: Value) -> (Result<Model>, Vec<&'static str>) {
    let mut words: Vec<&str> = Vec::new();
    let model = fit(data, &options(settings), |event| {
        let word = match event {
            Event::Choosing => "choosing",
            Event::Compared(_) => "compared",
            Event::Chosen(_) => "chosen",
            Event::TooFewRows => "too few",
            Event::HeldOut(_) => "held out",
            Event::Step { .. } => "step",
            Event::Retrying { .. } => "retrying",
            Event::Trained(_) => "trained",
            Event::Calibrated { .. } => "calibrated",
            _ => "new",
        };
        if words.last() != Some(&word) {
            words.push(word);
        }
        ControlFlow::Continue(())
    });
    (model, words)
}

fn went_well(data: &Dataset, settings: Value) -> (Model, Vec<&'static str>) {
    let (model, words) = told(data, settings);
    (model.unwrap(), words)
}

#[test]
fn what_is_not_given_is_chosen_on_held_out_rows() {
    let data = sparse(SHAPE, 1, 0);
    for settings in [json!({ "scores": "linear" }), json!({ "rank": 4 })] {
        let (model, words) = went_well(&data, settings);
        assert_eq!(words, ["held out", "choosing", "chosen", "step", "trained", "calibrated"]);
        let chosen = &model.card.options;
        assert_eq!((chosen.l2, model.card.rows), (Some(0.0), 1425));
        assert!(chosen.learning_rate.is_some() && model.card.temperature.is_some() && model.card.finished);
        // 1.2 million visits, within 5 and 60 epochs.
        assert_eq!(chosen.epochs, Some(60));
    }
    // Epochs that are given leave the rate to be chosen.
    let (model, words) = went_well(&data, json!({ "epochs": 2, "scores": "linear" }));
    assert_eq!(words, ["held out", "choosing", "chosen", "step", "trained", "calibrated"]);
    assert!(model.card.options.epochs == Some(2) && model.card.options.learning_rate != Some(0.1));
    // With a rate given, nothing is.
    let (model, words) = went_well(&data, json!({ "learning_rate": 0.1, "scores": "linear" }));
    assert_eq!(words, ["step", "trained"]);
    assert_eq!((model.card.rows, model.card.temperature), (1500, None));
    // The batch solver has nothing to choose; trees choose for themselves, and of few rows, other trees calibrate them.
    let (batch, words) = went_well(&data, json!({ "solver": "batch", "iterations": 5 }));
    assert!(words == ["step", "trained"] && batch.card.options.l2 == Some(1.0));
    let (trees, words) = went_well(&data, json!({ "scores": "trees" }));
    assert_eq!(words, ["choosing", "step", "trained"]);
    let many = sparse(Sparse { rows: 20_000, ..SHAPE }, 1, 0);
    assert_eq!(went_well(&many, json!({ "scores": "trees" })).1, ["step", "trained"]);
    let options = &trees.card.options;
    assert_eq!((options.learning_rate, options.l2), (Some(0.7), Some(0.2)));
    assert!(options.epochs.is_some() && trees.is_calibrated() && trees.card.temperature.is_none());
}

#[test]
fn few_rows_choose_nothing() {
    let (model, words) = went_well(&plane(200, 0), json!({ "scores": "linear" }));
    assert_eq!(words, ["too few", "step", "trained"]);
    assert_eq!((model.card.rows, model.card.temperature), (200, None));
    assert_eq!(model.card.options.learning_rate, Some(0.1));
}

#[test]
fn weights_share_what_memory_there_is() {
    let data = sparse(SHAPE, 1, 0);
    let given = json!({ "scores": "linear", "epochs": 1, "memory": "5kB" });
    let (model, _) = went_well(&data, given);
    let Some(ScoreOptions::Linear(linear)) = &model.card.options.scores else { panic!("linear scores") };
    // Twelve bytes for a cell of AdaGrad, and a cell for each bias.
    assert_eq!(linear.cells, Some(5000 / 12 - 12));
    assert!(matches!(linear.solver, Solver::Stochastic(_)) && model.weight_count() == 5000 / 12 - 12);
    let refused = |settings: Value| told(&data, settings).0.unwrap_err().to_string();
    let batch = refused(json!({ "solver": "batch", "memory": "5kB" }));
    assert!(batch.contains("memory"), "{batch}");
    let vectors = refused(json!({ "rank": 64, "memory": "5kB", "epochs": 1 }));
    assert!(vectors.contains("memory"), "{vectors}");
    let trees = refused(json!({ "scores": "trees", "memory": "100B" }));
    assert!(trees.contains("memory"), "{trees}");
}

/// A learning rate that is not given gives way to a tenth of it until the run does not diverge.
#[test]
fn a_run_that_diverges_begins_anew_with_a_smaller_rate() {
    let data = large_numbers();
    let (model, words) = went_well(&data, diverging());
    assert_eq!(words, ["step", "retrying", "step", "retrying", "step", "trained"][..words.len()].to_vec());
    assert!(words.contains(&"retrying") && words.last() == Some(&"trained"));
    let rate = model.card.options.learning_rate.unwrap();
    assert!(rate < 0.1 && rate > 1e-8, "{rate}");
    // One that is given does not.
    let mut given = diverging();
    given["learning_rate"] = json!(0.1);
    assert!(matches!(told(&data, given).0, Err(Error::Diverged { .. })));
}

/// A search that begins where runs diverge goes down to where they do not.
#[test]
fn a_search_leaves_rates_that_diverge() {
    let (model, words) = went_well(&large_numbers(), json!({ "scores": "linear", "step": "sgd", "batch": 50 }));
    assert_eq!(words, ["held out", "choosing", "chosen", "step", "trained", "calibrated"]);
    assert!(model.card.options.learning_rate.unwrap() < 0.1 / 3.0);
}

/// With few rows per class, the learning rate of factored scores is 1 / mean ‖x‖₁ without a search.
#[test]
fn the_learning_rate_of_factored_scores_follows_from_the_rows() {
    let data = sparse(Sparse { classes: 150, ..SHAPE }, 1, 0);
    let norm = |n: usize| data.rows().row(n).values.iter().map(|x| f64::from(x.abs())).sum::<f64>();
    let expected = data.len() as f64 / (0..data.len()).map(norm).sum::<f64>();
    // The first rate, whether or not the run diverged with it.
    let rate = |(model, words): &(Model, Vec<&str>)| {
        let retries = words.iter().filter(|word| **word == "retrying").count() as i32;
        model.card.options.learning_rate.unwrap() * 10f64.powi(retries)
    };
    let chosen = went_well(&data, json!({ "rank": 8 }));
    assert_eq!((&chosen.1[..3], chosen.1.last()), (&["held out", "chosen", "step"][..], Some(&"calibrated")));
    assert!((rate(&chosen) / expected - 1.0).abs() < 0.02, "{} {expected}", rate(&chosen));
    // Over all rows, if only epochs are given.
    let given = went_well(&data, json!({ "rank": 8, "epochs": 1 }));
    assert!((rate(&given) / expected - 1.0).abs() < 1e-9, "{} {expected}", rate(&given));
    // With enough rows per class it is searched.
    assert!(went_well(&sparse(SHAPE, 1, 0), json!({ "rank": 2 })).1.contains(&"choosing"));
}

/// The same rows in units a hundredth as large.
fn large_numbers() -> Dataset {
    times(&sparse(SHAPE, 1, 0), 100.0)
}

fn times(plain: &Dataset, factor: f32) -> Dataset {
    let mut data = Dataset::new(plain.features(), plain.classes.clone());
    for n in 0..plain.len() {
        let row = plain.rows().row(n);
        row.indices.iter().zip(row.values).for_each(|(&feature, &value)| data.push_entry(feature, factor * value));
        data.end_row(&plain.labels[n]);
    }
    data
}

fn diverging() -> Value {
    json!({ "scores": "linear", "step": "sgd", "epochs": 1, "batch": 50 })
}

/// Fits, keeping a checkpoint after this many steps in all.
fn keeping(data: &Dataset, options: &TrainOptions, step: usize, path: &Path) -> Model {
    let mut steps = 0;
    let model = fit(data, options, |event| {
        if let Event::Step { training, .. } = event {
            steps += 1;
            if steps == step {
                training.save(path).unwrap();
            }
        }
        ControlFlow::Continue(())
    });
    assert!(steps > step, "{steps} steps");
    model.unwrap()
}

#[test]
fn a_fit_that_is_resumed_ends_in_the_same_model() {
    let (folder, data) = (tempfile::tempdir().unwrap(), sparse(SHAPE, 1, 0));
    let chooses = json!({ "scores": "linear" });
    let given = json!({ "scores": "linear", "epochs": 2, "learning_rate": 0.1, "calibrate": true });
    let batch = json!({ "solver": "batch", "iterations": 20, "l2": 1.0 });
    let vectors = json!({ "rank": 4 });
    let big = large_numbers();
    // The last one diverges after its checkpoint, and after a checkpoint of its second try.
    for (n, (data, settings, step)) in [
        (&data, chooses, 9),
        (&data, given, 9),
        (&data, batch, 9),
        (&data, vectors, 9),
        (&big, diverging(), 2),
        (&big, diverging(), 45),
    ]
    .into_iter()
    .enumerate()
    {
        let (path, options) = (folder.path().join(n.to_string()), options(settings.clone()));
        let undisturbed = keeping(data, &options, step, &path);
        let saved = Saved::open(&path).unwrap();
        for threads in [1, 3] {
            let start = FitStart { saved: Some(&saved), ..FitStart::default() };
            let resumed = with_threads(threads, || fit_with(data, &options, start, &mut |_| ControlFlow::Continue(())));
            let resumed = resumed.unwrap().unwrap_or_else(|error| panic!("{settings} from step {step}: {error}"));
            assert!(resumed == undisturbed, "{settings} from step {step}, {threads} threads");
        }
    }
}

/// What is given is not taken from a checkpoint.
#[test]
fn a_fit_is_not_resumed_with_other_settings() {
    let (folder, data) = (tempfile::tempdir().unwrap(), sparse(SHAPE, 1, 0));
    let path = folder.path().join("state");
    let given = json!({ "scores": "linear", "epochs": 2, "learning_rate": 0.1 });
    keeping(&data, &options(given.clone()), 3, &path);
    let saved = Saved::open(&path).unwrap();
    let refused = |changes: Value| {
        let start = FitStart { saved: Some(&saved), ..FitStart::default() };
        let options = options(with(&given, changes));
        fit_with(&data, &options, start, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string()
    };
    assert_eq!(refused(json!({ "epochs": 3 })), "`epochs` is 3; the checkpoint was written with 2");
    assert_eq!(refused(json!({ "learning_rate": 0.2 })), "`learning-rate` is 0.2; the checkpoint was written with 0.1");
    assert_eq!(refused(json!({ "seed": 1 })), "`seed` is 1; the checkpoint was written with 0");
}

#[test]
fn a_fit_that_is_stopped_keeps_what_it_reached_or_nothing() {
    let data = sparse(SHAPE, 1, 0);
    let given = options(json!({ "scores": "linear", "epochs": 3, "batch": 50, "calibrate": true }));
    let stopped = |options: &TrainOptions, stop: Stop, is_it: fn(&Event<'_>) -> bool| {
        let mut calls = 0;
        let model = fit(&data, options, |event| match is_it(&event) {
            true => {
                calls += 1;
                ControlFlow::Break(stop)
            }
            false => ControlFlow::Continue(()),
        });
        (model, calls)
    };
    fn is_late(event: &Event<'_>) -> bool {
        matches!(event, Event::Step { progress, .. } if progress.updates > 500)
    }
    let (kept, calls) = stopped(&given, Stop::Keep, is_late);
    let kept = kept.unwrap();
    assert!(calls == 1 && !kept.card.finished && kept.card.temperature.is_some());
    assert!(evaluate(&kept, data.rows(), &data.labels).unwrap().error < 0.9);
    let (discarded, calls) = stopped(&given, Stop::Discard, is_late);
    assert!(matches!(discarded, Err(Error::Stopped)) && calls == 1);
    // While the learning rate is chosen there is no model to keep.
    let chooses = options(json!({ "scores": "linear" }));
    for stop in [Stop::Keep, Stop::Discard] {
        let (stopped, calls) = stopped(&chooses, stop, |event| matches!(event, Event::Choosing));
        assert!(matches!(stopped, Err(Error::Stopped)) && calls == 1, "{stop:?}: {calls} calls");
    }
}

/// A model that goes on has seen the old rows and the new ones, and what was chosen is not chosen again.
#[test]
fn a_model_goes_on_with_more_rows() {
    let (old, new) = (sparse(SHAPE, 1, 0), sparse(SHAPE, 1, 1));
    let given = options(json!({ "scores": "linear", "epochs": 2, "learning_rate": 0.1 }));
    let first = fit(&old, &given, |_| ControlFlow::Continue(())).unwrap();
    let mut heard = Vec::new();
    let start = FitStart { from: Some(&first), ..FitStart::default() };
    let second = fit_with(&new, &first.card.options, start, &mut |event| {
        heard.push(matches!(event, Event::Choosing | Event::HeldOut(_)));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(!heard.contains(&true));
    assert_eq!(second.card.rows, 3000);
    assert_eq!(second.card.counts.iter().sum::<u64>(), 3000);
    let of = |model: &Model| evaluate(model, new.rows(), &new.labels).unwrap().nlpd;
    assert!(of(&second) < of(&first), "{} {}", of(&second), of(&first));
    // So does one that was read from its file, which says nothing of memory.
    let read = Model::from_bytes(&first.to_bytes()).unwrap();
    let start = FitStart { from: Some(&read), ..FitStart::default() };
    let again = fit_with(&new, &read.card.options, start, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(again == second);
}

#[test]
fn a_fit_is_the_same_for_any_number_of_threads() {
    let data = sparse(SHAPE, 1, 0);
    for settings in [json!({}), json!({ "rank": 8 }), json!({ "trees": 2 })] {
        let with = |threads| with_threads(threads, || went_well(&data, settings.clone()).0).unwrap();
        assert!(with(1) == with(3), "{settings}");
    }
}

#[test]
fn rows_beyond_the_data_and_classes_beyond_the_training_rows_are_refused() {
    let (data, settings) =
        (sparse(SHAPE, 1, 0), options(json!({ "scores": "linear", "epochs": 1, "calibrate": true })));
    let mut validation = sparse(Sparse { classes: 13, ..SHAPE }, 1, 1);
    validation.labels.renumber(|_| Some(12));
    let start = FitStart { tune_on: Some(&validation), ..FitStart::default() };
    let refused = fit_with(&data, &settings, start, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string();
    assert!(
        refused.ends_with("has a class beyond the 12 of the training rows; see `Dataset::use_classes`"),
        "{refused}"
    );
    let beyond = Training::new(Examples::of(&data).with_index(&[3, 1500]), &settings, Start::default());
    assert_eq!(beyond.err().unwrap().to_string(), "the index has row 1500, but there are 1500 rows");
}
