//! Checkpoints: a run that goes on ends in the bits of one that was never stopped, and nothing else is mistaken for a checkpoint.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ove::options::{ClassWeight, ForestOptions};
use ove::sample::SamplerKind;
use ove::synthetic::{Sparse, sparse};
use ove::train::checkpoint::{Checkpoints, Every, Saved};
use ove::train::optimizer::{Schedule, StepKind};
use ove::train::{Begin, forest, train_with};
use ove::{Dataset, Fit, Linear, Objective, Options, Problem, Solver, train};
use tempfile::TempDir;

fn data() -> Dataset {
    sparse(Sparse { rows: 600, features: 120, classes: 24, entries: 8, signal: 0.5 }, 1, 0)
}

fn stochastic() -> Options {
    Options { batch: 50, epochs: 3, l2: 0.5, seed: 7, ..Options::default() }
}

fn batch() -> Options {
    // Past the second look at the diagonal, and with the memory full.
    Options { solver: Solver::Batch, l2: 1e-3, tolerance: 1e-7, iterations: 30, ..Options::default() }
}

/// Every kind of state: both steps, cells that are shared, rivals, SGD cells that are rebased, and L-BFGS.
fn kinds() -> Vec<Options> {
    vec![
        stochastic(),
        Options { step: StepKind::Sgd, learning_rate: 0.5, schedule: Schedule::Geometric(0.7), ..stochastic() },
        Options { step: StepKind::Sgd, l2: 500.0, schedule: Schedule::Geometric(1.0), ..stochastic() },
        Options { cells: Some(500), penalty_on_bias: false, ..stochastic() },
        Options { objective: Objective::Merged, sampler: SamplerKind::Rivals, classes: 6, ..stochastic() },
        Options { objective: Objective::Softmax, class_weight: ClassWeight::Balanced, ..stochastic() },
        batch(),
        Options { objective: Objective::Softmax, ..batch() },
    ]
}

/// Trains to the end and keeps the state at each of these calls of the watch.
fn keeping(options: &Options, start: Option<&Linear>, calls: &[usize], folder: &Path) -> (Fit, Vec<PathBuf>) {
    let data = data();
    let (mut call, mut paths) = (0, Vec::new());
    let begin = Begin { start, ..Begin::default() };
    let fit = train_with(begin, &Problem::of(&data), options, &mut |progress| {
        call += 1;
        if calls.contains(&call) {
            let path = folder.join(format!("{call}"));
            (progress.save)(&path).unwrap();
            paths.push(path);
        }
        ControlFlow::Continue(())
    });
    (fit.unwrap(), paths)
}

fn resume(options: &Options, start: Option<&Linear>, path: &Path) -> ove::Result<Fit> {
    let (data, saved) = (data(), Saved::open(path)?);
    let begin = Begin { start, saved: Some(&saved), ..Begin::default() };
    train_with(begin, &Problem::of(&data), options, &mut |_| ControlFlow::Continue(()))
}

fn assert_same(a: &Fit, b: &Fit, what: &str) {
    let bits = |fit: &Fit| fit.linear.table().iter().map(|w| w.to_bits()).collect::<Vec<_>>();
    assert!(bits(a) == bits(b), "{what}: other weights");
    assert_eq!((&a.trace, a.updates, a.finished), (&b.trace, b.updates, b.finished), "{what}");
}

#[test]
fn every_kind_of_run_ends_in_the_same_bits_from_anywhere() {
    for options in kinds() {
        let folder = TempDir::new().unwrap();
        // The first batch, within an epoch, at its end, after it, and near the end of the run.
        let (undisturbed, paths) = keeping(&options, None, &[1, 5, 12, 13, 24, 29, 35], folder.path());
        assert!(paths.len() >= 6, "{} checkpoints of {options:?}", paths.len());
        for (i, path) in paths.iter().enumerate() {
            let threads = 1 + i % 3;
            let resumed = resume(&Options { threads, ..options.clone() }, None, path).unwrap();
            assert_same(&resumed, &undisturbed, &format!("{} of {options:?}", path.display()));
        }
    }
}

#[test]
fn a_run_that_began_with_weights_goes_on_too() {
    let data = data();
    for options in [stochastic(), batch()] {
        let folder = TempDir::new().unwrap();
        let start = train(&Problem::of(&data), &stochastic(), &mut |_| ControlFlow::Continue(())).unwrap().linear;
        let (undisturbed, paths) = keeping(&options, Some(&start), &[3, 9], folder.path());
        for path in &paths {
            assert_same(&resume(&options, Some(&start), path).unwrap(), &undisturbed, "from a model");
            let refused = resume(&options, None, path).unwrap_err().to_string();
            assert!(refused.contains("weights to start from"), "{refused}");
        }
    }
}

