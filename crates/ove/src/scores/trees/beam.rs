//! Beam search over the leaves, batched: many rows at a time, leaf by leaf, so that a leaf stays in a cache.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use rayon::prelude::*;

use super::{Calibration, Scratch, Tree, Trees};
use crate::data::Row;
use crate::platform::top_k::top_k;
use crate::scores::sparse::RankBitmap;

/// Beam width: number of leaves per tree that are searched for the top-k classes of a row.
pub const BEAM: usize = 10;

/// Leaves whose energy exceeds that of the best leaf by more than this are pruned from the beam.
pub const NEAR: f32 = 3.5;

/// Bytes per thread for the scores of a batch of rows.
const BATCH_BYTES: usize = 128 << 20;

/// Minimum number of batches per thread, given enough rows, for load balancing.
const BATCHES_PER_THREAD: usize = 2;

/// The leaves that are searched for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The up to [`BEAM`] leaves of each tree with the lowest energy.
    Nearest,
    /// All leaves.
    All,
}

/// The scores of a row in all trees.
#[derive(Debug, Clone, Default)]
pub struct BeamScores(Vec<TreeScores>);

/// The scores of a row in one tree.
#[derive(Debug, Clone, Default)]
pub(super) struct TreeScores {
    /// −E of all leaves.
    pub root: Vec<f32>,
    /// The leaves in the beam.
    pub searched: LeafScores,
    /// Other leaves, needed for the probabilities of classes that are not in the beam.
    pub extra: LeafScores,
}

/// The scores of a row in some leaves of a tree.
#[derive(Debug, Clone, Default)]
pub(super) struct LeafScores {
    /// The leaves, in increasing order.
    pub numbers: Vec<u16>,
    /// −E of their classes, leaf by leaf.
    pub classes: Vec<f32>,
}

impl BeamScores {
    pub(super) fn trees(&self) -> &[TreeScores] {
        &self.0
    }

    pub(super) fn trees_mut(&mut self) -> &mut [TreeScores] {
        &mut self.0
    }
}

impl TreeScores {
    /// Whether a leaf is in the beam.
    pub fn has_searched(&self, leaf: usize) -> bool {
        self.searched.numbers.binary_search(&(leaf as u16)).is_ok()
    }

    /// The leaves outside the beam, in increasing order.
    pub fn unsearched(&self) -> impl Iterator<Item = usize> {
        let searched = self.searched.numbers.iter().map(|&leaf| usize::from(leaf));
        let ends = searched.clone().chain([self.root.len()]);
        let starts = iter::once(0).chain(searched.map(|leaf| leaf + 1));
        starts.zip(ends).flat_map(|(start, end)| start..end)
    }

