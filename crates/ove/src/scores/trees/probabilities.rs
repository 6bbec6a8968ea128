//! Probabilities from energies: of a few classes, of which each needs two nodes a tree, or of all, which need every leaf.

use super::beam::TreeScores;
use super::{BeamScores, Tree, Trees};
use crate::data::Row;
use crate::platform::math::{exp_all, max_all};

impl Trees {
    /// log p(class | x) of a row that has seen the trees, exact for any class: as if it had one class.
    pub fn log_probability(&self, row: Row<'_>, found: &BeamScores, class: u32) -> f64 {
        self.log_probabilities_of(row, found, &[class], self.calibration.temperature)[0]
    }

    /// The same of several classes, under a temperature: what a node gives is computed once for all of them.
    pub(super) fn log_probabilities_of(
        &self,
        row: Row<'_>,
        found: &BeamScores,
        classes: &[u32],
        temperature: f32,
    ) -> Vec<f64> {
        let mut sums = vec![0.0; classes.len()];
        for (tree, seen) in self.trees.iter().zip(found.trees()) {
            let mut places: Vec<_> =
                classes.iter().zip(&mut sums).map(|(&class, sum)| (tree.place(class), sum)).collect();
            places.sort_unstable_by_key(|&((leaf, _), _)| leaf);
            let root = Shares::of(&seen.root, temperature);
            for of_leaf in places.chunk_by_mut(|a, b| a.0.0 == b.0.0) {
                let leaf = of_leaf[0].0.0;
                let energies = seen.leaf(tree, leaf, row);
                let shares = Shares::of(&energies, temperature);
                for ((_, child), sum) in of_leaf {
                    **sum += (root.log_share(leaf) + shares.log_share(*child)).exp();
                }
            }
        }
        sums.into_iter().map(|sum| log_mean(sum, self.trees.len())).collect()
    }

    /// The ways to a class of a row that has seen the trees.
    pub(crate) fn ways(&self, row: Row<'_>, found: &BeamScores, class: u32) -> Ways {
        let of_tree = |(tree, seen): (&Tree, &TreeScores)| {
            let (leaf, child) = tree.place(class);
            [(seen.root.clone(), leaf), (seen.leaf(tree, leaf, row).into_owned(), child)]
        };
        Ways(self.trees.iter().zip(found.trees()).map(of_tree).collect())
    }

    /// log p(k | x) of all classes of a row that has [searched](super::Search) all leaves, or where rows have several, the logarithm of the
    /// probability that a class is one of them.
    pub fn all_log_probabilities(&self, found: &BeamScores, out: &mut [f64]) {
        out.fill(0.0);
        for (tree, seen) in self.trees.iter().zip(found.trees()) {
            match self.calibration.vote_power {
                Some(_) => tree.add_votes(&seen.root, &seen.searched.classes, out),
                None => tree.add_probabilities(self.calibration.temperature, &seen.root, &seen.searched.classes, out),
            }
        }
        let power = f64::from(self.calibration.vote_power.unwrap_or(1.0));
        out.iter_mut().for_each(|sum| *sum = power * log_mean(*sum, self.trees.len()));
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
        let of_leaves = Shares::of(root, temperature);
        for (leaf, range) in self.leaves.children().windows(2).enumerate() {
            let of_classes = Shares::of(&classes[range[0]..range[1]], temperature);
            for (child, &class) in self.order[range[0]..range[1]].iter().enumerate() {
                sums[class as usize] += (of_leaves.log_share(leaf) + of_classes.log_share(child)).exp();
            }
        }
    }
}

/// The nodes on the way to a class in each tree: −E of their children, and which of them leads there.
pub(crate) struct Ways(Vec<[(Vec<f32>, usize); 2]>);

impl Ways {
    /// log p(class | x) under a temperature.
    pub(crate) fn log_probability(&self, temperature: f32) -> f64 {
        let of_node = |(energies, child): &(Vec<f32>, usize)| Shares::of(energies, temperature).log_share(*child);
        let of_trees = self.0.iter().map(|nodes| nodes.iter().map(of_node).sum::<f64>().exp());
        log_mean(of_trees.sum(), self.0.len())
    }
}

/// What the children of a node share: p(c | node, x) from −E of all of them under a temperature.
struct Shares<'a> {
    energies: &'a [f32],
    temperature: f32,
    largest: f32,
    log_sum: f64,
}

impl<'a> Shares<'a> {
    fn of(energies: &'a [f32], temperature: f32) -> Self {
        let largest = max_all(energies);
        let mut shares: Vec<f32> = energies.iter().map(|&energy| temperature * (energy - largest)).collect();
        exp_all(&mut shares);
        Shares { energies, temperature, largest, log_sum: f64::from(shares.iter().sum::<f32>()).ln() }
    }

    fn log_share(&self, child: usize) -> f64 {
        f64::from(self.temperature * (self.energies[child] - self.largest)) - self.log_sum
    }
}

/// The logarithm of the mean of what the trees give, from its sum.
fn log_mean(sum: f64, trees: usize) -> f64 {
    (sum / trees as f64).max(f64::MIN_POSITIVE).ln()
}
