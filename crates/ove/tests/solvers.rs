//! The solvers: the same bits for any number of threads, unbiased estimates, known optima, and errors.

use ove::bound::Objective;
use ove::options::StepKind;
use ove::platform::random::Stream;
use ove::sample::SamplerKind;
use ove::scores::{Linear, probabilities};
use ove::synthetic::{Sparse, plane, sparse};
use ove::train::{Start, Training, batch};
use ove::{Dataset, Error, Examples, Labels, Rows, Scores, TrainOptions, with_threads};
use serde_json::{Value, json};

use crate::fitted::{linear, linear_of, options, run, trained, with};

const SHAPE: Sparse = Sparse { rows: 600, features: 300, classes: 40, entries: 15, signal: 0.5 };

/// Every objective with every solver, sampler and step that it can have.
fn all_settings() -> Vec<Value> {
    let mut all = Vec::new();
    for &objective in Objective::ALL {
        let base = json!({ "objective": objective.name(), "l2": 0.5, "merge": 4 });
        if !objective.is_sampled() {
            all.push(with(&base, json!({ "solver": "batch", "iterations": 15 })));
        }
        for &sampler in SamplerKind::ALL {
            for &step in StepKind::ALL {
                let own = json!({ "sampler": sampler.name(), "step": step.name(), "epochs": 2, "batch": 64 });
                all.push(with(&base, own));
            }
        }
    }
    all
}

/// The same rows with one to four labels each: every fourth row keeps its one.
fn with_more_labels(data: &Dataset) -> Dataset {
    let classes = data.classes.len() as u32;
    let mut more = data.clone();
    more.labels = Labels::default();
    for (n, labels) in (0..).zip(data.labels.iter()) {
        let own: Vec<u32> = (0..=n % 4).map(|i| (labels[0] + i * (1 + n % 5)) % classes).collect();
        more.labels.push(&own);
    }
    more
}

/// Whether a run gives the bits of one thread on any number of them.
fn check_threads(data: &Dataset, settings: &Value, threads: &[usize]) {
    let with = |threads| {
        let trained = with_threads(threads, || trained(data, settings.clone())).unwrap();
        let bits: Vec<u32> = linear_of(trained.scores).table().iter().map(|w| w.to_bits()).collect();
        let trace: Vec<u64> = trained.trace.iter().map(|point| point.bound.to_bits()).collect();
        (bits, trace)
    };
    let one = with(1);
    assert!(one.0.iter().any(|&bits| bits != 0), "{settings} moved nothing");
    for &threads in threads {
        assert!(with(threads) == one, "{threads} threads differ from one: {settings}");
    }
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let data = sparse(SHAPE, 1, 0);
    for settings in all_settings() {
        check_threads(&data, &settings, &[2, 3, 7]);
    }
}

#[test]
fn same_bits_with_several_labels() {
    let mut data = with_more_labels(&sparse(SHAPE, 1, 0));
    data.row_weights = (0..data.len()).map(|n| 0.5 + (n % 3) as f64).collect();
    for settings in all_settings() {
        check_threads(&data, &with(&settings, json!({ "class_weight": "balanced" })), &[2, 3]);
    }
}

/// Cells that weights share, also those of two features of one row, and ranges of cells that end within a feature.
#[test]
fn same_bits_with_shared_cells() {
    let data = sparse(SHAPE, 1, 0);
    for step in ["sgd", "adagrad"] {
        for cells in [40, 61, 4001] {
            let settings = json!({ "step": step, "cells": cells, "l2": 0.5, "epochs": 2, "batch": 64 });
            check_threads(&data, &settings, &[2, 3, 7]);
        }
    }
}

