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
//! If rows have one label, the energies are calibrated first, and the votes of all classes are normalised to one:
//!
//! ```text
//! E_leaf = τ_root max(0, 1 − f_leaf)^p        E_k = τ_leaf max(0, 1 − f_k)^p
//! p(k | x) = v(k | x) / Σ_m v(m | x)
//! ```
//!
//! If rows have several labels, the probability that a class is one of them is σ(a + b ln v). All these numbers are
//! fitted on held-out rows. The top-k classes are found by beam search over the lowest-energy leaves of each tree,
//! batched over rows so that each node is fetched once per batch; a leaf that is not searched has ζ for its Σ e^{−E_k}
//! in the normalised votes. The order of the classes is always that of their probabilities. A second stage, if there is
//! one, corrects the votes of the best classes (`second_stage`).

mod beam;
mod calibration;
mod ensemble;
mod flat_bound;
mod probabilities;
mod second_stage;

pub use beam::{BEAM, BeamScores, NEAR, Search};
pub use calibration::{Calibration, Evidence};
pub use ensemble::Scratch;
pub use second_stage::{ClassWeights, Mix, SecondStage};

use std::ops::Range;

use rayon::prelude::*;

use super::sparse::SparseBlocks;
use super::{Bound, Logistic, Measured, OwnProbabilities, Prediction, Predictor, Probabilities, Scores, Shape};
use crate::bound::Objective;
use crate::data::Row;
use crate::error::Result;
use crate::io::tensors::Tensor;
use crate::platform::elementary::{exp, ln};

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

    /// Its root, whose children are the leaves.
    pub(crate) fn root(&self) -> &SparseBlocks {
        &self.root
    }

    /// Its leaves, whose children are the classes.
    pub(crate) fn leaves(&self) -> &SparseBlocks {
        &self.leaves
    }

    /// The classes of a leaf.
    pub(crate) fn leaf_classes(&self, leaf: u16) -> &[u32] {
        let starts = self.leaves.children();
        &self.order[starts[usize::from(leaf)]..starts[usize::from(leaf) + 1]]
    }

    /// The leaf of a class, and its index among the children of the leaf.
    pub(crate) fn place(&self, class: u32) -> (usize, usize) {
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

    /// The trees of the ensemble.
    pub(crate) fn trees(&self) -> &[Tree] {
        &self.trees
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

    /// Number of candidates of the second stage; 0 if there is none.
    fn candidates(&self) -> usize {
        self.second_stage().map_or(0, |mix| mix.rivals)
    }

    /// Number of non-zero weights.
    pub(crate) fn weights(&self) -> usize {
        self.trees.iter().flat_map(|tree| [&tree.root, &tree.leaves]).map(SparseBlocks::weights).sum()
    }

    /// The up to `count` most probable classes per row, among those of the searched leaves. Calibrates the energies.
    pub(crate) fn top(
        &self,
        rows: &[Row<'_>],
        found: &mut [BeamScores],
        count: usize,
        scratch: &mut Scratch,
    ) -> Vec<Vec<Prediction>> {
        found.iter_mut().for_each(|found| self.calibrate(found));
        let mut top = self.ranked(rows, found, count.max(self.candidates()), scratch);
        for (found, top) in found.iter().zip(&mut top) {
            top.truncate(count);
            self.to_probabilities(found, top);
        }
        top
    }

    /// The up to `count` classes with the most votes per row, corrected by the second stage, from calibrated energies.
    pub(crate) fn ranked(
        &self,
        rows: &[Row<'_>],
        found: &[BeamScores],
        count: usize,
        scratch: &mut Scratch,
    ) -> Vec<Vec<Prediction>> {
        let mut top: Vec<_> = found.iter().map(|found| self.votes(found, count, scratch)).collect();
        if let Some(second) = &self.second_stage {
            second.correct(rows, &mut top, self.has_several_labels(), &mut scratch.dense);
        }
        top
    }

    /// Whether rows have several labels.
    fn has_several_labels(&self) -> bool {
        matches!(self.calibration, Calibration::Logistic(_))
    }

    /// Replaces the log probabilities of the candidates of the second stage, from calibrated energies. If rows have
    /// several labels, those of other classes do not exceed them.
    fn correct_candidates(&self, row: Row<'_>, found: &BeamScores, scratch: &mut Scratch, out: &mut [f64]) {
        let mut top = self.ranked(&[row], std::slice::from_ref(found), self.candidates(), scratch).remove(0);
        self.to_probabilities(found, &mut top);
        let logs = top.iter().map(|found| (found.class, ln(found.probability.max(f64::MIN_POSITIVE))));
        if self.has_several_labels() {
            let least = logs.clone().map(|(_, log)| log).fold(0.0, f64::min);
            out.iter_mut().for_each(|log| *log = log.min(least));
        }
        logs.for_each(|(class, log)| out[class as usize] = log);
    }

    /// Calibrates the energies of a row, if probabilities are normalised.
    pub(crate) fn calibrate(&self, found: &mut BeamScores) {
        if let Calibration::Normalised(evidence) = self.calibration {
            evidence.calibrate(found);
        }
    }

    /// Completes the top-k classes from the leaves that were not searched.
    fn complete(&self, row: Row<'_>, found: &BeamScores, k: usize, top: &mut Vec<Prediction>) {
        let mut logs = vec![0.0; self.classes];
        self.all_log_probabilities(row, found, &mut logs);
        if self.second_stage.is_some() {
            self.correct_candidates(row, found, &mut Scratch::default(), &mut logs);
        }
        let mut others: Vec<u32> =
            (0..).take(self.classes).filter(|class| top.iter().all(|p| p.class != *class)).collect();
        others.sort_by(|&a, &b| logs[b as usize].total_cmp(&logs[a as usize]).then(a.cmp(&b)));
        let found = |class: u32| Prediction { class, probability: exp(logs[class as usize]) };
        top.extend(others.into_iter().take(k - top.len()).map(found));
        // Some of the others are more probable than the last of those that were searched.
        top.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    }
}

impl OwnProbabilities for Trees {
    /// If the searched leaves have fewer than `k` classes, all leaves are searched.
    fn top_k(&self, rows: &[Row<'_>], k: usize) -> Vec<Vec<Prediction>> {
        let of_piece = |piece: Range<usize>, found: &mut [BeamScores], scratch: &mut Scratch| {
            let mut top = self.top(&rows[piece.clone()], found, k, scratch);
            for ((row, found), top) in rows[piece].iter().zip(&*found).zip(&mut top).filter(|(_, top)| top.len() < k) {
                self.complete(*row, found, k, top);
            }
            top
        };
        self.search_batches(rows, Search::Nearest, of_piece)
    }

    fn log_probabilities(&self, rows: &[Row<'_>], out: &mut [f64]) {
        let batch = self.batch_size(rows.len(), Search::All);
        let pieces = rows.par_chunks(batch).zip(out.par_chunks_mut(batch * self.classes));
        pieces.for_each(|(rows, out)| {
            let mut found = self.search(rows, Search::Nearest);
            self.score_leaves_of(rows, &mut found, None);
            let mut scratch = Scratch::default();
            for ((&row, found), out) in rows.iter().zip(&mut found).zip(out.chunks_mut(self.classes)) {
                self.calibrate(found);
                self.all_log_probabilities(row, found, out);
                if self.second_stage.is_some() {
                    self.correct_candidates(row, found, &mut scratch, out);
                }
            }
        });
    }

    fn measure(&self, rows: &[Row<'_>], labels: &(dyn Fn(usize) -> Vec<u32> + Sync), k: usize) -> Vec<Measured> {
        self.search_batches(rows, Search::Nearest, |piece, found, scratch| {
            let labels: Vec<Vec<u32>> = piece.clone().map(labels).collect();
            self.score_leaves_of(&rows[piece.clone()], found, Some(&labels));
            let raw = found.to_vec();
            let tops = self.top(&rows[piece.clone()], found, k.max(self.candidates()), scratch);
            let of_row = |(at, mut top): (usize, Vec<Prediction>)| {
                let candidates = &top[..self.candidates().min(top.len())];
                // Other classes follow the candidates if rows have several labels; no class exceeds the first.
                let last = if self.has_several_labels() { candidates.last() } else { None };
                let (row, most) = (rows[piece.start + at], ln(last.unwrap_or(&top[0]).probability));
                let of_label = |&label: &u32| match candidates.iter().find(|candidate| candidate.class == label) {
                    Some(candidate) => ln(candidate.probability.max(f64::MIN_POSITIVE)),
                    None => self.log_probability(row, &found[at], label, &self.calibration).min(most),
                };
                let log_probability = labels[at].iter().map(of_label).sum();
                top.truncate(k);
                Measured { raw_confidence: self.uncalibrated(&raw[at], top[0]), log_probability, top }
            };
            tops.into_iter().enumerate().map(of_row).collect()
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

    /// As they are: new classes are put into leaves in training, where their rows are known.
    fn grown(&self, _: usize, _: usize) -> Result<Scores> {
        Ok(Scores::Trees(self.clone()))
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
    /// calibration  4 or 3       τ_root, τ_leaf, p and ζ; with several labels per row, a, b and the threshold
    /// leaves       trees        number of leaves of each tree
    /// order        trees × K    the classes, leaf by leaf
    /// leaf_sizes   leaves       number of classes of each leaf, tree by tree; without it, sizes differ by at most one
    /// ```
    fn tensors(&self) -> Vec<Tensor<'_>> {
        let calibration = match self.calibration {
            Calibration::Normalised(Evidence { root, leaf, power, tail }) => vec![root, leaf, power, tail],
            Calibration::Logistic(Logistic { intercept, slope, threshold }) => vec![intercept, slope, threshold],
        };
        let leaves: Vec<u32> = self.trees.iter().map(|tree| tree.leaves.nodes() as u32).collect();
        let order: Vec<u32> = self.trees.iter().flat_map(|tree| &tree.order).copied().collect();
        let blocks: Vec<_> = self.trees.iter().flat_map(|tree| [&tree.root, &tree.leaves]).collect();
        let own = [
            Tensor::owned("calibration", "F32", &calibration),
            Tensor::owned("leaves", "U32", &leaves),
            Tensor::owned("order", "U32", &order),
        ];
        let is_uneven = |tree: &Tree| tree.leaves.children() != leaf_starts(self.classes, tree.leaves.nodes());
        let sizes = self.trees.iter().any(is_uneven).then(|| {
            let starts = self.trees.iter().flat_map(|tree| tree.leaves.children().windows(2));
            let sizes: Vec<u32> = starts.map(|range| (range[1] - range[0]) as u32).collect();
            Tensor::owned("leaf_sizes", "U32", &sizes)
        });
        let second = self.second_stage.as_ref().map(SecondStage::tensors).unwrap_or_default();
        own.into_iter().chain(sizes).chain(SparseBlocks::tensors(&blocks)).chain(second).collect()
    }
}

#[cfg(test)]
mod tests;
