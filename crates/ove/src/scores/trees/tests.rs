//! Compares probabilities with their equations, from a search of all leaves.

use serde_json::json;

use super::*;
use crate::data::{Dataset, Examples};
use crate::options::TrainOptions;
use crate::platform::random::Stream;
use crate::train::{Start, Training};

const CLASSES: usize = 200;

/// Class k has the words k and k + 1 of its own and a few that all classes share; with `several`, a row may have two
/// neighbours.
fn data(rows: usize, several: bool) -> Dataset {
    let mut random = Stream::of(&[0, 77]);
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

fn trees(data: &Dataset) -> Trees {
    let options = TrainOptions::from_settings(&json!({ "scores": "trees" })).unwrap();
    let mut training = Training::new(Examples::of(data), &options, Start::default()).unwrap();
    while training.step().unwrap().is_some() {}
    match training.finish().unwrap().scores {
        Scores::Trees(trees) => trees,
        other => panic!("{other:?}"),
    }
}

/// The probabilities by the equations, class by class from all leaves; `found` is a search of the beam.
fn by_hand(trees: &Trees, row: Row<'_>, found: &BeamScores) -> Vec<f64> {
    let all = &trees.search(&[row], Search::All)[0];
    let of_root = |tree: usize, leaf: usize| f64::from(-all.trees()[tree].root[leaf]);
    let of_class = |tree: usize, class: u32| {
        let (leaf, child) = trees.trees[tree].place(class);
        f64::from(-all.trees()[tree].searched.get(&trees.trees[tree], leaf).unwrap()[child])
    };
    let beam = |tree: usize, leaf: usize| found.trees()[tree].searched.numbers.contains(&(leaf as u16));
    let leaf_of = |tree: usize, class: u32| trees.trees[tree].place(class).0;
    let is_candidate = |class: u32| (0..trees.trees.len()).any(|tree| beam(tree, leaf_of(tree, class)));
    let votes = |class: u32| -> f64 {
        let of_tree = |tree: usize| {
            let leaf = leaf_of(tree, class);
            match trees.calibration {
                Calibration::Normalised(Evidence { root, leaf: tau, power, tail }) => {
                    let half = f64::from(power) / 2.0;
                    let root = (-f64::from(root) * of_root(tree, leaf).powf(half)).exp();
                    let vote = |class| (-f64::from(tau) * of_class(tree, class).powf(half)).exp();
                    let classes = trees.trees[tree].leaf_classes(leaf as u16);
                    let others: Vec<u32> = classes.iter().copied().filter(|&class| !is_candidate(class)).collect();
                    let flat = root * f64::from(tail) / classes.len() as f64;
                    match (beam(tree, leaf), is_candidate(class)) {
                        (true, _) => root * vote(class),
                        (false, true) => flat,
                        (false, false) => {
                            let sum: f64 = others.iter().map(|&other| vote(other)).sum();
                            flat * others.len() as f64 * vote(class) / sum
                        }
                    }
                }
                Calibration::Logistic(_) if beam(tree, leaf) || !is_candidate(class) => {
                    (-of_root(tree, leaf) - of_class(tree, class)).exp()
                }
                Calibration::Logistic(_) => 0.0,
            }
        };
        (0..trees.trees.len()).map(of_tree).sum::<f64>() / trees.trees.len() as f64
    };
    let votes: Vec<f64> = (0..CLASSES as u32).map(votes).collect();
    let total: f64 = votes.iter().sum();
    let probability = |&vote: &f64| match trees.calibration {
        Calibration::Normalised(_) => vote / total,
        Calibration::Logistic(Logistic { intercept, slope, .. }) => {
            1.0 / (1.0 + (-f64::from(intercept) - f64::from(slope) * vote.ln()).exp())
        }
    };
    votes.iter().map(probability).collect()
}

#[test]
fn probabilities_are_those_of_the_equations_and_give_the_order() {
    for several in [false, true] {
        let train = data(3000, several);
        let trees = trees(&train);
        let rows: Vec<_> = (0..60).map(|n| train.rows().row(n)).collect();
        let mut logs = vec![0.0; rows.len() * CLASSES];
        OwnProbabilities::log_probabilities(&trees, &rows, &mut logs);
        let beams = trees.search(&rows, Search::Nearest);
        for (n, (&row, beam)) in rows.iter().zip(&beams).enumerate() {
            let logs = &logs[n * CLASSES..(n + 1) * CLASSES];
            let expected = by_hand(&trees, row, beam);
            for (log, p) in logs.iter().zip(&expected) {
                assert!((log.exp() - p).abs() < 2e-5 * p + 1e-12, "{several} row {n}: {} {p}", log.exp());
            }
            let best = (0..CLASSES).rev().max_by(|&a, &b| logs[a].total_cmp(&logs[b])).unwrap();
            for count in [1, 5, CLASSES - 1, CLASSES, CLASSES + 1] {
                let top = &OwnProbabilities::top_k(&trees, &[row], count.min(CLASSES))[0];
                assert_eq!((top.len(), top[0].class as usize), (count.min(CLASSES), best), "{several} row {n}");
                assert!(top.is_sorted_by(|a, b| a.probability >= b.probability), "{top:?}");
                for found in top {
                    let p = logs[found.class as usize].exp();
                    assert!((found.probability - p).abs() <= 1e-12 + 1e-9 * p, "{found:?} {p}");
                }
            }
            let mut beam = beam.clone();
            trees.calibrate(&mut beam);
            for class in [0, 17, CLASSES as u32 - 1] {
                let one = trees.log_probability(row, &beam, class, &trees.calibration);
                assert!((one - logs[class as usize]).abs() < 1e-5, "{one} {}", logs[class as usize]);
            }
        }
    }
}

#[test]
fn rows_search_the_same_together_and_alone() {
    let train = data(3000, true);
    let trees = trees(&train);
    let rows: Vec<_> = (0..train.len()).map(|n| train.rows().row(n)).collect();
    let together = trees.search_batches(&rows, Search::Nearest, |_, found, scratch| trees.top(found, 5, scratch));
    for (n, (found, row)) in together.iter().zip(rows.chunks(1)).enumerate() {
        let alone = trees.top(&mut trees.search(row, Search::Nearest), 5, &mut Scratch::default());
        assert_eq!(*found, alone[0], "row {n}");
    }
}
