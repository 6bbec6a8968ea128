//! Dense rows, every class of many rows at once, and models as bytes.

use ove::scores::{Calibration, Linear, probabilities};
use ove::train::{Start, Training};
use ove::{Dataset, Examples, Labels, Model, Rows, Scores, synthetic, with_threads};
use serde_json::{Value, json};

use crate::fitted::{self, options};

/// Both solvers of linear scores.
fn solvers() -> [Value; 2] {
    [json!({ "solver": "batch", "l2": 0.1 }), json!({ "solver": "stochastic", "l2": 0.1 })]
}

fn linear(data: &Dataset, rows: Rows<'_>, settings: Value) -> Linear {
    let examples = Examples::new(rows, &data.labels, &[], data.classes.len());
    fitted::linear_of(fitted::run(examples, &options(settings)).unwrap().scores)
}

/// A model of each kind.
fn models(data: &Dataset) -> Vec<Model> {
    let [batch, stochastic] = solvers();
    [batch, stochastic, json!({ "rank": 3 }), json!({ "scores": "trees" })].map(|s| fitted::model(data, s)).into()
}

#[test]
fn dense_rows_are_rows() {
    let data = synthetic::plane(100, 0);
    let values: Vec<f32> = data.rows().iter(0..data.len()).flat_map(|row| row.values).copied().collect();
    let dense = Rows::dense(&[0, 1], &values).unwrap();
    assert_eq!((dense.len(), dense.features(), dense.entries()), (data.len(), 2, values.len()));
    for settings in solvers() {
        assert_eq!(linear(&data, data.rows(), settings.clone()), linear(&data, dense, settings));
    }
}

#[test]
fn rows_that_are_none_are_refused() {
    let words = |rows: ove::Result<Rows<'_>>| rows.unwrap_err().to_string();
    assert_eq!(words(Rows::dense(&[], &[])), "0 values do not make dense rows of 0 features");
    assert_eq!(words(Rows::dense(&[0, 1], &[1.0; 3])), "3 values do not make dense rows of 2 features");
    assert_eq!(words(Rows::dense(&[1, 0], &[1.0; 2])), "2 values do not make dense rows of 2 features");
    let hole = [1.0, 2.0, 3.0, f32::NAN];
    let finite = "the value must be a finite 32-bit float, got NaN";
    assert_eq!(words(Rows::dense(&[0, 1], &hole)), format!("row 1, feature 1: {finite}"));
    let of = |features, offsets, indices: &[u32], values| words(Rows::new(features, offsets, indices, values));
    assert_eq!(of(9, &[0, 3, 4], &[1, 2, 8, 7], &hole), format!("row 1, feature 7: {finite}"));
    let ones = &[1.0; 4];
    assert_eq!(of(9, &[0, 30, 4], &[1, 2, 8, 7], ones), "row 1: row offsets must not decrease, got 4 after 30");
    assert_eq!(of(9, &[0, 3], &[1, 2, 8, 7], ones), "row offsets must run from 0 to the number of entries, 4");
    assert_eq!(of(9, &[0, 4], &[1, 2, 8, 8], ones), "row 0: features must increase within a row, got 8 after 8");
    let beyond = "row 1: a feature must be below the number of features, 8, got 8";
    assert_eq!(of(8, &[0, 2, 4], &[1, 2, 7, 8], ones), beyond);
    assert_eq!(of(9, &[0, 4], &[1, 2, 7, 8], &ones[..3]), "4 feature indices do not match 3 values");
}

#[test]
fn all_scores_are_those_of_each_row() {
    let data = synthetic::plane(50, 0);
    let [batch, _] = solvers();
    let model = fitted::model(&data, batch);
    let (scores, logs) = (model.scores(data.rows()), model.log_probabilities(data.rows()));
    let mut of_row = vec![0.0; 5];
    for n in 0..data.len() {
        model.scores.linear().unwrap().scores(data.rows().row(n), &mut of_row);
        let probabilities = probabilities(&of_row);
        for k in 0..5 {
            assert_eq!(scores[n * 5 + k], f64::from(of_row[k]));
            assert!((logs[n * 5 + k].exp() - probabilities[k]).abs() < 1e-12);
        }
    }
}

/// As many predictions as were asked for, as far as there are classes, best first, with the probabilities of all.
#[test]
fn the_best_classes_are_k_of_all() {
    let data = synthetic::plane(200, 0);
    for model in models(&data) {
        let logs = model.log_probabilities(data.rows());
        for k in [0, 1, 3, 5, 9] {
            let top = model.top_k(data.rows(), k);
            assert_eq!(top.len(), data.len());
            for (n, top) in top.iter().enumerate() {
                assert_eq!(top.len(), k.min(5), "row {n}");
                let mut classes: Vec<u32> = top.iter().map(|p| p.class).collect();
                for p in top {
                    let exact = logs[n * 5 + p.class as usize].exp();
                    assert!((p.probability - exact).abs() < 1e-5, "row {n} of {k}: {p:?}, not {exact}");
                }
                classes.sort_unstable();
                classes.dedup();
                assert_eq!(classes.len(), k.min(5), "each class once");
            }
        }
        let within = model.top_k_within(data.rows(), 7..9, 3);
        assert_eq!(within, model.top_k(data.rows(), 3)[7..9]);
    }
}

#[test]
fn predictions_are_the_same_for_any_number_of_threads() {
    let data = synthetic::plane(200, 0);
    for model in models(&data) {
        let with = |threads| {
            with_threads(threads, || (model.top_k(data.rows(), 3), model.log_probabilities(data.rows()))).unwrap()
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn where_rows_have_several_classes_probabilities_of_trees_are_logistic() {
    let mut data = synthetic::plane(400, 0);
    let mut labels = Labels::default();
    data.labels.iter().for_each(|own| labels.push(&[own[0], (own[0] + 1) % 5]));
    data.labels = labels;
    let model = fitted::model(&data, json!({ "scores": "trees" }));
    let Scores::Trees(trees) = &model.scores else { unreachable!() };
    assert!(matches!(trees.calibration, Calibration::Logistic(_)));
    let logs = model.log_probabilities(data.rows());
    for (n, top) in model.top_k(data.rows(), 1).iter().enumerate() {
        let best = top[0];
        assert!((logs[n * 5 + best.class as usize].exp() - best.probability).abs() < 1e-9);
    }
}

#[test]
fn bytes_are_those_of_the_file() {
    let data = synthetic::plane(50, 0);
    let folder = tempfile::tempdir().unwrap();
    for model in models(&data) {
        let path = folder.path().join("model");
        model.save(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), model.to_bytes());
        assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap(), model);
    }
    assert!(Model::from_bytes(b"no model at all").unwrap_err().to_string().contains("not a usable model"));
}

#[test]
fn a_run_from_its_own_end_is_at_its_end() {
    let data = synthetic::plane(100, 0);
    let [batch, _] = solvers();
    let (examples, options) = (Examples::of(&data), options(batch));
    let first = fitted::run(examples, &options).unwrap();
    let start = Start { scores: Some(&first.scores), ..Start::default() };
    let mut training = Training::new(examples, &options, start).unwrap();
    while training.step().unwrap().is_some() {}
    let second = training.finish().unwrap();
    assert!(first.trace.len() > 10 && second.trace.len() <= 3, "{} {}", first.trace.len(), second.trace.len());
}
