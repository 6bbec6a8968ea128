//! The parameters that turn the energies of a row into probabilities. They are fitted on held-out rows.

use super::BeamScores;
use crate::platform::math::scaled_powers;
use crate::scores::Logistic;

/// How energies become probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Calibration {
    /// If rows have one label: votes by calibrated energies, normalised over all classes.
    Normalised(Evidence),
    /// If rows have several labels: a logistic function of the log of the votes.
    Logistic(Logistic),
}

/// The parameters of calibrated energies: τ_root, τ_leaf and p in the energy τ · max(0, 1 − f)^p, and ζ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The inverse temperature τ of the children of a root.
    pub root: f32,
    /// The inverse temperature τ of the children of a leaf.
    pub leaf: f32,
    /// The power p of the violation of the margin.
    pub power: f32,
    /// ζ: Σ e^{−E_k} over the classes of a leaf that was not searched.
    pub tail: f32,
}

impl Evidence {
    /// The energies that nodes are trained with.
    pub const UNCALIBRATED: Evidence = Evidence { root: 1.0, leaf: 1.0, power: 2.0, tail: 0.1 };

    /// Whether all are finite and positive, and ζ is at most 1.
    pub fn is_valid(&self) -> bool {
        let numbers = [self.root, self.leaf, self.power, self.tail];
        numbers.iter().all(|number| number.is_finite() && *number > 0.0) && self.tail <= 1.0
    }

    /// Replaces the energies of nodes, max(0, 1 − f)², by calibrated ones.
    pub(crate) fn calibrate(&self, found: &mut BeamScores) {
        for tree in found.trees_mut() {
            scaled_powers(&mut tree.root, self.root, 0.5 * self.power);
            [&mut tree.searched, &mut tree.extra].into_iter().for_each(|of| self.calibrate_classes(&mut of.classes));
        }
    }

    /// The same for classes of leaves.
    pub(super) fn calibrate_classes(&self, energies: &mut [f32]) {
        scaled_powers(energies, self.leaf, 0.5 * self.power);
    }
}
