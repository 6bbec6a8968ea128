//! Runs that are stepped: kept in memory or in a file they end in the same bits, and several of them become one.

use ove::synthetic::{Sparse, sparse};
use ove::train::checkpoint::{Saved, State};
use ove::train::{Start, Trained, Training};
use ove::{Dataset, Error, Examples, Scores, TrainOptions, with_threads};
use serde_json::{Value, json};

use crate::fitted::{options, run, with};

const SHAPE: Sparse = Sparse { rows: 600, features: 120, classes: 24, entries: 8, signal: 0.5 };

/// One run of each kind.
fn kinds() -> Vec<Value> {
    vec![
        json!({ "step": "adagrad", "batch": 50, "epochs": 3, "l2": 0.5 }),
        json!({ "step": "sgd", "batch": 50, "epochs": 3, "l2": 0.5 }),
        json!({ "rank": 5, "batch": 50, "epochs": 3, "l2": 0.5 }),
        json!({ "rank": 5, "batch": 50, "epochs": 3, "l2": 0.5, "step": "sgd" }),
        json!({ "solver": "batch", "iterations": 12, "l2": 0.5 }),
        json!({ "trees": 2, "epochs": 3 }),
    ]
}

fn start<'a>(examples: Examples<'a>, options: &TrainOptions) -> Training<'a> {
    Training::new(examples, options, Start::default()).unwrap()
}

/// Goes on for so many steps, or to the end.
fn go_on(training: &mut Training<'_>, steps: usize) {
    for _ in 0..steps {
        if training.step().unwrap().is_none() {
            return;
        }
    }
}

fn to_the_end(mut training: Training<'_>) -> Trained {
    go_on(&mut training, usize::MAX);
    training.finish().unwrap()
}

fn assert_same(a: &Trained, b: &Trained, what: &str) {
    assert!(a.scores == b.scores, "{what}: other scores");
    assert_eq!((&a.trace, a.updates, a.finished), (&b.trace, b.updates, b.finished), "{what}");
}

/// A state one epoch before the end knows the epochs without improvement so far.
#[test]
fn early_stopping_survives_a_restore() {
    let (data, valid) = (sparse(SHAPE, 1, 0), sparse(Sparse { rows: 100, ..SHAPE }, 1, 1));
    let own = json!({ "scores": "linear", "batch": 50, "epochs": 60, "learning_rate": 1.0 });
    let (examples, options) = (Examples::of(&data), options(own));
    let with_validation = Start { validation: Some(Examples::of(&valid)), ..Start::default() };
    let begin = || Training::new(examples, &options, with_validation).unwrap();
    let (mut whole, mut states) = (begin(), Vec::new());
    while let Some(progress) = whole.step().unwrap() {
        if progress.epochs.fract() == 0.0 {
            states.push(whole.state());
        }
    }
    let whole = whole.finish().unwrap();
    assert!(whole.finished && states.len() < 60, "it stops early");
    for state in &states[states.len() - 3..states.len() - 1] {
        let mut resumed = begin();
        resumed.restore(state).unwrap();
        assert_same(&to_the_end(resumed), &whole, "resumed");
    }
}

#[test]
fn a_state_in_memory_and_one_in_a_file_go_on_in_the_same_bits() {
    let (data, folder) = (sparse(SHAPE, 1, 0), tempfile::tempdir().unwrap());
    for (n, settings) in kinds().into_iter().enumerate() {
        let (examples, options) = (Examples::of(&data), options(settings.clone()));
        let undisturbed = run(examples, &options).unwrap();
        assert!(undisturbed.finished || settings["solver"] == "batch");
        for steps in [0, 1, 7] {
            let (mut training, path) = (start(examples, &options), folder.path().join(format!("{n}-{steps}")));
            go_on(&mut training, steps);
            let state = training.state();
            training.save(&path).unwrap();
            // It goes on as if nothing had been kept, and what was kept stays as it was.
            assert_same(&to_the_end(training), &undisturbed, &format!("{settings} itself"));
            // As a process on another machine would have it.
            let sent: State = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            assert_eq!(sent, state);
            for threads in [1, 3] {
                let resumed = with_threads(threads, || {
                    let (mut of_memory, mut of_file) = (start(examples, &options), start(examples, &options));
                    of_memory.restore(&sent).unwrap();
                    of_file.resume(&Saved::open(&path).unwrap()).unwrap();
                    assert_eq!(of_memory.state(), of_file.state());
                    [to_the_end(of_memory), to_the_end(of_file)]
                });
                for resumed in resumed.unwrap() {
                    assert_same(&resumed, &undisturbed, &format!("{settings} from step {steps}, {threads} threads"));
                }
            }
        }
    }
}

