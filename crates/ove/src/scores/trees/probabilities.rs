//! Probabilities from energies: of the classes of the searched leaves, the candidates, and of all others.
//!
//! A candidate has votes from the leaves that were searched. The others, whose leaf was not searched in any tree, share
//! what is left for their leaf in proportion to e^{−E_k}; their scores are computed only if their probability is
//! needed.

use super::beam::TreeScores;
use super::{BeamScores, Calibration, Evidence, Tree, Trees};
use crate::data::Row;
use crate::platform::elementary::{exp, ln};
use crate::platform::math::{exp_all, log_sum_exp};
use crate::scores::{Prediction, log_score};

impl Trees {
    /// Whether a class is in a searched leaf of some tree.
    fn is_candidate(&self, found: &BeamScores, class: u32) -> bool {
        self.trees.iter().zip(found.trees()).any(|(tree, scores)| scores.has_searched(tree.place(class).0))
    }

    /// Turns the mean votes of candidates into probabilities.
    pub(super) fn to_probabilities(&self, found: &BeamScores, top: &mut [Prediction]) {
        let total = self.total(found, &self.calibration);
        let probability = |vote: f64| exp(log_probability_of_vote(vote, total, &self.calibration));
        top.iter_mut().for_each(|vote| vote.probability = probability(vote.probability));
    }

    /// The mean votes of all classes together:
    ///
    /// ```text
    /// mean over trees of  Σ over searched leaves e^{−E_leaf} Σ_k e^{−E_k}  +  ζ Σ over other leaves e^{−E_leaf}
    /// ```
    fn total(&self, found: &BeamScores, calibration: &Calibration) -> f64 {
        let &Calibration::Normalised(Evidence { tail, .. }) = calibration else { return 1.0 };
        let mut buffer = Vec::new();
        let of_tree = |(tree, scores): (&Tree, &TreeScores)| {
            let mut sum = 0.0;
            let mut left = &scores.searched.classes[..];
            for &leaf in &scores.searched.numbers {
                let of_root = scores.root[usize::from(leaf)];
                let classes = left.split_off(..tree.leaf_classes(leaf).len()).expect("a score per class");
                buffer.clear();
                buffer.extend(classes.iter().map(|of_class| of_root + of_class));
                exp_all(&mut buffer);
                sum += buffer.iter().map(|&vote| f64::from(vote)).sum::<f64>();
            }
            buffer.clone_from(&scores.root);
            exp_all(&mut buffer);
            sum + f64::from(tail) * scores.unsearched().map(|leaf| f64::from(buffer[leaf])).sum::<f64>()
        };
        let sum: f64 = self.trees.iter().zip(found.trees()).map(of_tree).sum();
        sum / self.trees.len() as f64
    }

    /// log p of any class, from calibrated energies.
    pub(crate) fn log_probability(
        &self,
        row: Row<'_>,
        found: &BeamScores,
        class: u32,
        calibration: &Calibration,
    ) -> f64 {
        let total = self.total(found, calibration);
        if self.is_candidate(found, class) {
            let vote = self.votes_for(found, &[class], calibration)[0];
            return log_probability_of_vote(vote, total, calibration);
        }
        let mut vote = 0.0;
        for (tree, scores) in self.trees.iter().zip(found.trees()) {
            let is_candidate = |class: u32| self.is_candidate(found, class);
            let add = &mut |other: u32, share: f64| vote += if other == class { share } else { 0.0 };
            share_leaf(tree, scores, tree.place(class).0, row, calibration, &is_candidate, add);
        }
        log_probability_of_vote(vote / self.trees.len() as f64, total, calibration)
    }

