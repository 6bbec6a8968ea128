//! Assembles the levels of a tree from the weights of its blocks.

use super::node::Weights;
use crate::scores::sparse::{Builder, Entry, SparseBlocks};

/// The remaining weights of a block.
struct Cursor<'a> {
    features: &'a [(u32, u32)],
    entries: &'a [Entry],
}

impl<'a> Cursor<'a> {
    /// Takes the weights of a feature, if it is the next one.
    fn take(&mut self, feature: u32) -> &'a [Entry] {
        match self.features.split_first() {
            Some((&(next, count), rest)) if next == feature => {
                self.features = rest;
                self.entries.split_off(..count as usize).expect("as many as were counted")
            }
            _ => &[],
        }
    }
}

/// Builds a level from blocks in the order of their nodes; `None` if there are too many weights.
///
/// With `all_features`, each node has a cell for every feature, which needs no search.
pub(super) fn build(
    features: usize,
    children: Vec<usize>,
    blocks: &[(u16, &Weights)],
    all_features: bool,
) -> Option<SparseBlocks> {
    let (mut builder, mut entries) = (Builder::new(features, children), Vec::new());
    for node in blocks.chunk_by(|a, b| a.0 == b.0) {
        let mut left: Vec<Cursor<'_>> =
            node.iter().map(|(_, weights)| Cursor { features: &weights.features, entries: &weights.entries }).collect();
        for feature in if all_features { (0..features as u32).collect() } else { features_of(node) } {
            entries.clear();
            left.iter_mut().for_each(|block| entries.extend_from_slice(block.take(feature)));
            builder.push(feature, &entries);
        }
        builder.end_node();
        if builder.is_full() {
            return None;
        }
    }
    builder.build()
}

/// The features of all blocks of a node.
fn features_of(node: &[(u16, &Weights)]) -> Vec<u32> {
    let mut features: Vec<u32> =
        node.iter().flat_map(|(_, w)| w.features.iter().map(|&(feature, _)| feature)).collect();
    if node.len() > 1 {
        features.sort_unstable();
        features.dedup();
    }
    features
}
