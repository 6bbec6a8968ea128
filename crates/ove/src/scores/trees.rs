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
//! in the normalised votes. The order of the classes is always that of their probabilities.

mod beam;
mod calibration;
mod ensemble;
mod probabilities;

pub use beam::{BeamScores, Search};
pub use calibration::{Calibration, Evidence};
pub use ensemble::Scratch;

use std::ops::Range;

use rayon::prelude::*;

use super::sparse::SparseBlocks;
use super::{Logistic, Measured, OwnProbabilities, Prediction, Predictor, Probabilities, Scores, Shape};
use crate::data::Row;
use crate::error::{Error, Result};
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
        Trees { features, classes, trees, calibration }
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of non-zero weights.
    pub(crate) fn weights(&self) -> usize {
        self.trees.iter().flat_map(|tree| [&tree.root, &tree.leaves]).map(SparseBlocks::weights).sum()
    }

    /// The up to `count` most probable classes per row, among those of the searched leaves. Calibrates the energies.
    pub(crate) fn top(&self, found: &mut [BeamScores], count: usize, scratch: &mut Scratch) -> Vec<Vec<Prediction>> {
        let of_row = |found: &mut BeamScores| {
            self.calibrate(found);
            let mut top = self.votes(found, count, scratch);
            self.to_probabilities(found, &mut top);
            top
        };
        found.iter_mut().map(of_row).collect()
    }

    /// Calibrates the energies of a row, if probabilities are normalised.
    fn calibrate(&self, found: &mut BeamScores) {
        if let Calibration::Normalised(evidence) = self.calibration {
            evidence.calibrate(found);
        }
    }

    /// Completes the top-k classes from the leaves that were not searched.
    fn complete(&self, row: Row<'_>, found: &BeamScores, k: usize, top: &mut Vec<Prediction>) {
        let mut logs = vec![0.0; self.classes];
        self.all_log_probabilities(row, found, &mut logs);
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
            let mut top = self.top(found, k, scratch);
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
            for ((&row, found), out) in rows.iter().zip(&mut found).zip(out.chunks_mut(self.classes)) {
                self.calibrate(found);
                self.all_log_probabilities(row, found, out);
            }
        });
    }

    fn measure(&self, rows: &[Row<'_>], labels: &(dyn Fn(usize) -> Vec<u32> + Sync), k: usize) -> Vec<Measured> {
        self.search_batches(rows, Search::Nearest, |piece, found, scratch| {
            let labels: Vec<Vec<u32>> = piece.clone().map(labels).collect();
            self.score_leaves_of(&rows[piece.clone()], found, Some(&labels));
            let raw = found.to_vec();
            let tops = self.top(found, k, scratch);
            let of_row = |(at, top): (usize, Vec<Prediction>)| {
                let (row, most) = (rows[piece.start + at], ln(top[0].probability));
                let of_label = |&label: &u32| self.log_probability(row, &found[at], label, &self.calibration).min(most);
                let log_probability = labels[at].iter().map(of_label).sum();
                Measured { raw_confidence: self.uncalibrated(&raw[at], top[0]), log_probability, top }
            };
            tops.into_iter().enumerate().map(of_row).collect()
        })
    }
}

impl Predictor for Trees {
    fn shape(&self) -> Shape {
        Shape { features: self.features, classes: self.classes }
    }

    fn weight_count(&self) -> usize {
        self.weights()
    }

    /// The mean over trees of the sum of weights on the path to the class.
    fn weight(&self, feature: u32, class: u32) -> f32 {
        let of_tree = |tree: &Tree| {
            let (leaf, child) = tree.place(class);
            tree.root.weight_of(feature, 0, leaf) + tree.leaves.weight_of(feature, leaf, child)
        };
        self.trees.iter().map(of_tree).sum::<f32>() / self.trees.len() as f32
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
        (0..).zip(sums).filter(|&(_, sum)| sum != 0.0).for_each(|(feature, sum)| visit(feature, sum / trees));
    }

    fn pruned(&self, threshold: f32) -> Result<Scores> {
        let mut pruned = self.clone();
        for tree in &mut pruned.trees {
            [&mut tree.root, &mut tree.leaves].into_iter().for_each(|blocks| blocks.prune(threshold));
        }
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
    }

    /// The blocks of all trees, each tree's root before its leaves, and
    ///
    /// ```text
    /// calibration  4 or 3       τ_root, τ_leaf, p and ζ; with several labels per row, a, b and the threshold
    /// leaves       trees        number of leaves of each tree
    /// order        trees × K    the classes, leaf by leaf
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
        own.into_iter().chain(SparseBlocks::tensors(&blocks)).collect()
    }
}

#[cfg(test)]
mod tests;