/// The rows of a view are trained on, and no others: not visited, not counted, not drawn from.
#[test]
fn a_view_of_rows_is_those_rows() {
    let data = sparse(SHAPE, 1, 0);
    let index: Vec<u32> = (0..600).filter(|n| n % 3 != 0).collect();
    let mut copied = Dataset::new(300, data.classes.clone());
    for &n in &index {
        let row = data.rows().row(n as usize);
        row.indices.iter().zip(row.values).for_each(|(&d, &x)| copied.push_entry(d, x));
        copied.end_row(&data.labels[n as usize]);
    }
    let view = Examples::of(&data).with_index(&index);
    assert_eq!((view.len(), view.counts()), (400, Examples::of(&copied).counts()));
    assert_eq!(view.ids().map(|id| id as u32).collect::<Vec<_>>(), index);
    let batch = json!({ "solver": "batch", "l2": 0.5, "objective": "merged", "class_weight": "balanced" });
    assert_eq!(run(view, &options(batch.clone())).unwrap().scores, trained(&copied, batch).scores);
    // The others may as well be something else altogether.
    let mut other = data.clone();
    other.labels = Labels::default();
    data.labels.iter().enumerate().for_each(|(n, own)| other.labels.push(if n % 3 == 0 { &[7, 9] } else { own }));
    let other = Examples::of(&other).with_index(&index);
    for settings in all_settings().into_iter().chain([json!({ "rank": 4 }), json!({ "trees": 2, "epochs": 2 })]) {
        let run = |examples| run(examples, &options(settings.clone())).unwrap();
        let (a, b) = (run(view), run(other));
        assert!(a.scores == b.scores && a.updates == b.updates && a.trace == b.trace, "{settings}");
    }
}

/// With twice as many cells as weights few of them share one, and with a fifth of them most of what was learnt is still
/// there.
#[test]
fn shared_cells_learn_nearly_as_much() {
    let (train, test) = (sparse(Sparse { rows: 4000, ..SHAPE }, 1, 0), sparse(SHAPE, 1, 1));
    let precision = |cells: Option<usize>| {
        let linear = trained(&train, json!({ "cells": cells, "learning_rate": 0.5, "negatives": 10 }));
        let model = linear.into_model(&train, &Examples::of(&train));
        assert_eq!((model.features(), model.classes()), (300, 40));
        let best = model.top_k(test.rows(), 1);
        let hits = best.iter().zip(test.labels.iter()).filter(|(best, labels)| labels.contains(&best[0].class)).count();
        hits as f64 / test.len() as f64
    };
    let dense = precision(None);
    assert!(dense > 0.6, "{dense}");
    assert!(precision(Some(2 * 300 * 40)) > dense - 0.03, "{} {dense}", precision(Some(2 * 300 * 40)));
    assert!(precision(Some(300 * 40 / 5)) > dense - 0.2, "{} {dense}", precision(Some(300 * 40 / 5)));
}

/// The drawn classes, each as often as it stands for others, share one logarithm: with all classes drawn, that is the
/// exact softmax.
#[test]
fn a_sampled_softmax_of_all_classes_is_the_softmax() {
    let data = sparse(SHAPE, 1, 0);
    let with = |objective, sampler, classes| {
        trained(&data, json!({ "objective": objective, "sampler": sampler, "negatives": classes, "epochs": 1 }))
    };
    let exact = with("softmax", "systematic", 5);
    for sampler in ["uniform", "rivals"] {
        let all = with("sampled-softmax", sampler, 39);
        let (exact, all) = (exact.scores.linear().unwrap(), all.scores.linear().unwrap());
        for (a, b) in exact.table().iter().zip(all.table().iter()) {
            assert!((a - b).abs() < 1e-5, "{sampler}: {a} {b}");
        }
    }
}

/// At w = 0 the estimate of log(1 + 39) varies with what rivals are drawn, and is too small on average (Jensen), by
/// less the more is drawn.
#[test]
fn a_sampled_softmax_is_too_small_on_average() {
    let data = sparse(SHAPE, 1, 0);
    let at_zero = |classes: usize| {
        let first = |seed: u64| {
            let settings = json!({ "negatives": classes, "epochs": 1, "batch": 600, "seed": seed });
            let own = json!({ "objective": "sampled-softmax", "sampler": "rivals" });
            -trained(&data, with(&settings, own)).trace[0].bound / 600.0
        };
        (0..20).map(first).sum::<f64>() / 20.0
    };
    let (few, more, truth) = (at_zero(5), at_zero(30), 40f64.ln());
    assert!(few < more && more < truth && more > truth - 0.1, "{few} {more} {truth}");
}

