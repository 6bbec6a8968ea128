//! What the best effort compares, and the forest that it trains of the best.
//!
//! | candidate | what it is |
//! |---|---|
//! | views, epochs chosen | three trees, each on other kinds of terms |
//! | views, 12 epochs | the same for longer |
//! | all kinds | three trees on all terms |
//! | one node per view, λ = 1 | every class against all others |
//! | softmax | as with the default effort |
//!
//! A trial has three trees without a second stage; the forest has three times as many and a second stage.

use super::{MANY_EPOCHS, NODE_L2};
use crate::data::{Examples, View};
use crate::options::{Effort, ScoreOptions, TrainOptions, TreeOptions, views};

/// How many times as many trees the forest has as a trial.
const TIMES: usize = 3;

/// Maximum work of a trial, as for the default effort.
const WORK: f64 = 2e9;
const WORK_OF_TREES: f64 = 2e10;

/// What is worth a trial, first what is taken without one; `usual` are the candidates of the default effort.
pub(super) fn candidates(examples: &Examples<'_>, given: &TrainOptions, usual: Vec<TrainOptions>) -> Vec<TrainOptions> {
    let is_trees = |options: &TrainOptions| matches!(options.scores, Some(ScoreOptions::Trees(_)));
    // Linear scores have no effort.
    let linear = |options: TrainOptions| TrainOptions { effort: Effort::Default, ..options };
    let mut found: Vec<TrainOptions> = usual.into_iter().filter(|usual| !is_trees(usual)).map(linear).collect();
    let trial = |views: &[View], leaves: Option<usize>, l2: Option<f64>, epochs: Option<usize>| {
        let trees = if leaves.is_some() { views.len().max(1) } else { TreeOptions::default().trees };
        let scores = TreeOptions { trees, rivals: 0, leaves, views: views.to_vec(), ..TreeOptions::default() };
        let (l2, epochs) = (given.l2.or(l2), given.epochs.or(epochs));
        TrainOptions { scores: Some(ScoreOptions::Trees(scores)), l2, epochs, ..given.clone() }
    };
    let views = views(examples.kinds);
    let classes = examples.classes as f64;
    let entries = examples.rows.entries() as f64 * examples.len() as f64 / examples.rows.len() as f64;
    found.push(trial(&views, None, None, None));
    if entries * classes.sqrt() * MANY_EPOCHS as f64 <= WORK_OF_TREES {
        found.push(trial(&views, None, None, Some(MANY_EPOCHS)));
    }
    if !views.is_empty() {
        found.push(trial(&[], None, None, None));
    }
    if found.iter().all(is_trees) && entries * classes <= WORK {
        found.push(trial(&views, Some(1), Some(NODE_L2), None));
    }
    // With given settings, some are the same.
    found.dedup();
    found
}

/// The forest of the trees of a trial.
pub(super) fn completed(mut trial: TrainOptions) -> TrainOptions {
    if let Some(ScoreOptions::Trees(trees)) = &mut trial.scores {
        trees.trees *= TIMES;
        trees.rivals = TreeOptions::default().rivals;
    }
    trial
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Kind};

    fn data() -> Dataset {
        let mut data = Dataset::new(4, vec!["a".into(), "b".into()]);
        for n in 0..40 {
            data.push_entry(n % 4, 1.0);
            data.end_row(&[n % 2]);
        }
        data
    }

    fn trees(options: &TrainOptions) -> (usize, usize, usize, Option<usize>) {
        let Some(ScoreOptions::Trees(trees)) = &options.scores else { panic!("trees") };
        (trees.trees, trees.rivals, trees.views.len(), options.epochs)
    }

    #[test]
    fn a_trial_has_three_trees_and_the_forest_nine() {
        let data = data();
        let mut examples = Examples::of(&data);
        examples.kinds = &[Kind::Words, Kind::Stems, Kind::Chars, Kind::Words];
        let given = TrainOptions::default();
        let found = candidates(&examples, &given, Vec::new());
        assert_eq!(
            found.iter().map(trees).collect::<Vec<_>>(),
            [(3, 0, 3, None), (3, 0, 3, Some(12)), (3, 0, 0, None), (3, 0, 3, None)]
        );
        let forest = completed(found[0].clone());
        assert_eq!(trees(&forest), (9, 20, 3, None));
        let without = candidates(&Examples::of(&data), &given, Vec::new());
        assert_eq!(
            without.iter().map(trees).collect::<Vec<_>>(),
            [(3, 0, 0, None), (3, 0, 0, Some(12)), (1, 0, 0, None)]
        );
        let given = TrainOptions { epochs: Some(2), ..given };
        assert_eq!(candidates(&examples, &given, Vec::new()).len(), 3, "the same epochs are tried once");
    }
}
