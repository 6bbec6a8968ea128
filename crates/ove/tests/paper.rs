//! Each proposition and remark of the paper as a property.

use ove::bound::events;
use ove::bound::objective::{self, Objective};
use ove::platform::math::softplus_sigmoid;
use ove::train::categorical::{Method, estimate};
use proptest::prelude::*;
use serde_json::json;
use std::ops::ControlFlow;

use crate::fitted::options;

fn scores(classes: std::ops::Range<usize>, size: f64) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-size..size, classes)
}

fn counts(classes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1u64..1000, classes)
}

fn ones(scores: &[f64]) -> Vec<f64> {
    vec![1.0; scores.len() - 1]
}

fn value(objective: Objective, scores: &[f64], inside: usize) -> f64 {
    let outside = scores.len() - 1 - inside;
    objective.value_and_gradient(&mut scores.to_vec(), inside, &vec![1.0; outside])
}

/// F(f) of eq. 9 (or the exact log likelihood, eq. 7) for counts N_k.
fn likelihood(objective: Objective, f: &[f64], counts: &[u64]) -> f64 {
    let of_class = |k: usize| {
        let mut own_first = f.to_vec();
        own_first.swap(0, k);
        value(objective, &own_first, 0)
    };
    counts.iter().enumerate().map(|(k, &count)| count as f64 * of_class(k)).sum()
}

