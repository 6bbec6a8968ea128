//! Evaluation against numbers from pen and paper.
//!
//! The model of each test has one feature a row, and row n has feature n alone: the weights of a feature are the scores
//! of its row.

use ove::bound::Objective;
use ove::model::Card;
use ove::scores::Linear;
use ove::synthetic::{Sparse, sparse};
use ove::{Dataset, Evaluation, Labels, Model, Scores, evaluate, with_threads};
use serde_json::json;

use crate::fitted::options;

/// A model that gives row n the scores `rows[n]`, with the training counts of its classes, and these rows.
fn scoring<const K: usize>(rows: &[[f64; K]], counts: [u64; K]) -> (Model, Dataset) {
    let bias = [0.0; K];
    let table = rows.iter().chain([&bias]).flatten().map(|&score| score as f32).collect();
    let names = (0..K).map(|k| k.to_string()).collect();
    let card = Card::new(options(json!({ "scores": "linear" })), names, counts.to_vec(), counts.iter().sum());
    let mut data = Dataset::new(rows.len(), card.classes.clone());
    for n in 0..rows.len() {
        data.push_entry(n as u32, 1.0);
        data.end_row(&[]);
    }
    (Model { scores: Scores::Linear(Linear::new(K, table)), card }, data)
}

/// The evaluation of rows with these labels.
fn with_labels(model: &Model, data: &Dataset, labels: &[&[u32]]) -> Evaluation {
    evaluate(model, data.rows(), &several(labels)).unwrap()
}

/// The evaluation of rows with one label each.
fn with_label(model: &Model, data: &Dataset, labels: &[u32]) -> Evaluation {
    evaluate(model, data.rows(), &Labels::single(labels.to_vec())).unwrap()
}

/// The evaluation of rows whose classes have these probabilities.
fn evaluation<const K: usize>(probabilities: &[[f64; K]], labels: &[&[u32]]) -> Evaluation {
    let scores: Vec<[f64; K]> = probabilities.iter().map(|row| row.map(f64::ln)).collect();
    let (model, data) = scoring(&scores, [10; K]);
    with_labels(&model, &data, labels)
}

