//! Puts the weights of the nodes of a level in the order that prediction needs: by feature, then by node.

use super::node::Weights;
use crate::forest::{Builder, Entry, Level};

/// The level of these nodes, if its weights can be counted. Several blocks of a node follow each other.
pub(super) fn build(features: usize, children: Vec<usize>, nodes: &[(u16, Weights)]) -> Option<Level> {
    // How many pieces each feature has, then where they start.
    let mut starts = vec![0; features + 1];
    for &(feature, _) in nodes.iter().flat_map(|(_, weights)| &weights.features) {
        starts[feature as usize + 1] += 1;
    }
    (0..features).for_each(|feature| starts[feature + 1] += starts[feature]);
    let mut pieces: Vec<(u16, &[Entry])> = vec![(0, &[]); starts[features]];
    let mut next = starts.clone();
    for (node, weights) in nodes {
        let mut rest = &weights.entries[..];
        for &(feature, count) in &weights.features {
            let (piece, others) = rest.split_at(count as usize);
            rest = others;
            pieces[next[feature as usize]] = (*node, piece);
            next[feature as usize] += 1;
        }
    }
    let (mut builder, mut entries) = (Builder::new(children), Vec::new());
    for of_feature in starts.windows(2) {
        for blocks in pieces[of_feature[0]..of_feature[1]].chunk_by(|(a, _), (b, _)| a == b) {
            entries.clear();
            blocks.iter().for_each(|(_, piece)| entries.extend_from_slice(piece));
            builder.push(blocks[0].0.into(), &entries);
        }
        builder.end_feature();
    }
    builder.build()
}
