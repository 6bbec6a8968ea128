//! Which scores suit the rows: candidates are trained on some of the rows and compared by their errors on the others.
//!
//! | candidate | what it is | where it wins |
//! |---|---|---|
//! | trees, their epochs chosen | three trees over the classes | many classes, many rows |
//! | trees, 12 epochs | the same for longer | many rows per class |
//! | one node, λ = 1 | one tree with one leaf: every class against all others | few rows per class |
//! | softmax, λ = 0.1, 1 or 0.01 | linear scores by the batch solver | rows of numbers, most of them not zero |
//!
//! On 5,000 held-out rows each, precision@1 of trees, of one node and of the best softmax is .666, .674, .657 (500 rows
//! of 20 newsgroups); .351, .363, .347 (500 library titles of 58 classes). On a fifth of 8,709 such titles it is .661,
//! .642, .651, where trees take a hundredth of the time of the softmax, and of 1,261 digits .956, .952, .960.

mod best;

use super::folds::{self, Calibration, Fold};
use super::label_weights::LabelWeights;
use crate::bound::Objective;
use crate::data::{Examples, Row};
use crate::error::{Error, Result};
use crate::options::{
    BatchOptions, BoundOptions, ClassWeight, Effort, LinearOptions, ScoreOptions, Solver, TREES_FROM, TrainOptions,
    TreeOptions,
};

/// Below this number of rows every row is held out once, in one of the folds; from it on those of one fold are enough.
/// The 400 rows of one fold of 2,000 preferred trees where one node is .006 better (20 newsgroups).
const CROSS_VALIDATED_BELOW: usize = 4000;

/// Minimum number of rows for a comparison; with fewer, the first candidate is taken.
const MIN_ROWS: usize = 20;

/// Penalty of one node, that of `LinearSVC`. With 5, precision@1 on held-out rows is .651 where it is .674 with 1, and
/// .370 where it is .363 (the sets of 500 rows).
const NODE_L2: f64 = 1.0;

/// Penalties of the softmax. With 1, 0.1 and 0.01, precision@1 on held-out rows is .866, .862, .868 (1,000 rows of
/// MNIST) and .921, .917, .912 (48,000), each after as long a training as trees take in all: of many rows only 1 is
/// tried.
const SOFTMAX_L2: [f64; 3] = [0.1, 1.0, 0.01];
const SOFTMAX_L2_OF_MANY: [f64; 1] = [1.0];
const MANY_ROWS: usize = 10_000;

/// The tolerance of the batch solver. With 1e-3 and 1e-5, precision@1 is .862 and .864 (1,000 rows of MNIST), .956 and
/// .956 (digits), in a third of the time.
const TOLERANCE: f64 = 1e-3;

/// Entries are dense if at least this share of them is not zero: half of those of digits, a fifth of those of MNIST,
/// a thousandth to a hundredth of those of texts.
const DENSE: f64 = 0.1;

/// Maximum work of a candidate: entries times classes that score them, in one epoch or iteration; for longer training
/// of trees, entries times √K in all epochs. A trial takes some seconds then.
const WORK: f64 = 2e8;
const WORK_OF_TREES: f64 = 2e9;

/// Number of epochs of the trees that are trained for longer.
const MANY_EPOCHS: usize = 12;

/// A candidate that was tried.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Compared {
    /// Its settings.
    pub options: TrainOptions,
    /// The share of held-out rows whose top class is not one of their labels.
    pub error: f64,
    /// Number of held-out rows.
    pub rows: usize,
}

/// The outcome of the comparison.
pub(crate) struct Choice {
    pub options: TrainOptions,
    /// The calibration on the held-out rows, unless there are too few.
    pub calibration: Option<Calibration>,
    /// What was tried; empty if there was one candidate, or too few rows.
    pub compared: Vec<Compared>,
    pub too_few: bool,
}