/// Eq. 6 holds for every C, so also for the rivals of each row: at w = 0 a row with c of them in C is worth
/// −log(1 + c) − (39 − c) log 2, which lies below −log 40. With every class in C it is the exact softmax.
#[test]
fn merged_rivals_are_a_bound() {
    let data = sparse(SHAPE, 1, 0);
    let first = |classes: usize, seed: u64| {
        let settings = json!({ "objective": "merged", "sampler": "rivals", "negatives": classes, "seed": seed });
        trained(&data, with(&settings, json!({ "epochs": 1, "batch": 600 }))).trace[0].bound / 600.0
    };
    let of = |c: f64| -c.ln_1p() - (39.0 - c) * 2f64.ln();
    for seed in 0..20 {
        // Two thirds of the classes are drawn into C, with replacement.
        let (few, more) = (first(6, seed), first(30, seed));
        assert!(few > of(1.0) && few < of(4.0), "{few}");
        assert!(more > of(4.0) && more < of(20.0) && more < -40f64.ln(), "{more}");
    }
    let all = trained(&data, json!({ "objective": "merged", "sampler": "rivals", "negatives": 90, "epochs": 1 }));
    let exact = trained(&data, json!({ "objective": "softmax", "epochs": 1 }));
    for (a, b) in all.scores.linear().unwrap().table().iter().zip(exact.scores.linear().unwrap().table()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

/// At w = 0 all classes are equally probable, which the first numbers u say exactly, whatever is drawn.
#[test]
fn the_normalised_bound_starts_tight() {
    let data = with_more_labels(&sparse(SHAPE, 1, 0));
    let value: f64 = data.labels.iter().map(|own| -(own.len() as f64) * (41.0 - own.len() as f64).ln()).sum();
    for sampler in ["uniform", "systematic"] {
        let settings = json!({ "objective": "normalised", "sampler": sampler, "batch": 600, "epochs": 1 });
        let first = trained(&data, settings).trace[0].bound;
        assert!((first - value).abs() < 1e-3, "{sampler}: {first}, not {value}");
    }
}

/// Where features are counts, scores move far in one step, and the bound at the u of the visit before falls without
/// limit; the run goes on, since the next u makes up for it.
#[test]
fn the_normalised_bound_takes_counts() {
    let mut random = Stream::of(&[3]);
    let mut data = Dataset::new(40, (0..5).map(|k| k.to_string()).collect());
    for n in 0..400u32 {
        let class = n % 5;
        // A row of long texts has thousands of a word.
        let scale = if n % 41 == 0 { 1000.0 } else { 1.0 };
        let mut words: Vec<u32> = (0..6).map(|_| (8 * class + random.below(12) as u32) % 40).collect();
        words.sort_unstable();
        words.dedup();
        words.iter().for_each(|&word| data.push_entry(word, scale));
        data.end_row(&[class]);
    }
    let settings = json!({ "objective": "normalised", "negatives": 1, "batch": 50, "epochs": 60, "step": "sgd",
        "learning_rate": 0.001, "l2": 1 });
    let trained = trained(&data, settings);
    // Far below ten times the value at w = 0, −644, which would be divergence for a bound that falls linearly.
    assert!(trained.trace.iter().any(|point| point.bound < -1e6), "{:?}", trained.trace);
    assert!(trained.finished && trained.likelihood.iter().all(|point| point.estimate.is_finite()));
    // Null stands for −∞ in JSON.
    let mut model = trained.into_model(&data, &Examples::of(&data));
    model.card.trace[0].bound = f64::NEG_INFINITY;
    assert_eq!(ove::Model::from_bytes(&model.to_bytes()).unwrap(), model);
}

/// With one sampled class of four, the normalised bound ends close to the maximum of the exact likelihood, where
/// one-vs-each, at the same cost, stays away from it; and its estimate of the likelihood is right.
#[test]
fn the_normalised_bound_reaches_the_maximum_of_the_softmax() {
    let data = plane(200, 0);
    let softmax = json!({ "objective": "softmax", "l2": 1.0, "solver": "batch", "tolerance": 1e-8 });
    let cost = |scores: Scores| {
        let linear = linear_of(scores);
        let penalty: f64 = linear.table().iter().map(|&w| 0.5 * f64::from(w) * f64::from(w)).sum();
        batch::bound(&Examples::of(&data), &options(softmax.clone()), &linear) - penalty
    };
    let with = |objective: &str| {
        let own = json!({ "learning_rate": 0.3, "negatives": 1, "batch": 10, "epochs": 400, "sampler": "uniform" });
        trained(&data, with(&json!({ "objective": objective, "l2": 1.0 }), own))
    };
    let best = cost(trained(&data, softmax.clone()).scores);
    let normalised = with("normalised");
    let last = *normalised.likelihood.last().unwrap();
    let short = [cost(normalised.scores), cost(with("one-vs-each").scores)].map(|reached| best - reached);
    assert!(short[0] >= -1e-6 * best.abs() && short[0] < 0.5 * short[1], "{short:?} below {best}");
    // Twenty comparisons of all five classes cost as much as 25 epochs of two visited ones.
    assert_eq!((normalised.likelihood.len(), last.updates), (16, 80_000));
    assert!(last.bias.abs() < 0.03, "{last:?}");
}

#[test]
fn another_seed_gives_other_bits() {
    let data = sparse(SHAPE, 1, 0);
    let with = |seed: u64| linear(&data, json!({ "scores": "linear", "seed": seed }));
    assert_eq!(with(4), with(4));
    assert_ne!(with(4), with(5));
}

/// The bound that a run reports at its first batch is taken at w = 0, where the truth is known: log ½ for one-vs-each,
/// for each label and each class that is no label of the row. One SGD step from there moves the bias of each class
/// along the gradient of eq. 16, also known. Averaged over seeds both must agree; a wrong weight would be off by its
/// factor.
#[test]
fn sampled_bound_and_gradient_are_unbiased() {
    let data = sparse(Sparse { rows: 30, features: 20, classes: 7, entries: 4, signal: 0.5 }, 2, 0);
    check_unbiased(&data, &[1.0; 7]);
    check_unbiased(&with_more_labels(&data), &[1.0, 0.5, 2.0, 3.0, 0.0, 1.0, 1.5]);
}

/// With this weight of each class.
fn check_unbiased(data: &Dataset, class_weights: &[f64]) {
    let k = data.classes.len();
    let (mut true_bound, mut true_gradient) = (0.0, vec![0.0; k]);
    for labels in data.labels.iter() {
        let others = (0..k as u32).filter(|m| !labels.contains(m));
        for (&y, m) in labels.iter().flat_map(|y| others.clone().map(move |m| (y, m))) {
            let weight = class_weights[y as usize];
            true_bound -= weight * 2f64.ln();
            true_gradient[y as usize] += weight / 2.0;
            true_gradient[m as usize] -= weight / 2.0;
        }
    }
    for &sampler in SamplerKind::ALL {
        let settings = json!({ "sampler": sampler.name(), "negatives": 2, "batch": 30, "epochs": 1, "step": "sgd" });
        let own = json!({ "learning_rate": 1e-3, "schedule": 1.0, "class_weight": class_weights });
        let mut options = options(with(&settings, own));
        // The rate is divided by the classes that a drawn one stands for: all but the label and one rival, or half.
        let all = k as f64 - 1.0;
        let unit = 1e-3 / if sampler == SamplerKind::Rivals { all - 1.0 } else { all / 2.0 };
        let seeds = 20_000;
        let (mut bound, mut bias, mut squares) = (0.0, vec![0.0; k], vec![0.0; k]);
        with_threads(1, || {
            for seed in 0..seeds {
                options.seed = seed;
                let trained = run(Examples::of(data), &options).unwrap();
                bound += trained.trace[0].bound / seeds as f64;
                for (m, &b) in trained.scores.linear().unwrap().bias().iter().enumerate() {
                    let gradient = f64::from(b) / unit;
                    bias[m] += gradient / seeds as f64;
                    squares[m] += gradient * gradient / seeds as f64;
                }
            }
        })
        .unwrap();
        assert!((bound - true_bound).abs() < 2e-2 * true_bound.abs(), "{sampler}: bound {bound}, not {true_bound}");
        for (m, &truth) in true_gradient.iter().enumerate() {
            let error = ((squares[m] - bias[m] * bias[m]) / seeds as f64).sqrt();
            assert!(
                (bias[m] - truth).abs() < 5.0 * error + 1e-3,
                "{sampler} class {m}: {} ± {error}, not {truth}",
                bias[m]
            );
        }
    }
}

/// With every remaining class visited and a falling rate, the stochastic solver comes to the batch solver's maximum.
#[test]
fn stochastic_reaches_the_batch_maximum() {
    let data = plane(200, 0);
    for (objective, step) in [
        (Objective::OneVsEach, StepKind::Sgd),
        (Objective::OneVsEach, StepKind::Adagrad),
        (Objective::Merged, StepKind::Sgd),
        (Objective::Softmax, StepKind::Adagrad),
    ] {
        let base = json!({ "objective": objective.name(), "l2": 1.0, "merge": 2 });
        let exact = trained(&data, with(&base, json!({ "solver": "batch", "tolerance": 1e-8 })));
        assert!(exact.finished);
        let rate = if step == StepKind::Sgd { 0.01 } else { 0.3 };
        let own = json!({ "step": step.name(), "learning_rate": rate, "negatives": 1, "batch": 10, "epochs": 400 });
        let sampled = trained(&data, with(&base, own));
        let cost = |scores: Scores| {
            let linear = linear_of(scores);
            let penalty: f64 = linear.table().iter().map(|&w| 0.5 * f64::from(w) * f64::from(w)).sum();
            batch::bound(&Examples::of(&data), &options(base.clone()), &linear) - penalty
        };
        let (best, reached) = (cost(exact.scores), cost(sampled.scores));
        assert!(
            reached <= best + 1e-6 * best.abs() && reached >= best * 1.005,
            "{objective} {step}: {reached}, not {best}"
        );
    }
}

/// Two classes and one feature: the optimum of penalised logistic regression, by bisection on its one free number.
#[test]
fn two_classes_are_logistic_regression() {
    let (offsets, values) = ([0, 1, 2, 3, 4], [1.0, 2.0, -1.0, 0.5]);
    let rows = Rows::new(1, &offsets, &[0, 0, 0, 0], &values).unwrap();
    let labels = Labels::single(vec![0, 0, 1, 1]);
    for objective in ["softmax", "one-vs-each", "merged"] {
        let options = options(json!({ "objective": objective, "solver": "batch", "l2": 1.0, "tolerance": 1e-12 }));
        let linear = linear_of(run(Examples::new(rows, &labels, &[], 2), &options).unwrap().scores);
        // By symmetry w_0 = −w_1 and b_0 = −b_1, so each satisfies w = Σ ± x σ(−margin).
        let (w, b) = (f64::from(linear.weight(0, 0)), f64::from(linear.bias()[0]));
        assert!((w + f64::from(linear.weight(0, 1))).abs() < 1e-6);
        let pull = |n: usize| {
            let sign = if n < 2 { 1.0 } else { -1.0 };
            sign / (1.0 + (2.0 * sign * (w * f64::from(values[n]) + b)).exp())
        };
        let (dw, db): (f64, f64) =
            (0..4).map(|n| (pull(n) * f64::from(values[n]), pull(n))).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        assert!((w - dw).abs() < 1e-6 && (b - db).abs() < 1e-6, "{objective}: w {w} {dw}, b {b} {db}");
    }
}

#[test]
fn a_bias_without_penalty_matches_the_frequencies() {
    // The exact softmax with a free bias gives each class, on average over rows, the probability of its frequency.
    let data = plane(100, 3);
    let settings = json!({ "objective": "softmax", "solver": "batch", "l2": 1.0, "tolerance": 1e-9 });
    let mean_of_first = |penalty_on_bias: bool| {
        let linear = linear(&data, with(&settings, json!({ "penalty_on_bias": penalty_on_bias })));
        let mut scores = vec![0.0; 5];
        let of_row = |n| {
            linear.scores(data.rows().row(n), &mut scores);
            probabilities(&scores)[0]
        };
        (0..data.len()).map(of_row).sum::<f64>() / data.len() as f64
    };
    assert!((mean_of_first(false) - 0.2).abs() < 1e-5);
    assert!((mean_of_first(true) - 0.2).abs() > 1e-4);
}

#[test]
fn a_row_weight_repeats_a_row() {
    let data = plane(50, 5);
    let mut repeated = Dataset::new(2, data.classes.clone());
    let weights: Vec<f64> = (0..data.len()).map(|n| (n % 3) as f64).collect();
    for n in 0..data.len() {
        for _ in 0..n % 3 {
            let row = data.rows().row(n);
            row.indices.iter().zip(row.values).for_each(|(&d, &x)| repeated.push_entry(d, x));
            repeated.end_row(&data.labels[n]);
        }
    }
    let settings = json!({ "solver": "batch", "l2": 1.0, "tolerance": 1e-10 });
    let weighted = Examples::new(data.rows(), &data.labels, &weights, 5);
    let weighted = linear_of(run(weighted, &options(settings.clone())).unwrap().scores);
    let repeated = linear(&repeated, settings);
    for (a, b) in weighted.table().iter().zip(repeated.table().iter()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

/// Three classes and one feature, by the condition of the maximum: λw is the gradient of Σ_n Σ_{y ∈ Y} log p(y | y and
/// the classes outside Y). The last row has every class, and so no part in it.
#[test]
fn labels_are_told_from_the_classes_that_the_row_does_not_have() {
    let mut data = Dataset::new(1, ["0", "1", "2"].map(String::from).to_vec());
    for (x, labels) in [(1.0, &[0, 1][..]), (-0.5, &[2, 1]), (0.75, &[1]), (2.0, &[0, 1, 2])] {
        data.push_entry(0, x);
        data.end_row(labels);
    }
    let settings = json!({ "objective": "softmax", "solver": "batch", "l2": 1.0, "tolerance": 1e-12 });
    let linear = linear(&data, settings);
    let mut gradient = [0.0; 6];
    for (row, labels) in data.rows().iter(0..data.len()).zip(data.labels.iter()) {
        let mut scores = [0.0; 3];
        linear.scores(row, &mut scores);
        let x = f64::from(row.values[0]);
        for y in labels.iter().map(|&y| y as usize) {
            let exp = |m: usize| f64::from(scores[m] - scores[y]).exp();
            let others = || (0..3).filter(|&m| !labels.contains(&(m as u32)));
            let sum = 1.0 + others().map(exp).sum::<f64>();
            for m in others() {
                let p = exp(m) / sum;
                for (at, pull) in [(m, -x * p), (y, x * p), (3 + m, -p), (3 + y, p)] {
                    gradient[at] += pull;
                }
            }
        }
    }
    for (&w, gradient) in linear.table().iter().zip(gradient) {
        assert!((f64::from(w) - gradient).abs() < 1e-6, "{w}, not {gradient}");
    }
}

/// In both solvers a class weight multiplies the rows of its class, if each row has one label.
#[test]
fn a_class_weight_weighs_the_rows_of_the_class() {
    let data = plane(50, 5);
    let listed = vec![2.0, 0.5, 1.0, 0.0, 3.0];
    let weights: Vec<f64> = data.labels.all().iter().map(|&label| listed[label as usize]).collect();
    for solver in ["batch", "stochastic"] {
        let base = json!({ "solver": solver, "l2": 1.0 });
        let by_row = Examples::new(data.rows(), &data.labels, &weights, 5);
        let by_row = linear_of(run(by_row, &options(base.clone())).unwrap().scores);
        assert_eq!(linear(&data, with(&base, json!({ "class_weight": listed }))), by_row);
        assert_ne!(linear(&data, base), by_row);
    }
}

/// Five classes with 4, 3, 2, 1 and 0 of ten labels: 10 / (5 · count).
#[test]
fn balanced_weights_are_inverse_to_the_counts() {
    let mut data = Dataset::new(1, (0..5).map(|k| k.to_string()).collect());
    for (n, labels) in [&[0u32, 1][..], &[0, 1, 2], &[0, 3], &[2, 1, 0]].into_iter().enumerate() {
        data.push_entry(0, n as f32);
        data.end_row(labels);
    }
    let listed = json!([0.5, 2.0 / 3.0, 1.0, 2.0, 1.0]);
    for solver in ["batch", "stochastic"] {
        let with = |weights: Value| linear(&data, json!({ "solver": solver, "class_weight": weights, "l2": 0.1 }));
        for (a, b) in with("balanced".into()).table().iter().zip(with(listed.clone()).table().iter()) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}

#[test]
fn a_run_can_be_looked_at_and_ended_anywhere() {
    let data = sparse(SHAPE, 1, 0);
    for settings in [json!({ "solver": "batch" }), json!({ "batch": 10 }), json!({ "batch": 10, "rank": 3 })] {
        let mut training = Training::new(Examples::of(&data), &options(settings), Start::default()).unwrap();
        assert_eq!(training.progress(), None);
        for step in 1..=7 {
            let progress = training.step().unwrap().unwrap();
            assert!((0.0..1.0).contains(&progress.done), "{progress:?} after {step} steps");
            assert_eq!(training.progress(), Some(progress));
            assert_eq!(training.snapshot().unwrap().shape().classes, 40);
        }
        let (snapshot, state) = (training.snapshot().unwrap(), training.state());
        assert_eq!(training.state(), state, "a look changes nothing");
        let trained = training.finish().unwrap();
        assert!(!trained.finished && trained.scores == snapshot);
        assert_ne!(trained.updates, 0);
    }
}

#[test]
fn training_goes_on_from_an_earlier_run() {
    let data = sparse(SHAPE, 1, 0);
    let examples = Examples::of(&data);
    let one_step_from = |scores: &Scores, options: &TrainOptions| {
        let mut training = Training::new(examples, options, Start { scores: Some(scores), ..Start::default() })?;
        training.step()?;
        training.finish()
    };
    for settings in all_settings() {
        let options = options(settings.clone());
        let first = run(examples, &options).unwrap().scores;
        let second = one_step_from(&first, &options).unwrap().scores;
        let bound = |scores: &Scores| batch::bound(&examples, &options, &scores.linear().unwrap());
        let (before, after) = (bound(&first), bound(&second));
        // One batch or evaluation from there moves it a little; from nothing it would be at K times log 2 a row.
        assert!((after - before).abs() < 0.2 * before.abs(), "{settings}: {before} {after}");
    }
    let (other, linear) = (Scores::Linear(Linear::new(3, vec![0.0; 9])), options(json!({ "scores": "linear" })));
    let error = one_step_from(&other, &linear).unwrap_err().to_string();
    assert_eq!(
        error,
        "the weights to start from have 3 classes, 2 features and 6 cells; this training needs 40 classes, \
         300 features and 12000 cells"
    );
    let error = one_step_from(&other, &options(json!({ "rank": 3 }))).unwrap_err().to_string();
    assert_eq!(error, "training must start from factored scores with 300 features, 40 classes and rank 3");
    let vectors = trained(&data, json!({ "rank": 3 })).scores;
    let error = one_step_from(&vectors, &linear).unwrap_err().to_string();
    assert_eq!(error, "training of linear scores must start from linear scores");
    let error = one_step_from(&other, &options(json!({ "scores": "trees" }))).unwrap_err().to_string();
    assert_eq!(error, "training of trees must start from trees");
}

#[test]
fn a_rate_that_is_too_large_is_an_error() {
    let data = sparse(SHAPE, 1, 0);
    for scores in ["linear", "factored"] {
        let settings = json!({ "scores": scores, "step": "sgd", "learning_rate": 1e38, "epochs": 3 });
        let error = run(Examples::of(&data), &options(settings)).unwrap_err();
        assert!(matches!(error, Error::Diverged { epoch: 1, .. }), "{scores}: {error}");
    }
}

/// An objective ten times as bad as at w = 0 is found out at the end of an epoch, also that of merged rivals, whose
/// value at w = 0 is far nearer to zero than that of one-vs-each.
#[test]
fn an_objective_far_below_that_of_nothing_is_an_error() {
    let data = sparse(SHAPE, 1, 0);
    for (objective, rate, survives) in [
        ("one-vs-each", 300.0, 0.05),
        ("merged", 300.0, 0.05),
        ("sampled-softmax", 300.0, 0.05),
        ("softmax", 300.0, 0.05),
    ] {
        let with = |rate: f64| {
            let own = json!({ "objective": objective, "sampler": "rivals", "negatives": 12, "step": "sgd" });
            run(Examples::of(&data), &options(with(&own, json!({ "learning_rate": rate, "epochs": 2 }))))
        };
        assert!(matches!(with(rate), Err(Error::Diverged { epoch: 1, .. })), "{objective}: {:?}", with(rate).err());
        assert!(with(survives).is_ok(), "{objective}");
    }
}

#[test]
fn what_does_not_fit_together_is_an_error() {
    let data = plane(10, 0);
    let message = |examples: Examples<'_>, settings: Value| {
        TrainOptions::from_settings(&settings).and_then(|options| run(examples, &options)).unwrap_err().to_string()
    };
    let (good, linear) = (Examples::of(&data), || json!({ "scores": "linear" }));
    let one = Labels::single(vec![0]);
    assert_eq!(message(Examples::new(data.rows(), &one, &[], 5), linear()), "labels of 1 rows do not match 10 rows");
    let mut one_without = Labels::single(vec![0; 9]);
    one_without.push(&[]);
    assert_eq!(
        message(Examples::new(data.rows(), &one_without, &[], 5), linear()),
        "row 9 has no known class; training needs the class of every row"
    );
    assert_eq!(
        message(Examples::new(data.rows(), &data.labels, &[], 3), linear()),
        "row 3 has no known class; training needs the class of every row"
    );
    assert_eq!(
        message(Examples::new(data.rows(), &data.labels, &[f64::NAN; 10], 5), linear()),
        "row 0: the weight must be finite and at least 0, got NaN"
    );
    assert_eq!(
        message(Examples::new(data.rows(), &data.labels, &[1.0; 3], 5), linear()),
        "3 row weights do not match 10 rows"
    );
    assert_eq!(message(good.with_index(&[]), linear()), "training needs at least one row, got none");
    let one_class = Labels::single(vec![0; 10]);
    assert_eq!(
        message(Examples::new(data.rows(), &one_class, &[], 1), linear()),
        "training needs at least 2 classes, got 1"
    );
    assert_eq!(message(good, json!({})), "`scores` must be given, got none");
    assert_eq!(message(good, json!({ "l2": -1.0 })), "`l2` must be a number of at least 0, got -1");
    assert_eq!(
        message(good, with(&linear(), json!({ "class_weight": [1.0, 1.0] }))),
        "2 class weights do not match 5 classes"
    );
    assert_eq!(
        message(good, json!({ "class_weight": [-1.0, 1.0, 1.0, 1.0, 1.0] })),
        "`class-weight` must be a number of at least 0, got -1"
    );
    assert_eq!(message(good, json!({ "cells": 4 })), "`cells` must be at least the number of classes, 5, got 4");
    assert_eq!(
        message(good, json!({ "cells": 9, "solver": "batch" })),
        "`cells` must be left out for the batch solver, whose weights are dense, got 9"
    );
    assert_eq!(message(good, json!({ "negatives": 0 })), "`negatives` must be at least 1, got 0");
}
