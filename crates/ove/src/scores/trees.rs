//! Trees over the classes, for very many classes: a row scores the classes of a few leaves instead of all K.
//!
//! A tree has two levels. The children of its root are √K leaves, clusters of similar classes, and the children of a
//! leaf are its classes. A child c of a node has a linear score, trained one-vs-rest with the squared hinge loss
//! (`train::trees`); its energy is the squared violation of a margin of one. Classes are ranked by the votes of the
//! trees:
//!
//! ```text
//! f_c(x) = w_c·x − 1        E_c = max(0, 1 − f_c)²        v(k | x) = mean over trees of  e^{−E_leaf − E_k}
//! ```
//!
//! If rows have one label, the probabilities of the children of a node sum to one. Those of all classes then sum to one
//! exactly, and that of one class needs two nodes per tree:
//!
//! ```text
//! p(k | x)      = mean over trees of  p(leaf | root, x) p(k | leaf, x)
//! p(c | node, x) = e^{−τ E_c} / Σ_{c' of the node} e^{−τ E_c'}
//! ```
//!
//! A second stage, if there is one, ranks the best classes again (`second_stage`).
//!
//! If rows have several labels, the probability that a class is one of them is v^γ. The temperature τ and the vote
//! power γ are fitted on held-out rows. The top-k classes are found by beam search over the lowest-energy leaves of
//! each tree, batched over rows so that each node is fetched once per batch.

mod beam;
mod ensemble;
mod flat_bound;
mod probabilities;
mod second_stage;

pub use beam::{BeamScores, Search};
pub use ensemble::Scratch;
pub(crate) use probabilities::Paths;
pub use second_stage::{ClassWeights, Mix, SecondStage};

use std::ops::Range;

use rayon::prelude::*;

use super::sparse::SparseBlocks;
use super::{Bound, Measured, OwnProbabilities, Prediction, Predictor, Probabilities, Scores, Shape};
use crate::bound::Objective;
use crate::data::Row;
use crate::error::{Error, Result};
use crate::io::tensors::Tensor;
use crate::platform::elementary::{exp, ln, powf};

/// An ensemble of trees over the same classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Trees {
    features: usize,
    classes: usize,
    trees: Vec<Tree>,
    /// The parameters of calibrated probabilities.
    pub calibration: Calibration,
    /// The second stage, if there is one.
    pub(crate) second_stage: Option<SecondStage>,
}

/// The parameters that map energies and votes to calibrated probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Temperature τ.
    pub temperature: f32,
    /// Vote power γ, if rows have several labels.
    pub vote_power: Option<f32>,
}

/// A tree: a root and its leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// One node, whose children are the leaves.
    root: SparseBlocks,
    /// The leaves, whose children are the classes.
    leaves: SparseBlocks,
    /// The classes, leaf by leaf.
    order: Vec<u32>,
    /// The leaf of each class, and its index among the children of the leaf.
    places: Vec<[u16; 2]>,
}

/// The start of each leaf in an order of the classes, and the end of the last; sizes differ by at most one.
pub fn leaf_starts(classes: usize, leaves: usize) -> Vec<usize> {
    (0..=leaves).map(|leaf| (classes * leaf) / leaves).collect()
}

impl Tree {
    /// From its levels and a permutation of the classes, leaf by leaf.
    ///
    /// # Panics
    /// If `order` is not a permutation of the classes.
    pub fn new(root: SparseBlocks, leaves: SparseBlocks, order: Vec<u32>) -> Self {
        let mut places = vec![[0; 2]; order.len()];
        for (range, leaf) in leaves.children().windows(2).zip(0..) {
            let classes = order[range[0]..range[1]].iter().zip(0..);
            classes.for_each(|(&class, child)| places[class as usize] = [leaf, child]);
        }
        Tree { root, leaves, order, places }
    }

    fn leaf_classes(&self, leaf: u16) -> &[u32] {
        let starts = self.leaves.children();
        &self.order[starts[usize::from(leaf)]..starts[usize::from(leaf) + 1]]
    }

    /// The leaf of a class, and its index among the children of the leaf.
    fn place(&self, class: u32) -> (usize, usize) {
        let [leaf, child] = self.places[class as usize];
        (leaf.into(), child.into())
    }
}

