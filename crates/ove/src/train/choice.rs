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

use rayon::prelude::*;

use super::calibration;
use super::run::Start;
use super::training::Training;
use super::validation;
use crate::bound::Objective;
use crate::data::{Examples, Row};
use crate::error::{Error, Result};
use crate::options::{
    BatchOptions, BoundOptions, LinearOptions, ScoreOptions, Solver, TREES_FROM, TrainOptions, TreeOptions,
};
use crate::platform::random::Stream;
use crate::scores::Scores;

/// Below this number of rows every row is held out once, in one of the folds; from it on those of one fold are enough.
/// The 400 rows of one fold of 2,000 preferred trees where one node is .006 better (20 newsgroups).
const CROSS_VALIDATED_BELOW: usize = 4000;
const FOLDS: usize = 5;

/// Maximum number of held-out rows: their error has a standard error of .007 at most.
const HELD_OUT: usize = 5000;

/// Minimum number of rows for a comparison; with fewer, the first candidate is taken.
const MIN_ROWS: usize = 20;

/// Minimum number of held-out rows for a temperature.
const MIN_ROWS_OF_TEMPERATURE: usize = 50;

/// Penalty of one node, that of `LinearSVC`. With 5, precision@1 on held-out rows is .651 where it is .674 with 1, and
/// .370 where it is .363 (the sets of 500 rows).
const NODE_L2: f64 = 1.0;

/// Penalties of the softmax. With 1, 0.1 and 0.01, precision@1 on held-out rows is .866, .862, .868 (1,000 rows of MNIST)
/// and .921, .917, .912 (48,000), each after as long a training as trees take in all: of many rows only 1 is tried.
const SOFTMAX_L2: [f64; 3] = [0.1, 1.0, 0.01];
const SOFTMAX_L2_OF_MANY: [f64; 1] = [1.0];
const MANY_ROWS: usize = 10_000;

/// The tolerance of the batch solver. With 1e-3 and 1e-5, precision@1 is .862 and .864 (1,000 rows of MNIST), .956 and
/// .956 (digits), in a third of the time.
const TOLERANCE: f64 = 1e-3;

/// Entries are dense if at least this share of them is not zero: half of those of digits, a fifth of those of MNIST,
/// a thousandth to a hundredth of those of texts.
const DENSE: f64 = 0.1;

/// Maximum work of a candidate: entries times classes that score them, in one epoch or iteration; for longer training of
/// trees, entries times √K in all epochs. A trial takes some seconds then.
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
    /// The temperature of linear scores on the held-out rows.
    pub temperature: Option<f64>,
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
    let candidates = candidates(examples, given);
    let rows = examples.ids().filter(|&id| examples.weight(id) > 0.0).count();
    if candidates.len() == 1 || rows < MIN_ROWS {
        let too_few = candidates.len() > 1;
        let options = candidates.into_iter().next().expect("there is a candidate for any rows");
        return Ok(Choice { options, temperature: None, compared: Vec::new(), too_few });
    }
    let splits = splits(examples, given.seed);
    let mut tried = Vec::new();
    for options in &candidates {
        tried.push(Trial::new(examples, options, &splits, proceed)?);
    }
    let best = (0..tried.len()).min_by(|&a, &b| tried[a].error.total_cmp(&tried[b].error)).unwrap_or_default();
    let compared = candidates.iter().zip(&tried);
    let compared = compared.map(|(options, trial)| Compared {
        options: options.clone(),
        error: trial.error,
        rows: trial.held_out.len(),
    });
    let (options, compared) = (candidates[best].clone(), compared.collect());
    Ok(Choice { options, temperature: tried[best].temperature(examples), compared, too_few: false })
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
        found.push(with(ScoreOptions::Trees(TreeOptions { trees: 1, leaves: Some(1) }), Some(NODE_L2), None));
    }
    // With given settings, some are the same.
    found.dedup();
    found
}

/// Rows to train on and rows to hold out, both increasing.
type Split = (Vec<u32>, Vec<u32>);

