//! Gradients against finite differences, extreme scores, and the edges of the objectives.

use ove::bound::objective::{self, Objective};
use proptest::prelude::*;

/// Scores of 2 to 12 classes, a C, and weights for the classes outside it.
fn cases(size: f64) -> impl Strategy<Value = (Objective, Vec<f64>, usize, Vec<f64>)> {
    let objective = prop::sample::select(Objective::ALL);
    (objective, prop::collection::vec(-size..size, 2..12), 0usize..12, prop::collection::vec(0.1..50.0, 12)).prop_map(
        |(objective, scores, inside, weights)| {
            let inside = if objective.has_inside() { inside % scores.len() } else { 0 };
            let outside = scores.len() - 1 - inside;
            (objective, scores, inside, weights[..outside].to_vec())
        },
    )
}

fn value(objective: Objective, scores: &[f64], inside: usize, weights: &[f64]) -> f64 {
    objective.value_and_gradient(&mut scores.to_vec(), inside, weights)
}

proptest! {
    /// Central differences of fourth order: (−v(2h) + 8v(h) − 8v(−h) + v(−2h)) / 12h.
    #[test]
    fn gradients_match_finite_differences((objective, scores, inside, weights) in cases(8.0)) {
        let mut gradient = scores.clone();
        let at = objective.value_and_gradient(&mut gradient, inside, &weights);
        for m in 0..scores.len() {
            let moved = |by: f64| {
                let mut scores = scores.clone();
                scores[m] += by;
                value(objective, &scores, inside, &weights)
            };
            let h = 1e-3;
            let numeric = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
            prop_assert!(
                (numeric - gradient[m]).abs() <= 1e-9 * at.abs().max(1.0),
                "{objective} class {m}: {} by formula, {numeric} by differences", gradient[m]
            );
        }
    }

    /// The same for one to three labels with their weights, which share the remaining classes.
    #[test]
    fn gradients_of_several_labels_match_finite_differences(
        (objective, rest, inside, weights) in cases(8.0),
        labels in prop::collection::vec((-8.0..8.0, 0.0..3.0), 1..4),
    ) {
        let (own, label_weights): (Vec<f64>, Vec<f64>) = labels.into_iter().unzip();
        let scores = [&own, &rest[1..]].concat();
        let of_labels =
            |scores: &mut [f64]| objective.of_labels(scores, &label_weights, inside, &weights, &mut vec![7.0]);
        let mut gradient = scores.clone();
        let at = of_labels(&mut gradient);
        let one_by_one = |(label, weight): (&f64, &f64)| {
            weight * value(objective, &[&[*label], &rest[1..]].concat(), inside, &weights)
        };
        let sum: f64 = own.iter().zip(&label_weights).map(one_by_one).sum();
        prop_assert!((at - sum).abs() <= 1e-12 * at.abs().max(1.0), "{objective}: {at}, not {sum}");
        for m in 0..scores.len() {
            let moved = |by: f64| {
                let mut scores = scores.clone();
                scores[m] += by;
                of_labels(&mut scores)
            };
            let h = 1e-3;
            let numeric = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
            prop_assert!(
                (numeric - gradient[m]).abs() <= 1e-9 * at.abs().max(1.0),
                "{objective} class {m}: {} by formula, {numeric} by differences", gradient[m]
            );
        }
    }

    /// A shift of all scores changes nothing, so the derivatives sum to zero; scores of ±1e4 stay finite.
    #[test]
    fn large_scores_stay_right((objective, scores, inside, weights) in cases(1e4), shift in -1e4..1e4) {
        let mut gradient = scores.clone();
        let at = objective.value_and_gradient(&mut gradient, inside, &weights);
        prop_assert!(at.is_finite() && gradient.iter().all(|g| g.is_finite()));
        let scale: f64 = 1.0 + weights.iter().sum::<f64>();
        prop_assert!(gradient.iter().sum::<f64>().abs() <= 1e-12 * scale, "{objective}: {gradient:?}");
        let shifted: Vec<f64> = scores.iter().map(|f| f + shift).collect();
        prop_assert!((value(objective, &shifted, inside, &weights) - at).abs() <= 1e-10 * at.abs().max(1.0) * scale);
    }

    /// Weight w counts a class w times.
    #[test]
    fn a_weight_repeats_a_class(scores in prop::collection::vec(-5.0..5.0, 3)) {
        let twice = [scores[0], scores[1], scores[2], scores[2]];
        for objective in [Objective::OneVsEach, Objective::SampledSoftmax] {
            let weighted = value(objective, &scores, 0, &[1.0, 2.0]);
            let repeated = value(objective, &twice, 0, &[1.0, 1.0, 1.0]);
            prop_assert!((weighted - repeated).abs() < 1e-13, "{objective}");
        }
    }

    /// With every class drawn once, each for itself, nothing is sampled.
    #[test]
    fn a_sampled_softmax_of_all_classes_is_the_softmax(scores in prop::collection::vec(-30.0..30.0, 2..12)) {
        let (mut exact, mut sampled) = (scores.clone(), scores.clone());
        let ones = vec![1.0; scores.len() - 1];
        prop_assert_eq!(objective::softmax(&mut exact), objective::sampled_softmax(&mut sampled, &ones));
        prop_assert_eq!(exact, sampled);
    }

    /// Over all classes that may be drawn alone, each for all others: the sum that the logarithm is of is right on
    /// average, and so its logarithm too small (Jensen), unless all scores are the same.
    #[test]
    fn a_sampled_softmax_is_too_small_on_average(scores in prop::collection::vec(-5.0..5.0, 3..12)) {
        let rest = (scores.len() - 1) as f64;
        let loss = |m: usize| -objective::sampled_softmax(&mut [scores[0], scores[m]], &[rest]);
        let mean = (1..scores.len()).map(loss).sum::<f64>() / rest;
        let exact = -objective::softmax(&mut scores.clone());
        prop_assert!(mean <= exact + 1e-12 * exact.abs().max(1.0), "{mean} {exact}");
        let sum = (1..scores.len()).map(|m| loss(m).exp()).sum::<f64>() / rest;
        prop_assert!((sum.ln() - exact).abs() < 1e-11 * exact.abs().max(1.0));
        let spread = scores[1..].iter().copied().fold(f64::NEG_INFINITY, f64::max)
            - scores[1..].iter().copied().fold(f64::INFINITY, f64::min);
        prop_assert!(spread < 0.1 || mean < exact, "{mean} {exact}");
    }

    /// What the stochastic solver compares its bound with.
    #[test]
    fn the_value_at_zero_is_that_of_equal_scores(classes in 2usize..30, inside in 0usize..30, score in -5.0..5.0) {
        for &objective in Objective::ALL {
            let inside = if objective.has_inside() { inside.min(classes - 1) } else { 0 };
            let visited = if objective == Objective::Softmax { classes - 1 } else { inside };
            let equal = value(objective, &vec![score; classes], visited, &vec![1.0; classes - 1 - visited]);
            let at_zero = objective.at_zero(classes - 1, inside);
            prop_assert!((equal - at_zero).abs() <= 1e-9 * at_zero.abs(), "{objective}: {equal}, not {at_zero}");
        }
    }
}

