//! Runs whose work is done in parts, as by other processes: in any number and in any order, they end in the bits of a
//! run that does everything itself.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ove::synthetic::{Sparse, sparse};
use ove::train::checkpoint::Saved;
use ove::train::{Event, FitStart, Part, Stage, Start, Trained, Training, fit_in_parts};
use ove::{Dataset, Examples, TrainOptions, fit, with_threads};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fitted::{self, options};

/// Enough rows that some are held out, so that there is a second stage; each has one label, or one or two.
fn data(most: usize) -> Dataset {
    let one = sparse(Sparse { rows: 6000, features: 300, classes: 150, entries: 12, signal: 0.7 }, 1, 0);
    let mut data = Dataset::new(one.features(), one.classes.clone());
    for (n, row) in one.rows().iter(0..one.len()).enumerate() {
        row.indices.iter().zip(row.values).for_each(|(&feature, &value)| data.push_entry(feature, value));
        let mut labels = one.labels[n].to_vec();
        labels.extend((most > 1 && n % 3 == 0).then(|| (labels[0] + 1) % 150));
        labels.sort_unstable();
        data.end_row(&labels);
    }
    data
}

fn start<'a>(data: &'a Dataset, options: &TrainOptions) -> Training<'a> {
    Training::new(Examples::of(data), options, Start::default()).unwrap()
}

/// Does a part as a process does that knows nothing but the rows and the state in a file.
fn work(data: &Dataset, options: &TrainOptions, state: &Path, part: &Part) -> PathBuf {
    let mut training = start(data, options);
    training.restore(&Saved::open(state).unwrap()).unwrap();
    let done = state.with_file_name(format!("{}-{}-{}", part.stage, part.range.start, part.range.end));
    training.work(part, &done).unwrap();
    done
}

/// Divides everything that can be divided, and restores the nodes last part first; returns how many parts each stage
/// had.
fn divide(training: &mut Training<'_>, data: &Dataset, folder: &Path, count: usize) -> Vec<(Stage, usize)> {
    let mut stages = Vec::new();
    loop {
        let parts = training.parts(count).unwrap();
        let Some(stage) = parts.first().map(|part| part.stage) else { return stages };
        stages.push((stage, parts.len()));
        let state = folder.join(format!("{stage}.plan"));
        training.save(&state).unwrap();
        let options = training.options().clone();
        let mut done: Vec<PathBuf> = parts.iter().map(|part| work(data, &options, &state, part)).collect();
        if stage == Stage::Nodes {
            done.reverse();
        }
        done.iter().for_each(|path| training.restore(&Saved::open(path).unwrap()).unwrap());
    }
}

fn divided(data: &Dataset, options: &TrainOptions, count: usize) -> (Trained, Vec<(Stage, usize)>) {
    let folder = TempDir::new().unwrap();
    let mut training = start(data, options);
    let stages = divide(&mut training, data, folder.path(), count);
    while training.step().unwrap().is_some() {}
    (training.finish().unwrap(), stages)
}

#[test]
fn parts_give_the_bits_of_one_process() {
    for (labels, settings) in [
        (1, json!({ "scores": "trees", "trees": 2 })),
        (2, json!({ "scores": "trees", "trees": 3, "epochs": 3, "seed": 5, "class_weight": "balanced" })),
        (1, json!({ "scores": "trees", "trees": 1, "epochs": 2, "rivals": 0 })),
    ] {
        let (data, options) = (data(labels), options(settings.clone()));
        let whole = fitted::run(Examples::of(&data), &options).unwrap();
        let second = settings["rivals"] != 0;
        assert!(whole.finished && (whole.trace.is_empty() != second), "{settings}");
        for count in [2, 40] {
            let (parted, stages) = with_threads(1 + count % 3, || divided(&data, &options, count)).unwrap();
            let expected: &[Stage] = if second { &[Stage::Nodes, Stage::Rivals] } else { &[Stage::Nodes] };
            assert_eq!(stages.iter().map(|(stage, _)| *stage).collect::<Vec<_>>(), expected, "{settings}");
            assert!(stages.iter().all(|(_, parts)| *parts <= count && parts * 10 > count.min(20)), "{stages:?}");
            assert!(parted.scores == whole.scores, "{settings} in {count} parts");
            assert_eq!((parted.trace, parted.options.epochs), (whole.trace.clone(), whole.options.epochs));
        }
    }
}

