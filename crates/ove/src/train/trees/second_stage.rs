//! Trains the second stage by the paper's bound, with the trees' best classes of a row as the rivals of its labels.
//!
//! A bound sums over all negatives of a label, of which nearly all are easy. The trees know the few that are not: their
//! best classes of a training row, the rivals. With Y the labels of row n, R its rivals and f_k(x) = w_k·x,
//!
//! ```text
//! merged        Σ_n Σ_{y ∈ Y} c_y ( − log(1 + Σ_{m ∈ R} e^{f_m − f_y}) )
//! one-vs-each   Σ_n Σ_{y ∈ Y} c_y ( − Σ_{m ∈ R} log(1 + e^{f_m − f_y}) )
//! ```
//!
//! is maximised class by class ([`class_pass`]), each with the scores of all other classes held fixed. A class then
//! needs only the rows that have it among their candidates (labels and rivals), and its weights are one dense vector
//! that stays in a cache. All classes of a wave are trained in parallel, with the same bits for any number of threads;
//! two candidates of a row rarely meet in the same wave.
//!
//! w_k = Σ_n α_nk x_n, so that a number per candidate is the whole state between two waves. A second stage that is
//! trained further adds this to its earlier weights.

mod candidates;
mod class_pass;
mod mix;

use std::ops::Range;

use rayon::prelude::*;

use self::candidates::{ByClass, Candidates};
use self::class_pass::{Learner, Scratch};
use super::Task;
use crate::bound::Objective;
use crate::data::Row;
use crate::error::{Error, Result};
use crate::model::TracePoint;
use crate::options::TreeOptions;
use crate::platform::bytes::Bytes;
use crate::platform::random::Stream;
use crate::scores::Trees;
use crate::scores::trees::{Mix, Search, SecondStage};
use crate::train::budget;
use crate::train::checkpoint::{StateReader, Table};
use crate::train::label_weights::LabelWeights;
use crate::train::parts;

/// Number of passes over the rows, and the learning rate of the first. The rate decreases linearly from pass to pass.
///
/// On development rows of EURLEX57K, P@1, 3, 5 with κ = .5 and the fitted bound per row are .9293 .8346 .6994 and
/// −4.455 with rate 3; .9288 .8347 .6998 and −4.465 with rate 5; .9265 .8344 .6988 and −4.489 with rate 10. With rate
/// 5, four and ten passes give .9263 .8311 .6994 and −4.511, .9263 .8341 .7003 and −4.449; six with a constant rate of
/// 2 .9268 .8348 .6988 and −4.500. Steps row by row, all candidates at once, are no better: .9253 .8317 .6980 and
/// −4.584 after three passes with rate 5, where steps by class have .9235 .8298 .6951 and −4.583.
const PASSES: usize = 6;
const LEARNING_RATE: f32 = 3.0;

/// The factor of the learning rate for a second stage that goes on from earlier weights, as new rows are few of those
/// that it has seen. With the 15,000 of 150,000 titles that have a new class, P@1, 3, 5 on development rows are .291
/// .176 .128 with this factor for new classes and .287 .174 .127 without.
const FURTHER: f32 = 0.1;

/// Number of waves per pass; 32 instead of 8 change P@1, 3, 5 by less than .0002.
const WAVES: usize = 8;

/// Number of rows that are searched for rivals per step.
const ROWS: usize = 1 << 14;

/// Weights smaller than this, for rows of unit length, are pruned. On EURLEX57K .01, .03 and .06 leave 10.4, 9.0 and
/// 7.3 million weights, with the same precision on development rows within .0001.
const NEGLIGIBLE: f32 = 0.05;

/// Keys of the random streams, beside those of the trees.
const WAVE_ORDER: u64 = u64::MAX - 2;
const ROW_ORDER: u64 = u64::MAX - 3;

/// Whether there are enough held-out rows to fit the part of the second stage in the ranking.
pub(super) fn may_be_fitted(held_out: &[u32]) -> bool {
    held_out.len() >= mix::MIN_ROWS
}

/// A second stage in training.
pub(super) struct SecondStageRun<'a> {
    task: Task<'a>,
    weights: LabelWeights<'a>,
    objective: Objective,
    rivals: usize,
    memory: Bytes,
    /// The training rows.
    rows: Vec<u32>,
    /// The weights to start from.
    earlier: Option<SecondStage>,
    candidates: Candidates,
    by_class: ByClass,
    /// Number of waves done.
    waves: usize,
    /// The objective after each pass.
    pub trace: Vec<TracePoint>,
}

