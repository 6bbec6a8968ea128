//! Puts the weights of the nodes of a level in the order that prediction needs: by feature, then by node.

use super::node::Weights;
use crate::forest::{Entry, Level, Parts};

/// The level of these nodes. Several blocks of a node follow each other.
pub(super) fn build(features: usize, children: Vec<usize>, nodes: Vec<(u16, Weights)>) -> Level {
    // How many cells and entries each feature has, then where they start.
    let (mut cells, mut entries) = (vec![0u32; features + 1], vec![0u32; features + 1]);
    let mut last = vec![u16::MAX; features];
    for (node, weights) in &nodes {
        for &(feature, count) in &weights.features {
            let feature = feature as usize;
            cells[feature + 1] += u32::from(std::mem::replace(&mut last[feature], *node) != *node);
            entries[feature + 1] += count;
        }
    }
    for feature in 0..features {
        cells[feature + 1] += cells[feature];
        entries[feature + 1] += entries[feature];
    }
    let mut of_cell = vec![(0, 0); cells[features] as usize];
    let mut all = vec![Entry::new(0, 0.0); entries[features] as usize];
    let (mut cell, mut entry) = (cells.clone(), entries);
    last.fill(u16::MAX);
    for (node, weights) in nodes {
        let mut rest = &weights.entries[..];
        for (feature, count) in weights.features {
            let feature = feature as usize;
            let (new, others) = rest.split_at(count as usize);
            rest = others;
            let start = entry[feature] as usize;
            all[start..start + new.len()].copy_from_slice(new);
            entry[feature] += count;
            cell[feature] += u32::from(std::mem::replace(&mut last[feature], node) != node);
            of_cell[cell[feature] as usize - 1] = (node, entry[feature]);
        }
    }
    let (nodes, ends): (Vec<u16>, Vec<u32>) = of_cell.into_iter().unzip();
    let parts = Parts { starts: cells.into(), nodes: nodes.into(), ends: ends.into(), entries: all.into() };
    Level::new(children, parts).expect("nodes come in order")
}