#[test]
fn every_objective_but_the_sampled_one_is_a_bound() {
    for &objective in Objective::ALL {
        assert_eq!(objective.is_bound(), objective != Objective::SampledSoftmax);
        let is_sampled = matches!(objective, Objective::SampledSoftmax | Objective::Normalised);
        assert_eq!(objective.is_sampled(), is_sampled);
    }
}

/// Values where the exact answer is known: f_y far above leaves log p = −Σ e^d, far below leaves −d.
#[test]
fn limits() {
    for &objective in Objective::ALL {
        let ahead =
            value(objective, &[50.0, 0.0, 1.0], 0, if objective == Objective::Softmax { &[] } else { &[1.0, 1.0] });
        if objective != Objective::Bouchard {
            let expected = -((-50f64).exp() + (-49f64).exp());
            assert!((ahead - expected).abs() < 1e-12 * expected.abs(), "{objective}: {ahead:e}, not {expected:e}");
        }
        let behind = value(objective, &[-1e4, 0.0], 0, if objective == Objective::Softmax { &[] } else { &[1.0] });
        // Bouchard's best α for two classes is their mean, at which the bound is d + 2 log σ(−d/2) → d.
        assert!((behind + 1e4).abs() < 1e-9, "{objective}: {behind}");
    }
}

#[test]
fn a_row_that_has_every_class_counts_nothing() {
    for &objective in Objective::ALL {
        let mut scores = [1.0, -2.0];
        assert_eq!(objective.of_labels(&mut scores, &[1.0, 1.0], 0, &[], &mut Vec::new()), 0.0);
        assert_eq!(scores, [0.0, 0.0]);
    }
}