impl Trees {
    /// From trees over the same classes.
    ///
    /// # Panics
    /// If there is no tree.
    pub(crate) fn new(features: usize, trees: Vec<Tree>, calibration: Calibration) -> Self {
        let classes = trees[0].order.len();
        Trees { features, classes, trees, calibration, second_stage: None }
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How the second stage is combined with the votes, if there is one.
    pub fn second_stage(&self) -> Option<Mix> {
        self.second_stage.as_ref().map(SecondStage::mix)
    }

    /// Number of non-zero weights.
    pub(crate) fn weights(&self) -> usize {
        self.trees.iter().flat_map(|tree| [&tree.root, &tree.leaves]).map(SparseBlocks::weights).sum()
    }

    /// The up to `count` classes with the most votes per row, among those of the searched leaves.
    pub(crate) fn top(
        &self,
        rows: &[Row<'_>],
        found: &mut [BeamScores],
        count: usize,
        scratch: &mut Scratch,
    ) -> Vec<Vec<Prediction>> {
        let candidates = self.candidates();
        let mut top = self.ranked(rows, found, count.max(candidates), scratch);
        if let Some(power) = self.calibration.vote_power {
            let probability = |votes: f64| powf(votes.min(1.0), power.into());
            top.iter_mut().flatten().for_each(|found| found.probability = probability(found.probability));
        } else {
            self.share(rows, found, &mut top);
        }
        top.iter_mut().for_each(|top| top.truncate(count));
        top
    }

    /// Number of candidates of the second stage; 0 if there is none.
    pub(crate) fn candidates(&self) -> usize {
        self.second_stage.as_ref().map_or(0, |second| second.mix().rivals)
    }

    /// The up to `count` classes with the most votes per row, corrected by the second stage.
    pub(crate) fn ranked(
        &self,
        rows: &[Row<'_>],
        found: &[BeamScores],
        count: usize,
        scratch: &mut Scratch,
    ) -> Vec<Vec<Prediction>> {
        let mut top: Vec<_> = found.iter().map(|found| self.votes(found, count, scratch)).collect();
        if let Some(second) = &self.second_stage {
            second.correct(rows, &mut top, self.calibration.vote_power.is_some(), &mut scratch.dense);
        }
        top
    }

    /// Replaces votes by probabilities that sum to one over all classes. Candidates of the second stage share what they
    /// have together in proportion to their corrected votes.
    fn share(&self, rows: &[Row<'_>], found: &mut [BeamScores], top: &mut [Vec<Prediction>]) {
        let classes: Vec<Vec<u32>> = top.iter().map(|top| top.iter().map(|found| found.class).collect()).collect();
        self.score_leaves_of(rows, found, &classes);
        for (((top, classes), &row), found) in top.iter_mut().zip(&classes).zip(rows).zip(&*found) {
            let logs = self.log_probabilities_of(row, found, classes, self.calibration.temperature);
            let count = self.candidates().min(top.len());
            let (of_all, mass): (f64, f64) = (
                top[..count].iter().map(|found| found.probability).sum(),
                logs[..count].iter().map(|&log| exp(log)).sum(),
            );
            let (candidates, others) = top.split_at_mut(count);
            candidates.iter_mut().for_each(|found| found.probability *= mass / of_all);
            others.iter_mut().zip(&logs[count..]).for_each(|(found, &log)| found.probability = exp(log));
        }
    }

    /// The candidates of each row, with probabilities that sum to one over all classes.
    fn shared(
        &self,
        rows: &[Row<'_>],
        found: &mut [BeamScores],
        top: &[Vec<Prediction>],
        scratch: &mut Scratch,
    ) -> Vec<Vec<Prediction>> {
        let count = self.candidates();
        if count == 0 {
            return vec![Vec::new(); rows.len()];
        }
        if self.calibration.vote_power.is_none() {
            return top.iter().map(|top| top[..count.min(top.len())].to_vec()).collect();
        }
        let mut shared = self.ranked(rows, found, count, scratch);
        self.share(rows, found, &mut shared);
        shared
    }

    /// log p of the labels of a row, given its candidates with their probabilities.
    fn log_probability_of(&self, row: Row<'_>, found: &BeamScores, candidates: &[Prediction], label: u32) -> f64 {
        match candidates.iter().find(|candidate| candidate.class == label) {
            Some(candidate) => ln(candidate.probability.max(f64::MIN_POSITIVE)),
            None => self.log_probability(row, found, label),
        }
    }

    /// Completes the top-k classes from the leaves that were not searched.
    fn complete(&self, row: Row<'_>, k: usize, top: &mut Vec<Prediction>) {
        let mut logs = vec![0.0; self.classes];
        self.all_log_probabilities(&self.search(&[row], Search::All)[0], &mut logs);
        let mut others: Vec<u32> =
            (0..).take(self.classes).filter(|class| top.iter().all(|p| p.class != *class)).collect();
        others.sort_by(|&a, &b| logs[b as usize].total_cmp(&logs[a as usize]).then(a.cmp(&b)));
        // A class outside the searched leaves may be more probable than the last one that the second stage has ranked.
        let most = top.last().map_or(f64::INFINITY, |found| found.probability);
        let found = |class: u32| Prediction { class, probability: exp(logs[class as usize]).min(most) };
        top.extend(others.into_iter().take(k - top.len()).map(found));
    }

    /// The probability of a class without calibration: τ = γ = 1.
    fn uncalibrated(&self, row: Row<'_>, found: &BeamScores, prediction: Prediction) -> f64 {
        match self.calibration.vote_power {
            Some(power) => powf(prediction.probability, 1.0 / f64::from(power)),
            None => exp(self.log_probabilities_of(row, found, &[prediction.class], 1.0)[0]),
        }
    }
}

impl Trees {
    /// Replaces log probabilities of the trees by those of the second stage, for the candidates of each row. If rows have
    /// several labels, other classes do not exceed them.
    fn replace_candidates(&self, rows: &[Row<'_>], out: &mut [f64]) {
        let mut found = self.search(rows, Search::Nearest);
        let top = self.top(rows, &mut found, self.candidates(), &mut Scratch::default());
        for (top, out) in top.iter().zip(out.chunks_mut(self.classes)) {
            let logs = top.iter().map(|found| (found.class, ln(found.probability.max(f64::MIN_POSITIVE))));
            if self.calibration.vote_power.is_some() {
                let least = logs.clone().map(|(_, log)| log).fold(0.0, f64::min);
                out.iter_mut().for_each(|log| *log = log.min(least));
            }
            logs.for_each(|(class, log)| out[class as usize] = log);
        }
    }
}

impl OwnProbabilities for Trees {
    /// If the searched leaves have fewer than `k` classes, all leaves are searched.
    fn top_k(&self, rows: &[Row<'_>], k: usize) -> Vec<Vec<Prediction>> {
        let of_piece = |piece: Range<usize>, found: &mut [BeamScores], scratch: &mut Scratch| {
            let mut top = self.top(&rows[piece.clone()], found, k, scratch);
            for (row, top) in rows[piece].iter().zip(&mut top).filter(|(_, top)| top.len() < k) {
                self.complete(*row, k, top);
            }
            top
        };
        self.search_batches(rows, Search::Nearest, of_piece)
    }

    fn log_probabilities(&self, rows: &[Row<'_>], out: &mut [f64]) {
        let batch = self.batch_size(rows.len(), Search::All);
        let pieces = rows.par_chunks(batch).zip(out.par_chunks_mut(batch * self.classes));
        pieces.for_each(|(rows, out)| {
            let found = self.search(rows, Search::All);
            let logs = found.iter().zip(out.chunks_mut(self.classes));
            logs.for_each(|(found, out)| self.all_log_probabilities(found, out));
            if self.second_stage.is_some() {
                self.replace_candidates(rows, out);
            }
        });
    }

    fn measure(&self, rows: &[Row<'_>], labels: &(dyn Fn(usize) -> Vec<u32> + Sync), k: usize) -> Vec<Measured> {
        self.search_batches(rows, Search::Nearest, |piece, found, scratch| {
            let of_piece = &rows[piece.clone()];
            let mut tops = self.top(of_piece, found, k.max(self.candidates()), scratch);
            let shared = self.shared(of_piece, found, &tops, scratch);
            let of_row =
                |(((n, found), mut top), shared): (((usize, &mut BeamScores), Vec<Prediction>), Vec<Prediction>)| {
                    let of_label = |&label: &u32| self.log_probability_of(rows[n], found, &shared, label);
                    let log_probability = labels(n).iter().map(of_label).sum();
                    top.truncate(k);
                    Measured { raw_confidence: self.uncalibrated(rows[n], found, top[0]), log_probability, top }
                };
            piece.zip(found).zip(tops.drain(..)).zip(shared).map(of_row).collect()
        })
    }

    fn bound(
        &self,
        rows: &[Row<'_>],
        labels: &(dyn Fn(usize) -> Vec<u32> + Sync),
        objective: Objective,
    ) -> Option<Bound> {
        self.flat_bound(rows, labels, objective)
    }
}

impl Predictor for Trees {
    fn shape(&self) -> Shape {
        Shape { features: self.features, classes: self.classes }
    }

    fn weight_count(&self) -> usize {
        self.weights() + self.second_stage.as_ref().map_or(0, SecondStage::weight_count)
    }

    /// The mean over trees of the sum of weights on the path to the class, and κ times that of the second stage.
    fn weight(&self, feature: u32, class: u32) -> f32 {
        let of_tree = |tree: &Tree| {
            let (leaf, child) = tree.place(class);
            tree.root.weight_of(feature, 0, leaf) + tree.leaves.weight_of(feature, leaf, child)
        };
        let of_trees = self.trees.iter().map(of_tree).sum::<f32>() / self.trees.len() as f32;
        of_trees + self.second_stage.as_ref().map_or(0.0, |second| second.weight(feature, class))
    }

    fn bias(&self, _: u32) -> Option<f32> {
        None
    }

    fn each_weight(&self, class: u32, visit: &mut dyn FnMut(u32, f32)) {
        let mut sums = vec![0.0; self.features];
        for tree in &self.trees {
            let (leaf, child) = tree.place(class);
            tree.root.add_weights_of(0, leaf, &mut sums);
            tree.leaves.add_weights_of(leaf, child, &mut sums);
        }
        let trees = self.trees.len() as f32;
        sums.iter_mut().for_each(|sum| *sum /= trees);
        if let Some(second) = &self.second_stage {
            second.each_weight(class, |feature, weight| sums[feature as usize] += weight);
        }
        (0..).zip(sums).filter(|&(_, sum)| sum != 0.0).for_each(|(feature, sum)| visit(feature, sum));
    }

    fn pruned(&self, threshold: f32) -> Result<Scores> {
        let mut pruned = self.clone();
        for tree in &mut pruned.trees {
            [&mut tree.root, &mut tree.leaves].into_iter().for_each(|blocks| blocks.prune(threshold));
        }
        pruned.second_stage = self.second_stage.as_ref().map(|second| second.pruned(threshold));
        Ok(Scores::Trees(pruned))
    }

    fn grown(&self, _: usize, _: usize) -> Result<Scores> {
        Err(Error::Mismatch(
            "trees cannot be trained further; train new ones on the old and the new rows together".into(),
        ))
    }

    fn probabilities(&self) -> Probabilities<'_> {
        Probabilities::Own(self)
    }

    fn scale(&mut self, _: f32) {}

    fn are_finite(&self) -> bool {
        let mut blocks = self.trees.iter().flat_map(|tree| [&tree.root, &tree.leaves]);
        blocks.all(|blocks| blocks.entries().all(|(_, _, entry)| entry.weight().is_finite()))
            && self.second_stage.as_ref().is_none_or(SecondStage::is_finite)
    }

    /// The blocks of all trees, each tree's root before its leaves, the second stage if there is one, and
    ///
    /// ```text
    /// calibration  2            τ and γ; 0 if there is no γ
    /// leaves       trees        number of leaves of each tree
    /// order        trees × K    the classes, leaf by leaf
    /// ```
    fn tensors(&self) -> Vec<Tensor<'_>> {
        let Calibration { temperature, vote_power } = self.calibration;
        let leaves: Vec<u32> = self.trees.iter().map(|tree| tree.leaves.nodes() as u32).collect();
        let order: Vec<u32> = self.trees.iter().flat_map(|tree| &tree.order).copied().collect();
        let blocks: Vec<_> = self.trees.iter().flat_map(|tree| [&tree.root, &tree.leaves]).collect();
        let second = self.second_stage.as_ref().map(SecondStage::tensors).unwrap_or_default();
        let own = [
            Tensor::owned("calibration", "F32", &[temperature, vote_power.unwrap_or(0.0)]),
            Tensor::owned("leaves", "U32", &leaves),
            Tensor::owned("order", "U32", &order),
        ];
        own.into_iter().chain(SparseBlocks::tensors(&blocks)).chain(second).collect()
    }
}

#[cfg(test)]
mod tests;
