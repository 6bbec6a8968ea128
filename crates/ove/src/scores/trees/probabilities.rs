//! Probabilities from energies: of a few classes, with two nodes per class and tree, or of all classes.

use super::beam::TreeScores;
use super::{BeamScores, Tree, Trees};
use crate::data::Row;
use crate::platform::elementary::{exp, ln};
use crate::platform::math::{exp_all, max_all};

impl Trees {
    /// log p(class | x), exact for any class, under the model for one label per row.
    pub(crate) fn log_probability(&self, row: Row<'_>, found: &BeamScores, class: u32) -> f64 {
        self.log_probabilities_of(row, found, &[class], self.calibration.temperature)[0]
    }

    /// log p(class | x) of several classes at a temperature; nodes are normalised once for all of them.
    pub(super) fn log_probabilities_of(
        &self,
        row: Row<'_>,
        found: &BeamScores,
        classes: &[u32],
        temperature: f32,
    ) -> Vec<f64> {
        let mut sums = vec![0.0; classes.len()];
        for (tree, scores) in self.trees.iter().zip(found.trees()) {
            let mut places: Vec<_> =
                classes.iter().zip(&mut sums).map(|(&class, sum)| (tree.place(class), sum)).collect();
            places.sort_unstable_by_key(|&((leaf, _), _)| leaf);
            let root = NodeSoftmax::of(&scores.root, temperature);
            for of_leaf in places.chunk_by_mut(|a, b| a.0.0 == b.0.0) {
                let leaf = of_leaf[0].0.0;
                let energies = scores.leaf(tree, leaf, row);
                let children = NodeSoftmax::of(&energies, temperature);
                for ((_, child), sum) in of_leaf {
                    **sum += exp(root.log_probability(leaf) + children.log_probability(*child));
                }
            }
        }
        sums.into_iter().map(|sum| log_mean(sum, self.trees.len())).collect()
    }

    /// The paths to a class in all trees.
    pub(crate) fn paths(&self, row: Row<'_>, found: &BeamScores, class: u32) -> Paths {
        let of_tree = |(tree, scores): (&Tree, &TreeScores)| {
            let (leaf, child) = tree.place(class);
            [(scores.root.clone(), leaf), (scores.leaf(tree, leaf, row).into_owned(), child)]
        };
        Paths(self.trees.iter().zip(found.trees()).map(of_tree).collect())
    }

    /// log p(k | x) of all classes, from a search of all leaves.
    ///
    /// If rows have several labels, it is the log probability that a class is one of them.
    pub(crate) fn all_log_probabilities(&self, found: &BeamScores, out: &mut [f64]) {
        out.fill(0.0);
        for (tree, scores) in self.trees.iter().zip(found.trees()) {
            let (root, classes) = (&scores.root, &scores.searched.classes);
            match self.calibration.vote_power {
                Some(_) => tree.add_votes(root, classes, out),
                None => tree.add_probabilities(self.calibration.temperature, root, classes, out),
            }
        }
        let power = f64::from(self.calibration.vote_power.unwrap_or(1.0));
        out.iter_mut().for_each(|sum| *sum = power * log_mean(*sum, self.trees.len()));
    }
}

impl Tree {
    /// Adds e^{−E_leaf − E_k} for each class.
    fn add_votes(&self, root: &[f32], classes: &[f32], sums: &mut [f64]) {
        for (leaf, range) in self.leaves.children().windows(2).enumerate() {
            for place in range[0]..range[1] {
                sums[self.order[place] as usize] += exp(f64::from(root[leaf] + classes[place]));
            }
        }
    }

    /// Adds p(leaf | root, x) p(k | leaf, x) for each class.
    fn add_probabilities(&self, temperature: f32, root: &[f32], classes: &[f32], sums: &mut [f64]) {
        let of_leaves = NodeSoftmax::of(root, temperature);
        for (leaf, range) in self.leaves.children().windows(2).enumerate() {
            let of_classes = NodeSoftmax::of(&classes[range[0]..range[1]], temperature);
            for (child, &class) in self.order[range[0]..range[1]].iter().enumerate() {
                sums[class as usize] += exp(of_leaves.log_probability(leaf) + of_classes.log_probability(child));
            }
        }
    }
}

/// The paths to a class, one per tree: −E of the children of each node, and the child on the path.
pub(crate) struct Paths(Vec<[(Vec<f32>, usize); 2]>);

impl Paths {
    /// log p(class | x) at a temperature.
    pub(crate) fn log_probability(&self, temperature: f32) -> f64 {
        let of_node =
            |(energies, child): &(Vec<f32>, usize)| NodeSoftmax::of(energies, temperature).log_probability(*child);
        let of_trees = self.0.iter().map(|nodes| exp(nodes.iter().map(of_node).sum::<f64>()));
        log_mean(of_trees.sum(), self.0.len())
    }
}

/// The softmax p(c | node, x) over the children of a node, from their −E at a temperature.
struct NodeSoftmax<'a> {
    energies: &'a [f32],
    temperature: f32,
    largest: f32,
    log_sum: f64,
}

impl<'a> NodeSoftmax<'a> {
    fn of(energies: &'a [f32], temperature: f32) -> Self {
        let largest = max_all(energies);
        let mut exps: Vec<f32> = energies.iter().map(|&energy| temperature * (energy - largest)).collect();
        exp_all(&mut exps);
        NodeSoftmax { energies, temperature, largest, log_sum: ln(f64::from(exps.iter().sum::<f32>())) }
    }

    fn log_probability(&self, child: usize) -> f64 {
        f64::from(self.temperature * (self.energies[child] - self.largest)) - self.log_sum
    }
}

/// The logarithm of the mean over trees, from the sum.
fn log_mean(sum: f64, trees: usize) -> f64 {
    ln((sum / trees as f64).max(f64::MIN_POSITIVE))
}
