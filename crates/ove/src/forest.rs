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

pub use cell::Entry;
pub(crate) use cell::is_whole;
pub use index::Index;
pub(crate) use level::BIAS;
pub use level::{Builder, Level, Parts};
use sight::Seen;
pub use sight::{BEAM, Search, Sight};

use crate::data::Row;
use crate::largest::largest;
use crate::linear::Prediction;
use crate::math::exp_all;

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
    /// Of each class: its place in `order`.
    places: Vec<u32>,
}

/// Where `leaves` leaves start in an order of `classes` classes: as equal as can be.
pub fn leaf_starts(classes: usize, leaves: usize) -> Vec<usize> {
    (0..=leaves).map(|leaf| (classes * leaf) / leaves).collect()
}

impl Tree {
    /// From its levels and the classes of its leaves, all of them once, leaf by leaf.
    pub fn new(root: Level, leaves: Level, order: Vec<u32>) -> Self {
        let mut places = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&class, place)| places[class as usize] = place);
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
        let place = self.places[class as usize] as usize;
        let starts = self.leaves.children();
        let leaf = starts.partition_point(|&start| start <= place) - 1;
        (leaf, place - starts[leaf])
    }
}

/// Room for the numbers of one row, kept from row to row.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    /// Σ over trees of the votes for the classes seen.
    sums: Vec<f32>,
    classes: Vec<u32>,
    /// Those of one tree.
    votes: Vec<f32>,
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

    /// The `count` best classes of a row that has seen the trees, those with the most votes first.
    pub fn top(&self, row: Row<'_>, sight: &Sight, count: usize, scratch: &mut Scratch) -> Vec<Prediction> {
        let mut top = self.votes(sight, count, scratch);
        if let Some(power) = self.calibration.vote_power {
            top.iter_mut().for_each(|found| found.probability = found.probability.powf(power.into()));
        } else {
            let classes: Vec<u32> = top.iter().map(|found| found.class).collect();
            let found = self.log_probabilities_of(row, sight, &classes, self.calibration.temperature);
            top.iter_mut().zip(found).for_each(|(found, log_probability)| found.probability = log_probability.exp());
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

    /// The `count` classes with the most votes, with these in place of probabilities.
    pub(crate) fn votes(&self, sight: &Sight, count: usize, scratch: &mut Scratch) -> Vec<Prediction> {
        let Scratch { sums, classes, votes } = scratch;
        sums.resize(self.classes, 0.0);
        for (tree, seen) in self.trees.iter().zip(sight.trees()) {
            votes.clear();
            let mut left = &seen.classes[..];
            for &leaf in &seen.leaves {
                let of_leaf = left.split_off(..tree.leaf_classes(leaf).len()).unwrap_or_default();
                votes.extend(of_leaf.iter().map(|of_class| seen.root[usize::from(leaf)] + of_class));
            }
            exp_all(votes);
            let of_leaves = seen.leaves.iter().flat_map(|&leaf| tree.leaf_classes(leaf));
            for (&class, &vote) in of_leaves.zip(&*votes) {
                let sum = &mut sums[class as usize];
                if *sum == 0.0 {
                    classes.push(class);
                }
                *sum += vote;
            }
        }
        let top = largest(sums, count, classes.iter().copied());
        let trees = self.trees.len() as f64;
        let vote = |class: u32| Prediction { class, probability: f64::from(sums[class as usize]) / trees };
        let top = top.into_iter().map(vote).collect();
        classes.drain(..).for_each(|class| sums[class as usize] = 0.0);
        top
    }

    /// log p(class | x) of a row that has seen the trees, exact for any class: as if it had one class.
    pub fn log_probability(&self, row: Row<'_>, sight: &Sight, class: u32) -> f64 {
        self.log_probabilities_of(row, sight, &[class], self.calibration.temperature)[0]
    }

    /// The same of several classes, under a temperature: what the roots give is computed once for all of them.
    fn log_probabilities_of(&self, row: Row<'_>, sight: &Sight, classes: &[u32], temperature: f32) -> Vec<f64> {
        let roots: Vec<Shares<'_>> = sight.trees().iter().map(|seen| Shares::of(&seen.root, temperature)).collect();
        let of_class = |&class: &u32| {
            let of_tree = |((tree, seen), root): ((&Tree, &Seen), &Shares<'_>)| {
                let (leaf, child) = tree.place(class);
                root.log_share(leaf) + Shares::of(&seen.leaf(tree, leaf, row), temperature).log_share(child)
            };
            log_mean(self.trees.iter().zip(sight.trees()).zip(&roots).map(of_tree))
        };
        classes.iter().map(of_class).collect()
    }

    /// The ways to a class of a row that has seen the trees.
    pub(crate) fn ways(&self, row: Row<'_>, sight: &Sight, class: u32) -> Ways {
        let of_tree = |(tree, seen): (&Tree, &Seen)| {
            let (leaf, child) = tree.place(class);
            [(seen.root.clone(), leaf), (seen.leaf(tree, leaf, row).into_owned(), child)]
        };
        Ways(self.trees.iter().zip(sight.trees()).map(of_tree).collect())
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

/// The nodes on the way to a class in each tree: −E of their children, and which of them leads there.
pub(crate) struct Ways(Vec<[(Vec<f32>, usize); 2]>);

impl Ways {
    /// log p(class | x) under a temperature.
    pub(crate) fn log_probability(&self, temperature: f32) -> f64 {
        let of_node = |(energies, child): &(Vec<f32>, usize)| Shares::of(energies, temperature).log_share(*child);
        log_mean(self.0.iter().map(|nodes| nodes.iter().map(of_node).sum()))
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
        let largest = energies.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut shares: Vec<f32> = energies.iter().map(|&energy| temperature * (energy - largest)).collect();
        exp_all(&mut shares);
        Shares { energies, temperature, largest, log_sum: f64::from(shares.iter().sum::<f32>()).ln() }
    }

    fn log_share(&self, child: usize) -> f64 {
        f64::from(self.temperature * (self.energies[child] - self.largest)) - self.log_sum
    }
}

/// The logarithm of the mean of what each tree gives, itself as a logarithm.
fn log_mean(of_trees: impl ExactSizeIterator<Item = f64>) -> f64 {
    let trees = of_trees.len() as f64;
    (of_trees.map(f64::exp).sum::<f64>() / trees).max(f64::MIN_POSITIVE).ln()
}