impl<'a> SecondStageRun<'a> {
    pub fn new(
        task: Task<'a>,
        weights: LabelWeights<'a>,
        options: &TreeOptions,
        memory: Bytes,
        rows: Vec<u32>,
        earlier: Option<SecondStage>,
    ) -> Self {
        SecondStageRun {
            task,
            weights,
            objective: options.objective,
            rivals: options.rivals,
            memory,
            candidates: Candidates::new(rows.len()),
            rows,
            earlier,
            by_class: ByClass::default(),
            waves: 0,
            trace: Vec::new(),
        }
    }

    fn has_rivals(&self) -> bool {
        self.candidates.len() == self.rows.len()
    }

    pub fn is_done(&self) -> bool {
        self.has_rivals() && self.waves == PASSES * WAVES
    }

    /// The share of the work that is done.
    pub fn done(&self) -> f64 {
        let searched = self.candidates.len() as f64 / self.rows.len().max(1) as f64;
        0.5 * searched + 0.5 * self.waves as f64 / (PASSES * WAVES) as f64
    }

    /// Searches some rows for rivals, or trains the classes of a wave.
    pub fn advance(&mut self, trees: &Trees) -> Result<()> {
        if self.has_rivals() {
            self.wave();
            return Ok(());
        }
        let first = self.candidates.len();
        let found = self.search(trees, first..self.rows.len().min(first + ROWS));
        self.add(&found)
    }

    /// Ranges of the rows to search for rivals, unless all have theirs.
    pub fn parts(&self, count: usize) -> Vec<Range<usize>> {
        if self.has_rivals() { Vec::new() } else { parts::cut(&vec![1; self.rows.len()], count) }
    }

    /// Number of training rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Number of rows that have their rivals.
    pub fn searched(&self) -> usize {
        self.candidates.len()
    }

    /// Adds the rivals of the next rows.
    pub fn add(&mut self, found: &[Vec<u32>]) -> Result<()> {
        let examples = &self.task.examples;
        let mut own = Vec::new();
        let first = self.candidates.len();
        for (&row, found) in self.rows[first..].iter().zip(found) {
            let labels = &examples.labels[row as usize];
            self.weights.of_row(row as usize, labels, &mut own);
            self.candidates.push(labels, &own, found);
        }
        budget::check_second_stage(self.memory, self.rivals, self.candidates.bytes())?;
        if self.has_rivals() {
            self.by_class = ByClass::of(&self.candidates, self.task.examples.classes);
            self.score();
            self.record();
        }
        Ok(())
    }

    /// The scores of all candidates by the earlier weights.
    fn score(&mut self) {
        if self.earlier.is_none() {
            return;
        }
        let of_class =
            |scratch: &mut Scratch, class| self.learner(0).scores(self.by_class.of_one(class), class, scratch);
        let classes = 0..self.task.examples.classes as u32;
        let scores: Vec<Vec<f32>> = classes.into_par_iter().map_init(Scratch::default, of_class).collect();
        self.by_class.slots.iter().zip(scores.iter().flatten()).for_each(|(&slot, &score)| {
            self.candidates.scores[slot as usize] = score;
        });
    }

