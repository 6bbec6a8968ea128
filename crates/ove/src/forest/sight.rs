//! What rows see of the trees: many rows at a time, leaf by leaf, so that a leaf stays in a cache while rows search it.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{Forest, Index, Scratch, Tree};
use crate::data::Row;
use crate::largest::largest;

/// Leaves of each tree that are searched for the best classes of a row.
pub const BEAM: usize = 10;

/// Leaves that lack so much more than the best one are not searched.
const NEAR: f32 = 3.5;

/// Bytes that the sights of the rows which look together may take, for each thread.
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
pub struct Sight(Vec<Seen>);

/// What a row has seen of a tree.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// −E of all leaves.
    pub root: Vec<f32>,
    /// The leaves that were searched, rising.
    pub leaves: Vec<u16>,
    /// −E of their classes, leaf by leaf.
    pub classes: Vec<f32>,
}

impl Sight {
    pub(super) fn trees(&self) -> &[Seen] {
        &self.0
    }
}

impl Seen {
    /// −E of the classes of a leaf, computed if it was not searched.
    pub fn leaf(&self, tree: &Tree, leaf: usize, row: Row<'_>) -> Cow<'_, [f32]> {
        let width = |leaf: u16| tree.leaf_classes(leaf).len();
        if let Ok(at) = self.leaves.binary_search(&(leaf as u16)) {
            let start = self.leaves[..at].iter().map(|&leaf| width(leaf)).sum::<usize>();
            return Cow::Borrowed(&self.classes[start..start + width(leaf as u16)]);
        }
        let mut classes = Vec::new();
        let known = row.below(tree.leaves.features());
        tree.leaves.energies(leaf, &[known], &mut Index::default(), &mut classes);
        Cow::Owned(classes)
    }
}

impl Forest {
    /// Lets rows look at the trees and tells of each, by its number, what `of` makes of its sight; on all threads of the pool.
    pub fn see<T: Send>(
        &self,
        rows: &[Row<'_>],
        search: Search,
        of: impl Fn(usize, &Sight, &mut Scratch) -> T + Sync,
    ) -> Vec<T> {
        let together = self.together(rows.len(), search);
        let of_piece = |scratch: &mut Scratch, (piece, rows): (usize, &[Row<'_>])| {
            let sights = self.look(rows, search);
            (piece * together..).zip(&sights).map(|(n, sight)| of(n, sight, scratch)).collect::<Vec<T>>()
        };
        let pieces = rows.par_chunks(together).enumerate().map_init(Scratch::default, of_piece);
        pieces.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// How many of so many rows look together: as many as there is room for, in turns for all threads of the pool.
    pub(crate) fn together(&self, rows: usize, search: Search) -> usize {
        let of_tree = |tree: &Tree| {
            let leaves = tree.leaves.nodes();
            let searched = if search == Search::All { leaves } else { BEAM.min(leaves) };
            size_of::<f32>() * (leaves + searched * self.classes.div_ceil(leaves))
        };
        let most = ROOM / self.trees.iter().map(of_tree).sum::<usize>();
        rows.div_ceil(TURNS * rayon::current_num_threads()).clamp(1, most.max(1))
    }

    /// What these rows see, one after another.
    pub fn look(&self, rows: &[Row<'_>], search: Search) -> Vec<Sight> {
        let known: Vec<Row<'_>> = rows.iter().map(|row| row.below(self.features)).collect();
        let mut sights = vec![Sight::default(); rows.len()];
        for tree in &self.trees {
            sights.iter_mut().zip(tree.look(&known, search)).for_each(|(sight, seen)| sight.0.push(seen));
        }
        sights
    }
}

impl Tree {
    fn look(&self, rows: &[Row<'_>], search: Search) -> Vec<Seen> {
        let (mut energies, mut index) = (Vec::new(), Index::default());
        self.root.energies(0, rows, &mut index, &mut energies);
        let of_row = |root: &[f32]| {
            let leaves = match search {
                Search::Nearest => nearest(root),
                Search::All => (0..root.len() as u16).collect(),
            };
            let classes = Vec::with_capacity(leaves.iter().map(|&leaf| self.leaf_classes(leaf).len()).sum());
            Seen { root: root.to_vec(), leaves, classes }
        };
        let mut seen: Vec<Seen> = energies.chunks(self.leaves.nodes()).map(of_row).collect();

        let mut visits: Vec<(u16, u32)> = Vec::new();
        for (seen, n) in seen.iter().zip(0..) {
            visits.extend(seen.leaves.iter().map(|&leaf| (leaf, n)));
        }
        visits.sort_unstable();
        let mut visitors = Vec::new();
        for visits in visits.chunk_by(|a, b| a.0 == b.0) {
            let leaf = visits[0].0;
            visitors.clear();
            visitors.extend(visits.iter().map(|&(_, n)| rows[n as usize]));
            self.leaves.energies(leaf.into(), &visitors, &mut index, &mut energies);
            for (&(_, n), classes) in visits.iter().zip(energies.chunks(self.leaf_classes(leaf).len())) {
                seen[n as usize].classes.extend_from_slice(classes);
            }
        }
        seen
    }
}

/// The [`BEAM`] leaves that lack least, rising, without those that lack too much more than the best to matter.
fn nearest(root: &[f32]) -> Vec<u16> {
    let places = largest(root, BEAM, 0..root.len() as u32);
    let near = root[places[0] as usize] - NEAR;
    let mut leaves: Vec<u16> =
        places.into_iter().filter(|&leaf| root[leaf as usize] >= near).map(|leaf| leaf as u16).collect();
    leaves.sort_unstable();
    leaves
}
