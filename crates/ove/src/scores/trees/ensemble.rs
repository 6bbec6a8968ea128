//! Top-k by the votes of the ensemble, Σ over trees of e^{−E_leaf − E_k}, among the classes of the searched leaves.

use super::beam::TreeScores;
use super::probabilities::unsearched_vote;
use super::{BeamScores, Calibration, Trees};
use crate::platform::elementary::{exp, ln};
use crate::platform::math::exp_all;
use crate::platform::top_k::top_k;
use crate::scores::Prediction;

/// Bound on the rounding error of log votes.
const ROUNDING: f32 = 1e-3;

/// Buffers for one row, reused from row to row.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    /// −E_leaf − E_k of the classes of the searched leaves, tree by tree.
    energies: Vec<f32>,
    /// These classes.
    classes: Vec<u32>,
    /// The classes that may be among the top k.
    candidates: Vec<u32>,
    /// The votes for each candidate.
    sums: Vec<f32>,
    /// The weights of a class.
    pub(super) dense: Vec<f32>,
}

impl Trees {
    /// The `count` classes with the most votes, with their mean votes as probabilities.
    ///
    /// Few classes are candidates: the top classes of each tree give a lower bound on the votes of the `count`-th
    /// class, and a class that reaches the bound has at least the mean of it in one tree.
    pub(crate) fn votes(&self, found: &BeamScores, count: usize, scratch: &mut Scratch) -> Vec<Prediction> {
        let Scratch { energies, classes, candidates, sums, .. } = scratch;
        energies.clear();
        classes.clear();
        candidates.clear();
        for (tree, scores) in self.trees.iter().zip(found.trees()) {
            let start = energies.len();
            let mut left = &scores.searched.classes[..];
            for &leaf in &scores.searched.numbers {
                let of_leaf = tree.leaf_classes(leaf);
                let of_root = scores.root[usize::from(leaf)];
                classes.extend_from_slice(of_leaf);
                energies.extend(left[..of_leaf.len()].iter().map(|of_class| of_root + of_class));
                left = &left[of_leaf.len()..];
            }
            let best = top_k(&energies[start..], count);
            candidates.extend(best.into_iter().map(|at| classes[start + at as usize]));
        }
        let best = self.top_votes(found, count, candidates, sums);
        let enough = if best.len() == count { best.last().map_or(0.0, |&last| sums[last as usize]) } else { 0.0 };

        // Up to this much of it may be from trees that did not search the leaf of the class.
        let unsearched: f32 = found.trees().iter().map(|scores| self.most_unsearched(scores)).sum();
        let enough = (enough - unsearched).max(0.0);
        let least = ln(f64::from(enough / self.trees.len() as f32)) as f32 - ROUNDING;
        candidates.clear();
        candidates
            .extend(classes.iter().zip(&*energies).filter(|&(_, &energy)| energy >= least).map(|(&class, _)| class));
        let best = self.top_votes(found, count, candidates, sums);
        let mean = |at: u32| f64::from(sums[at as usize]) / self.trees.len() as f64;
        best.into_iter().map(|at| Prediction { class: candidates[at as usize], probability: mean(at) }).collect()
    }

    /// Removes duplicates from `classes`, sums their votes over the trees, and returns the indices of the top classes.
    fn top_votes(&self, found: &BeamScores, count: usize, classes: &mut Vec<u32>, sums: &mut Vec<f32>) -> Vec<u32> {
        classes.sort_unstable();
        classes.dedup();
        self.sum_votes(found, classes, &self.calibration, sums);
        top_k(&sums[..classes.len()], count)
    }

    /// Puts the votes for candidates, summed over the trees, at the start of `sums`.
    pub(super) fn sum_votes(
        &self,
        found: &BeamScores,
        classes: &[u32],
        calibration: &Calibration,
        sums: &mut Vec<f32>,
    ) {
        sums.clear();
        for (tree, scores) in self.trees.iter().zip(found.trees()) {
            sums.extend(classes.iter().map(|&class| {
                let (leaf, child) = tree.place(class);
                match scores.searched.get(tree, leaf) {
                    Some(of_leaf) => scores.root[leaf] + of_leaf[child],
                    None => unsearched_vote(scores.root[leaf], tree.leaf_classes(leaf as u16).len(), calibration),
                }
            }));
        }
        exp_all(sums);
        let (first, others) = sums.split_at_mut(classes.len());
        for of_tree in others.chunks(classes.len().max(1)) {
            first.iter_mut().zip(of_tree).for_each(|(sum, vote)| *sum += vote);
        }
    }

    /// The most votes of a tree for a class whose leaf it did not search.
    fn most_unsearched(&self, scores: &TreeScores) -> f32 {
        if let Calibration::Logistic(_) = self.calibration {
            return 0.0;
        }
        let of_root = scores.unsearched().map(|leaf| scores.root[leaf]).fold(f32::NEG_INFINITY, f32::max);
        exp(unsearched_vote(of_root, self.classes / scores.root.len().max(1), &self.calibration).into()) as f32
    }
}
