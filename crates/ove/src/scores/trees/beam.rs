//! What rows see of the trees: many rows at a time, leaf by leaf, so that a leaf stays in a cache while rows search it.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::{Scratch, Tree, Trees};
use crate::data::Row;
use crate::platform::top_k::top_k;
use crate::scores::sparse::RankBitmap;

/// LeafScores of each tree that are searched for the best classes of a row.
pub const BEAM: usize = 10;

/// LeafScores that lack so much more than the best one are not searched.
const NEAR: f32 = 3.5;

/// Bytes that the found of the rows which look together may take, for each thread.
const ROOM: usize = 128 << 20;

/// Threads get at least so many turns, if there are rows enough, so that none waits long for the others.
const TURNS: usize = 2;

/// Which leaves a row searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The [`BEAM`] leaves of each tree that lack least, without those that lack too much more than the best to matter.
    Nearest,
    /// All of them.
    All,
}

/// What a row has seen of all trees.
#[derive(Debug, Clone, Default)]
pub struct BeamScores(Vec<TreeScores>);

/// What a row has seen of a tree.
#[derive(Debug, Clone, Default)]
pub(super) struct TreeScores {
    /// −E of all leaves.
    pub root: Vec<f32>,
    /// The leaves that were searched for the best classes.
    pub searched: LeafScores,
    /// Others, which the probabilities of some classes need.
    extra: LeafScores,
}

/// Some leaves of a tree, as a row sees them.
#[derive(Debug, Clone, Default)]
pub(super) struct LeafScores {
    /// Which, rising.
    pub numbers: Vec<u16>,
    /// −E of their classes, leaf by leaf.
    pub classes: Vec<f32>,
}

impl BeamScores {
    pub(super) fn trees(&self) -> &[TreeScores] {
        &self.0
    }
}