/// A run may go back: what it did since is forgotten.
#[test]
fn a_run_that_goes_back_to_its_state_ends_in_the_same_bits() {
    let data = sparse(SHAPE, 1, 0);
    for settings in kinds() {
        let (examples, options) = (Examples::of(&data), options(settings.clone()));
        let mut training = start(examples, &options);
        go_on(&mut training, 2);
        let state = training.state();
        go_on(&mut training, 15);
        training.restore(&state).unwrap();
        // What trees have finished since is finished all the same.
        assert!(training.state() == state || settings["trees"] == 2, "{settings}");
        assert_same(&to_the_end(training), &run(examples, &options).unwrap(), &settings.to_string());
    }
}

#[test]
fn a_state_of_another_run_is_refused() {
    let (data, other) = (sparse(SHAPE, 1, 0), sparse(SHAPE, 2, 0));
    for settings in kinds() {
        let options = options(settings.clone());
        let mut training = start(Examples::of(&data), &options);
        let state = start(Examples::of(&other), &options).state();
        let refused = training.restore(&state).unwrap_err();
        assert!(matches!(refused, Error::Mismatch(_)), "{settings}: {refused}");
        assert!(refused.to_string().starts_with("the features or values of the rows are not those"), "{refused}");
    }
    let state = start(Examples::of(&data), &options(kinds()[0].clone())).state();
    let refused = start(Examples::of(&data), &options(kinds()[1].clone())).restore(&state).unwrap_err().to_string();
    assert_eq!(refused, "`step` is sgd; the checkpoint was written with adagrad");
}

/// Numbers of a state that nothing else can stand for.
#[test]
fn a_state_that_is_damaged_is_refused() {
    let data = sparse(SHAPE, 1, 0);
    for settings in kinds() {
        let options = options(settings.clone());
        let mut training = start(Examples::of(&data), &options);
        go_on(&mut training, 2);
        let good = serde_json::to_value(training.state()).unwrap();
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut bad = good.clone();
            change(&mut bad);
            let state: State = serde_json::from_value(bad).unwrap();
            let refused = start(Examples::of(&data), &options).restore(&state).unwrap_err();
            assert!(matches!(refused, Error::Checkpoint { .. }), "{settings}: {refused}");
            refused.to_string()
        };
        for (name, table) in good["tables"].as_object().unwrap() {
            let without = refused(&|state| drop(state["tables"].as_object_mut().unwrap().remove(name)));
            assert_eq!(without, format!("a state in memory: not a usable checkpoint: no `{name}`"));
            if !table.as_array().unwrap().is_empty() {
                let cut = refused(&|state| drop(state["tables"][name].as_array_mut().unwrap().pop()));
                let allowed = ["does not have the length", "weights of nodes are missing", "nodes do not match"];
                assert!(allowed.iter().any(|reason| cut.contains(reason)), "{settings}: {cut}");
            }
        }
        if settings["trees"] != 2 {
            refused(&|state| state["facts"] = "{}".into());
        }
    }
}

/// The numbers of scores in a fixed order.
fn numbers(scores: &Scores) -> Vec<f64> {
    let all: Vec<f32> = match scores {
        Scores::Linear(linear) => linear.table().to_vec(),
        Scores::Factored(factored) => {
            let features = (0..factored.features() as u32).flat_map(|feature| factored.feature(feature));
            let classes = (0..factored.classes() as u32).flat_map(|class| factored.class(class));
            features.chain(classes).chain(factored.bias()).copied().collect()
        }
        other => panic!("{other:?}"),
    };
    all.into_iter().map(f64::from).collect()
}

/// The rows of each of several machines.
fn parts(counts: &[u32]) -> Vec<Vec<u32>> {
    let starts = counts.iter().scan(0, |start, count| {
        *start += count;
        Some(*start - count)
    });
    starts.zip(counts).map(|(start, &count)| (start..start + count).collect()).collect()
}