fn optimum(objective: Objective, counts: &[u64], method: Method) -> Vec<f64> {
    let options = options(json!({ "solver": "batch", "objective": objective.name(), "tolerance": 1e-10 }));
    estimate(counts, method, &options, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

proptest! {
    /// Eq. 4, 6 and 12: each bound lies below the exact log probability.
    #[test]
    fn bounds_lie_below_the_exact_value(f in scores(2..40, 30.0), inside in 0usize..40) {
        let exact = value(Objective::Softmax, &f, 0);
        let slack = 1e-12 * exact.abs().max(1.0);
        prop_assert!(exact <= 0.0);
        prop_assert!(value(Objective::OneVsEach, &f, 0) <= exact + slack);
        prop_assert!(value(Objective::Merged, &f, inside.min(f.len() - 1)) <= exact + slack);
        prop_assert!(value(Objective::Bouchard, &f, 0) <= exact + slack);
    }

    /// The hierarchy below eq. 5: a larger C never loosens; none gives one-vs-each, all give softmax.
    #[test]
    fn merged_is_a_dial(f in scores(2..30, 10.0)) {
        let values: Vec<f64> = (0..f.len()).map(|inside| value(Objective::Merged, &f, inside)).collect();
        prop_assert!(values.windows(2).all(|w| w[0] <= w[1] + 1e-12 * w[0].abs().max(1.0)), "{values:?}");
        prop_assert_eq!(values[0], value(Objective::OneVsEach, &f, 0));
        prop_assert_eq!(values[f.len() - 1], value(Objective::Softmax, &f, 0));
    }

    /// The remark after proposition 1, for two classes: a single event B makes the bound exact.
    #[test]
    fn equality_for_two_classes(f in scores(2..3, 1e4)) {
        let (exact, bound) = (value(Objective::Softmax, &f, 0), value(Objective::OneVsEach, &f, 0));
        prop_assert!((exact - bound).abs() <= 1e-15 * exact.abs());
    }

    /// Eq. 4 is eq. 5 with A = {y} and the other classes as events.
    #[test]
    fn one_vs_each_is_proposition_1(f in scores(2..20, 5.0)) {
        let masses: Vec<f64> = f.iter().map(|f| f.exp()).collect();
        let bound = events::bound(masses[0], &masses[1..]).unwrap().ln();
        prop_assert!((bound - value(Objective::OneVsEach, &f, 0)).abs() <= 1e-12 * bound.abs());
    }

    /// Proposition 1, its remark, and the paragraph after it.
    #[test]
    fn events(p in prop::collection::vec(1e-6f64..1.0, 2..20), cut in 1usize..20, at in 0usize..20) {
        let (a, rest) = (p[0], &p[1..]);
        let exact = a / p.iter().sum::<f64>();
        let bound = events::bound(a, rest).unwrap();
        prop_assert!(bound <= exact * (1.0 + 1e-12));
        let all = events::merge(rest, &[(0..rest.len()).collect()]).unwrap();
        prop_assert!((events::bound(a, &all).unwrap() - exact).abs() <= 1e-12 * exact);

        let start = at % rest.len();
        let group: Vec<usize> = (start..(start + cut).min(rest.len())).collect();
        let merged = events::bound(a, &events::merge(rest, std::slice::from_ref(&group)).unwrap()).unwrap();
        prop_assert!(merged >= bound * (1.0 - 1e-12), "{group:?}: {merged} < {bound}");
        prop_assert!(group.len() < 2 || merged > bound, "two events of positive probability tighten strictly");
    }

    /// Proposition 2: f_k = log N_k + c maximises likelihood and bound: no other point is higher.
    #[test]
    fn log_counts_maximise_both(n in counts(2..8), c in -5.0..5.0, away in prop::collection::vec(-2.0..2.0, 8)) {
        let best: Vec<f64> = n.iter().map(|&n| (n as f64).ln() + c).collect();
        let other: Vec<f64> = best.iter().zip(&away).map(|(f, d)| f + d).collect();
        for objective in [Objective::Softmax, Objective::OneVsEach] {
            let (at_best, at_other) = (likelihood(objective, &best, &n), likelihood(objective, &other, &n));
            prop_assert!(at_other <= at_best + 1e-10 * at_best.abs(), "{objective}: {at_other} > {at_best}");
        }
    }

    /// Eq. 10: the stationary conditions hold at f_k = log N_k + c.
    #[test]
    fn stationary_conditions(n in counts(2..8), c in -5.0..5.0) {
        let f: Vec<f64> = n.iter().map(|&n| (n as f64).ln() + c).collect();
        for k in 0..n.len() {
            let sum: f64 = (0..n.len()).filter(|&m| m != k)
                .map(|m| (n[k] + n[m]) as f64 / n[k] as f64 * softplus_sigmoid(f[k] - f[m]).1)
                .sum();
            prop_assert!((sum - (n.len() - 1) as f64).abs() < 1e-9);
        }
    }

    /// The remark after proposition 2: each pair's likelihood is maximised by itself.
    #[test]
    fn each_pair_is_maximised(n in counts(2..3), away in -3.0..3.0) {
        let (n1, n2) = (n[0] as f64, n[1] as f64);
        // log P(f_k, f_m) depends on d = f_k − f_m alone.
        let pair = |d: f64| -n1 * softplus_sigmoid(-d).0 - n2 * softplus_sigmoid(d).0;
        let best = n1.ln() - n2.ln();
        prop_assert!(pair(best + away) <= pair(best) + 1e-10 * pair(best).abs());
    }

    /// Below eq. 12: at α = f_y Bouchard's bound is half of one-vs-each, and its best α can only be better than that.
    #[test]
    fn bouchard_at_the_own_score_is_half(f in scores(2..30, 20.0)) {
        let one_vs_each = value(Objective::OneVsEach, &f, 0);
        let at_own = objective::bouchard_at(&mut f.clone(), f[0]);
        prop_assert!((at_own - (one_vs_each - 2f64.ln())).abs() <= 1e-12 * at_own.abs());
        prop_assert!(value(Objective::Bouchard, &f, 0) >= at_own - 1e-12 * at_own.abs());
    }

    /// α is the root of Σ σ(f_m − α) = 1, found from any start, and no other α is better.
    #[test]
    fn alpha_converges_from_any_start(f in scores(2..30, 50.0), start in -1e6..1e6, away in -3.0..3.0) {
        let alpha = objective::bouchard_alpha_from(&f, start);
        let sum: f64 = f.iter().map(|f| softplus_sigmoid(f - alpha).1).sum();
        prop_assert!((sum - 1.0).abs() < 1e-12, "sum {sum} at {alpha} from {start}");
        let at = |alpha: f64| objective::bouchard_at(&mut f.clone(), alpha);
        let (best, other) = (at(alpha), at(alpha + away));
        prop_assert!(other <= best + 1e-12 * best.abs().max(1.0));
    }

    /// Proposition 3: for two classes Bouchard's α is the mean of the scores, and the estimate is f_k = 2 log N_k + c,
    /// by its formula and by optimisation alike.
    #[test]
    fn proposition_3(n in counts(2..3), f in scores(2..3, 30.0)) {
        prop_assert!((objective::bouchard_alpha(&f) - (f[0] + f[1]) / 2.0).abs() < 1e-10);

        let squares: Vec<f64> = n.iter().map(|&n| (n * n) as f64).collect();
        let biased = squares[0] / (squares[0] + squares[1]);
        prop_assert!((optimum(Objective::Bouchard, &n, Method::ClosedForm)[0] - biased).abs() < 1e-12);
        prop_assert!((optimum(Objective::Bouchard, &n, Method::Batch)[0] - biased).abs() < 1e-7);
    }

    /// Section 2.2 by optimisation: the one-vs-each optimum is N_k/N, though nothing tells the solver so.
    #[test]
    fn one_vs_each_estimates_frequencies(n in counts(2..12)) {
        let total = n.iter().sum::<u64>() as f64;
        for objective in [Objective::OneVsEach, Objective::Softmax] {
            for (p, &n) in optimum(objective, &n, Method::Batch).iter().zip(&n) {
                prop_assert!((p - n as f64 / total).abs() < 1e-6, "{objective}: {p} for {n} of {total}");
            }
        }
    }

    /// Section 3: with each class weighed by how many it stands for, a sample of one class has the bound as its mean.
    #[test]
    fn the_mean_over_samples_is_the_bound(f in scores(3..20, 5.0)) {
        let rest = (f.len() - 1) as f64;
        let mean: f64 = (1..f.len()).map(|m| objective::one_vs_each(&mut [f[0], f[m]], &[rest])).sum::<f64>() / rest;
        let bound = objective::one_vs_each(&mut f.clone(), &ones(&f));
        prop_assert!((mean - bound).abs() <= 1e-12 * bound.abs());
    }
}

/// Figure 1a's reading: Bouchard's estimates exaggerate, the large too large and the small too small.
#[test]
fn bouchard_exaggerates() {
    let counts = [70, 45, 30, 20, 12, 9, 6, 4, 3, 1];
    let exact = optimum(Objective::Softmax, &counts, Method::ClosedForm);
    let bouchard = optimum(Objective::Bouchard, &counts, Method::Batch);
    assert!(bouchard[0] > exact[0] + 0.01 && bouchard[9] < exact[9] - 0.001, "{bouchard:?}");
}
