//! Trees that are trained further on new rows alone: they learn these, keep what they knew, and take in new classes.

use ove::platform::random::Stream;
use ove::train::{FitStart, Start, Training};
use ove::{Dataset, Examples, Model, Prediction, Scores, fit_with, with_threads};
use serde_json::{Value, json};

use crate::file_parts::parts;
use crate::fitted::{options, with};

/// Number of classes of all rows together.
const CLASSES: u32 = 160;

/// Rows of some of the classes: class k has the words k and k + 1 of its own and one that all classes share. With
/// `several`, a row may have two neighbours. There is a name for every class below `named`.
fn data(rows: usize, of: &[u32], named: u32, several: bool, seed: u64) -> Dataset {
    let mut random = Stream::of(&[seed, 35]);
    let features = named as usize + 1 + 30;
    let mut data = Dataset::new(features, (0..named).map(|k| format!("c{k:03}")).collect());
    for _ in 0..rows {
        let class = of[random.below(of.len() as u64) as usize];
        // The common words come first, so that more classes only append features.
        let mut words = vec![(random.below(30) as u32, 0.6), (30 + class, 0.6), (31 + class, 0.5)];
        let mut labels = vec![class];
        if several && of.contains(&(class + 40)) && random.below(2) == 0 {
            labels.push(class + 40);
            words.extend([(70 + class, 0.6), (71 + class, 0.5)]);
        }
        words.into_iter().for_each(|(word, value)| data.push_entry(word, value));
        data.end_row(&labels);
    }
    data
}

fn settings() -> Value {
    json!({ "scores": "trees", "epochs": 4, "trees": 2 })
}

/// A model of these rows, from nothing or from another.
fn fitted(data: &Dataset, from: Option<&Model>, changes: Value) -> Model {
    let start = FitStart { from, ..FitStart::default() };
    fit_with(data, &options(with(&settings(), changes)), start, &mut |_| std::ops::ControlFlow::Continue(())).unwrap()
}

fn range(classes: std::ops::Range<u32>) -> Vec<u32> {
    classes.collect()
}

fn error(model: &Model, data: &Dataset) -> f64 {
    let is_wrong = |(n, best): &(usize, Vec<Prediction>)| !data.labels[*n].contains(&best[0].class);
    let best = model.top_k(data.rows(), 1);
    best.into_iter().enumerate().filter(is_wrong).count() as f64 / data.len() as f64
}

/// Rows of classes that share a word with another, with a second word in two rows of three; a tenth of the labels are
/// random. The second stage has something to correct.
fn doubtful(rows: usize, of: std::ops::Range<u32>, seed: u64) -> Dataset {
    let mut random = Stream::of(&[seed, 36]);
    let mut data = Dataset::new(2 * CLASSES as usize + 60, (0..of.end).map(|k| format!("c{k:03}")).collect());
    for _ in 0..rows {
        let mut drawn = || of.start + random.below(u64::from(of.end - of.start)) as u32;
        let (class, other) = (drawn(), drawn());
        data.push_entry(class / 2, 0.6);
        if random.below(3) > 0 {
            data.push_entry(CLASSES + class, 0.6);
        }
        data.push_entry(2 * CLASSES + random.below(60) as u32, 0.6);
        data.end_row(&[if random.below(10) == 0 { other } else { class }]);
    }
    data
}

/// The numbers of a tensor of a model.
fn tensor(model: &Model, name: &str) -> Option<Vec<u32>> {
    let bytes = model.to_bytes();
    let (header, data) = parts(&bytes);
    let offsets = header.get(name)?["data_offsets"].as_array()?;
    let [start, end] = [0, 1].map(|at| offsets[at].as_u64().unwrap() as usize);
    Some(bytemuck::pod_collect_to_vec(&data[start..end]))
}

#[test]
fn new_rows_are_learned_and_old_ones_are_kept() {
    for several in [false, true] {
        let old = fitted(&data(6000, &range(0..120), 120, several, 0), None, json!({}));
        let new = data(1500, &range(80..CLASSES), CLASSES, several, 1);
        let model = fitted(&new, Some(&old), json!({}));
        let all = data(1500, &range(0..CLASSES), CLASSES, several, 2);
        let known = data(1500, &range(0..120), CLASSES, several, 3);
        let anew = fitted(&new, None, json!({}));
        let of = |model: &Model| (error(model, &all), error(model, &known));
        let ((before, _), (after, kept), (_, alone)) = (of(&old), of(&model), of(&anew));
        // A quarter of the classes are new.
        assert!(before > 0.2 && after < 0.02 && kept < 0.01, "{several}: {before} {after} {kept}");
        assert!(alone > 0.3, "{several}: {alone} from the new rows alone");
        assert_eq!((model.classes(), model.features()), (CLASSES as usize, new.features()));
        assert_eq!((model.card.rows, model.card.counts.len()), (7500, CLASSES as usize));
        let saved = Model::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(saved.scores, model.scores);
    }
}

