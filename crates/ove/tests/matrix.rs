//! Dense rows, every class of many rows at once, and models as bytes.

use std::ops::ControlFlow;

use ove::model::Card;
use ove::options::{ForestOptions, Options, Solver};
use ove::scores::trees::Search;
use ove::{Dataset, Labels, Model, Problem, Rows, Settings, Weights, linear, solve, synthetic};

fn linear(data: &Dataset, rows: Rows<'_>, solver: Solver) -> ove::Linear {
    let problem = Problem { rows, labels: &data.labels, row_weights: &[], classes: data.classes.len() };
    let options = Options { solver, l2: 0.1, ..Options::default() };
    ove::train(&problem, &options, &mut |_| ControlFlow::Continue(())).unwrap().linear
}

fn model(data: &Dataset, weights: Weights, options: Settings) -> Model {
    let counts = vec![1; data.classes.len()];
    let card = Card::new(options, data.classes.clone(), counts, data.len() as u64);
    Model { weights, card }
}

fn forest(data: &Dataset) -> Model {
    let problem = Problem::of(data);
    let options = ForestOptions::default();
    let grown = solve::forest::train(&problem, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    model(data, Weights::Forest(grown.forest), Settings::Forest(options))
}

#[test]
fn dense_rows_are_rows() {
    let data = synthetic::plane(100, 0);
    let values: Vec<f32> = data.rows().iter(0..data.len()).flat_map(|row| row.values).copied().collect();
    let dense = Rows::dense(&[0, 1], &values).unwrap();
    assert_eq!((dense.len(), dense.features(), dense.entries()), (data.len(), 2, values.len()));
    for solver in [Solver::Batch, Solver::Stochastic] {
        assert_eq!(linear(&data, data.rows(), solver), linear(&data, dense, solver));
    }
}

#[test]
fn rows_that_are_none_are_refused() {
    let words = |rows: ove::Result<Rows<'_>>| rows.unwrap_err().to_string();
    assert!(words(Rows::dense(&[], &[])).contains("at least one"));
    assert!(words(Rows::dense(&[0, 1], &[1.0; 3])).contains("3 values in rows of 2 features"));
    assert!(words(Rows::dense(&[1, 0], &[1.0; 2])).contains("from 0 on"));
    let hole = [1.0, 2.0, 3.0, f32::NAN];
    assert!(words(Rows::dense(&[0, 1], &hole)).starts_with("row 1, feature 1: the value NaN"));
    assert!(words(Rows::new(9, &[0, 3, 4], &[1, 2, 8, 7], &hole)).starts_with("row 1, feature 7: the value NaN"));
    assert!(words(Rows::new(9, &[0, 30, 4], &[1, 2, 8, 7], &[1.0; 4])).contains("row 1 ends before it starts"));
}

#[test]
fn all_scores_are_those_of_each_row() {
    let data = synthetic::plane(50, 0);
    let weights = Weights::Linear(linear(&data, data.rows(), Solver::Batch));
    let model = model(&data, weights, Settings::Linear(Options::default()));
    let (scores, logs) = (model.scores(data.rows(), 2).unwrap(), model.log_probabilities(data.rows(), 2).unwrap());
    let mut of_row = vec![0.0; 5];
    for n in 0..data.len() {
        model.linear().unwrap().scores(data.rows().row(n), &mut of_row);
        let probabilities = linear::probabilities(&of_row);
        for k in 0..5 {
            assert_eq!(scores[n * 5 + k], f64::from(of_row[k]));
            assert!((logs[n * 5 + k].exp() - probabilities[k]).abs() < 1e-12);
        }
    }
}

#[test]
fn all_probabilities_of_a_forest_are_those_of_each_class() {
    let data = synthetic::plane(200, 0);
    let model = forest(&data);
    let Weights::Forest(forest) = &model.weights else { unreachable!() };
    let logs = model.log_probabilities(data.rows(), 2).unwrap();
    for n in 0..data.len() {
        let row = data.rows().row(n);
        let sight = &forest.look(&[row], Search::Nearest)[0];
        for class in 0..5 {
            let one = forest.log_probability(row, sight, class);
            assert!((one - logs[n * 5 + class as usize]).abs() < 1e-5);
        }
    }
}

#[test]
fn where_rows_have_several_classes_all_probabilities_are_those_of_the_best() {
    let mut data = synthetic::plane(400, 0);
    let mut labels = Labels::default();
    data.labels.iter().for_each(|own| labels.push(&[own[0], (own[0] + 1) % 5]));
    data.labels = labels;
    let model = forest(&data);
    let Weights::Forest(forest) = &model.weights else { unreachable!() };
    assert!(forest.calibration.vote_power.is_some());
    let logs = model.log_probabilities(data.rows(), 2).unwrap();
    for (n, top) in model.top(data.rows(), 0..data.len(), 1, 2).unwrap().iter().enumerate() {
        let best = top[0];
        assert!((logs[n * 5 + best.class as usize].exp() - best.probability).abs() < 1e-2);
    }
}

#[test]
fn bytes_are_those_of_the_file() {
    let data = synthetic::plane(50, 0);
    let weights = Weights::Linear(linear(&data, data.rows(), Solver::Batch));
    let folder = tempfile::tempdir().unwrap();
    for model in [model(&data, weights, Settings::Linear(Options::default())), forest(&data)] {
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
    let problem = Problem { rows: data.rows(), labels: &data.labels, row_weights: &[], classes: 5 };
    let options = Options { solver: Solver::Batch, l2: 0.1, ..Options::default() };
    let first = ove::train(&problem, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    let second = solve::train_from(&first.linear, &problem, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(first.trace.len() > 10 && second.trace.len() <= 3, "{} {}", first.trace.len(), second.trace.len());
}
