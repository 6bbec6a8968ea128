//! What rows see of the trees: many rows at a time, leaf by leaf, so that a leaf stays in a cache while rows search it.

use std::borrow::Cow;
use std::ops::Range;

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
    /// The leaves that were searched for the best classes.
    pub searched: Leaves,
    /// Others, which the probabilities of some classes need.
    asked: Leaves,
}

/// Some leaves of a tree, as a row sees them.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaves {
    /// Which, rising.
    pub numbers: Vec<u16>,
    /// −E of their classes, leaf by leaf.
    pub classes: Vec<f32>,
}

impl Sight {
    pub(super) fn trees(&self) -> &[Seen] {
        &self.0
    }
}

impl Seen {
    /// −E of the classes of a leaf, computed if it was neither searched nor asked for.
    pub fn leaf(&self, tree: &Tree, leaf: usize, row: Row<'_>) -> Cow<'_, [f32]> {
        if let Some(classes) = self.searched.get(tree, leaf).or_else(|| self.asked.get(tree, leaf)) {
            return Cow::Borrowed(classes);
        }
        let mut classes = Vec::new();
        let known = row.below(tree.leaves.features());
        tree.leaves.energies(leaf, &[known], &mut Index::default(), &mut classes);
        Cow::Owned(classes)
    }
}

impl Leaves {
    /// −E of the classes of a leaf that is one of these.
    pub fn get(&self, tree: &Tree, leaf: usize) -> Option<&[f32]> {
        let width = |leaf: u16| tree.leaf_classes(leaf).len();
        let at = self.numbers.binary_search(&(leaf as u16)).ok()?;
        let start = self.numbers[..at].iter().map(|&leaf| width(leaf)).sum::<usize>();
        Some(&self.classes[start..start + width(leaf as u16)])
    }
}

impl Forest {
    /// Lets rows look at the trees, piece by piece, and tells of each row what `of` makes of the sights of its piece; on all threads of
    /// the pool.
    pub fn see<T: Send>(
        &self,
        rows: &[Row<'_>],
        search: Search,
        of: impl Fn(Range<usize>, &mut [Sight], &mut Scratch) -> Vec<T> + Sync,
    ) -> Vec<T> {
        let together = self.together(rows.len(), search);
        let of_piece = |(sights, scratch): &mut (Vec<Sight>, Scratch), (piece, rows): (usize, &[Row<'_>])| {
            let start = piece * together;
            of(start..start + rows.len(), self.look_again(rows, search, sights), scratch)
        };
        let pieces = rows.par_chunks(together).enumerate().map_init(Default::default, of_piece);
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
        let mut sights = Vec::new();
        self.look_again(rows, search, &mut sights);
        sights
    }

    /// The same in the memory of earlier sights, which the system would have to clear if it were given back and asked for again.
    fn look_again<'a>(&self, rows: &[Row<'_>], search: Search, sights: &'a mut Vec<Sight>) -> &'a mut [Sight] {
        let known = self.known(rows);
        sights.resize(sights.len().max(rows.len()), Sight(vec![Seen::default(); self.trees.len()]));
        let sights = &mut sights[..rows.len()];
        for (t, tree) in self.trees.iter().enumerate() {
            tree.look(&known, search, sights.iter_mut().map(|sight| &mut sight.0[t]).collect());
        }
        sights
    }

    /// Lets rows look also at the leaves of these classes, where they did not search them.
    pub(super) fn ask(&self, rows: &[Row<'_>], sights: &mut [Sight], classes: &[Vec<u32>]) {
        let known = self.known(rows);
        for (t, tree) in self.trees.iter().enumerate() {
            for (sight, classes) in sights.iter_mut().zip(classes) {
                let Seen { searched, asked, .. } = &mut sight.0[t];
                let leaves = classes.iter().map(|&class| tree.place(class).0 as u16);
                asked.numbers = leaves.filter(|leaf| searched.numbers.binary_search(leaf).is_err()).collect();
                asked.numbers.sort_unstable();
                asked.numbers.dedup();
            }
            tree.visit(&known, sights.iter_mut().map(|sight| &mut sight.0[t].asked).collect(), &mut Index::default());
        }
    }

    /// The rows without the features that no tree knows.
    fn known<'a>(&self, rows: &[Row<'a>]) -> Vec<Row<'a>> {
        rows.iter().map(|row| row.below(self.features)).collect()
    }
}

impl Tree {
    fn look(&self, rows: &[Row<'_>], search: Search, mut seen: Vec<&mut Seen>) {
        let (mut energies, mut index) = (Vec::new(), Index::default());
        self.root.energies(0, rows, &mut index, &mut energies);
        for (Seen { root, searched, asked }, energies) in seen.iter_mut().zip(energies.chunks(self.leaves.nodes())) {
            root.clear();
            root.extend_from_slice(energies);
            searched.numbers = match search {
                Search::Nearest => nearest(root),
                Search::All => (0..root.len() as u16).collect(),
            };
            asked.numbers.clear();
        }
        self.visit(rows, seen.into_iter().map(|seen| &mut seen.searched).collect(), &mut index);
    }

    /// Shows each row the classes of its leaves, leaf by leaf.
    fn visit(&self, rows: &[Row<'_>], mut of_rows: Vec<&mut Leaves>, index: &mut Index) {
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
    let places = largest(root, BEAM);
    let near = root[places[0] as usize] - NEAR;
    let mut leaves: Vec<u16> =
        places.into_iter().filter(|&leaf| root[leaf as usize] >= near).map(|leaf| leaf as u16).collect();
    leaves.sort_unstable();
    leaves
}
