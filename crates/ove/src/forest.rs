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
//! The best classes are looked for in the [`BEAM`] leaves of each tree that lack least.

mod cell;
mod level;
mod probabilities;

pub use cell::Entry;
pub(crate) use cell::is_whole;
pub(crate) use level::BIAS;
pub use level::{Builder, Level, Parts};

use crate::data::Row;
use crate::linear::Prediction;

/// Leaves of each tree that are searched for the best classes of a row.
pub const BEAM: usize = 10;

/// Leaves that lack so much more than the best one are not searched.
const NEAR: f32 = 3.5;

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
    trees: Vec<Seen>,
    /// Σ over trees of the votes for the classes seen.
    sums: Vec<f32>,
    classes: Vec<u32>,
}

/// What a row has seen of a tree.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// −E of all leaves.
    root: Vec<f32>,
    /// The leaves that were searched, rising.
    leaves: Vec<u16>,
    /// −E of their classes, leaf by leaf.
    classes: Vec<f32>,
}

impl Seen {
    /// −E of the classes of a leaf: a copy if it was searched.
    fn leaf(&self, tree: &Tree, leaf: usize, row: Row<'_>) -> Vec<f32> {
        let width = |leaf: u16| tree.leaf_classes(leaf).len();
        if let Ok(at) = self.leaves.binary_search(&(leaf as u16)) {
            let start = self.leaves[..at].iter().map(|&leaf| width(leaf)).sum::<usize>();
            return self.classes[start..start + width(leaf as u16)].to_vec();
        }
        let mut classes = Vec::new();
        tree.leaves.energies(&[leaf as u16], row, &mut classes);
        classes
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

    /// Looks at the roots of all trees: the start of everything about a row.
    pub fn begin(&self, row: Row<'_>, scratch: &mut Scratch) {
        scratch.trees.resize(self.trees.len(), Seen::default());
        for (tree, seen) in self.trees.iter().zip(&mut scratch.trees) {
            tree.root.energies(&[0], row, &mut seen.root);
            seen.leaves.clear();
        }
    }

    /// The `count` best classes of the row that [`begin`](Forest::begin) saw, those with the most votes first.
    pub fn top(&self, row: Row<'_>, count: usize, scratch: &mut Scratch) -> Vec<Prediction> {
        let mut top = self.votes(row, count, scratch);
        for prediction in &mut top {
            prediction.probability = match self.calibration.vote_power {
                Some(power) => prediction.probability.powf(power.into()),
                None => self.log_probability(row, prediction.class, scratch).exp(),
            };
        }
        top
    }

    /// What the probability of a class would be without calibration: τ = γ = 1.
    pub fn uncalibrated(&self, row: Row<'_>, prediction: Prediction, scratch: &mut Scratch) -> f64 {
        match self.calibration.vote_power {
            Some(power) => prediction.probability.powf(1.0 / f64::from(power)),
            None => self.ways(row, prediction.class, scratch).log_probability(1.0).exp(),
        }
    }

    /// The `count` classes with the most votes, with these in place of probabilities.
    pub(crate) fn votes(&self, row: Row<'_>, count: usize, scratch: &mut Scratch) -> Vec<Prediction> {
        let Scratch { trees, sums, classes } = scratch;
        sums.resize(self.classes, 0.0);
        for (tree, seen) in self.trees.iter().zip(trees) {
            nearest(&seen.root, &mut seen.leaves);
            tree.leaves.energies(&seen.leaves, row, &mut seen.classes);
            let of_leaf = |&leaf: &u16| tree.leaf_classes(leaf).iter().map(move |&class| (class, leaf));
            for ((class, leaf), &of_class) in seen.leaves.iter().flat_map(of_leaf).zip(&seen.classes) {
                let sum = &mut sums[class as usize];
                if *sum == 0.0 {
                    classes.push(class);
                }
                *sum += (seen.root[usize::from(leaf)] + of_class).exp().max(f32::MIN_POSITIVE);
            }
        }
        let better = |&a: &u32, &b: &u32| sums[b as usize].total_cmp(&sums[a as usize]).then(a.cmp(&b));
        if count < classes.len() {
            classes.select_nth_unstable_by(count, better);
        }
        let mut top = classes[..count.min(classes.len())].to_vec();
        top.sort_unstable_by(better);
        let trees = self.trees.len() as f64;
        let vote = |class: u32| Prediction { class, probability: f64::from(sums[class as usize]) / trees };
        let top = top.into_iter().map(vote).collect();
        classes.drain(..).for_each(|class| sums[class as usize] = 0.0);
        top
    }

    /// log p(class | x) of the row that [`begin`](Forest::begin) saw, exact for any class: as if it had one class.
    pub fn log_probability(&self, row: Row<'_>, class: u32, scratch: &mut Scratch) -> f64 {
        self.ways(row, class, scratch).log_probability(self.calibration.temperature)
    }

    /// The ways to a class of the row that [`begin`](Forest::begin) saw.
    pub(crate) fn ways(&self, row: Row<'_>, class: u32, scratch: &Scratch) -> Ways {
        let of_tree = |(tree, seen): (&Tree, &Seen)| {
            let (leaf, child) = tree.place(class);
            [(seen.root.clone(), leaf), (seen.leaf(tree, leaf, row), child)]
        };
        Ways(self.trees.iter().zip(&scratch.trees).map(of_tree).collect())
    }

    /// How much a feature speaks for a class, as a mean over trees of its weights on the way to the class.
    pub fn weight_of(&self, feature: u32, class: u32) -> f32 {
        let of_tree = |tree: &Tree| {
            let (leaf, child) = tree.place(class);
            tree.root.weight_of(feature as usize, 0, leaf) + tree.leaves.weight_of(feature as usize, leaf, child)
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
    pub(crate) fn log_probability(&self, tau: f32) -> f64 {
        let of_tree = |nodes: &[(Vec<f32>, usize); 2]| {
            nodes.iter().map(|(energies, child)| log_share(tau, energies, *child)).sum::<f64>().exp()
        };
        (self.0.iter().map(of_tree).sum::<f64>() / self.0.len() as f64).max(f64::MIN_POSITIVE).ln()
    }
}

/// The [`BEAM`] leaves that lack least, rising, without those that lack too much more than the best to matter.
fn nearest(root: &[f32], leaves: &mut Vec<u16>) {
    largest(root, BEAM, leaves);
    let best = leaves.iter().map(|&leaf| root[usize::from(leaf)]).fold(f32::NEG_INFINITY, f32::max);
    leaves.retain(|&leaf| root[usize::from(leaf)] >= best - NEAR);
}

/// The places of the `count` largest numbers, rising.
fn largest(numbers: &[f32], count: usize, places: &mut Vec<u16>) {
    places.clear();
    places.extend(0..numbers.len() as u16);
    if count < numbers.len() {
        places.select_nth_unstable_by(count, |&a, &b| {
            numbers[usize::from(b)].total_cmp(&numbers[usize::from(a)]).then(a.cmp(&b))
        });
        places.truncate(count);
        places.sort_unstable();
    }
}

/// log p(c | node, x) from −E of all children of the node.
fn log_share(temperature: f32, energies: &[f32], child: usize) -> f64 {
    let largest = energies.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = energies.iter().map(|&e| (temperature * (e - largest)).exp()).sum();
    f64::from(temperature * (energies[child] - largest)) - f64::from(total).ln()
}