fn several(rows: &[&[u32]]) -> Labels {
    let mut labels = Labels::default();
    rows.iter().for_each(|row| labels.push(row));
    labels
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

/// Three rows whose own class comes first, second and third.
#[test]
fn error_nlpd_precision_and_gain() {
    let e = evaluation(&[[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], &[&[0], &[1], &[0]]);
    near(e.error, 2.0 / 3.0);
    near(e.nlpd, -(0.5f64 * 0.3 * 0.2).ln() / 3.0);
    near(e.precision_at_1, 1.0 / 3.0);
    near(e.precision_at_3, 1.0 / 3.0);
    near(e.precision_at_5, 1.0 / 5.0);
    near(e.ndcg_at_3, (1.0 + 1.0 / 3f64.log2() + 1.0 / 2.0) / 3.0);
    near(e.ndcg_at_5, e.ndcg_at_3);
    assert_eq!((e.rows, e.labels, e.unknown_rows, e.classes, e.features), (3, 3, 0, 3, 3));
}

/// One row for each rank from 0 to 6: ranks 0 to 4 count at 5, the others do not.
#[test]
fn ranks_beyond_k_count_nothing() {
    let row = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0];
    let (model, data) = scoring(&[row; 7], [1; 7]);
    let e = with_label(&model, &data, &[0, 1, 2, 3, 4, 5, 6]);
    near(e.precision_at_1, 1.0 / 7.0);
    near(e.precision_at_3, 3.0 / 7.0 / 3.0);
    near(e.precision_at_5, 5.0 / 7.0 / 5.0);
    // 1 + 1/log₂3 + 1/log₂4 + 1/log₂5 + 1/log₂6
    near(e.ndcg_at_5, 2.948459119 / 7.0);
}

/// Of equal scores the first class wins, here as in `predict`.
#[test]
fn ties_go_to_the_first_class() {
    let row = [0.25, 1.0, 1.0, 1.0];
    let (model, data) = scoring(&[row; 3], [1; 4]);
    let order: Vec<u32> = model.top_k(data.rows(), 4)[0].iter().map(|p| p.class).collect();
    assert_eq!(order, [1, 2, 3, 0]);
    let of_label = |label| with_label(&model, &data, &[label; 3]);
    assert_eq!([1, 2, 3, 0].map(|k| of_label(k).error), [0.0, 1.0, 1.0, 1.0]);
    near(of_label(2).ndcg_at_5, 1.0 / 3f64.log2());
    near(of_label(3).ndcg_at_5, 0.5);
}

/// N = 111 training rows. With A = 0.55 and B = 1.5, C = (ln 111 − 1)·2.5^0.55 = 6.14025 and 1/p = 1 + C (N_l +
/// 1.5)^−0.55: 1.48376 for 100 rows, 2.60252 for 10, 4.70953 for 1. Of these rows the frequent and the rare one are
/// hit.
#[test]
fn propensities_make_rare_classes_count_more() {
    let (model, data) = scoring(&[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [100, 10, 1]);
    let psp = |labels: &[u32]| with_label(&model, &data, labels).psp_at_1;
    near(psp(&[0, 1, 2]), 0.704118604);
    near(psp(&[0, 0, 2]), 1.0);
    near(psp(&[1, 1, 1]), 0.0);
}

/// Labels in ranks 1, 3 and 7. Beside them the best ranking has three labels in front; one more that the model never
/// saw makes it four.
#[test]
fn several_labels_a_row() {
    let row = [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0];
    let (model, mut data) = scoring(&[row; 2], [1; 7]);
    let e = with_labels(&model, &data, &[&[6, 2, 0], &[6, 2, 0]]);
    near(e.error, 0.0);
    near(e.precision_at_1, 1.0);
    near(e.precision_at_3, 2.0 / 3.0);
    near(e.precision_at_5, 2.0 / 5.0);
    near(e.ndcg_at_3, 1.5 / (1.5 + 1.0 / 3f64.log2()));
    near(e.ndcg_at_5, e.ndcg_at_3);
    assert_eq!((e.rows, e.labels, e.unknown_rows), (2, 6, 0));

    data.classes.push("new".into());
    data.labels = several(&[&[6, 2, 7, 0], &[7]]);
    data.use_classes(&model.card.classes);
    let e = evaluate(&model, data.rows(), &data.labels).unwrap();
    near(e.error, 0.5);
    near(e.precision_at_3, 2.0 / 3.0 / 2.0);
    near(e.ndcg_at_3, 1.5 / (1.5 + 1.0 / 3f64.log2()) / 2.0);
    near(e.ndcg_at_5, 1.5 / (1.5 + 1.0 / 3f64.log2() + 1.0 / 5f64.log2()) / 2.0);
    assert_eq!((e.rows, e.labels, e.unknown_rows), (2, 3, 1));
}

/// The propensities above. Of two labels the frequent one comes first and the other third; the best ranking starts with
/// the other, and if there is a label without training rows, 1/p = 5.91288, with that.
#[test]
fn propensities_of_several_labels() {
    let (model, mut data) = scoring(&[[1.0, 0.0, 0.5]], [100, 10, 1]);
    let e = with_labels(&model, &data, &[&[0, 1]]);
    near(e.psp_at_1, 0.570125281);
    near(e.psp_at_3, 1.0);
    near(e.psp_at_5, 1.0);
    data.classes.push("new".into());
    data.labels = several(&[&[0, 3, 1]]);
    data.use_classes(&model.card.classes);
    let e = evaluate(&model, data.rows(), &data.labels).unwrap();
    near(e.psp_at_1, 0.250937077);
    near(e.psp_at_3, 0.408662208);
}

/// Scores so far apart that their exponentials do not fit 64 bits, and a row that has every class.
#[test]
fn far_scores_stay_exact() {
    let (mut model, data) = scoring(&[[1000.0, 0.0, -1000.0]], [3, 2, 1]);
    for &objective in BOUNDS {
        model.card.options = options(json!({ "objective": objective.name(), "merge": 1 }));
        let e = with_labels(&model, &data, &[&[2]]);
        near(e.nlpd, 2000.0);
        assert!(e.bound.unwrap() <= -2000.0 && e.bound.unwrap() >= -3000.0, "{objective}: {}", e.bound.unwrap());
        // Beside the best class, which is a label too, the other competes with class 2 alone.
        let e = with_labels(&model, &data, &[&[0, 1]]);
        near(e.nlpd, 500.0);
        assert!(e.bound.unwrap() <= 0.0 && e.bound.unwrap() > -1e-6, "{objective}: {}", e.bound.unwrap());
        let e = with_labels(&model, &data, &[&[0, 1, 2]]);
        near(e.nlpd, 1000.0);
        assert_eq!((e.bound.unwrap().abs(), e.gap.unwrap().abs()), (0.0, 0.0));
    }
}

/// Two rows at 0.9, both hits, and two at 0.5, one hit: |2 − 1.8|/4 + |1 − 1|/4.
#[test]
fn calibration_error_by_bins() {
    let (sure, even) = ([0.9, 0.06, 0.04], [0.5, 0.3, 0.2]);
    near(evaluation(&[sure, sure, even, even], &[&[0], &[0], &[0], &[1]]).ece, 0.05);
    // A hit and a miss in different bins do not cancel: |1 − 0.9|/2 + |0 − 0.5|/2.
    near(evaluation(&[sure, even], &[&[0], &[2]]).ece, 0.3);
    // Probability 1 belongs to the last bin.
    let (model, data) = scoring(&[[1000.0, 0.0]], [1; 2]);
    near(with_label(&model, &data, &[0]).ece, 0.0);
}

/// The objectives that are lower bounds of the log probability, or that itself.
const BOUNDS: &[Objective] =
    &[Objective::Softmax, Objective::OneVsEach, Objective::Merged, Objective::Bouchard, Objective::Normalised];

#[test]
fn what_is_no_bound_has_none() {
    assert!(Objective::ALL.iter().all(|objective| objective.is_bound() == BOUNDS.contains(objective)));
    let (mut model, data) = scoring(&[[1.0, 0.0, -1.0]], [3, 2, 1]);
    for settings in [
        json!({ "objective": "sampled-softmax" }),
        // Its C is drawn for each training row, and belongs to these.
        json!({ "objective": "merged", "sampler": "rivals" }),
        json!({ "scores": "factored" }),
    ] {
        model.card.options = options(settings);
        let e = with_label(&model, &data, &[0]);
        assert_eq!((e.bound, e.gap), (None, None));
        assert!(e.effective_rivals.is_some_and(|rivals| rivals > 1.0 && rivals < 2.0));
    }
    model.card.options = options(json!({ "objective": "merged", "sampler": "frequency" }));
    assert!(with_label(&model, &data, &[0]).bound.is_some());
}

/// The objectives by their definitions, for label y of a row with these scores and labels. C holds classes 1 and 3.
fn by_definition(objective: Objective, scores: &[f64], labels: &[u32], y: usize) -> f64 {
    let others = || (0..scores.len()).filter(|&m| !labels.contains(&(m as u32)));
    let exp = |m: usize| (scores[m] - scores[y]).exp();
    let apart = |m: usize| -(1.0 + exp(m)).ln();
    match objective {
        // The normalised bound at its best u is the log probability.
        Objective::Softmax | Objective::Normalised => -(1.0 + others().map(exp).sum::<f64>()).ln(),
        Objective::OneVsEach => others().map(apart).sum(),
        Objective::Merged => {
            let together: f64 = others().filter(|m| [1, 3].contains(m)).map(exp).sum();
            -(1.0 + together).ln() + others().filter(|m| ![1, 3].contains(m)).map(apart).sum::<f64>()
        }
        Objective::Bouchard => {
            let visited = || others().chain([y]).map(|m| scores[m]);
            let at = |alpha: f64| scores[y] - alpha - visited().map(|f| (1.0 + (f - alpha).exp()).ln()).sum::<f64>();
            (-10_000..10_000).map(|i| at(f64::from(i) * 1e-3)).fold(f64::NEG_INFINITY, f64::max)
        }
        other => panic!("{other} has no definition here"),
    }
}

#[test]
fn bound_is_that_of_the_objective_and_below_the_likelihood() {
    let rows = [[1.0, 0.5, -1.0, 2.0], [0.0, -3.0, 0.25, 0.0], [-1.0, 4.0, 0.0, 1.0]];
    let (mut model, data) = scoring(&rows, [5, 50, 6, 40]);
    for &objective in BOUNDS {
        model.card.options = options(json!({ "objective": objective.name(), "merge": 2 }));
        // Classes inside and outside C, several of them and all but one, and a row of an unknown class, which the bound
        // leaves out.
        for labels in
            [[&[3u32][..], &[0], &[2]], [&[1], &[2], &[1]], [&[0], &[], &[3]], [&[0, 3], &[1, 2, 3], &[3, 0, 1]]]
        {
            let e = with_labels(&model, &data, &labels);
            let pairs = || (0..3).flat_map(|n| labels[n].iter().map(move |&y| (n, y as usize)));
            let sum = |objective| pairs().map(|(n, y)| by_definition(objective, &rows[n], labels[n], y)).sum::<f64>();
            near(e.bound.unwrap(), sum(objective));
            near(e.gap.unwrap(), sum(Objective::Softmax) - e.bound.unwrap());
            assert!(e.gap.unwrap() >= -1e-12, "{objective}: {}", e.gap.unwrap());
            let alone = |(n, y): (usize, usize)| by_definition(Objective::Softmax, &rows[n], &[y as u32], y);
            near(-e.nlpd * pairs().count() as f64, pairs().map(alone).sum());
        }
    }
}

#[test]
fn rows_of_unknown_classes_are_errors() {
    let row = [0.5, 0.3, 0.2];
    let e = evaluation(&[row; 4], &[&[0], &[], &[1], &[]]);
    near(e.error, 0.75);
    near(e.nlpd, -(0.5f64 * 0.3).ln() / 2.0);
    near(e.precision_at_5, 2.0 / 4.0 / 5.0);
    near(e.psp_at_1, 0.5);
    near(e.ece, (1.0 - 4.0 * 0.5f64).abs() / 4.0);
    assert_eq!((e.rows, e.unknown_rows), (4, 2));
}

/// With no known class there is no log probability to average: nlpd is not a number, the rest is the worst there is.
#[test]
fn only_unknown_classes() {
    let e = evaluation(&[[0.5, 0.3, 0.2]; 2], &[&[], &[]]);
    assert!(e.nlpd.is_nan());
    assert_eq!((e.error, e.bound.unwrap(), e.gap.unwrap(), e.psp_at_1, e.ndcg_at_5), (1.0, 0.0, 0.0, 0.0, 0.0));
    assert_eq!((e.rows, e.unknown_rows), (2, 2));
}

#[test]
fn same_result_for_any_number_of_threads() {
    let data = sparse(Sparse { rows: 500, features: 50, classes: 20, entries: 8, signal: 0.5 }, 1, 0);
    let (mut model, _) = scoring(&[[0.0; 20]; 50], [25; 20]);
    let table = (0..51 * 20).map(|i| (f64::from(i) * 0.7).sin() as f32).collect();
    model.scores = Scores::Linear(Linear::new(20, table));
    let with = |threads| with_threads(threads, || evaluate(&model, data.rows(), &data.labels).unwrap()).unwrap();
    assert!(with(1).error < 1.0 && with(1).error > 0.0);
    assert_eq!(with(1), with(3));
}

#[test]
fn rows_without_a_label_each_are_an_error() {
    let (model, data) = scoring(&[[0.0, 1.0]; 2], [1; 2]);
    let message = |rows: &Dataset, labels: &[u32]| {
        evaluate(&model, rows.rows(), &Labels::single(labels.to_vec())).unwrap_err().to_string()
    };
    assert_eq!(message(&data, &[0]), "labels of 1 rows do not match 2 rows");
    assert_eq!(message(&Dataset::new(2, Vec::new()), &[]), "evaluation needs at least one row, got none");
    assert_eq!(message(&data, &[0, 2]), "a label must be below the model's number of classes, 2, got 2");
}

#[test]
fn reliability_has_a_bin_for_each_probability_that_occurs() {
    let (sure, even) = ([0.9, 0.05, 0.05], [0.5, 0.3, 0.2]);
    let e = evaluation(&[sure, sure, even, even], &[&[0], &[1], &[0], &[1]]);
    assert_eq!(e.reliability.iter().map(|bin| bin.rows).collect::<Vec<_>>(), [2, 2]);
    near(e.reliability[0].confidence, 0.5);
    near(e.reliability[0].accuracy, 0.5);
    near(e.reliability[1].confidence, 0.9);
    near(e.reliability[1].accuracy, 0.5);
}

#[test]
fn confused_pairs_by_how_often() {
    let first = [0.8, 0.1, 0.1];
    // Right; 1 for 0 twice, once beside 2; 2 for 0 once; a row whose other label is the best counts for none.
    let e = evaluation(&[first; 4], &[&[0], &[1], &[1, 2], &[1, 0]]);
    let pairs: Vec<_> = e.confused.iter().map(|pair| (pair.label.as_str(), pair.best.as_str(), pair.rows)).collect();
    assert_eq!(pairs, [("1", "0", 2), ("2", "0", 1)]);
}

#[test]
fn an_infinite_nlpd_survives_json() {
    let (model, data) = scoring(&[[0.0, -1e4]], [10, 10]);
    let e = with_label(&model, &data, &[1]);
    let e = Evaluation { nlpd: f64::INFINITY, ..e };
    let back: Evaluation = serde_json::from_str(&serde_json::to_string(&e).unwrap()).unwrap();
    assert_eq!(back, e);
}
