//! The solvers: the same bits for any number of threads, unbiased estimates, known optima, and errors.

use std::ops::ControlFlow;

use ove::bound::objective::Objective;
use ove::options::{ClassWeight, Options, Solver};
use ove::sample::SamplerKind;
use ove::synthetic::{Sparse, plane, sparse};
use ove::train::optimizer::{Schedule, StepKind};
use ove::train::{Problem, batch};
use ove::{Dataset, Error, Fit, Labels, Linear, Progress, Rows, train, train_from};

const SHAPE: Sparse = Sparse { rows: 600, features: 300, classes: 40, entries: 15, signal: 0.5 };

fn fit(data: &Dataset, options: &Options) -> Fit {
    train(&Problem::of(data), options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Every objective with every solver, sampler and step that it can have.
fn all_settings() -> Vec<Options> {
    let base = Options { l2: 0.5, epochs: 2, batch: 64, merge: 4, iterations: 15, ..Options::default() };
    let mut all = Vec::new();
    for &objective in Objective::ALL {
        all.push(Options { objective, solver: Solver::Batch, ..base.clone() });
        for &sampler in SamplerKind::ALL {
            for &step in StepKind::ALL {
                all.push(Options { objective, sampler, step, ..base.clone() });
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
fn check_threads(data: &Dataset, options: &Options, threads: &[usize]) {
    let with = |threads| {
        let fit = fit(data, &Options { threads, ..options.clone() });
        let bits: Vec<u32> = fit.linear.table().iter().map(|w| w.to_bits()).collect();
        let trace: Vec<u64> = fit.trace.iter().map(|point| point.bound.to_bits()).collect();
        (bits, trace)
    };
    let one = with(1);
    assert!(one.0.iter().any(|&bits| bits != 0), "{options:?} moved nothing");
    for &threads in threads {
        assert!(with(threads) == one, "{threads} threads differ from one: {options:?}");
    }
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let data = sparse(SHAPE, 1, 0);
    for options in all_settings() {
        check_threads(&data, &options, &[2, 3, 7]);
    }
}

#[test]
fn same_bits_with_several_labels() {
    let mut data = with_more_labels(&sparse(SHAPE, 1, 0));
    data.row_weights = (0..data.len()).map(|n| 0.5 + (n % 3) as f64).collect();
    for options in all_settings() {
        check_threads(&data, &Options { class_weight: ClassWeight::Balanced, ..options }, &[2, 3]);
    }
}

/// Cells that weights share, also those of two features of one row, and ranges of cells that end within a feature.
#[test]
fn same_bits_with_shared_cells() {
    let data = sparse(SHAPE, 1, 0);
    for &step in StepKind::ALL {
        for cells in [40, 61, 4001] {
            let options = Options { step, cells: Some(cells), l2: 0.5, epochs: 2, batch: 64, ..Options::default() };
            check_threads(&data, &options, &[2, 3, 7]);
        }
    }
}

/// With twice as many cells as weights few of them share one, and with a fifth of them most of what was learnt is still there.
#[test]
fn shared_cells_learn_nearly_as_much() {
    let (train, test) = (sparse(Sparse { rows: 4000, ..SHAPE }, 1, 0), sparse(SHAPE, 1, 1));
    let precision = |cells| {
        let linear = fit(&train, &Options { cells, learning_rate: 0.5, classes: 10, ..Options::default() }).linear;
        assert_eq!((linear.features(), linear.classes()), (300, 40));
        let best = linear.top(test.rows(), 0..test.len(), 1, 0).unwrap();
        let hits = best.iter().zip(test.labels.iter()).filter(|(best, labels)| labels.contains(&best[0].class)).count();
        hits as f64 / test.len() as f64
    };
    let dense = precision(None);
    assert!(dense > 0.6, "{dense}");
    assert!(precision(Some(2 * 300 * 40)) > dense - 0.03, "{} {dense}", precision(Some(2 * 300 * 40)));
    assert!(precision(Some(300 * 40 / 5)) > dense - 0.2, "{} {dense}", precision(Some(300 * 40 / 5)));
}

/// The drawn rivals, each as often as it stands for others, share one logarithm: with all classes drawn, that is the exact softmax.
#[test]
fn merged_rivals_are_a_sampled_softmax() {
    let data = sparse(SHAPE, 1, 0);
    let with = |objective, sampler, classes| {
        fit(&data, &Options { objective, sampler, classes, epochs: 1, ..Options::default() })
    };
    let exact = with(Objective::Softmax, SamplerKind::Uniform, 5);
    let all = with(Objective::Merged, SamplerKind::Rivals, 39);
    for (a, b) in exact.linear.table().iter().zip(all.linear.table().iter()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    // At w = 0 the estimate of log(1 + 39) varies with what is drawn, and is too small on average, by less the more is drawn.
    let at_zero = |classes| {
        let first = |seed| {
            let options = Options { classes, epochs: 1, batch: 600, seed, ..Options::default() };
            let options = Options { objective: Objective::Merged, sampler: SamplerKind::Rivals, ..options };
            -fit(&data, &options).trace[0].bound / 600.0
        };
        (0..20).map(first).sum::<f64>() / 20.0
    };
    let (few, more, truth) = (at_zero(5), at_zero(30), 40f64.ln());
    assert!(few < more && more < truth && more > truth - 0.1, "{few} {more} {truth}");
}

#[test]
fn another_seed_gives_other_bits() {
    let data = sparse(SHAPE, 1, 0);
    let with = |seed| fit(&data, &Options { seed, ..Options::default() }).linear;
    assert_eq!(with(4), with(4));
    assert_ne!(with(4), with(5));
}

/// The bound that a run reports at its first batch is taken at w = 0, where the truth is known: log ½ for one-vs-each, for each label and
/// each class that is no label of the row. One SGD step from there moves the bias of each class along the gradient of eq. 16, also
/// known. Averaged over seeds both must agree; a wrong weight would be off by its factor.
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
        let options = Options { sampler, classes: 2, batch: 30, epochs: 1, step: StepKind::Sgd, ..Options::default() };
        let class_weight = ClassWeight::Listed(class_weights.to_vec());
        let options = Options { learning_rate: 1e-3, schedule: Schedule::Geometric(1.0), class_weight, ..options };
        // The rate is divided by the classes that a drawn one stands for.
        let unit = 1e-3 / ((k as f64 - 1.0) / 2.0);
        let seeds = 20_000;
        let (mut bound, mut bias, mut squares) = (0.0, vec![0.0; k], vec![0.0; k]);
        for seed in 0..seeds {
            let fit = fit(data, &Options { seed, threads: 1, ..options.clone() });
            bound += fit.trace[0].bound / seeds as f64;
            for (m, &b) in fit.linear.bias().iter().enumerate() {
                let gradient = f64::from(b) / unit;
                bias[m] += gradient / seeds as f64;
                squares[m] += gradient * gradient / seeds as f64;
            }
        }
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
        let base = Options { objective, l2: 1.0, merge: 2, ..Options::default() };
        let exact = fit(&data, &Options { solver: Solver::Batch, tolerance: 1e-8, ..base.clone() });
        assert!(exact.finished);
        let rate = if step == StepKind::Sgd { 0.01 } else { 0.3 };
        let sampled =
            fit(&data, &Options { step, learning_rate: rate, classes: 1, batch: 10, epochs: 400, ..base.clone() });
        let cost = |linear: &ove::Linear| {
            let penalty: f64 = linear.table().iter().map(|&w| 0.5 * f64::from(w) * f64::from(w)).sum();
            batch::bound(&Problem::of(&data), &base, linear) - penalty
        };
        let (best, reached) = (cost(&exact.linear), cost(&sampled.linear));
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
    let problem = Problem { rows, labels: &Labels::single(vec![0, 0, 1, 1]), row_weights: &[], classes: 2 };
    for objective in [Objective::Softmax, Objective::OneVsEach, Objective::Merged] {
        let options = Options { objective, solver: Solver::Batch, l2: 1.0, tolerance: 1e-12, ..Options::default() };
        let linear = train(&problem, &options, &mut |_| ControlFlow::Continue(())).unwrap().linear;
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
    let options = Options {
        objective: Objective::Softmax,
        solver: Solver::Batch,
        l2: 1.0,
        tolerance: 1e-9,
        ..Options::default()
    };
    let mean_of_first = |penalty_on_bias| {
        let linear = fit(&data, &Options { penalty_on_bias, ..options.clone() }).linear;
        let mut scores = vec![0.0; 5];
        let of_row = |n| {
            linear.scores(data.rows().row(n), &mut scores);
            ove::scores::linear::probabilities(&scores)[0]
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
    let options = Options { solver: Solver::Batch, l2: 1.0, tolerance: 1e-10, ..Options::default() };
    let weighted = Problem { row_weights: &weights, ..Problem::of(&data) };
    let weighted = train(&weighted, &options, &mut |_| ControlFlow::Continue(())).unwrap().linear;
    let repeated = fit(&repeated, &options).linear;
    for (a, b) in weighted.table().iter().zip(repeated.table().iter()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

/// Three classes and one feature, by the condition of the maximum: λw is the gradient of Σ_n Σ_{y ∈ Y} log p(y | y and the classes
/// outside Y). The last row has every class, and so no part in it.
#[test]
fn labels_are_told_from_the_classes_that_the_row_does_not_have() {
    let mut data = Dataset::new(1, ["0", "1", "2"].map(String::from).to_vec());
    for (x, labels) in [(1.0, &[0, 1][..]), (-0.5, &[2, 1]), (0.75, &[1]), (2.0, &[0, 1, 2])] {
        data.push_entry(0, x);
        data.end_row(labels);
    }
    let options = Options { objective: Objective::Softmax, solver: Solver::Batch, l2: 1.0, ..Options::default() };
    let linear = fit(&data, &Options { tolerance: 1e-12, ..options }).linear;
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
    for solver in [Solver::Batch, Solver::Stochastic] {
        let base = Options { solver, l2: 1.0, ..Options::default() };
        let by_row = Problem { row_weights: &weights, ..Problem::of(&data) };
        let by_row = train(&by_row, &base, &mut |_| ControlFlow::Continue(())).unwrap().linear;
        let by_class = fit(&data, &Options { class_weight: ClassWeight::Listed(listed.clone()), ..base.clone() });
        assert_eq!(by_class.linear, by_row);
        assert_ne!(fit(&data, &base).linear, by_row);
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
    let listed = ClassWeight::Listed(vec![0.5, 2.0 / 3.0, 1.0, 2.0, 1.0]);
    for solver in [Solver::Batch, Solver::Stochastic] {
        let with = |class_weight| fit(&data, &Options { solver, class_weight, l2: 0.1, ..Options::default() }).linear;
        for (a, b) in with(ClassWeight::Balanced).table().iter().zip(with(listed.clone()).table().iter()) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}

#[test]
fn a_watch_can_stop_and_keep_what_was_reached() {
    let data = sparse(SHAPE, 1, 0);
    for solver in [Solver::Batch, Solver::Stochastic] {
        let options = Options { solver, batch: 10, ..Options::default() };
        let mut calls = 0;
        let mut watch = |progress: &Progress<'_>| {
            calls += 1;
            assert_eq!((progress.snapshot)().classes(), 40);
            if calls == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let fit = train(&Problem::of(&data), &options, &mut watch).unwrap();
        assert_eq!(calls, 7);
        assert!(!fit.finished && fit.linear.table().iter().any(|&w| w != 0.0));
    }
}

#[test]
fn training_goes_on_from_an_earlier_fit() {
    let data = sparse(SHAPE, 1, 0);
    let stop = &mut |_: &Progress<'_>| ControlFlow::Break(());
    for options in all_settings() {
        let first = fit(&data, &options);
        let second = train_from(&first.linear, &Problem::of(&data), &options, stop).unwrap();
        let bound = |linear| batch::bound(&Problem::of(&data), &Options { classes: 39, ..options.clone() }, linear);
        let (before, after) = (bound(&first.linear), bound(&second.linear));
        // One batch or evaluation from there moves it a little; from nothing it would be at K times log 2 a row.
        assert!((after - before).abs() < 0.2 * before.abs(), "{options:?}: {before} {after}");
    }
    let other = Linear::new(3, vec![0.0; 9]);
    let error = train_from(&other, &Problem::of(&data), &Options::default(), stop).unwrap_err().to_string();
    assert!(
        error.starts_with("a start with 3 classes, 2 features and 6 cells, but training needs 40 classes"),
        "{error}"
    );
}

#[test]
fn a_rate_that_is_too_large_is_an_error() {
    let data = sparse(SHAPE, 1, 0);
    let options = Options { step: StepKind::Sgd, learning_rate: 1e38, epochs: 3, ..Options::default() };
    let error = train(&Problem::of(&data), &options, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, Error::Diverged { epoch: 1, .. }), "{error}");
}

#[test]
fn what_does_not_fit_together_is_an_error() {
    let data = plane(10, 0);
    let message = |problem: &Problem<'_>, options: &Options| {
        train(problem, options, &mut |_| ControlFlow::Continue(())).unwrap_err().to_string()
    };
    let (good, options) = (Problem::of(&data), Options::default());
    let one = Labels::single(vec![0]);
    assert_eq!(
        message(&Problem { labels: &one, ..good }, &options),
        "labels of 1 rows for 10 rows, but each row has its own"
    );
    let mut one_without = Labels::single(vec![0; 9]);
    one_without.push(&[]);
    assert_eq!(
        message(&Problem { labels: &one_without, ..good }, &options),
        "row 9 has no known class, but training needs the class of every row"
    );
    assert_eq!(
        message(&Problem { classes: 3, ..good }, &options),
        "row 3 has no known class, but training needs the class of every row"
    );
    assert_eq!(
        message(&Problem { row_weights: &[f64::NAN; 10], ..good }, &options),
        "row 0 has the weight NaN, but weights are not negative"
    );
    let negative = Options { l2: -1.0, ..Options::default() };
    assert_eq!(message(&good, &negative), "l2 is -1, but it is a number that is not negative");
    let two = Options { class_weight: ClassWeight::Listed(vec![1.0; 2]), ..Options::default() };
    assert_eq!(message(&good, &two), "2 class weights for 5 classes, but each class has one");
    let negative = Options { class_weight: ClassWeight::Listed(vec![-1.0; 5]), ..Options::default() };
    assert_eq!(message(&good, &negative), "class-weight is -1, but weights are finite and not negative");
    let few = Options { cells: Some(4), ..Options::default() };
    assert_eq!(message(&good, &few), "4 cells for 5 classes, but each class has at least one");
    let few = Options { cells: Some(9), solver: Solver::Batch, ..Options::default() };
    assert_eq!(message(&good, &few), "cells is 9, but the batch solver has one for each weight");
    let nothing = Options { classes: 0, ..Options::default() };
    assert_eq!(message(&good, &nothing), "classes is 0, but it is at least 1");
}
