//! Trains trees further, on new rows alone.
//!
//! A model does not keep its rows. What they have taught a node is in its weights v, and new rows change them only as
//! far as they must:
//!
//! ```text
//! Σ over new rows of w_n Σ_c c_n max(0, 1 − y_nc f_c(x_n))²  +  κλ/2 Σ_c ‖w_c − v_c‖²
//! ```
//!
//! A class that is new has the usual penalty λ/2 ‖w_c‖², and its negatives a larger weight: rows of other classes stand
//! for the earlier ones too.
//!
//! A new class joins the leaf whose root score is the highest for its rows, on average: the mean of e^{−E_leaf}. So
//! does a class that had no rows so far. A leaf that has become twice as large as usual is split by the clustering that
//! made the tree. Its parts start with the root weights of the whole, until rows tell them apart.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::SLICE;
use super::clustering::{ClassVectors, Clustering, Vector};
use super::layout::{Layout, leaf_count};
use super::node::Weights;
use crate::data::{Examples, Row};
use crate::error::{Error, Result};
use crate::platform::elementary::exp;
use crate::platform::random::Stream;
use crate::scores::Trees;
use crate::scores::sparse::{Entry, RankBitmap, SparseBlocks};
use crate::scores::trees::Tree;

/// Maximum number of rows of a class that look for a leaf.
const ROWS: usize = 64;

/// Number of classes that look for a leaf between two checks of the clock.
const CLASSES: usize = 256;

/// A leaf is split when it has this many times the usual number of classes.
const TOO_LARGE: usize = 2;

/// Key of the random streams of splits, beside those of the trees.
const SPLITS: u64 = u64::MAX - 4;

/// The earlier trees, and where their nodes are among those of the trees that go on.
pub(super) struct Continuation {
    trees: Arc<Trees>,
    /// For each tree.
    moves: Vec<Moves>,
}

/// How the nodes of a tree have moved.
struct Moves {
    /// The earlier leaf of each leaf.
    origins: Vec<usize>,
    /// The leaves that each earlier leaf has become.
    heirs: Vec<Vec<u16>>,
    /// The place of each class.
    places: Vec<(usize, u16)>,
    /// Number of classes of each leaf that are not new; they come first.
    known: Vec<usize>,
}

/// Finds a leaf for each new class, in steps.
pub(super) struct Placement {
    trees: Arc<Trees>,
    rows: ClassVectors,
    /// Number of classes in a leaf from which on it is split.
    most: usize,
    seed: u64,
    /// The classes to place, each with its tree.
    homeless: Vec<(usize, u32)>,
    /// The leaf that each has found so far.
    found: Vec<Option<usize>>,
    have_moved_in: bool,
    /// The classes of each leaf of each tree.
    leaves: Vec<Vec<Vec<u32>>>,
    /// The earlier leaf of each leaf of each tree.
    origins: Vec<Vec<usize>>,
    /// The next leaf that may be too large.
    next: (usize, usize),
}

impl Placement {
    /// For these training rows.
    pub fn new(trees: Arc<Trees>, examples: &Examples<'_>, train: &[u32], leaves: Option<usize>, seed: u64) -> Self {
        let classes = examples.classes;
        let usual = classes.div_ceil(leaf_count(classes, leaves));
        let most = (TOO_LARGE * usual).min(u16::MAX.into());
        let rows = ClassVectors::new(examples, train);
        // Classes without rows, in these nor in earlier ones, stay where they are.
        let of_tree = |tree: &Tree| {
            let mut homeless = without_weights(tree, classes);
            homeless.retain(|&class| class as usize >= trees.classes() || !rows.rows_of(class).is_empty());
            homeless
        };
        let homeless: Vec<Vec<u32>> = trees.trees().par_iter().map(of_tree).collect();
        let settled = |(tree, homeless): (&Tree, &Vec<u32>)| -> Vec<Vec<u32>> {
            let of_leaf = |leaf| tree.leaf_classes(leaf).iter().copied();
            let stays = |class: &u32| homeless.binary_search(class).is_err();
            (0..tree.leaves().nodes() as u16).map(|leaf| of_leaf(leaf).filter(stays).collect()).collect()
        };
        let leaves: Vec<Vec<Vec<u32>>> = trees.trees().iter().zip(&homeless).map(settled).collect();
        let origins = leaves.iter().map(|leaves| (0..leaves.len()).collect()).collect();
        let homeless = (0..).zip(homeless).flat_map(|(tree, classes)| classes.into_iter().map(move |c| (tree, c)));
        let homeless = homeless.collect();
        let (found, have_moved_in, next) = (Vec::new(), false, (0, 0));
        Placement { trees, rows, most, seed, homeless, found, have_moved_in, leaves, origins, next }
    }

