//! Models of a part of the rows each, and what they say of the others: the error that a model of all rows would have on
//! new ones, and the calibration of its probabilities.

use super::run::Start;
use super::training::Training;
use super::{calibration, logistic, trees, validation};
use crate::data::{Examples, Row};
use crate::error::Result;
use crate::model::Model;
use crate::options::TrainOptions;
use crate::platform::random::Stream;
use crate::scores::trees::Calibration as TreeCalibration;
use crate::scores::{Logistic, Scores};

/// Each row is held out in one of this many folds.
pub(crate) const FOLDS: usize = 5;

/// Maximum number of held-out rows per fold: their error has a standard error of .007 at most.
const HELD_OUT: usize = 5000;

/// Enough held-out rows to calibrate probabilities: in folds, which cost a training each, and in the run itself; and
/// the fewest rows for a calibration.
const ENOUGH: usize = 1000;
const ENOUGH_OF_TREES: usize = 400;
const MIN_ROWS: usize = 50;

/// Rows to train on and rows to hold out, both increasing.
pub(crate) type Split = (Vec<u32>, Vec<u32>);

/// The scores of a model that was trained without some rows.
pub(crate) struct Fold {
    pub scores: Scores,
    pub held_out: Vec<u32>,
}

/// The first `count` folds of rows in random order. Rows of the same content are in one fold, unless so many are alike
/// that a fold would have less than half of its share. Names of classes are trained on in all of them.
pub(crate) fn splits(examples: &Examples<'_>, seed: u64, count: usize) -> Vec<Split> {
    let len = examples.ids_without_names().count();
    let mut order: Vec<u32> = (0..len as u32).collect();
    Stream::of(&[seed, u64::MAX - 3]).shuffle(&mut order);
    let mut rank = vec![0; len];
    order.iter().zip(0..).for_each(|(&n, at)| rank[n as usize] = at);
    let alike: Vec<usize> = validation::firsts(examples)[..len].iter().map(|&first| rank[first as usize]).collect();
    let mut sizes = [0; FOLDS];
    alike.iter().for_each(|rank| sizes[rank % FOLDS] += 1);
    let places = if sizes.iter().all(|size| 2 * FOLDS * size >= len) { alike } else { rank };
    let split = |fold: usize| {
        let used = (0..examples.len()).filter(|&n| examples.weight(examples.id(n)) > 0.0);
        let is_held_out = |place: &usize| place % FOLDS == fold && place / FOLDS < HELD_OUT;
        let (held_out, train): (Vec<usize>, Vec<usize>) = used.partition(|&n| places.get(n).is_some_and(is_held_out));
        let ids = |rows: Vec<usize>| rows.into_iter().map(|n| examples.id(n) as u32).collect();
        (ids(train), ids(held_out))
    };
    (0..count).map(split).collect()
}