impl TreeScores {
    /// −E of the classes of a leaf, computed if it was neither searched nor extra for.
    pub fn leaf(&self, tree: &Tree, leaf: usize, row: Row<'_>) -> Cow<'_, [f32]> {
        if let Some(classes) = self.searched.get(tree, leaf).or_else(|| self.extra.get(tree, leaf)) {
            return Cow::Borrowed(classes);
        }
        let mut classes = Vec::new();
        let known = row.below(tree.leaves.features());
        tree.leaves.energies(leaf, &[known], &mut RankBitmap::default(), &mut classes);
        Cow::Owned(classes)
    }
}

impl LeafScores {
    /// −E of the classes of a leaf that is one of these.
    pub fn get(&self, tree: &Tree, leaf: usize) -> Option<&[f32]> {
        let width = |leaf: u16| tree.leaf_classes(leaf).len();
        let at = self.numbers.binary_search(&(leaf as u16)).ok()?;
        let start = self.numbers[..at].iter().map(|&leaf| width(leaf)).sum::<usize>();
        Some(&self.classes[start..start + width(leaf as u16)])
    }
}

impl Trees {
    /// Lets rows look at the trees, piece by piece, and tells of each row what `of` makes of the found of its piece; on all threads of
    /// the pool.
    pub fn search_batches<T: Send>(
        &self,
        rows: &[Row<'_>],
        search: Search,
        of: impl Fn(Range<usize>, &mut [BeamScores], &mut Scratch) -> Vec<T> + Sync,
    ) -> Vec<T> {
        let together = self.batch_size(rows.len(), search);
        let of_piece = |(found, scratch): &mut (Vec<BeamScores>, Scratch), (piece, rows): (usize, &[Row<'_>])| {
            let start = piece * together;
            of(start..start + rows.len(), self.search_into(rows, search, found), scratch)
        };
        let pieces = rows.par_chunks(together).enumerate().map_init(Default::default, of_piece);
        pieces.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// How many of so many rows look together: as many as there is room for, in turns for all threads of the pool.
    pub(crate) fn batch_size(&self, rows: usize, search: Search) -> usize {
        let of_tree = |tree: &Tree| {
            let leaves = tree.leaves.nodes();
            let searched = if search == Search::All { leaves } else { BEAM.min(leaves) };
            size_of::<f32>() * (leaves + searched * self.classes.div_ceil(leaves))
        };
        let most = ROOM / self.trees.iter().map(of_tree).sum::<usize>();
        rows.div_ceil(TURNS * rayon::current_num_threads()).clamp(1, most.max(1))
    }

    /// What these rows see, one after another.
    pub fn search(&self, rows: &[Row<'_>], search: Search) -> Vec<BeamScores> {
        let mut found = Vec::new();
        self.search_into(rows, search, &mut found);
        found
    }

    /// The same in the memory of earlier found, which the system would have to clear if it were given back and extra for again.
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

    /// Lets rows look also at the leaves of these classes, where they did not search them.
    pub(super) fn score_leaves_of(&self, rows: &[Row<'_>], found: &mut [BeamScores], classes: &[Vec<u32>]) {
        let known = self.known(rows);
        for (t, tree) in self.trees.iter().enumerate() {
            for (scores, classes) in found.iter_mut().zip(classes) {
                let TreeScores { searched, extra, .. } = &mut scores.0[t];
                let leaves = classes.iter().map(|&class| tree.place(class).0 as u16);
                extra.numbers = leaves.filter(|leaf| searched.numbers.binary_search(leaf).is_err()).collect();
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

    /// The rows without the features that no tree knows.
    fn known<'a>(&self, rows: &[Row<'a>]) -> Vec<Row<'a>> {
        rows.iter().map(|row| row.below(self.features)).collect()
    }
}

impl Tree {
    fn search(&self, rows: &[Row<'_>], search: Search, mut seen: Vec<&mut TreeScores>) {
        let (mut energies, mut index) = (Vec::new(), RankBitmap::default());
        self.root.energies(0, rows, &mut index, &mut energies);
        for (TreeScores { root, searched, extra }, energies) in
            seen.iter_mut().zip(energies.chunks(self.leaves.nodes()))
        {
            root.clear();
            root.extend_from_slice(energies);
            searched.numbers = match search {
                Search::Nearest => nearest(root),
                Search::All => (0..root.len() as u16).collect(),
            };
            extra.numbers.clear();
        }
        self.score_leaves(rows, seen.into_iter().map(|seen| &mut seen.searched).collect(), &mut index);
    }

    /// Shows each row the classes of its leaves, leaf by leaf.
    fn score_leaves(&self, rows: &[Row<'_>], mut of_rows: Vec<&mut LeafScores>, index: &mut RankBitmap) {
        let mut visitors = vec![Vec::new(); self.leaves.nodes()];
        for (leaves, n) in of_rows.iter_mut().zip(0u32..) {
            leaves.numbers.iter().for_each(|&leaf| visitors[usize::from(leaf)].push(n));
            leaves.classes.clear();
            leaves.classes.reserve(leaves.numbers.iter().map(|&leaf| self.leaf_classes(leaf).len()).sum());
        }
        let (mut rows_of_leaf, mut energies) = (Vec::new(), Vec::new());
        for (leaf, visitors) in visitors.iter().enumerate().filter(|(_, visitors)| !visitors.is_empty()) {
            rows_of_leaf.clear();
            rows_of_leaf.extend(visitors.iter().map(|&n| rows[n as usize]));
            self.leaves.energies(leaf, &rows_of_leaf, index, &mut energies);
            for (&n, classes) in visitors.iter().zip(energies.chunks(self.leaf_classes(leaf as u16).len())) {
                of_rows[n as usize].classes.extend_from_slice(classes);
            }
        }
    }
}

/// The [`BEAM`] leaves that lack least, rising, without those that lack too much more than the best to matter.
fn nearest(root: &[f32]) -> Vec<u16> {
    let places = top_k(root, BEAM);
    let near = root[places[0] as usize] - NEAR;
    let mut leaves: Vec<u16> =
        places.into_iter().filter(|&leaf| root[leaf as usize] >= near).map(|leaf| leaf as u16).collect();
    leaves.sort_unstable();
    leaves
}
