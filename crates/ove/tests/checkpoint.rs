//! Checkpoints: a run that goes on ends in the bits of one that was never stopped, and nothing else is mistaken for a
//! checkpoint.

use std::fs;
use std::path::{Path, PathBuf};

use ove::synthetic::{Sparse, sparse};
use ove::train::checkpoint::{Checkpoints, Every, Saved};
use ove::train::{Start, Trained, Training};
use ove::{Dataset, Examples, Scores, TrainOptions, with_threads};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fitted::{self, options, with};

const SHAPE: Sparse = Sparse { rows: 600, features: 120, classes: 24, entries: 8, signal: 0.5 };

fn data() -> Dataset {
    sparse(SHAPE, 1, 0)
}

fn stochastic() -> Value {
    json!({ "batch": 50, "epochs": 3, "learning_rate": 0.1, "l2": 0.5, "seed": 7 })
}

/// Past the second look at the diagonal, and with the memory full.
fn batch() -> Value {
    json!({ "solver": "batch", "l2": 1e-3, "tolerance": 1e-7, "iterations": 30 })
}

/// Every kind of state that is not of trees: both steps, cells that are shared, rivals, SGD cells that are rebased,
/// vectors, and L-BFGS.
fn kinds() -> Vec<Value> {
    let changed = |changes| with(&stochastic(), changes);
    vec![
        stochastic(),
        changed(json!({ "step": "sgd", "learning_rate": 0.5, "schedule": 0.7 })),
        changed(json!({ "step": "sgd", "l2": 500.0, "schedule": 1.0 })),
        changed(json!({ "cells": 500, "penalty_on_bias": false })),
        changed(json!({ "objective": "merged", "sampler": "rivals", "negatives": 6 })),
        changed(json!({ "objective": "sampled-softmax", "sampler": "uniform" })),
        changed(json!({ "objective": "normalised", "sampler": "frequency", "negatives": 2 })),
        changed(json!({ "objective": "normalised", "sampler": "rivals", "rank": 5 })),
        changed(json!({ "objective": "softmax", "class_weight": "balanced" })),
        changed(json!({ "rank": 5 })),
        changed(json!({ "rank": 5, "step": "sgd", "penalty_on_bias": false })),
        batch(),
        with(&batch(), json!({ "objective": "softmax" })),
    ]
}

/// Trains to the end and keeps the state after each of these steps.
fn keeping(options: &TrainOptions, scores: Option<&Scores>, steps: &[usize], folder: &Path) -> (Trained, Vec<PathBuf>) {
    let (data, mut paths) = (data(), Vec::new());
    let mut training = Training::new(Examples::of(&data), options, Start { scores, ..Start::default() }).unwrap();
    let mut step = 0;
    while training.step().unwrap().is_some() {
        step += 1;
        if steps.contains(&step) {
            let path = folder.join(format!("{step}"));
            training.save(&path).unwrap();
            paths.push(path);
        }
    }
    (training.finish().unwrap(), paths)
}

/// Goes on from a checkpoint to the end.
fn resume(data: &Dataset, options: &TrainOptions, scores: Option<&Scores>, path: &Path) -> ove::Result<Trained> {
    let saved = Saved::open(path)?;
    let mut training = Training::new(Examples::of(data), options, Start { scores, ..Start::default() })?;
    training.restore(&saved)?;
    while training.step()?.is_some() {}
    training.finish()
}