#[test]
fn a_forest_goes_on_with_its_finished_nodes() {
    let data = data();
    let options = ForestOptions { trees: 2, epochs: Some(2), seed: 3, ..ForestOptions::default() };
    let grow = |saved: Option<&Saved>, threads, watch: &mut forest::WatchGrowing<'_>| {
        forest::train_with(saved, &Problem::of(&data), &ForestOptions { threads, ..options.clone() }, watch).unwrap()
    };
    let undisturbed = grow(None, 2, &mut |_| ControlFlow::Continue(()));
    assert!(undisturbed.finished);
    for calls in [1, 3, 9, 20] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("state");
        let mut call = 0;
        // One thread: of several, the slowest decides how much has finished by a call.
        let stopped = grow(None, 1, &mut |growing| {
            call += 1;
            if call < calls {
                return ControlFlow::Continue(());
            }
            (growing.save)(&path).unwrap();
            ControlFlow::Break(())
        });
        assert!(!stopped.finished, "{calls} calls");
        let saved = Saved::open(&path).unwrap();
        for threads in [1, 3] {
            let mut least: f64 = 1.0;
            let resumed = grow(Some(&saved), threads, &mut |growing| {
                least = least.min(growing.done);
                ControlFlow::Continue(())
            });
            assert!(
                resumed.finished && resumed.forest == undisturbed.forest,
                "stopped after {calls} calls, {threads} threads"
            );
            assert!(calls < 20 || least > 0.3, "finished nodes were trained again: {least}");
        }
    }
}

/// A small checkpoint.
fn small(folder: &Path) -> Vec<u8> {
    let data = sparse(Sparse { rows: 12, features: 4, classes: 3, entries: 2, signal: 0.5 }, 1, 0);
    let path = folder.join("small");
    let options = Options { epochs: 1, batch: 4, ..Options::default() };
    let mut once = |progress: &ove::Progress<'_>| {
        (progress.save)(&path).unwrap();
        ControlFlow::Break(())
    };
    train(&Problem::of(&data), &options, &mut once).unwrap();
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
    assert!(Saved::open(&path).unwrap_err().to_string().contains("a header of 18446744073709551615 bytes"));
}

#[test]
fn other_data_and_other_options_are_refused_with_what_differs() {
    let folder = TempDir::new().unwrap();
    let (_, paths) = keeping(&stochastic(), None, &[5], folder.path());
    let refused = |data: &Dataset, options: &Options| {
        let saved = Saved::open(&paths[0]).unwrap();
        let begin = Begin { saved: Some(&saved), ..Begin::default() };
        train_with(begin, &Problem::of(data), options, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string()
    };
    for (options, expected) in [
        (
            Options { learning_rate: 0.2, ..stochastic() },
            "learning-rate is 0.2, but the checkpoint was written with 0.1",
        ),
        (
            Options { sampler: SamplerKind::Rivals, ..stochastic() },
            "sampler is rivals, but the checkpoint was written with uniform",
        ),
        (Options { cells: Some(500), ..stochastic() }, "cells is 500, but the checkpoint was written with not set"),
    ] {
        assert_eq!(refused(&data(), &options), expected);
    }
    let same = "a checkpoint goes on with the data it was written with";
    let shape = Sparse { rows: 600, features: 120, classes: 24, entries: 8, signal: 0.5 };
    assert_eq!(refused(&sparse(shape, 2, 0), &stochastic()), format!("other features or values of rows, but {same}"));
    let fewer = sparse(Sparse { rows: 599, ..shape }, 1, 0);
    assert_eq!(refused(&fewer, &stochastic()), "599 rows, but the checkpoint was written with 600");
    let mut weighed = data();
    weighed.row_weights = vec![1.0; weighed.len()];
    weighed.row_weights[599] = 2.0;
    assert_eq!(refused(&weighed, &stochastic()), format!("other weights of rows, but {same}"));
    let mut relabelled = data();
    relabelled.labels.renumber(|label| Some((label + 1) % 24));
    assert_eq!(refused(&relabelled, &stochastic()), format!("other labels of rows, but {same}"));
}
