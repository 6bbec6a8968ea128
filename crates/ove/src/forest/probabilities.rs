//! The probabilities of all classes of a row: every leaf of every tree is looked at once.

use super::{Forest, Sight, Tree};

impl Forest {
    /// log p(k | x) of all classes of a row that has [searched](super::Search) all leaves, or where rows have several, the logarithm of the
    /// probability that a class is one of them.
    pub fn log_probabilities(&self, sight: &Sight, out: &mut [f64]) {
        out.fill(0.0);
        for (tree, seen) in self.trees.iter().zip(sight.trees()) {
            match self.calibration.vote_power {
                Some(_) => tree.add_votes(&seen.root, &seen.classes, out),
                None => tree.add_probabilities(self.calibration.temperature, &seen.root, &seen.classes, out),
            }
        }
        let (trees, power) = (self.trees.len() as f64, f64::from(self.calibration.vote_power.unwrap_or(1.0)));
        out.iter_mut().for_each(|sum| *sum = power * (*sum / trees).max(f64::MIN_POSITIVE).ln());
    }
}

impl Tree {
    /// e^{−E_leaf − E_k} for each class.
    fn add_votes(&self, root: &[f32], classes: &[f32], sums: &mut [f64]) {
        for (leaf, range) in self.leaves.children().windows(2).enumerate() {
            for place in range[0]..range[1] {
                sums[self.order[place] as usize] += f64::from((root[leaf] + classes[place]).exp());
            }
        }
    }

    /// p(leaf | root, x) p(k | leaf, x) for each class.
    fn add_probabilities(&self, temperature: f32, root: &[f32], classes: &[f32], sums: &mut [f64]) {
        let shares = shares(temperature, root);
        for (leaf, range) in self.leaves.children().windows(2).enumerate() {
            let classes = self::shares(temperature, &classes[range[0]..range[1]]);
            for (&class, share) in self.order[range[0]..range[1]].iter().zip(classes) {
                sums[class as usize] += shares[leaf] * share;
            }
        }
    }
}

/// p(c | node, x) of all children of a node from their −E.
fn shares(temperature: f32, energies: &[f32]) -> Vec<f64> {
    let largest = energies.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let of = |&energy: &f32| f64::from((temperature * (energy - largest)).exp());
    let total: f64 = energies.iter().map(of).sum();
    energies.iter().map(|energy| of(energy) / total).collect()
}