/// Chooses the scores, their solver and the penalty where they are not given. `proceed` is called between steps; its
/// error ends the comparison.
pub(crate) fn choose(
    examples: &Examples<'_>,
    given: &TrainOptions,
    proceed: &mut dyn FnMut() -> Result<()>,
) -> Result<Choice> {
    let candidates = match given.effort {
        Effort::Fast => candidates(examples, given).into_iter().take(1).collect(),
        Effort::Best => best::candidates(examples, given, candidates(examples, given)),
        _ => candidates(examples, given),
    };
    let rows = examples.ids().filter(|&id| examples.weight(id) > 0.0).count();
    if candidates.len() == 1 || rows < MIN_ROWS {
        let too_few = candidates.len() > 1;
        let options = candidates.into_iter().next().map(|first| completed(first, given));
        let options = options.expect("there is a candidate for any rows");
        return Ok(Choice { options, calibration: None, compared: Vec::new(), too_few });
    }
    let splits = folds::splits(examples, given.seed, if rows < CROSS_VALIDATED_BELOW { folds::FOLDS } else { 1 });
    let mut compared: Vec<Compared> = Vec::new();
    let mut best: Option<(usize, Vec<Fold>)> = None;
    for options in candidates {
        let (error, folds) = match folds::train(examples, &options, &splits, proceed) {
            // A candidate that diverges, or takes too much memory, is not chosen.
            Err(Error::Diverged { .. } | Error::Mismatch(_)) => (f64::INFINITY, Vec::new()),
            trained => trained.map(|folds| (error(examples, &options.class_weight, &folds), folds))?,
        };
        if best.as_ref().is_none_or(|&(best, _)| error < compared[best].error) {
            best = Some((compared.len(), folds));
        }
        compared.push(Compared { options, error, rows: splits.iter().map(|(_, held_out)| held_out.len()).sum() });
    }
    let (best, folds) = best.expect("there is a candidate for any rows");
    let options = completed(compared[best].options.clone(), given);
    // A trial of the best effort has fewer trees than what is trained of it.
    let calibration = if options == compared[best].options { Calibration::of(examples, folds) } else { None };
    Ok(Choice { options, calibration, compared, too_few: false })
}

/// What is trained of a candidate.
fn completed(options: TrainOptions, given: &TrainOptions) -> TrainOptions {
    match (given.effort, options) {
        (Effort::Best, options) => best::completed(options),
        (Effort::Fast, mut options) => {
            if let Some(ScoreOptions::Trees(trees)) = &mut options.scores {
                trees.rivals = 0;
            } else {
                options.effort = Effort::Default;
            }
            options
        }
        (_, options) => options,
    }
}

/// What is worth a trial, first what is taken without one.
fn candidates(examples: &Examples<'_>, given: &TrainOptions) -> Vec<TrainOptions> {
    let (features, classes) = (examples.rows.features(), examples.classes);
    let entries = examples.rows.entries() as f64 * examples.len() as f64 / examples.rows.len() as f64;
    let dense = classes < TREES_FROM && entries >= DENSE * features as f64 * examples.len() as f64;
    let with = |scores: ScoreOptions, l2: Option<f64>, epochs: Option<usize>| TrainOptions {
        scores: Some(scores),
        l2: given.l2.or(l2),
        epochs,
        ..given.clone()
    };
    // What is given of a run is meant for one run, not for trials, and the batch solver has neither.
    if given.epochs.is_some() || given.learning_rate.is_some() {
        let scores = match classes >= TREES_FROM {
            true => ScoreOptions::Trees(TreeOptions::default()),
            false => ScoreOptions::Linear(LinearOptions::default()),
        };
        return vec![with(scores, None, given.epochs)];
    }
    let mut found = Vec::new();
    if dense && entries * classes as f64 <= WORK {
        let bound = BoundOptions { objective: Objective::Softmax, ..BoundOptions::default() };
        let solver = Solver::Batch(BatchOptions { tolerance: TOLERANCE, ..BatchOptions::default() });
        let scores = ScoreOptions::Linear(LinearOptions { bound, solver, cells: None });
        let few = examples.len() < MANY_ROWS;
        let penalties = if few { &SOFTMAX_L2[..] } else { &SOFTMAX_L2_OF_MANY };
        found.extend(penalties.iter().map(|&l2| with(scores.clone(), Some(l2), None)));
    }
    found.push(with(ScoreOptions::Trees(TreeOptions::default()), None, None));
    if !dense && entries * (classes as f64).sqrt() * MANY_EPOCHS as f64 <= WORK_OF_TREES {
        found.push(with(ScoreOptions::Trees(TreeOptions::default()), None, Some(MANY_EPOCHS)));
    }
    if !dense && entries * classes as f64 <= WORK {
        found.push(with(
            ScoreOptions::Trees(TreeOptions { trees: 1, leaves: Some(1), rivals: 0, ..TreeOptions::default() }),
            Some(NODE_L2),
            None,
        ));
    }
    // With given settings, some are the same.
    found.dedup();
    found
}

/// The share of held-out rows whose top class is not one of their labels, by the weights of rows and classes.
fn error(examples: &Examples<'_>, class_weight: &ClassWeight, folds: &[Fold]) -> f64 {
    let weights = LabelWeights::new(examples, class_weight);
    let (mut errors, mut all, mut of_labels) = (0.0, 0.0, Vec::new());
    for Fold { scores, held_out } in folds {
        let rows: Vec<Row<'_>> = held_out.iter().map(|&id| examples.rows.row(id as usize)).collect();
        for (&id, top) in held_out.iter().zip(scores.top_k(&rows, 1)) {
            let labels = &examples.labels[id as usize];
            weights.of_row(id as usize, labels, &mut of_labels);
            let weight = of_labels.iter().sum::<f64>() / labels.len().max(1) as f64;
            all += weight;
            errors += if labels.contains(&top[0].class) { 0.0 } else { weight };
        }
    }
    errors / all
}
