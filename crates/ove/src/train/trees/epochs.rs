//! How often nodes pass over their rows: so often that more passes no longer help rows which were held out.
//!
//! The rate of a run falls to its end, so a run cannot be cut short where its rows begin to be learned by heart. Instead, a few leaves of the
//! first tree are trained with more and more passes on four fifths of their rows each, and judged on the last fifth.

use std::sync::Arc;

use rayon::prelude::*;

use super::node::Job;
use super::node_examples::NodeExamples;
use super::{Task, blocks};
use crate::platform::random::Stream;

/// The passes to choose from. A leaf by itself may like fewer than three, but several trees vote: two, three and four passes of titles give
/// P@1 .373, .375, .375 on held-out rows.
const LADDER: [usize; 3] = [3, 6, 12];

/// What twice the passes have to take off the loss. On EURLEX57K six take off 2 to 4 % and twelve about another 1, on titles six add 2.
const WORTHWHILE: f64 = 0.015;

/// Leaves, and rows of them, that are tried at least.
const LEAVES: usize = 4;
const ROWS: usize = 4000;

/// Of so many rows, one is held out.
const PART: usize = 5;

/// Rows that a choice needs, and the passes without it.
const ENOUGH: usize = 500;
const USUAL: usize = 8;

/// How often a node passes over its rows, where leaves pass over theirs so often. The root sees all rows in a table that no cache holds, so
/// its passes are the dear ones. It passes a third as often, but twice if it may: on held-out rows, six passes of leaves with three and with
/// two of the root give P@1, 3, 5 .919 .829 .695 and .918 .828 .694 (EURLEX57K); three with two and with one .375 .231 .169 and .372 .230 .168
/// (titles).
pub(super) fn of_node(node: usize, epochs: usize) -> usize {
    if node == 0 { epochs.div_ceil(3).max(2).min(epochs) } else { epochs }
}

/// Passes of the leaves.
pub(super) fn choose(task: Task<'_>, nodes: &[Arc<NodeExamples>]) -> usize {
    let tried = tried(nodes, task.seed);
    if tried.iter().map(|leaf| leaf.len()).sum::<usize>() < ENOUGH {
        return USUAL;
    }
    let loss = |passes: usize| -> f64 {
        let of_leaf = |numbers: &mut Vec<u32>, (number, &leaf): (usize, &&Arc<NodeExamples>)| {
            let children = blocks(leaf.children).next().unwrap_or_default();
            let random = Stream::of(&[task.seed, u64::MAX - 1, number as u64]);
            Job { examples: leaf.clone(), children, passes }.held_out_loss(task, random, PART, numbers)
        };
        // Collected first: the order of the sum does not depend on threads.
        tried.par_iter().enumerate().map_init(Vec::new, of_leaf).collect::<Vec<_>>().iter().sum()
    };
    let mut best = (LADDER[0], loss(LADDER[0]));
    for passes in LADDER.into_iter().skip(1) {
        let found = loss(passes);
        if found.is_nan() || found >= (1.0 - WORTHWHILE) * best.1 {
            break;
        }
        best = (passes, found);
    }
    best.0
}

/// Leaves at random, until they are enough.
fn tried(nodes: &[Arc<NodeExamples>], seed: u64) -> Vec<&Arc<NodeExamples>> {
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