/// Machines with other rows than each other, and other numbers of them, also under a penalty, which reaches a weight
/// only when a row touches it.
#[test]
fn merged_runs_are_the_mean_weighted_by_their_rows() {
    let data = sparse(SHAPE, 1, 0);
    let index = parts(&[300, 200, 100]);
    for settings in kinds().into_iter().take(4) {
        let options = options(settings.clone());
        let examples = |part: usize| Examples::of(&data).with_index(&index[part]);
        let mut runs: Vec<_> = (0..3).map(|part| start(examples(part), &options)).collect();
        // Each once over its rows.
        runs.iter_mut().zip([6, 4, 2]).for_each(|(run, steps)| go_on(run, steps));
        let snapshots: Vec<_> = runs.iter().map(|run| numbers(&run.snapshot().unwrap())).collect();
        let states: Vec<_> = runs[1..].iter().map(Training::state).collect();
        let mut merged = runs.remove(0);
        merged.merge(&states).unwrap();
        let found = numbers(&merged.snapshot().unwrap());
        assert!(found != snapshots[0], "{settings}");
        for (at, &number) in found.iter().enumerate() {
            let mean = snapshots[0][at] / 2.0 + snapshots[1][at] / 3.0 + snapshots[2][at] / 6.0;
            assert!((number - mean).abs() < 1e-6 * mean.abs().max(1.0), "{settings}: {number}, not {mean}");
        }
        // It goes on from there, and as another would that has its state.
        let state = merged.state();
        let mut other = start(examples(0), &options);
        other.restore(&state).unwrap();
        assert_same(&to_the_end(merged), &to_the_end(other), &settings.to_string());
    }
}

/// The mean of 64-bit products, summed from the own ones on in the order of the list: to the bit, where no penalty is
/// due.
#[test]
fn a_merge_sums_in_the_order_given() {
    let data = sparse(SHAPE, 1, 0);
    let index = parts(&[300, 200, 100]);
    for settings in [json!({ "step": "sgd" }), json!({ "step": "adagrad" }), json!({ "rank": 5 })] {
        let options = options(with(&settings, json!({ "batch": 50, "epochs": 3, "l2": 0.0 })));
        let of_part = |part: usize| start(Examples::of(&data).with_index(&index[part]), &options);
        let mut runs = [of_part(0), of_part(1), of_part(2)];
        runs.iter_mut().zip([6, 4, 2]).for_each(|(run, steps)| go_on(run, steps));
        let of = |run: &Training<'_>| numbers(&run.snapshot().unwrap());
        let [own, others @ ..] = [of(&runs[0]), of(&runs[1]), of(&runs[2])];
        let states = [runs[1].state(), runs[2].state()];
        runs[0].merge(&states).unwrap();
        let sum = |at: usize| 300.0 / 600.0 * own[at] + 200.0 / 600.0 * others[0][at] + 100.0 / 600.0 * others[1][at];
        let expected: Vec<f64> = (0..own.len()).map(|at| f64::from(sum(at) as f32)).collect();
        assert!(of(&runs[0]) == expected, "{settings}");
    }
}

#[test]
fn a_merge_is_the_same_bits_for_any_number_of_threads() {
    let data = sparse(SHAPE, 1, 0);
    let index = parts(&[250, 200, 150]);
    for settings in kinds().into_iter().take(4) {
        let options = options(settings.clone());
        let merged = |threads| {
            with_threads(threads, || {
                let examples = |part: usize| Examples::of(&data).with_index(&index[part]);
                let mut runs: Vec<_> = (0..3).map(|part| start(examples(part), &options)).collect();
                runs.iter_mut().for_each(|run| go_on(run, 3));
                let states: Vec<_> = runs[1..].iter().map(Training::state).collect();
                let mut merged = runs.remove(0);
                merged.merge(&states).unwrap();
                merged.state()
            })
        };
        assert_eq!(merged(1).unwrap(), merged(3).unwrap(), "{settings}");
    }
}

