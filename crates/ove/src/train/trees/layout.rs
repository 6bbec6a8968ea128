//! Which classes are in which leaf of a tree.

use crate::scores::trees::leaf_starts;

/// The classes of a tree, leaf by leaf.
pub(super) struct Layout {
    pub order: Vec<u32>,
    /// The start of each leaf in the order, and the end of the last.
    pub starts: Vec<usize>,
}

impl Layout {
    /// Leaves of equal size.
    pub fn even(order: Vec<u32>, leaves: usize) -> Self {
        let starts = leaf_starts(order.len(), leaves);
        Layout { order, starts }
    }

    pub fn of(leaves: &[Vec<u32>]) -> Self {
        let mut starts = vec![0];
        starts.extend(leaves.iter().scan(0, |end, leaf| {
            *end += leaf.len();
            Some(*end)
        }));
        Layout { order: leaves.concat(), starts }
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.starts.len() - 1
    }

    /// The classes of each leaf.
    pub fn each_leaf(&self) -> impl Iterator<Item = &[u32]> {
        self.starts.windows(2).map(|range| &self.order[range[0]..range[1]])
    }

    /// The leaf of each class, and its index among the children of the leaf.
    pub fn places(&self) -> Vec<(usize, u16)> {
        let mut places = vec![(0, 0); self.order.len()];
        for (leaf, classes) in self.each_leaf().enumerate() {
            classes.iter().zip(0..).for_each(|(&class, child)| places[class as usize] = (leaf, child));
        }
        places
    }
}

/// Number of leaves. If not given, the smallest power of two that is at least √K: 256 for 25,000 classes.
///
/// Children have numbers of 16 bits, which limits the leaves of a root and the classes of a leaf.
pub(super) fn leaf_count(classes: usize, given: Option<usize>) -> usize {
    let root = (classes as f64).sqrt().ceil() as usize;
    let most = usize::from(u16::MAX);
    given.unwrap_or(root.next_power_of_two()).clamp(classes.div_ceil(most), classes.min(most))
}
