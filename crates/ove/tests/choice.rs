//! What plain training chooses, and that it is what makes the fewest errors on rows that it did not see.

use std::ops::ControlFlow;

use ove::options::{ScoreKind, ScoreOptions, Solver};
use ove::synthetic::{Sparse, plane, sparse};
use ove::train::{Compared, Event};
use ove::{Dataset, Model, evaluate, fit, with_threads};
use serde_json::{Value, json};

use crate::fitted::options;

/// Few of many features in each row, as in texts.
const TEXTS: Sparse = Sparse { rows: 3000, features: 2000, classes: 20, entries: 10, signal: 0.6 };

/// The model of these settings, and what was compared.
fn chosen(data: &Dataset, settings: Value) -> (Model, Vec<Compared>) {
    let mut all = Vec::new();
    let model = fit(data, &options(settings), |event| {
        if let Event::Compared(compared) = event {
            all = compared.to_vec();
        }
        ControlFlow::Continue(())
    });
    (model.unwrap(), all)
}

fn kind(scores: Option<&ScoreOptions>) -> ScoreKind {
    scores.expect("scores are chosen").kind()
}

fn kinds(compared: &[Compared]) -> Vec<ScoreKind> {
    let mut kinds: Vec<ScoreKind> = compared.iter().map(|one| kind(one.options.scores.as_ref())).collect();
    kinds.dedup();
    kinds
}

#[test]
fn the_candidate_with_the_fewest_errors_is_trained() {
    for data in [plane(300, 0), sparse(TEXTS, 1, 0)] {
        let (model, compared) = chosen(&data, json!({}));
        assert!(compared.len() >= 3, "{compared:?}");
        let least = compared.iter().map(|one| one.error).fold(f64::INFINITY, f64::min);
        let best = compared.iter().find(|one| one.error == least).unwrap();
        let found = &model.card.options;
        assert_eq!(found.scores, best.options.scores);
        assert!(best.options.l2.is_none_or(|l2| found.l2 == Some(l2)));
        // All rows are trained on in the end.
        assert_eq!((model.card.rows, model.is_calibrated()), (data.len() as u64, true));
        // What a comparison says of new rows is true: within three standard errors.
        let new = if data.features() == 2 { plane(3000, 1) } else { sparse(TEXTS, 1, 1) };
        let error = evaluate(&model, new.rows(), &new.labels).unwrap().error;
        let deviation = (least * (1.0 - least) / best.rows as f64).sqrt();
        assert!(error < least + 3.0 * deviation + 0.01, "{error} on new rows, {least} in the comparison");
        let again = with_threads(3, || chosen(&data, json!({}))).unwrap();
        assert!(again == (model, compared), "the same for any number of threads");
    }
}

#[test]
fn numbers_may_have_linear_scores_and_sparse_rows_and_many_classes_trees() {
    let (model, compared) = chosen(&plane(300, 0), json!({}));
    assert_eq!(kinds(&compared), [ScoreKind::Linear, ScoreKind::Trees]);
    let Some(ScoreOptions::Linear(linear)) = &model.card.options.scores else { panic!("linear scores") };
    assert!(matches!(linear.solver, Solver::Batch(_)) && model.card.temperature.is_some());
    let (model, compared) = chosen(&sparse(TEXTS, 1, 0), json!({}));
    assert_eq!(
        (kinds(&compared), kind(model.card.options.scores.as_ref())),
        (vec![ScoreKind::Trees], ScoreKind::Trees)
    );
    let many = Sparse { rows: 400, features: 50, classes: 100, entries: 9, signal: 0.5 };
    assert_eq!(kinds(&chosen(&sparse(many, 1, 0), json!({})).1), [ScoreKind::Trees]);
}

/// What is given stays, and only what fits it is compared.
#[test]
fn given_settings_hold_for_all_candidates() {
    let data = plane(300, 0);
    let (model, compared) = chosen(&data, json!({ "epochs": 2 }));
    assert!(compared.is_empty() && kind(model.card.options.scores.as_ref()) == ScoreKind::Linear);
    assert_eq!(model.card.options.epochs, Some(2));
    let (model, compared) = chosen(&data, json!({ "l2": 3.0 }));
    assert_eq!(compared.len(), 2);
    assert!(compared.iter().all(|one| one.options.l2 == Some(3.0)) && model.card.options.l2 == Some(3.0));
    for settings in [json!({ "scores": "trees" }), json!({ "solver": "batch" }), json!({ "leaves": 1 })] {
        assert!(chosen(&data, settings).1.is_empty());
    }
    // Of a few rows, none can be spared.
    assert!(chosen(&plane(19, 0), json!({})).1.is_empty());
}

/// One node scores every class against all others; a row then visits all classes, whatever the beam.
#[test]
fn a_tree_with_one_leaf_has_all_classes() {
    let data = sparse(TEXTS, 1, 0);
    let (model, _) = chosen(&data, json!({ "trees": 1, "leaves": 1 }));
    let top = model.top_k_within(data.rows(), 0..50, 20);
    let logs = model.log_probabilities(data.rows());
    for (top, logs) in top.iter().zip(logs.chunks(20)) {
        let best = (0..20).max_by(|&a, &b| logs[a].total_cmp(&logs[b])).unwrap();
        assert_eq!(top[0].class as usize, best);
        assert!((logs.iter().map(|log| log.exp()).sum::<f64>() - 1.0).abs() < 1e-6);
    }
    let of = |model: &Model| evaluate(model, data.rows(), &data.labels).unwrap().error;
    assert!(of(&model) < 0.3, "{}", of(&model));
    assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap(), model);
}