/// The bits of all weights.
fn bits(scores: &Scores) -> Vec<u32> {
    let of = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    match scores {
        Scores::Linear(linear) => of(linear.table()),
        Scores::Factored(factored) => {
            let features = (0..factored.features() as u32).flat_map(|feature| of(factored.feature(feature)));
            let classes = (0..factored.classes() as u32).flat_map(|class| of(factored.class(class)));
            features.chain(classes).chain(of(factored.bias())).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn assert_same(a: &Trained, b: &Trained, what: &str) {
    assert!(bits(&a.scores) == bits(&b.scores), "{what}: other weights");
    assert_eq!((&a.trace, a.updates, a.finished), (&b.trace, b.updates, b.finished), "{what}");
}

#[test]
fn every_kind_of_run_ends_in_the_same_bits_from_anywhere() {
    let data = data();
    for settings in kinds() {
        let (folder, options) = (TempDir::new().unwrap(), options(settings.clone()));
        // The first batch, within an epoch, at its end, after it, and near the end of the run.
        let (undisturbed, paths) = keeping(&options, None, &[1, 5, 12, 13, 24, 29, 35], folder.path());
        assert!(paths.len() >= 6, "{} checkpoints of {settings}", paths.len());
        for (i, path) in paths.iter().enumerate() {
            let resumed = with_threads(1 + i % 3, || resume(&data, &options, None, path).unwrap()).unwrap();
            assert_same(&resumed, &undisturbed, &format!("{} of {settings}", path.display()));
        }
    }
}

#[test]
fn a_run_that_began_with_weights_goes_on_too() {
    let data = data();
    let vectors = with(&stochastic(), json!({ "rank": 5 }));
    for (first, settings) in [(stochastic(), stochastic()), (stochastic(), batch()), (vectors.clone(), vectors)] {
        let (folder, options) = (TempDir::new().unwrap(), options(settings));
        let start = fitted::trained(&data, first).scores;
        let (undisturbed, paths) = keeping(&options, Some(&start), &[3, 9], folder.path());
        for path in &paths {
            let resumed = resume(&data, &options, Some(&start), path).unwrap();
            assert_same(&resumed, &undisturbed, "from a model");
            let refused = resume(&data, &options, None, path).unwrap_err().to_string();
            assert!(refused.contains("weights to start from"), "{refused}");
        }
    }
}

#[test]
fn trees_go_on_with_their_finished_nodes() {
    // Enough rows for several steps, each of which takes a tenth of a second.
    let data = sparse(Sparse { rows: 60_000, features: 2000, classes: 400, entries: 30, signal: 0.5 }, 1, 0);
    let options = options(json!({ "trees": 2, "epochs": 3, "seed": 3 }));
    // Up to this share of the work, at the latest; and the share that the first step came to.
    let train = |saved: Option<&Saved>, share: f64| {
        let mut training = Training::new(Examples::of(&data), &options, Start::default()).unwrap();
        if let Some(saved) = saved {
            training.restore(saved).unwrap();
        }
        let mut first = None;
        while let Some(progress) = training.step().unwrap() {
            first.get_or_insert(progress.done);
            if progress.done > share {
                break;
            }
        }
        (training, first.unwrap_or(1.0))
    };
    let undisturbed = train(None, 1.0).0.finish().unwrap();
    assert!(undisturbed.finished);
    for share in [0.0, 0.7] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("state");
        // One thread, so that the first step is far from the end on any machine.
        let (stopped, _) = with_threads(1, || train(None, share)).unwrap();
        stopped.save(&path).unwrap();
        assert!(!stopped.finish().unwrap().finished, "{share} is not all");
        let saved = Saved::open(&path).unwrap();
        for threads in [1, 3] {
            let (resumed, first) = with_threads(threads, || train(Some(&saved), 1.0)).unwrap();
            let resumed = resumed.finish().unwrap();
            assert!(resumed.finished && resumed.scores == undisturbed.scores, "{share}, {threads} threads");
            assert!(share == 0.0 || first > 0.3, "finished nodes were trained again: {first}");
        }
    }
}

/// A small checkpoint.
fn small(folder: &Path) -> Vec<u8> {
    let data = sparse(Sparse { rows: 12, features: 4, classes: 3, entries: 2, signal: 0.5 }, 1, 0);
    let path = folder.join("small");
    let options = options(json!({ "epochs": 1, "batch": 4 }));
    let mut training = Training::new(Examples::of(&data), &options, Start::default()).unwrap();
    training.step().unwrap();
    training.save(&path).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn a_write_cut_at_any_byte_leaves_the_checkpoint_before() {
    let folder = TempDir::new().unwrap();
    let bytes = small(folder.path());
    let mut checkpoints = Checkpoints::new(&folder.path().join("kept"), Every::Epochs(1)).unwrap();
    let save = |path: &Path| {
        fs::write(path, &bytes).unwrap();
        Ok(())
    };
    checkpoints.write(1.0, &save).unwrap();
    let second = folder.path().join("kept/000002.checkpoint");
    for length in 0..bytes.len() {
        fs::write(&second, &bytes[..length]).unwrap();
        let newest = checkpoints.newest().unwrap();
        assert!(newest.saved.is_some_and(|saved| saved.path().ends_with("000001.checkpoint")), "cut at {length}");
        assert!(newest.passed_over[0].to_string().contains("000002.checkpoint: not a usable checkpoint"));
    }
    fs::write(&second, &bytes).unwrap();
    assert!(checkpoints.newest().unwrap().saved.is_some_and(|saved| saved.path() == second));
}

#[test]
fn a_checkpoint_with_any_byte_changed_is_not_used() {
    let folder = TempDir::new().unwrap();
    let (bytes, path) = (small(folder.path()), folder.path().join("changed"));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        fs::write(&path, changed).unwrap();
        assert!(Saved::open(&path).is_err(), "byte {at} of {}", bytes.len());
    }
    fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
    assert!(Saved::open(&path).unwrap_err().to_string().contains("checksum is not at its end"));
    fs::write(&path, u64::MAX.to_le_bytes()).unwrap();
    assert!(Saved::open(&path).unwrap_err().to_string().contains("its header has 18446744073709551615 bytes"));
}

#[test]
fn a_checkpoint_of_another_layout_is_refused() {
    let folder = TempDir::new().unwrap();
    let (bytes, path) = (small(folder.path()), folder.path().join("old"));
    let at = bytes.windows(13).position(|text| text == br#""version":"3""#).expect("its version") + 11;
    let changed = [&bytes[..at], b"2", &bytes[at + 1..]].concat();
    fs::write(&path, changed).unwrap();
    let refused = Saved::open(&path).unwrap_err().to_string();
    assert!(
        refused.contains("it has layout version 2, and this program reads version 3; finish the run with"),
        "{refused}"
    );
}

#[test]
fn other_data_and_other_options_are_refused_with_what_differs() {
    let folder = TempDir::new().unwrap();
    let (_, paths) = keeping(&options(stochastic()), None, &[5], folder.path());
    let refused = |data: &Dataset, changes: Value| {
        let options = options(with(&stochastic(), changes));
        resume(data, &options, None, &paths[0]).unwrap_err().to_string()
    };
    for (changes, expected) in [
        (json!({ "learning_rate": 0.2 }), "`learning-rate` is 0.2; the checkpoint was written with 0.1"),
        (json!({ "sampler": "rivals" }), "`sampler` is rivals; the checkpoint was written with systematic"),
        (json!({ "cells": 500 }), "`cells` is 500; the checkpoint was written with not set"),
    ] {
        assert_eq!(refused(&data(), changes), expected);
    }
    let other = |what: &str| format!("the {what} are not those that the checkpoint was written with");
    let none = || json!({});
    assert_eq!(refused(&sparse(SHAPE, 2, 0), none()), other("features or values of the rows"));
    let fewer = sparse(Sparse { rows: 599, ..SHAPE }, 1, 0);
    assert_eq!(refused(&fewer, none()), "the data has 599 rows; the checkpoint was written with 600");
    let mut weighed = data();
    weighed.row_weights = vec![1.0; weighed.len()];
    weighed.row_weights[599] = 2.0;
    assert_eq!(refused(&weighed, none()), other("weights of the rows"));
    let mut relabelled = data();
    relabelled.labels.renumber(|label| Some((label + 1) % 24));
    assert_eq!(refused(&relabelled, none()), other("labels of the rows"));
}