    /// Takes a step; returns the layouts of the trees after the last one.
    pub fn advance(&mut self, examples: &Examples<'_>) -> Result<Option<(Continuation, Vec<Layout>)>> {
        if self.found.len() < self.homeless.len() {
            self.look_for_leaves(examples);
            return Ok(None);
        }
        if !std::mem::replace(&mut self.have_moved_in, true) {
            self.move_in();
        }
        let (tree, leaf) = self.next;
        match self.leaves.get(tree).map(Vec::len) {
            Some(count) if leaf < count => self.split(examples),
            Some(_) => self.next = (tree + 1, 0),
            None => return self.finish().map(Some),
        }
        Ok(None)
    }

    /// Finds the nearest leaf of some classes.
    fn look_for_leaves(&mut self, examples: &Examples<'_>) {
        let deadline = Instant::now() + SLICE;
        while self.found.len() < self.homeless.len() && Instant::now() < deadline {
            let rest = &self.homeless[self.found.len()..];
            let nearest = |buffers: &mut _, &(tree, class): &(usize, u32)| {
                let tree = &self.trees.trees()[tree];
                nearest_leaf(tree, examples, self.rows.rows_of(class), buffers)
            };
            let part = &rest[..rest.len().min(CLASSES)];
            let found: Vec<Option<usize>> = part.par_iter().map_init(Default::default, nearest).collect();
            self.found.extend(found);
        }
    }

    /// Puts the classes into the leaves that they have found; those without rows into the smallest.
    fn move_in(&mut self) {
        for without_rows in [false, true] {
            for (&(tree, class), found) in self.homeless.iter().zip(&self.found) {
                let leaves = &mut self.leaves[tree];
                let smallest = || (0..leaves.len()).min_by_key(|&leaf| leaves[leaf].len()).expect("a tree has a leaf");
                match found {
                    Some(leaf) if !without_rows => leaves[*leaf].push(class),
                    None if without_rows => {
                        let leaf = smallest();
                        leaves[leaf].push(class);
                    }
                    _ => {}
                }
            }
        }
        for (leaves, origins) in self.leaves.iter_mut().zip(&mut self.origins) {
            origins.retain(|&leaf| !leaves[leaf].is_empty());
            leaves.retain(|leaf| !leaf.is_empty());
        }
    }

    /// Splits the next leaf if it is too large.
    fn split(&mut self, examples: &Examples<'_>) {
        let (tree, leaf) = self.next;
        let classes = &self.leaves[tree][leaf];
        let parts = classes.len().div_ceil(self.most);
        self.next.1 += parts.max(1);
        if parts < 2 {
            return;
        }
        let features = examples.rows.features();
        let origin = self.origins[tree][leaf];
        let vectors = self.vectors(examples, tree, origin, classes);
        let stream = Stream::of(&[self.seed, SPLITS, tree as u64, origin as u64]);
        let mut clustering = Clustering::new(vectors, features, parts, vec![stream]);
        while !clustering.is_done() {
            clustering.advance();
        }
        let split = Layout::even(clustering.into_orders().remove(0), parts);
        let part = |members: &[u32]| {
            // In the order of the leaf: the weights of its features stay in order.
            let mut members = members.to_vec();
            members.sort_unstable();
            members.into_iter().map(|at| classes[at as usize]).collect()
        };
        let parts: Vec<Vec<u32>> = split.each_leaf().map(part).collect();
        self.origins[tree].splice(leaf..=leaf, parts.iter().map(|_| origin));
        self.leaves[tree].splice(leaf..=leaf, parts);
    }

    /// The vectors of the classes of a leaf: their weights, or of new classes the sum of their rows.
    fn vectors(&self, examples: &Examples<'_>, tree: usize, origin: usize, classes: &[u32]) -> Vec<Vector> {
        let earlier = &self.trees.trees()[tree];
        let mut weights = leaf_vectors(earlier, origin);
        let of_class = |class: &u32| match (*class as usize) < self.trees.classes() && earlier.place(*class).0 == origin
        {
            true => std::mem::take(&mut weights[earlier.place(*class).1]),
            false => Vector::new(),
        };
        let mut vectors: Vec<Vector> = classes.iter().map(of_class).collect();
        let scratch = || (vec![0.0; examples.rows.features()], Vec::new());
        vectors
            .par_iter_mut()
            .zip(classes)
            .filter(|(vector, _)| vector.is_empty())
            .for_each_init(scratch, |scratch, (vector, &class)| {
                *vector = self.rows.vector(examples, class as usize, scratch)
            });
        vectors
    }

