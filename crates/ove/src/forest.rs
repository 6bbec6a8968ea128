//! Trees over the classes, for very many of them: a row looks at the classes of a few leaves instead of all K.
//!
//! A tree has two levels. Its root tells √K groups of like classes apart, and a leaf tells the classes of its group apart. A child c
//! of a node has a linear score, trained one-vs-rest with the squared hinge ([`solve::forest`](crate::solve::forest)); its energy is
//! what it lacks to a margin of one. Classes are ranked by the votes of the trees, in which each class stands for itself:
//!
//! ```text
//! f_c(x) = w_c·x − 1        E_c = max(0, 1 − f_c)²        v(k | x) = mean over trees of  e^{−E_leaf − E_k}
//! ```
//!
//! Where rows have one class, the children of a node share a probability of one, so that those of all classes sum to one exactly, and
//! that of one class needs two nodes a tree:
//!
//! ```text
//! p(k | x) = mean over trees of  p(leaf | root, x) p(k | leaf, x)        p(c | node, x) = e^{−τ E_c} / Σ_{c' of the node} e^{−τ E_c'}
//! ```
//!
//! Where rows have several, the probability of a class is that of being one of them: v^γ. τ and γ are fitted on rows that were held out.
//! The best classes are looked for in the [`BEAM`] leaves of each tree that lack least. Rows look at the trees together
//! ([`Forest::see`]), so that each node is fetched once for all of them.

mod cell;
mod index;
mod level;
mod probabilities;
mod sight;
mod votes;

pub use cell::Entry;
pub(crate) use cell::is_whole;
pub use index::Index;
pub(crate) use level::BIAS;
pub use level::{Builder, Level, Parts};
pub(crate) use probabilities::Ways;
pub use sight::{BEAM, Search, Sight};
pub use votes::Scratch;

use crate::data::Row;
use crate::linear::Prediction;

/// Several trees over the same classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    features: usize,
    classes: usize,
    trees: Vec<Tree>,
    /// How energies and votes become probabilities.
    pub calibration: Calibration,
}

/// How energies and votes become probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// τ.
    pub temperature: f32,
    /// γ, where rows have several classes.
    pub vote_power: Option<f32>,
}

/// A root and its leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// One node, whose children are the leaves.
    root: Level,
    /// The leaves, whose children are the classes.
    leaves: Level,
    /// The classes, leaf by leaf.
    order: Vec<u32>,
    /// Of each class: its leaf, and which of its children the class is.
    places: Vec<[u16; 2]>,
}

/// Where `leaves` leaves start in an order of `classes` classes: as equal as can be.
pub fn leaf_starts(classes: usize, leaves: usize) -> Vec<usize> {
    (0..=leaves).map(|leaf| (classes * leaf) / leaves).collect()
}

impl Tree {
    /// From its levels and the classes of its leaves, all of them once, leaf by leaf.
    pub fn new(root: Level, leaves: Level, order: Vec<u32>) -> Self {
        let mut places = vec![[0; 2]; order.len()];
        for (range, leaf) in leaves.children().windows(2).zip(0..) {
            let classes = order[range[0]..range[1]].iter().zip(0..);
            classes.for_each(|(&class, child)| places[class as usize] = [leaf, child]);
        }
        Tree { root, leaves, order, places }
    }

    /// The node that tells the leaves apart.
    pub fn root(&self) -> &Level {
        &self.root
    }

    /// The nodes that tell classes apart.
    pub fn leaves(&self) -> &Level {
        &self.leaves
    }

    /// The classes, leaf by leaf.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    fn leaf_classes(&self, leaf: u16) -> &[u32] {
        let starts = self.leaves.children();
        &self.order[starts[usize::from(leaf)]..starts[usize::from(leaf) + 1]]
    }

    /// The leaf of a class, and which of its children the class is.
    fn place(&self, class: u32) -> (usize, usize) {
        let [leaf, child] = self.places[class as usize];
        (leaf.into(), child.into())
    }
}

impl Forest {
    /// From trees over the same classes.
    pub fn new(features: usize, trees: Vec<Tree>, calibration: Calibration) -> Self {
        let classes = trees[0].order.len();
        Forest { features, classes, trees, calibration }
    }

    /// D.
    pub fn features(&self) -> usize {
        self.features
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The trees.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// How many weights are kept.
    pub fn weights(&self) -> usize {
        self.trees.iter().flat_map(|tree| [&tree.root, &tree.leaves]).map(Level::weights).sum()
    }

    /// Drops the weights below a threshold.
    pub fn prune(&mut self, threshold: f32) {
        for tree in &mut self.trees {
            [&mut tree.root, &mut tree.leaves].into_iter().for_each(|level| level.prune(threshold));
        }
    }

    /// The `count` best classes of each of some rows that have seen the trees, those with the most votes first.
    pub fn top(
        &self,
        rows: &[Row<'_>],
        sights: &mut [Sight],
        count: usize,
        scratch: &mut Scratch,
    ) -> Vec<Vec<Prediction>> {
        let mut top: Vec<_> = sights.iter().map(|sight| self.votes(sight, count, scratch)).collect();
        if let Some(power) = self.calibration.vote_power {
            top.iter_mut().flatten().for_each(|found| found.probability = found.probability.powf(power.into()));
            return top;
        }
        let classes: Vec<Vec<u32>> = top.iter().map(|top| top.iter().map(|found| found.class).collect()).collect();
        self.ask(rows, sights, &classes);
        for (((top, classes), &row), sight) in top.iter_mut().zip(&classes).zip(rows).zip(&*sights) {
            let logs = self.log_probabilities_of(row, sight, classes, self.calibration.temperature);
            top.iter_mut().zip(logs).for_each(|(found, log)| found.probability = log.exp());
        }
        top
    }

    /// What the probability of a class would be without calibration: τ = γ = 1.
    pub fn uncalibrated(&self, row: Row<'_>, sight: &Sight, prediction: Prediction) -> f64 {
        match self.calibration.vote_power {
            Some(power) => prediction.probability.powf(1.0 / f64::from(power)),
            None => self.log_probabilities_of(row, sight, &[prediction.class], 1.0)[0].exp(),
        }
    }

    /// How much a feature speaks for a class, as a mean over trees of its weights on the way to the class.
    pub fn weight_of(&self, feature: u32, class: u32) -> f32 {
        let of_tree = |tree: &Tree| {
            let (leaf, child) = tree.place(class);
            tree.root.weight_of(feature, 0, leaf) + tree.leaves.weight_of(feature, leaf, child)
        };
        self.trees.iter().map(of_tree).sum::<f32>() / self.trees.len() as f32
    }

    /// How much each feature speaks for a class, as a mean over trees of its weights on the way to the class.
    pub fn weights_of(&self, class: u32) -> Vec<(u32, f32)> {
        let mut sums = vec![0.0; self.features];
        for tree in &self.trees {
            let (leaf, child) = tree.place(class);
            tree.root.add_weights_of(0, leaf, &mut sums);
            tree.leaves.add_weights_of(leaf, child, &mut sums);
        }
        let trees = self.trees.len() as f32;
        (0..).zip(sums).filter(|&(_, sum)| sum != 0.0).map(|(feature, sum)| (feature, sum / trees)).collect()
    }
}
