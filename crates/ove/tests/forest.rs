//! Trees over classes: they learn, their probabilities are probabilities, and nothing depends on threads.

use std::ops::ControlFlow;

use ove::model::Card;
use ove::platform::random::Stream;
use ove::scores::trees::{Forest, Scratch, Search};
use ove::train::trees::train;
use ove::{Dataset, Error, ForestOptions, Model, Prediction, Problem, Settings, Weights, evaluate};

const CLASSES: usize = 200;

/// Class k has the words k and k + 1 of its own and a few that all classes share; with `several`, a row may have two neighbours.
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

fn forest(data: &Dataset, options: &ForestOptions) -> Forest {
    train(&Problem::of(data), options, &mut |_| ControlFlow::Continue(())).unwrap().forest
}

fn model(forest: Forest, data: &Dataset) -> Model {
    let options = Settings::Forest(ForestOptions::default());
    let card = Card::new(options, data.classes.clone(), Problem::of(data).counts(), data.len() as u64);
    Model { weights: Weights::Forest(forest), card }
}

#[test]
fn it_finds_the_class_of_rows_it_never_saw() {
    for several in [false, true] {
        let train = data(20_000, several, 0);
        let test = data(1000, several, 1);
        let model = model(forest(&train, &ForestOptions::default()), &train);
        let found = evaluate(&model, test.rows(), &test.labels, 0).unwrap();
        assert!(found.error < 0.02, "several {several}: {found:?}");
        assert!(found.ece < 0.1, "several {several}: {found:?}");
        assert_eq!((found.bound, found.gap), (None, None));
    }
}