    /// log p(k | x) of all classes, from calibrated energies.
    ///
    /// No class is more probable than the best candidate, so that the top class is that of the beam search.
    pub(crate) fn all_log_probabilities(&self, row: Row<'_>, found: &BeamScores, out: &mut [f64]) {
        let mut is_candidate = vec![false; self.classes];
        for (tree, scores) in self.trees.iter().zip(found.trees()) {
            let classes = scores.searched.numbers.iter().flat_map(|&leaf| tree.leaf_classes(leaf));
            classes.for_each(|&class| is_candidate[class as usize] = true);
        }
        let candidates: Vec<u32> = (0..).zip(&is_candidate).filter(|&(_, &is)| is).map(|(class, _)| class).collect();
        let (calibration, votes) = (&self.calibration, self.votes_for(found, &candidates, &self.calibration));
        let trees = self.trees.len() as f64;
        out.fill(0.0);
        for (tree, scores) in self.trees.iter().zip(found.trees()) {
            for leaf in scores.unsearched() {
                let is_candidate = |class: u32| is_candidate[class as usize];
                let add = &mut |class: u32, share: f64| out[class as usize] += share / trees;
                share_leaf(tree, scores, leaf, row, calibration, &is_candidate, add);
            }
        }
        let most = votes.iter().copied().fold(0.0, f64::max);
        out.iter_mut().for_each(|vote| *vote = vote.min(most));
        candidates.iter().zip(votes).for_each(|(&class, vote)| out[class as usize] = vote);
        let total = self.total(found, calibration);
        out.iter_mut().for_each(|vote| *vote = log_probability_of_vote(*vote, total, calibration));
    }

    /// The mean votes for candidates.
    pub(super) fn votes_for(&self, found: &BeamScores, classes: &[u32], calibration: &Calibration) -> Vec<f64> {
        let mut sums = Vec::new();
        self.sum_votes(found, classes, calibration, &mut sums);
        sums[..classes.len()].iter().map(|&sum| f64::from(sum) / self.trees.len() as f64).collect()
    }

    /// The probability of a top class without calibration, from energies that are not calibrated.
    pub(super) fn uncalibrated(&self, found: &BeamScores, top: Prediction) -> f64 {
        let vote = |calibration| self.votes_for(found, &[top.class], calibration)[0];
        match self.calibration {
            Calibration::Normalised(_) => {
                let raw = Calibration::Normalised(Evidence::UNCALIBRATED);
                vote(&raw) / self.total(found, &raw)
            }
            Calibration::Logistic(_) => vote(&self.calibration),
        }
    }
}

/// log p of a mean vote; `total` is that of all classes, if probabilities are normalised.
fn log_probability_of_vote(vote: f64, total: f64, calibration: &Calibration) -> f64 {
    let log = log_score(vote);
    match calibration {
        Calibration::Normalised(_) => log - ln(total),
        Calibration::Logistic(logistic) => logistic.log_probability(log),
    }
}

/// Calls `add` with the votes of each class of an unsearched leaf that is not a candidate.
fn share_leaf(
    tree: &Tree,
    scores: &TreeScores,
    leaf: usize,
    row: Row<'_>,
    calibration: &Calibration,
    is_candidate: &dyn Fn(u32) -> bool,
    add: &mut dyn FnMut(u32, f64),
) {
    let energies = scores.leaf(tree, leaf, row, calibration);
    let classes = tree.leaf_classes(leaf as u16);
    let others = classes.iter().zip(&*energies).filter(|&(&class, _)| !is_candidate(class));
    let others: Vec<(u32, f64)> = others.map(|(&class, &energy)| (class, energy.into())).collect();
    let of_root = f64::from(scores.root[leaf].max(LEAST));
    // Normalised: the leaf has ζ e^{−E_leaf} to share, of which each candidate has taken its part.
    let log_share = match calibration {
        Calibration::Normalised(Evidence { tail, .. }) => {
            let left = others.len() as f64 / classes.len() as f64;
            of_root + ln(f64::from(*tail) * left) - log_sum_exp(others.iter().map(|&(_, energy)| energy))
        }
        Calibration::Logistic(_) => of_root,
    };
    others.iter().for_each(|&(class, energy)| add(class, exp(log_share + energy)));
}

/// log of the vote that a tree gives to a candidate whose leaf it did not search.
#[inline]
pub(super) fn unsearched_vote(of_root: f32, leaf_size: usize, calibration: &Calibration) -> f32 {
    match calibration {
        Calibration::Normalised(evidence) => of_root + ln(f64::from(evidence.tail) / leaf_size as f64) as f32,
        Calibration::Logistic(_) => f32::NEG_INFINITY,
    }
}

/// The exponent below which [`exp_all`] gives the same number.
const LEAST: f32 = -87.0;