/// The folds of rows in random order. Rows of the same content are in one fold, unless so many are alike that a fold
/// would have less than half of its share.
fn splits(examples: &Examples<'_>, seed: u64) -> Vec<Split> {
    let len = examples.len();
    let mut order: Vec<u32> = (0..len as u32).collect();
    Stream::of(&[seed, u64::MAX - 3]).shuffle(&mut order);
    let mut rank = vec![0; len];
    order.iter().zip(0..).for_each(|(&n, at)| rank[n as usize] = at);
    let alike: Vec<usize> = validation::firsts(examples).iter().map(|&first| rank[first as usize]).collect();
    let mut sizes = [0; FOLDS];
    alike.iter().for_each(|rank| sizes[rank % FOLDS] += 1);
    let places = if sizes.iter().all(|size| 2 * FOLDS * size >= len) { alike } else { rank };
    let folds = if len < CROSS_VALIDATED_BELOW { FOLDS } else { 1 };
    let split = |fold: usize| {
        let used = (0..len).filter(|&n| examples.weight(examples.id(n)) > 0.0);
        let (held_out, train): (Vec<usize>, Vec<usize>) =
            used.partition(|&n| places[n] % FOLDS == fold && places[n] / FOLDS < HELD_OUT);
        let ids = |rows: Vec<usize>| rows.into_iter().map(|n| examples.id(n) as u32).collect();
        (ids(train), ids(held_out))
    };
    (0..folds).map(split).collect()
}

fn trained(examples: Examples<'_>, options: &TrainOptions, proceed: &mut dyn FnMut() -> Result<()>) -> Result<Scores> {
    let mut training = Training::new(examples, options, Start::default())?;
    while training.step()?.is_some() {
        proceed()?;
    }
    Ok(training.finish()?.scores)
}

/// A candidate, trained on the rows of each split.
struct Trial {
    error: f64,
    /// The held-out rows of all splits.
    held_out: Vec<u32>,
    /// The scores of all classes for these rows, if their probabilities are a softmax.
    scores: Vec<f32>,
}

impl Trial {
    fn new(
        examples: &Examples<'_>,
        options: &TrainOptions,
        splits: &[Split],
        proceed: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        let mut trial = Trial { error: 0.0, held_out: Vec::new(), scores: Vec::new() };
        let mut all = 0.0;
        for (train, held_out) in splits {
            let scores = match trained(examples.with_index(train), options, proceed) {
                // A candidate that diverges, or takes too much memory, is not chosen.
                Err(Error::Diverged { .. } | Error::Mismatch(_)) => return Ok(Trial { error: f64::INFINITY, ..trial }),
                other => other?,
            };
            let rows: Vec<Row<'_>> = held_out.iter().map(|&id| examples.rows.row(id as usize)).collect();
            for (&id, top) in held_out.iter().zip(scores.top_k(&rows, 1)) {
                let (weight, labels) = (examples.weight(id as usize), &examples.labels[id as usize]);
                all += weight;
                trial.error += if labels.contains(&top[0].class) { 0.0 } else { weight };
            }
            trial.held_out.extend(held_out);
            trial.add_scores(&scores, &rows, examples.classes);
        }
        trial.error /= all;
        Ok(trial)
    }

    fn add_scores(&mut self, scores: &Scores, rows: &[Row<'_>], classes: usize) {
        if let Some(softmax) = scores.softmax() {
            let before = self.scores.len();
            self.scores.resize(before + rows.len() * classes, 0.0);
            let out = self.scores[before..].par_chunks_mut(classes);
            rows.par_iter().zip(out).for_each(|(&row, out)| softmax.scores(row, out));
        }
    }

    /// The temperature at which the held-out labels are the most probable.
    fn temperature(&self, examples: &Examples<'_>) -> Option<f64> {
        let enough = !self.scores.is_empty() && self.held_out.len() >= MIN_ROWS_OF_TEMPERATURE;
        enough.then(|| {
            let labels = |n: usize| &examples.labels[self.held_out[n] as usize];
            calibration::fit_to_scores(&self.scores, examples.classes, &labels).temperature
        })
    }
}