    fn finish(&mut self) -> Result<(Continuation, Vec<Layout>)> {
        let most = u16::MAX;
        if self.leaves.iter().any(|leaves| leaves.len() > most.into()) {
            let reason = format!("a tree would get more than {most} leaves; train new trees on all rows, with fewer");
            return Err(Error::Mismatch(reason));
        }
        let layouts: Vec<Layout> = self.leaves.iter().map(|leaves| Layout::of(leaves)).collect();
        let homeless: HashSet<(usize, u32)> = self.homeless.iter().copied().collect();
        let moves = |(number, (tree, (origins, layout))): (usize, (&Tree, (&Vec<usize>, &Layout)))| {
            let is_known = |class: &&u32| !homeless.contains(&(number, **class));
            let known = layout.each_leaf().map(|classes| classes.iter().filter(is_known).count()).collect();
            let mut heirs = vec![Vec::new(); tree.leaves().nodes()];
            origins.iter().zip(0..).for_each(|(&origin, leaf)| heirs[origin].push(leaf));
            Moves { origins: origins.clone(), heirs, places: layout.places(), known }
        };
        let trees = self.trees.trees().iter().zip(self.origins.iter().zip(&layouts));
        let moves = trees.enumerate().map(moves).collect();
        Ok((Continuation { trees: self.trees.clone(), moves }, layouts))
    }
}

impl Continuation {
    /// Number of children of a node that are not new; they come first. Node 0 is the root.
    pub fn known(&self, tree: usize, node: usize) -> usize {
        let moves = &self.moves[tree];
        if node == 0 { moves.origins.len() } else { moves.known[node - 1] }
    }

    /// The earlier weights of the children of a block; node 0 is the root.
    pub fn weights(&self, tree: usize, node: usize, block: Range<usize>) -> Weights {
        let (tree, moves) = (&self.trees.trees()[tree], &self.moves[tree]);
        match node {
            0 => taken(tree.root(), 0, &moves.heirs, block),
            _ => {
                let origin = moves.origins[node - 1];
                // Of several parts of a split leaf, each has some of its classes.
                let child = |class: &u32| {
                    let (leaf, child) = moves.places[*class as usize];
                    if leaf == node - 1 { vec![child] } else { Vec::new() }
                };
                let heirs: Vec<Vec<u16>> = tree.leaf_classes(origin as u16).iter().map(child).collect();
                taken(tree.leaves(), origin, &heirs, block)
            }
        }
    }
}

/// The weights of a node whose children have become others, those of a block of them. Both are in the same order.
fn taken(level: &SparseBlocks, node: usize, heirs: &[Vec<u16>], block: Range<usize>) -> Weights {
    let (mut weights, mut cell) = (Weights::default(), Vec::new());
    for (feature, entries) in level.cells(node) {
        cell.clear();
        for entry in entries {
            let heirs = heirs[entry.child()].iter().filter(|&&heir| block.contains(&heir.into()));
            cell.extend(heirs.map(|&heir| Entry::new(heir, entry.weight())));
        }
        weights.push(feature, &cell);
    }
    weights
}

/// The classes without weights in the leaves of a tree, increasing: new ones and those without rows so far.
fn without_weights(tree: &Tree, classes: usize) -> Vec<u32> {
    let mut is_known = vec![false; classes];
    for leaf in 0..tree.leaves().nodes() {
        let own = tree.leaf_classes(leaf as u16);
        let entries = tree.leaves().cells(leaf).flat_map(|(_, entries)| entries);
        entries.for_each(|entry| is_known[own[entry.child()] as usize] = true);
    }
    (0..).zip(is_known).filter(|&(_, is_known)| !is_known).map(|(class, _)| class).collect()
}

/// The leaf with the most votes of the root for these rows, of those the one with the fewest classes; `None` without
/// rows.
fn nearest_leaf(
    tree: &Tree,
    examples: &Examples<'_>,
    rows: &[u32],
    (index, energies): &mut (RankBitmap, Vec<f32>),
) -> Option<usize> {
    let known = |&row: &u32| examples.rows.row(row as usize).below(tree.root().features());
    let rows: Vec<Row<'_>> = rows.iter().take(ROWS).map(known).collect();
    tree.root().energies(0, &rows, index, energies);
    let leaves = tree.leaves().nodes();
    let mut votes = vec![0.0; if rows.is_empty() { 0 } else { leaves }];
    for of_row in energies.chunks(leaves) {
        votes.iter_mut().zip(of_row).for_each(|(vote, &energy)| *vote += exp(energy.into()));
    }
    let size = |leaf: usize| tree.leaf_classes(leaf as u16).len();
    (0..votes.len()).max_by(|&a, &b| votes[a].total_cmp(&votes[b]).then(size(b).cmp(&size(a))).then(b.cmp(&a)))
}

/// The positive weights of each class of a leaf, scaled to unit length.
fn leaf_vectors(tree: &Tree, leaf: usize) -> Vec<Vector> {
    let mut vectors = vec![Vector::new(); tree.leaf_classes(leaf as u16).len()];
    for (feature, entries) in tree.leaves().cells(leaf) {
        let positive = entries.filter(|entry| entry.weight() > 0.0);
        positive.for_each(|entry| vectors[entry.child()].push((feature, entry.weight())));
    }
    for vector in &mut vectors {
        let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|(_, weight)| *weight /= length);
    }
    vectors
}