/// Trains with these options on each split. `proceed` is called between steps; its error ends the training.
pub(crate) fn train(
    examples: &Examples<'_>,
    options: &TrainOptions,
    splits: &[Split],
    proceed: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<Fold>> {
    let mut folds = Vec::new();
    for (train, held_out) in splits {
        let mut training = Training::new(examples.with_index(train), options, Start::default())?;
        while training.step()?.is_some() {
            proceed()?;
        }
        folds.push(Fold { scores: training.finish()?.scores, held_out: held_out.clone() });
    }
    Ok(folds)
}

/// The calibration of probabilities on held-out rows.
pub(crate) enum Calibration {
    /// Of linear scores: the temperature, and the logistic function if rows have several labels.
    Softmax { temperature: f64, logistic: Option<Logistic> },
    /// Of trees.
    Trees(TreeCalibration),
}

impl Calibration {
    /// The calibration that makes the labels of the held-out rows the most probable; `None` with too few of them, and
    /// for trees that have held out rows of their own.
    pub fn of(examples: &Examples<'_>, mut folds: Vec<Fold>) -> Option<Self> {
        // Every so many of them, since ids may be in the order of the classes.
        let step = (folds.iter().map(|fold| fold.held_out.len()).sum::<usize>() / ENOUGH).max(1);
        folds.iter_mut().for_each(|fold| fold.held_out = fold.held_out.iter().copied().step_by(step).collect());
        match folds.first()?.scores {
            Scores::Trees(_) if holds_out_enough(examples) => None,
            Scores::Trees(_) => of_trees(examples, &folds).map(Calibration::Trees),
            _ => of_softmax(examples, folds),
        }
    }

    /// That of trees, for their run.
    pub fn of_run(&self) -> Option<TreeCalibration> {
        match self {
            Calibration::Trees(calibration) => Some(*calibration),
            Calibration::Softmax { .. } => None,
        }
    }

    /// Calibrates linear scores.
    pub fn apply(&self, model: &mut Model) {
        if let &Calibration::Softmax { temperature, logistic } = self {
            model.calibrate(temperature);
            model.card.logistic = logistic;
        }
    }
}

fn of_trees(examples: &Examples<'_>, folds: &[Fold]) -> Option<TreeCalibration> {
    let mut parts = Vec::new();
    for Fold { scores, held_out } in folds {
        let Scores::Trees(trees) = scores else { return None };
        parts.push((trees, &held_out[..]));
    }
    Some(trees::calibration(&parts, examples))
}

fn of_softmax(examples: &Examples<'_>, mut folds: Vec<Fold>) -> Option<Calibration> {
    let ids: Vec<u32> = folds.iter().flat_map(|fold| &fold.held_out).copied().collect();
    if ids.len() < MIN_ROWS {
        return None;
    }
    let mut scores = Vec::with_capacity(ids.len() * examples.classes);
    for Fold { scores: fold, held_out } in &folds {
        let softmax = fold.softmax()?;
        let of_row = &|row: Row<'_>, out: &mut [f32]| softmax.scores(row, out);
        scores.extend(calibration::scores_of_rows(&examples.with_index(held_out), of_row));
    }
    let labels = |n: usize| &examples.labels[ids[n] as usize];
    let temperature = calibration::fit_to_scores(&scores, examples.classes, &labels).temperature;
    if !examples.ids().any(|id| examples.labels[id].len() > 1) {
        return Some(Calibration::Softmax { temperature, logistic: None });
    }
    let pairs = folds.iter_mut().flat_map(|Fold { scores, held_out }| {
        scores.predictor_mut().scale((1.0 / temperature) as f32);
        logistic::pairs(scores, &examples.with_index(held_out))
    });
    let logistic = logistic::fit(&pairs.collect::<Vec<_>>(), (0..ids.len()).map(|n| labels(n).len()).sum());
    Some(Calibration::Softmax { temperature, logistic })
}

/// Whether trees hold out enough rows of their own for their calibration. With 100, as from 5,000 rows on, it has an
/// nlpd of .51 where that of 4,900 rows by folds has .48, and an ECE of .046 and .014 (20 newsgroups, one node).
fn holds_out_enough(examples: &Examples<'_>) -> bool {
    trees::held_out(examples) >= ENOUGH_OF_TREES
}

/// The calibration of trees that hold out no or few rows: by trees without some of the rows each, as many as give
/// enough held-out rows.
pub(crate) fn calibrate_trees(
    examples: &Examples<'_>,
    options: &TrainOptions,
    proceed: &mut dyn FnMut() -> Result<()>,
) -> Result<Option<Calibration>> {
    let rows = examples.ids_without_names().count();
    if holds_out_enough(examples) || rows < MIN_ROWS {
        return Ok(None);
    }
    let splits = splits(examples, options.seed, (ENOUGH * FOLDS).div_ceil(rows).min(FOLDS));
    Ok(Calibration::of(examples, train(examples, options, &splits, proceed)?))
}