    fn learner(&self, pass: usize) -> Learner<'_> {
        let further = if self.earlier.is_some() { FURTHER } else { 1.0 };
        Learner {
            examples: self.task.examples,
            objective: self.objective,
            rate: further * LEARNING_RATE * (1.0 - pass as f32 / PASSES as f32) / self.task.square,
            rows: &self.rows,
            candidates: &self.candidates,
            earlier: self.earlier.as_ref(),
        }
    }

    /// The classes that are best in the trees for some rows: the rivals of their labels, and maybe labels.
    pub fn search(&self, trees: &Trees, range: Range<usize>) -> Vec<Vec<u32>> {
        let of_row = |&row: &u32| self.task.examples.rows.row(row as usize);
        let rows: Vec<Row<'_>> = self.rows[range].iter().map(of_row).collect();
        trees.search_batches(&rows, Search::Nearest, |_, found, scratch| {
            let mut best = |found: &_| trees.votes(found, self.rivals, scratch).iter().map(|vote| vote.class).collect();
            found.iter().map(&mut best).collect()
        })
    }

    /// Trains a part of all classes for a pass over their rows.
    fn wave(&mut self) {
        let (pass, wave) = (self.waves / WAVES, self.waves % WAVES);
        let classes = self.task.examples.classes;
        let mut order: Vec<u32> = (0..classes as u32).collect();
        Stream::of(&[self.task.seed, WAVE_ORDER, pass as u64]).shuffle(&mut order);
        let learner = self.learner(pass);
        let (by_class, seed) = (&self.by_class, self.task.seed);
        let of_class = |scratch: &mut Scratch, &class: &u32| {
            let random = Stream::of(&[seed, ROW_ORDER, class.into(), pass as u64]);
            (class, learner.pass(by_class.of_one(class), class, random, scratch))
        };
        let members = &order[classes * wave / WAVES..classes * (wave + 1) / WAVES];
        let learned: Vec<_> = members.par_iter().with_max_len(1).map_init(Scratch::default, of_class).collect();
        for (class, (alphas, scores)) in learned {
            let own = self.by_class.range(class);
            self.by_class.slots[own.clone()].iter().zip(scores).for_each(|(&slot, score)| {
                self.candidates.scores[slot as usize] = score;
            });
            self.by_class.alphas[own].copy_from_slice(&alphas);
        }
        self.waves += 1;
        if self.waves.is_multiple_of(WAVES) {
            self.record();
        }
    }

    /// Appends the objective to the trace.
    fn record(&mut self) {
        let of_row = |n: usize| self.candidates.objective(n, self.objective);
        // Collected first, so that the order of the sum does not depend on the threads.
        let bound = (0..self.rows.len()).into_par_iter().map(of_row).collect::<Vec<_>>().iter().sum();
        self.trace.push(TracePoint { updates: (self.waves / WAVES * self.rows.len()) as u64, bound });
    }

    /// The second stage, with its mix fitted on held-out rows; `None` if it does not help there, or there are too few.
    pub fn finish(self, trees: &Trees, held_out: &[u32]) -> Result<Option<SecondStage>> {
        if !self.has_rivals() {
            return Ok(None);
        }
        let weights = self.learned();
        let count = weights.iter().map(Vec::len).sum::<usize>();
        budget::check_second_stage(self.memory, self.rivals, count as u64 * budget::TREE_BYTES)?;
        let features = self.task.examples.rows.features();
        let unfitted = mix::unfitted(self.rivals);
        let second = SecondStage::of_classes(features, &weights, unfitted).ok_or_else(|| {
            Error::Mismatch(format!("the second stage has more than {} weights; use fewer features", u32::MAX))
        })?;
        if !second.is_finite() {
            return Err(Error::Diverged { epoch: self.waves.div_ceil(WAVES), learning_rate: LEARNING_RATE.into() });
        }
        // New rows may be of few classes only, and say little about how much the second stage knows of all.
        if let Some(earlier) = &self.earlier {
            let mix = Mix { rivals: self.rivals, ..earlier.mix() };
            return Ok(Some(second.with_mix(mix)));
        }
        Ok(mix::fit(trees, &second, &self.task.examples, held_out).map(|mix| second.with_mix(mix)))
    }

    /// The weights of each class, pruned, with increasing features.
    fn learned(&self) -> Vec<Vec<(u32, f32)>> {
        let examples = &self.task.examples;
        let negligible = NEGLIGIBLE / self.task.square.sqrt();
        let of_class = |scratch: &mut Scratch, class: u32| {
            let own = self.by_class.of_one(class);
            let rows = own.rows.iter().map(|&n| examples.rows.row(self.rows[n as usize] as usize));
            scratch.start(examples.rows.features(), self.earlier.as_ref(), class);
            rows.clone().zip(own.alphas).for_each(|(row, &alpha)| scratch.add(row, alpha));
            let mut kept = Vec::new();
            let earlier = self.earlier.iter().flat_map(|earlier| earlier.weights_of(class)).map(|(feature, _)| feature);
            for feature in rows.flat_map(|row| row.indices.iter().copied()).chain(earlier) {
                let weight = std::mem::take(&mut scratch.weights[feature as usize]);
                // NaN is kept, so that divergence is detected.
                if weight.is_nan() || weight.abs() >= negligible {
                    kept.push((feature, weight));
                }
            }
            kept.sort_unstable_by_key(|&(feature, _)| feature);
            kept
        };
        (0..examples.classes as u32).into_par_iter().map_init(Scratch::default, of_class).collect()
    }

    /// Number of waves done, if the rivals of all rows are known; the state of the search is not kept.
    pub fn waves(&self) -> Option<usize> {
        self.has_rivals().then_some(self.waves)
    }

    /// The candidates with their scores and α.
    pub fn tables(&self) -> Vec<Table<'_>> {
        if self.has_rivals() { self.candidates.tables(&self.by_class) } else { Vec::new() }
    }

    /// Continues from a state with this many waves.
    pub fn restore(&mut self, state: &dyn StateReader, waves: usize, trace: Vec<TracePoint>) -> Result<()> {
        let classes = self.task.examples.classes;
        (self.candidates, self.by_class) = Candidates::restore(state, self.rows.len(), classes)?;
        if waves > PASSES * WAVES {
            return Err(state.unusable(format!("{waves} waves of the second stage")));
        }
        (self.waves, self.trace) = (waves, trace);
        Ok(())
    }
}
