//! Chooses the number of epochs of tree nodes on held-out rows.
//!
//! The learning rate decays to the end of a run, so early stopping cannot cut a run where it begins to overfit.
//! Instead, a few leaves of the first tree are trained with more and more epochs on four fifths of their rows each, and
//! evaluated on the last fifth.

use std::sync::Arc;

use rayon::prelude::*;

use super::node::Job;
use super::node_examples::NodeExamples;
use super::{Task, blocks};
use crate::platform::random::Stream;

/// The candidate numbers of epochs. A single leaf may be best with fewer than three, but an ensemble is not: two, three
/// and four epochs give P@1 .373, .375, .375 on held-out titles.
const CANDIDATES: [usize; 3] = [3, 6, 12];

/// The relative decrease of the loss that justifies twice the epochs. On EURLEX57K six epochs decrease it by 2 to 4 %
/// and twelve by about another 1 %; on titles six increase it by 2 %.
const WORTHWHILE: f64 = 0.015;

/// Minimum number of leaves, and of their rows, that are tried.
const LEAVES: usize = 4;
const ROWS: usize = 4000;

/// One row in this many is held out.
const ONE_IN: usize = 5;

/// Minimum number of rows for a choice, and the default number of epochs without one.
const MIN_ROWS: usize = 500;
const DEFAULT: usize = 8;

/// The number of epochs of a node, given that of the leaves.
///
/// The root is trained on all rows with a table that does not fit in a cache, so its epochs are expensive. It has a
/// third of the epochs of the leaves, but at least two if they do: on held-out rows, six epochs of leaves with three
/// and with two of the root give P@1, 3, 5 .919 .829 .695 and .918 .828 .694 (EURLEX57K); three with two and with one
/// .375 .231 .169 and .372 .230 .168 (titles).
pub(super) fn of_node(node: usize, epochs: usize) -> usize {
    if node == 0 { epochs.div_ceil(3).max(2).min(epochs) } else { epochs }
}

/// Chooses the number of epochs of the leaves.
pub(super) fn choose(task: Task<'_>, nodes: &[Arc<NodeExamples>]) -> usize {
    let sample = sample_leaves(nodes, task.seed);
    if sample.iter().map(|leaf| leaf.len()).sum::<usize>() < MIN_ROWS {
        return DEFAULT;
    }
    let loss = |epochs: usize| -> f64 {
        let of_leaf = |numbers: &mut Vec<u32>, (number, &leaf): (usize, &&Arc<NodeExamples>)| {
            let children = blocks(0..leaf.children).next().unwrap_or_default();
            let random = Stream::of(&[task.seed, u64::MAX - 1, number as u64]);
            Job { examples: leaf.clone(), children, epochs, negatives: 1.0, earlier: None }
                .held_out_loss(task, random, ONE_IN, numbers)
        };
        // Collected first, so that the order of the sum does not depend on the threads.
        sample.par_iter().enumerate().map_init(Vec::new, of_leaf).collect::<Vec<_>>().iter().sum()
    };
    let mut best = (CANDIDATES[0], loss(CANDIDATES[0]));
    for epochs in CANDIDATES.into_iter().skip(1) {
        let found = loss(epochs);
        if found.is_nan() || found >= (1.0 - WORTHWHILE) * best.1 {
            break;
        }
        best = (epochs, found);
    }
    best.0
}

/// A random sample of leaves with enough rows.
fn sample_leaves(nodes: &[Arc<NodeExamples>], seed: u64) -> Vec<&Arc<NodeExamples>> {
    let mut leaves: Vec<&Arc<NodeExamples>> = nodes[1..].iter().collect();
    Stream::of(&[seed, u64::MAX - 1]).shuffle(&mut leaves);
    let mut rows = 0;
    let wanted = |(at, leaf): &(usize, &Arc<NodeExamples>)| {
        let more = *at < LEAVES || rows < ROWS;
        rows += leaf.len();
        more
    };
    leaves.into_iter().enumerate().take_while(wanted).map(|(_, leaf)| leaf).collect()
}