#[test]
fn a_fit_in_parts_gives_the_same_model() {
    let (data, folder) = (data(1), TempDir::new().unwrap());
    let settings = json!({ "scores": "trees", "trees": 2 });
    let go_on = &mut |_: Event<'_>| ControlFlow::Continue(());
    let mut stages = Vec::new();
    let divide = &mut |training: &mut Training<'_>| {
        stages = divide(training, &data, folder.path(), 7);
        Ok(())
    };
    let model = fit_in_parts(&data, &options(settings.clone()), FitStart::default(), go_on, divide).unwrap();
    let whole = fit(&data, &options(settings), |_| ControlFlow::Continue(())).unwrap();
    assert!(model.to_bytes() == whole.to_bytes());
    assert_eq!(stages.len(), 2, "only the run itself is divided, not the folds for its calibration");
}

/// A run that is resumed from its plan finds no classes to cluster and does not choose epochs again.
#[test]
fn a_plan_takes_the_place_of_the_preparation() {
    let (data, folder) = (data(1), TempDir::new().unwrap());
    let (options, path) = (options(json!({ "scores": "trees", "trees": 2 })), folder.path().join("plan"));
    let mut training = start(&data, &options);
    let parts = training.parts(4).unwrap();
    training.save(&path).unwrap();
    let mut state = serde_json::to_value(training.state()).unwrap();
    // With the classes in another order, these are the trees that are trained.
    let orders: Vec<u8> = serde_json::from_value(state["tables"]["plan_classes"].clone()).unwrap();
    let (first, second) = orders.split_at(orders.len() / 2);
    state["tables"]["plan_classes"] = [second, first].concat().into();
    let of_state = |state: &Value| -> ove::Result<Training<'_>> {
        let mut training = start(&data, &options);
        training.restore(&serde_json::from_value::<ove::train::checkpoint::State>(state.clone()).unwrap())?;
        Ok(training)
    };
    let mut swapped = of_state(&state).unwrap();
    assert_eq!(swapped.parts(4).unwrap().len(), parts.len());
    let state_of_swapped = serde_json::to_value(swapped.state()).unwrap();
    assert_eq!(state_of_swapped["tables"]["plan_classes"], state["tables"]["plan_classes"]);
    // What is no plan for these trees is refused.
    for wrong in [[first, first, first].concat(), [first, &first[..first.len() - 4], &[9, 9, 0, 0]].concat()] {
        state["tables"]["plan_classes"] = wrong.into();
        let refused = of_state(&state).err().unwrap().to_string();
        assert!(refused.contains("its plan does not match these trees"), "{refused}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (data, folder) = (data(1), TempDir::new().unwrap());
    let (trees, path) = (options(json!({ "scores": "trees", "trees": 1, "epochs": 2 })), folder.path().join("part"));
    let mut training = start(&data, &trees);
    let rivals = Part { stage: Stage::Rivals, range: 0..10 };
    let refused = training.work(&rivals, &path).unwrap_err().to_string();
    assert_eq!(refused, "rivals are searched with all nodes, and some are not trained");
    let mut done = start(&data, &trees);
    divide_nodes(&mut done, &data, folder.path());
    let late = Part { stage: Stage::Rivals, range: 10..20 };
    done.work(&late, &path).unwrap();
    let refused = done.restore(&Saved::open(&path).unwrap()).unwrap_err().to_string();
    assert!(refused.contains("rivals from row 10 on, where those from row 0 on are next"), "{refused}");
    let linear = options(json!({ "scores": "linear", "epochs": 1, "learning_rate": 0.1 }));
    let mut training = start(&data, &linear);
    assert_eq!(training.parts(3).unwrap(), []);
    assert_eq!(training.work(&late, &path).unwrap_err().to_string(), "this run has no rivals to divide");
}

fn divide_nodes(training: &mut Training<'_>, data: &Dataset, folder: &Path) {
    let (parts, state) = (training.parts(2).unwrap(), folder.join("plan"));
    training.save(&state).unwrap();
    for part in parts {
        let done = work(data, &training.options().clone(), &state, &part);
        training.restore(&Saved::open(&done).unwrap()).unwrap();
    }
}