    /// −E of the classes of a leaf, calibrated as those that are there; computed if the leaf was not scored yet.
    pub fn leaf(&self, tree: &Tree, leaf: usize, row: Row<'_>, calibration: &Calibration) -> Cow<'_, [f32]> {
        if let Some(classes) = self.searched.get(tree, leaf).or_else(|| self.extra.get(tree, leaf)) {
            return Cow::Borrowed(classes);
        }
        let mut classes = Vec::new();
        let known = row.below(tree.leaves.features());
        tree.leaves.energies(leaf, &[known], &mut RankBitmap::default(), &mut classes);
        if let Calibration::Normalised(evidence) = calibration {
            evidence.calibrate_classes(&mut classes);
        }
        Cow::Owned(classes)
    }
}

impl LeafScores {
    /// −E of the classes of a leaf, if it is one of these.
    pub fn get(&self, tree: &Tree, leaf: usize) -> Option<&[f32]> {
        let width = |leaf: u16| tree.leaf_classes(leaf).len();
        let at = self.numbers.binary_search(&(leaf as u16)).ok()?;
        let start = self.numbers[..at].iter().map(|&leaf| width(leaf)).sum::<usize>();
        Some(&self.classes[start..start + width(leaf as u16)])
    }
}

impl Trees {
    /// Searches the trees for batches of rows in parallel, and concatenates the results of `of` for each batch.
    pub(crate) fn search_batches<T: Send>(
        &self,
        rows: &[Row<'_>],
        search: Search,
        of: impl Fn(Range<usize>, &mut [BeamScores], &mut Scratch) -> Vec<T> + Sync,
    ) -> Vec<T> {
        let size = self.batch_size(rows.len(), search);
        let of_batch = |(found, scratch): &mut (Vec<BeamScores>, Scratch), (batch, rows): (usize, &[Row<'_>])| {
            let start = batch * size;
            of(start..start + rows.len(), self.search_into(rows, search, found), scratch)
        };
        let batches = rows.par_chunks(size).enumerate().map_init(Default::default, of_batch);
        batches.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// Number of rows per batch: as many as [`BATCH_BYTES`] allows, in several batches per thread of the pool.
    pub(crate) fn batch_size(&self, rows: usize, search: Search) -> usize {
        let of_tree = |tree: &Tree| {
            let leaves = tree.leaves.nodes();
            let searched = if search == Search::All { leaves } else { BEAM.min(leaves) };
            size_of::<f32>() * (leaves + searched * self.classes.div_ceil(leaves))
        };
        let most = BATCH_BYTES / self.trees.iter().map(of_tree).sum::<usize>();
        rows.div_ceil(BATCHES_PER_THREAD * rayon::current_num_threads()).clamp(1, most.max(1))
    }

    /// The scores of each row, for one batch.
    pub(crate) fn search(&self, rows: &[Row<'_>], search: Search) -> Vec<BeamScores> {
        let mut found = Vec::new();
        self.search_into(rows, search, &mut found);
        found
    }

    /// Like [`Trees::search`], reusing the memory of earlier scores: freeing and reallocating it would make the system
    /// clear it each time.
    fn search_into<'a>(
        &self,
        rows: &[Row<'_>],
        search: Search,
        found: &'a mut Vec<BeamScores>,
    ) -> &'a mut [BeamScores] {
        let known = self.known(rows);
        found.resize(found.len().max(rows.len()), BeamScores(vec![TreeScores::default(); self.trees.len()]));
        let found = &mut found[..rows.len()];
        for (t, tree) in self.trees.iter().enumerate() {
            tree.search(&known, search, found.iter_mut().map(|scores| &mut scores.0[t]).collect());
        }
        found
    }

    /// Scores the leaves of the given classes of each row, or all leaves, unless they were searched.
    pub(crate) fn score_leaves_of(&self, rows: &[Row<'_>], found: &mut [BeamScores], classes: Option<&[Vec<u32>]>) {
        let known = self.known(rows);
        for (t, tree) in self.trees.iter().enumerate() {
            for (n, scores) in found.iter_mut().enumerate() {
                let TreeScores { searched, extra, .. } = &mut scores.0[t];
                let leaves = match classes {
                    Some(classes) => classes[n].iter().map(|&class| tree.place(class).0 as u16).collect(),
                    None => (0..tree.leaves.nodes() as u16).collect::<Vec<_>>(),
                };
                let is_new = |leaf: &u16| searched.numbers.binary_search(leaf).is_err();
                extra.numbers = leaves.into_iter().filter(is_new).collect();
                extra.numbers.sort_unstable();
                extra.numbers.dedup();
            }
            tree.score_leaves(
                &known,
                found.iter_mut().map(|scores| &mut scores.0[t].extra).collect(),
                &mut RankBitmap::default(),
            );
        }
    }

    /// The rows without features that the trees do not have.
    fn known<'a>(&self, rows: &[Row<'a>]) -> Vec<Row<'a>> {
        rows.iter().map(|row| row.below(self.features)).collect()
    }
}

impl Tree {
    fn search(&self, rows: &[Row<'_>], search: Search, mut of_rows: Vec<&mut TreeScores>) {
        let (mut energies, mut index) = (Vec::new(), RankBitmap::default());
        self.root.energies(0, rows, &mut index, &mut energies);
        for (TreeScores { root, searched, extra }, energies) in
            of_rows.iter_mut().zip(energies.chunks(self.leaves.nodes()))
        {
            root.clear();
            root.extend_from_slice(energies);
            searched.numbers = match search {
                Search::Nearest => nearest(root),
                Search::All => (0..root.len() as u16).collect(),
            };
            extra.numbers.clear();
            extra.classes.clear();
        }
        self.score_leaves(rows, of_rows.into_iter().map(|scores| &mut scores.searched).collect(), &mut index);
    }

    /// Scores the classes of each row's leaves, leaf by leaf.
    fn score_leaves(&self, rows: &[Row<'_>], mut of_rows: Vec<&mut LeafScores>, index: &mut RankBitmap) {
        let mut rows_by_leaf = vec![Vec::new(); self.leaves.nodes()];
        for (leaves, n) in of_rows.iter_mut().zip(0u32..) {
            leaves.numbers.iter().for_each(|&leaf| rows_by_leaf[usize::from(leaf)].push(n));
            leaves.classes.clear();
            leaves.classes.reserve(leaves.numbers.iter().map(|&leaf| self.leaf_classes(leaf).len()).sum());
        }
        let (mut rows_of_leaf, mut energies) = (Vec::new(), Vec::new());
        for (leaf, numbers) in rows_by_leaf.iter().enumerate().filter(|(_, numbers)| !numbers.is_empty()) {
            rows_of_leaf.clear();
            rows_of_leaf.extend(numbers.iter().map(|&n| rows[n as usize]));
            self.leaves.energies(leaf, &rows_of_leaf, index, &mut energies);
            for (&n, classes) in numbers.iter().zip(energies.chunks(self.leaf_classes(leaf as u16).len())) {
                of_rows[n as usize].classes.extend_from_slice(classes);
            }
        }
    }
}

/// The beam: the up to [`BEAM`] lowest-energy leaves within [`NEAR`] of the best, in increasing order.
fn nearest(root: &[f32]) -> Vec<u16> {
    let places = top_k(root, BEAM);
    let near = root[places[0] as usize] - NEAR;
    let mut leaves: Vec<u16> =
        places.into_iter().filter(|&leaf| root[leaf as usize] >= near).map(|leaf| leaf as u16).collect();
    leaves.sort_unstable();
    leaves
}
