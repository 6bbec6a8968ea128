//! Compares the beam search with a search of all leaves.

use serde_json::json;

use super::*;
use crate::data::{Dataset, Examples};
use crate::options::TrainOptions;
use crate::platform::random::Stream;
use crate::synthetic;
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

pub fn trees_of(data: &Dataset) -> Trees {
    let options = TrainOptions::from_settings(&json!({ "scores": "trees" })).unwrap();
    let mut training = Training::new(Examples::of(data), &options, Start::default()).unwrap();
    while training.step().unwrap().is_some() {}
    match training.finish().unwrap().scores {
        Scores::Trees(trees) => trees,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_best_classes_of_all_leaves_are_the_best_of_all() {
    for several in [false, true] {
        let train = data(3000, several);
        let trees = trees_of(&train);
        let rows: Vec<_> = (0..100).map(|n| train.rows().row(n)).collect();
        let mut found = trees.search(&rows, Search::All);
        for count in [0, 1, 5, CLASSES, CLASSES + 1] {
            let tops = trees.top(&rows, &mut found, count, &mut Scratch::default());
            for (top, found) in tops.iter().zip(&found) {
                let mut logs = vec![0.0; CLASSES];
                trees.all_log_probabilities(found, &mut logs);
                for found in top {
                    let exact = logs[found.class as usize].exp();
                    assert!((found.probability - exact).abs() < 1e-6, "{count}: {found:?} {exact}");
                }
                assert_eq!(top.len(), count.min(CLASSES));
                // Where rows have one class, votes rank them and not probabilities.
                if several {
                    let last = top.last().map_or(f64::INFINITY, |found| found.probability);
                    let better = logs.iter().filter(|log| log.exp() > last + 1e-6).count();
                    assert!(better < count.max(1), "{better} better than the last of {count}");
                }
            }
        }
    }
}

#[test]
fn the_probability_of_a_class_is_exact_whatever_was_searched() {
    let data = synthetic::plane(200, 0);
    let trees = trees_of(&data);
    let rows: Vec<_> = data.rows().iter(0..data.len()).collect();
    let mut logs = vec![0.0; 5 * rows.len()];
    trees.log_probabilities(&rows, &mut logs);
    for (&row, logs) in rows.iter().zip(logs.chunks(5)) {
        let found = &trees.search(&[row], Search::Nearest)[0];
        for class in 0..5 {
            let one = trees.log_probability(row, found, class);
            assert!((one - logs[class as usize]).abs() < 1e-5);
        }
    }
}

#[test]
fn rows_search_the_same_together_and_alone() {
    let train = data(3000, true);
    let trees = trees_of(&train);
    let rows: Vec<_> = (0..train.len()).map(|n| train.rows().row(n)).collect();
    let top = |rows: &[_], found: &mut [_], scratch: &mut _| trees.top(rows, found, 5, scratch);
    let together =
        trees.search_batches(&rows, Search::Nearest, |piece, found, scratch| top(&rows[piece], found, scratch));
    for (n, (found, row)) in together.iter().zip(rows.chunks(1)).enumerate() {
        let alone = top(row, &mut trees.search(row, Search::Nearest), &mut Scratch::default());
        assert_eq!(*found, alone[0], "row {n}");
    }
}