/// Two machines that began with the same weights and saw the same rows are one.
#[test]
fn merging_with_itself_changes_nothing() {
    let data = sparse(SHAPE, 1, 0);
    for settings in kinds().into_iter().take(4) {
        let options = options(settings.clone());
        let mut training = start(Examples::of(&data), &options);
        go_on(&mut training, 5);
        let before = numbers(&training.snapshot().unwrap());
        training.merge(&[training.state(), training.state()]).unwrap();
        for (a, b) in numbers(&training.snapshot().unwrap()).iter().zip(before) {
            assert!((a - b).abs() <= 1e-6 * b.abs(), "{settings}: {a}, not {b}");
        }
        let unchanged = numbers(&training.snapshot().unwrap());
        training.merge(&[]).unwrap();
        assert_eq!(numbers(&training.snapshot().unwrap()), unchanged);
    }
}

/// Nodes of trees learn from nothing but their own rows and seed: two machines that train different ones join them.
#[test]
fn merging_joins_the_finished_nodes_of_trees() {
    let data = sparse(SHAPE, 1, 0);
    let (examples, options) = (Examples::of(&data), options(json!({ "trees": 2, "epochs": 3 })));
    let done = run(examples, &options).unwrap();
    let mut training = start(examples, &options);
    go_on(&mut training, usize::MAX);
    let all = serde_json::to_value(training.state()).unwrap();
    // Of the finished nodes, some, as if a machine had trained only these.
    let some = |is_own: &dyn Fn(usize) -> bool| -> State {
        let bytes = |name: &str| -> Vec<u8> { serde_json::from_value(all["tables"][name].clone()).unwrap() };
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap()) as usize;
        let (jobs, features, entries) = (bytes("jobs"), bytes("features"), bytes("entries"));
        let (mut kept, mut from) = ([Vec::new(), Vec::new(), Vec::new()], [0, 0]);
        for (n, job) in jobs.chunks(12).enumerate() {
            let (of_features, of_entries) = (8 * word(job, 1), 4 * word(job, 2));
            if is_own(n) {
                kept[0].extend_from_slice(job);
                kept[1].extend_from_slice(&features[from[0]..from[0] + of_features]);
                kept[2].extend_from_slice(&entries[from[1]..from[1] + of_entries]);
            }
            from = [from[0] + of_features, from[1] + of_entries];
        }
        assert_eq!(from, [features.len(), entries.len()], "all are parted");
        let mut state = all.clone();
        for (name, bytes) in ["jobs", "features", "entries"].into_iter().zip(kept) {
            state["tables"][name] = bytes.into();
        }
        serde_json::from_value(state).unwrap()
    };
    let (even, odd) = (some(&|n| n % 2 == 0), some(&|n| n % 2 == 1));
    let mut first = start(examples, &options);
    first.merge(&[even, odd]).unwrap();
    assert_eq!(first.step().unwrap(), None, "nothing is left to train");
    assert_same(&first.finish().unwrap(), &done, "even and odd nodes");
    let mut second = start(examples, &options);
    second.merge(&[some(&|n| n == 0)]).unwrap();
    assert!(second.step().unwrap().is_some(), "the others are left");
    assert_same(&to_the_end(second), &done, "the first node");
}

#[test]
fn what_cannot_be_merged_is_refused() {
    let data = sparse(SHAPE, 1, 0);
    let wider = sparse(Sparse { features: 130, ..SHAPE }, 1, 0);
    let message = |of: &Dataset, settings: Value, other: Value| {
        let state = start(Examples::of(of), &options(other)).state();
        let mut training = start(Examples::of(&data), &options(settings));
        training.merge(&[state]).unwrap_err().to_string()
    };
    let [adagrad, sgd] = [kinds()[0].clone(), kinds()[1].clone()];
    assert_eq!(message(&data, sgd.clone(), adagrad.clone()), "`step` is sgd; the checkpoint was written with adagrad");
    assert_eq!(
        message(&wider, sgd.clone(), sgd.clone()),
        "the data has 120 features; the checkpoint was written with 130"
    );
    let batch = kinds()[4].clone();
    assert_eq!(
        message(&data, batch.clone(), batch),
        "runs of the batch solver cannot be merged: each of its steps uses all rows"
    );
    assert!(message(&data, sgd, kinds()[2].clone()).contains("; the checkpoint was written with"));
}
