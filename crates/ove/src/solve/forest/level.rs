//! Puts the weights of the nodes of a level in the order that prediction needs: by feature, then by node.

use super::node::Weights;
use crate::forest::{Builder, Level};

/// Which weights of a block are those of a feature.
#[derive(Clone, Copy, Default)]
struct Piece {
    block: u32,
    start: u32,
    count: u32,
}

/// The level of these blocks, each of a node, if its weights can be counted. Several blocks of a node follow each other.
pub(super) fn build(features: usize, children: Vec<usize>, blocks: &[(u16, Weights)]) -> Option<Level> {
    // How many pieces each feature has, then where they start.
    let mut starts = vec![0; features + 1];
    for &(feature, _) in blocks.iter().flat_map(|(_, weights)| &weights.features) {
        starts[feature as usize + 1] += 1;
    }
    (0..features).for_each(|feature| starts[feature + 1] += starts[feature]);
    let mut pieces = vec![Piece::default(); starts[features]];
    let mut next = starts.clone();
    for ((_, weights), block) in blocks.iter().zip(0..) {
        let mut start = 0;
        for &(feature, count) in &weights.features {
            pieces[next[feature as usize]] = Piece { block, start, count };
            next[feature as usize] += 1;
            start += count;
        }
    }
    let node = |piece: &Piece| blocks[piece.block as usize].0;
    let weights =
        |piece: &Piece| &blocks[piece.block as usize].1.entries[piece.start as usize..][..piece.count as usize];
    let (mut builder, mut entries) = (Builder::new(children), Vec::new());
    for of_feature in starts.windows(2) {
        for cell in pieces[of_feature[0]..of_feature[1]].chunk_by(|a, b| node(a) == node(b)) {
            entries.clear();
            cell.iter().for_each(|piece| entries.extend_from_slice(weights(piece)));
            builder.push(node(&cell[0]).into(), &entries);
        }
        builder.end_feature();
    }
    builder.build()
}