#[test]
fn probabilities_of_all_classes_sum_to_one() {
    let train = data(5000, false, 0);
    let forest = forest(&train, &ForestOptions::default());
    for n in 0..20 {
        let row = train.rows().row(n);
        let mut sights = forest.look(&[row], Search::Nearest);
        let top = forest.top(&[row], &mut sights, 5, &mut Scratch::default()).remove(0);
        let sight = &forest.look(&[row], Search::Nearest)[0];
        let sum: f64 = (0..CLASSES as u32).map(|k| forest.log_probability(row, sight, k).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        for prediction in top {
            let exact = forest.log_probability(row, sight, prediction.class).exp();
            assert!((prediction.probability - exact).abs() < 1e-6, "{prediction:?} {exact}");
        }
    }
}

#[test]
fn rows_see_the_same_together_and_alone() {
    let train = data(3000, true, 0);
    let forest = forest(&train, &ForestOptions::default());
    let rows: Vec<_> = (0..train.len()).map(|n| train.rows().row(n)).collect();
    let top = |rows: &[_], sights: &mut [_], scratch: &mut _| forest.top(rows, sights, 5, scratch);
    let together = forest.see(&rows, Search::Nearest, |piece, sights, scratch| top(&rows[piece], sights, scratch));
    for (n, (found, row)) in together.iter().zip(rows.chunks(1)).enumerate() {
        let alone = top(row, &mut forest.look(row, Search::Nearest), &mut Scratch::default());
        assert_eq!(*found, alone[0], "row {n}");
    }
}

#[test]
fn the_best_classes_are_those_of_all() {
    for several in [false, true] {
        let train = data(3000, several, 0);
        let forest = forest(&train, &ForestOptions::default());
        let rows: Vec<_> = (0..100).map(|n| train.rows().row(n)).collect();
        let mut sights = forest.look(&rows, Search::All);
        for count in [0, 1, 5, CLASSES, CLASSES + 1] {
            let tops = forest.top(&rows, &mut sights, count, &mut Scratch::default());
            for (top, sight) in tops.iter().zip(&sights) {
                let mut logs = vec![0.0; CLASSES];
                forest.log_probabilities(sight, &mut logs);
                for found in top {
                    let exact = logs[found.class as usize].exp();
                    assert!((found.probability - exact).abs() < 1e-6, "{count}: {found:?} {exact}");
                }
                // Where rows have one class, votes rank them and not probabilities.
                assert_eq!(top.len(), count.min(CLASSES));
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
fn same_bits_for_any_number_of_threads() {
    let train = data(3000, true, 0);
    let with = |threads| forest(&train, &ForestOptions { threads, ..ForestOptions::default() });
    let one = with(1);
    for threads in [2, 3, 7] {
        assert!(with(threads) == one, "{threads} threads");
    }
    let other = forest(&train, &ForestOptions { seed: 1, ..ForestOptions::default() });
    assert!(other != one);
}

#[test]
fn a_file_gives_the_same_forest_back() {
    for several in [false, true] {
        let train = data(2000, several, 0);
        let model = model(forest(&train, &ForestOptions { trees: 2, ..ForestOptions::default() }), &train);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forest.model");
        model.save(&path).unwrap();
        assert!(Model::load(&path).unwrap() == model);
        assert!(Model::map(&path).unwrap() == model);
    }
}

#[test]
fn a_file_that_was_changed_is_refused() {
    let train = data(500, false, 0);
    let model = model(forest(&train, &ForestOptions { trees: 1, ..ForestOptions::default() }), &train);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forest.model");
    model.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    // Whatever number is changed, the file is refused or gives a model that can be used: never a panic.
    for at in (8 + header..bytes.len()).step_by(97) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        std::fs::write(&path, &bytes).unwrap();
        match Model::load(&path) {
            Ok(model) => drop(model.top(train.rows(), 0..5, 5, 1).unwrap()),
            Err(error) => assert!(matches!(error, Error::ModelFile { .. }), "{error}"),
        }
    }
    std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    assert!(matches!(Model::load(&path), Err(Error::ModelFile { .. })));
}

#[test]
fn a_row_is_explained_by_the_weights_of_its_features() {
    let train = data(4000, false, 0);
    let model = model(forest(&train, &ForestOptions::default()), &train);
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
    let mut forest = forest(&train, &ForestOptions::default());
    let before = forest.weights();
    forest.prune(0.2);
    assert!(forest.weights() < before && forest.weights() > 0);
    let found = evaluate(&model(forest, &train), train.rows(), &train.labels, 0).unwrap();
    assert!(found.error < 0.05, "{found:?}");
}

#[test]
fn a_class_that_weighs_more_pulls_its_words_more() {
    let train = data(4000, false, 0);
    let pull = |weight: f64| {
        let mut list = vec![1.0; CLASSES];
        list[7] = weight;
        let class_weight = ove::options::ClassWeight::Listed(list);
        // Small steps, so that no class reaches its margin.
        let options = ForestOptions { class_weight, epochs: Some(1), learning_rate: 0.1, ..ForestOptions::default() };
        let forest = forest(&train, &options);
        forest.weights_of(7).iter().find(|(feature, _)| *feature == 7).unwrap().1
    };
    assert!(pull(5.0) > 1.2 * pull(1.0), "{} {}", pull(5.0), pull(1.0));
}

#[test]
fn what_speaks_for_a_class_are_its_words() {
    let train = data(10_000, false, 0);
    let forest = forest(&train, &ForestOptions::default());
    let mut weights = forest.weights_of(50);
    weights.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut best: Vec<u32> = weights[..2].iter().map(|&(feature, _)| feature).collect();
    best.sort_unstable();
    assert_eq!(best, [50, 51]);
}

#[test]
fn a_stopped_run_leaves_a_forest() {
    let train = data(20_000, false, 0);
    let mut calls = 0;
    let stopped = ove::train::trees::train(&Problem::of(&train), &ForestOptions::default(), &mut |done| {
        assert!((0.0..=1.0).contains(&done));
        calls += 1;
        if calls > 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert!(!stopped.finished);
    model(stopped.forest, &train).top(train.rows(), 0..10, 5, 1).unwrap();
}

#[test]
fn passes_are_chosen_on_held_out_rows() {
    let grow = |data: &Dataset, epochs, threads| {
        let options = ForestOptions { trees: 1, epochs, threads, ..ForestOptions::default() };
        train(&Problem::of(data), &options, &mut |_| ControlFlow::Continue(())).unwrap()
    };
    // Eight rows of a class are few to learn it from in three passes.
    let clear = data(2000, false, 0);
    // Labels that have nothing to do with their rows: more passes learn them by heart.
    let mut random = Stream::of(&[3]);
    let mut noise = Dataset::new(300, clear.classes.clone());
    for _ in 0..20_000 {
        (0..3).for_each(|part| noise.push_entry(100 * part + random.below(100) as u32, 0.6));
        noise.end_row(&[random.below(CLASSES as u64) as u32]);
    }
    let of_noise = grow(&noise, None, 1);
    assert_eq!(of_noise.epochs, 3);
    let chosen = grow(&clear, None, 1);
    assert!(chosen.epochs > 3, "{}", chosen.epochs);
    // The choice is the same for any number of threads, and nothing but a choice.
    for again in [grow(&clear, None, 2), grow(&clear, Some(chosen.epochs), 2)] {
        assert!(again.epochs == chosen.epochs && again.forest == chosen.forest);
    }
    assert!(grow(&data(400, false, 0), None, 1).epochs > 3, "too few rows to choose on");
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
    let model = model(forest(data, &ForestOptions::default()), data);
    model.top(data.rows(), 0..100, 5, 1).unwrap()
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
    let train = data(100, false, 0);
    let refused = |options: ForestOptions| {
        let error =
            ove::train::trees::train(&Problem::of(&train), &options, &mut |_| ControlFlow::Continue(())).unwrap_err();
        error.to_string()
    };
    assert!(refused(ForestOptions { trees: 0, ..ForestOptions::default() }).contains("trees"));
    assert!(refused(ForestOptions { epochs: Some(0), ..ForestOptions::default() }).contains("epochs"));
    assert!(refused(ForestOptions { learning_rate: -1.0, ..ForestOptions::default() }).contains("learning-rate"));
}