/// An old class gets a new word, and no other node or class is touched by it.
#[test]
fn old_classes_learn_new_words() {
    let old = fitted(&data(5000, &range(0..100), 100, false, 0), None, json!({ "rivals": 0 }));
    let features = old.features();
    let with_word = |rows: usize| {
        let mut data = Dataset::new(features + 1, old.card.classes.clone());
        for n in 0..rows as u32 {
            data.push_entry(n % 30, 0.6);
            data.push_entry(features as u32, 0.8);
            data.end_row(&[7]);
        }
        data
    };
    let test = with_word(30);
    assert!(error(&old, &test) > 0.9);
    let model = fitted(&with_word(60), Some(&old), json!({ "rivals": 0 }));
    assert_eq!(error(&model, &test), 0.0);
    let known = data(1000, &range(0..100), 100, false, 5);
    assert!(error(&model, &known) <= error(&old, &known) + 0.002);
}

/// Classes of one kind all find the same leaf.
#[test]
fn a_leaf_that_grows_too_large_is_split() {
    let old = fitted(&data(4000, &range(0..64), 64, false, 0), None, json!({ "trees": 1 }));
    assert_eq!((tensor(&old, "leaves"), tensor(&old, "leaf_sizes")), (Some(vec![8]), None));
    // The new classes share a word with class 7, and have one of their own.
    let grown = |rows: usize| {
        let mut data = Dataset::new(old.features() + 40, (0..104).map(|k| format!("c{k:03}")).collect());
        for n in 0..rows as u32 {
            let words = [(n % 30, 0.4), (37, 0.6), (old.features() as u32 + n % 40, 0.7)];
            words.into_iter().for_each(|(word, value)| data.push_entry(word, value));
            data.end_row(&[64 + n % 40]);
        }
        data
    };
    let model = fitted(&grown(2000), Some(&old), json!({ "trees": 1 }));
    let (leaves, sizes) = (tensor(&model, "leaves").unwrap(), tensor(&model, "leaf_sizes").unwrap());
    // 104 classes in 16 leaves are 7 a leaf; twice that is too large.
    assert!(leaves[0] > 8 && sizes.len() == leaves[0] as usize, "{leaves:?} {sizes:?}");
    assert!(sizes.iter().sum::<u32>() == 104 && sizes.iter().all(|&size| size <= 14), "{sizes:?}");
    assert_eq!(error(&model, &grown(200)), 0.0);
    let known = data(1000, &range(0..64), 64, false, 5);
    assert!(error(&model, &known) < 0.02, "{}", error(&model, &known));
}

/// Classes without rows wait in some leaf; their first rows give them the right one.
#[test]
fn classes_without_rows_may_come_first() {
    let old = fitted(&data(4000, &range(0..80), 100, false, 0), None, json!({}));
    let empty = fitted(&data(400, &range(0..80), 120, false, 1), Some(&old), json!({}));
    assert_eq!(empty.classes(), 120);
    let known = data(1000, &range(0..80), 120, false, 5);
    assert!(error(&empty, &known) < 0.01);
    let model = fitted(&data(1000, &range(60..120), 120, false, 2), Some(&empty), json!({}));
    let all = data(1000, &range(0..120), 120, false, 6);
    assert!(error(&model, &all) < 0.02, "{}", error(&model, &all));
}

#[test]
fn same_bits_for_any_number_of_threads_and_after_any_interruption() {
    // Weak trees, which leave a second stage something to do.
    let weak = json!({ "trees": 1, "epochs": 1, "learning_rate": 0.02 });
    let old = fitted(&doubtful(12_000, 0..120, 0), None, weak.clone());
    let new = doubtful(2500, 60..CLASSES, 1);
    let options = options(with(&settings(), weak));
    let start = || {
        let from = Start { scores: Some(&old.scores), ..Start::default() };
        Training::new(Examples::of(&new), &options, from).unwrap()
    };
    let whole = |threads: usize| {
        let run = || {
            let mut run = start();
            while run.step().unwrap().is_some() {}
            run.finish().unwrap()
        };
        with_threads(threads, run).unwrap()
    };
    let one = whole(1);
    let Scores::Trees(trees) = &one.scores else { panic!("trees") };
    assert!(one.finished && trees.second_stage().is_some());
    for threads in [2, 3] {
        assert_eq!(whole(threads).scores, one.scores, "{threads} threads");
    }
    let (mut run, mut steps) = (start(), 0);
    while run.step().unwrap().is_some() {
        steps += 1;
        if steps % 17 == 0 {
            let state = run.state();
            run = start();
            run.restore(&state).unwrap();
        }
    }
    assert!(steps > 50 && run.finish().unwrap().scores == one.scores, "{steps} steps");
}

#[test]
fn what_cannot_go_on_is_refused() {
    let old = fitted(&data(2000, &range(0..80), 80, false, 0), None, json!({}));
    let refused = |data: &Dataset, changes: Value| {
        let options = options(with(&settings(), changes));
        let start = Start { scores: Some(&old.scores), ..Start::default() };
        Training::new(Examples::of(data), &options, start).err().expect("refused").to_string()
    };
    let few = refused(&data(100, &range(0..70), 70, false, 0), json!({}));
    assert_eq!(few, "the data has 101 features and 70 classes, fewer than the 111 and 80 of the trees");
    let other = refused(&data(100, &range(0..80), 80, false, 0), json!({ "trees": 5 }));
    assert_eq!(other, "`trees` must be 2, as in the model that is trained further, got 5");
}
