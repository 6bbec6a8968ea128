//! Grows a [`Forest`]: classes that share words come into the same leaf (`groups`), and each node learns which of its children a row
//! belongs to (`node`).
//!
//! A node sees only the rows that have a class below it, and its children learn independently of each other. So a row costs about
//! 2√K scores a tree instead of K, each node works on a small table of its own, and all nodes of all trees can be trained
//! at the same time, with the same bits for any number of threads.

mod block;
mod calibrate;
mod examples;
mod groups;
mod growth;
mod kept;
mod level;
mod node;
mod passes;

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use super::label_weights::LabelWeights;
use super::{Begin, Problem, in_pool};
use crate::checkpoint::{Save, Saved};
use crate::data::Rows;
use crate::error::Result;
use crate::forest::{Forest, Tree, leaf_starts};
use crate::options::ForestOptions;
use crate::random::Stream;
use examples::Examples;
use growth::{Growth, Levels};

/// Children that one job trains at most: their sums stay in the first-level cache, and a root gives work to several threads.
const BLOCK: usize = 128;

/// The most rows that are held out to calibrate probabilities, and the part of all rows that they may be.
const HELD_OUT: (usize, usize) = (1000, 50);

/// Hears which share of the work is done, and may end the training early.
pub type Watch<'a> = dyn FnMut(f64) -> ControlFlow<()> + Send + 'a;

/// What growing tells while it runs.
#[derive(Clone, Copy)]
pub struct Growing<'a> {
    /// The share of the work that is done, from 0 to 1.
    pub done: f64,
    /// Epochs behind us, on average over the nodes.
    pub epochs: f64,
    /// Epochs in all.
    pub of: usize,
    /// The weights of the nodes that have finished.
    pub weights: usize,
    /// Writes what the finished nodes have learned, from which [`train_with`] goes on.
    pub save: &'a Save<'a>,
}

/// Hears of progress and may end the training early.
pub type WatchGrowing<'a> = dyn FnMut(&Growing<'_>) -> ControlFlow<()> + Send + 'a;

/// What training gives.
#[derive(Debug)]
pub struct Grown {
    /// All trees, with what makes probabilities of them.
    pub forest: Forest,
    /// How often leaves passed over their rows: as the options say, or as was chosen.
    pub epochs: usize,
    /// Whether it was trained to the end.
    pub finished: bool,
}

/// Trains a forest.
pub fn train(problem: &Problem<'_>, options: &ForestOptions, watch: &mut Watch<'_>) -> Result<Grown> {
    train_with(None, problem, options, &mut |growing| watch(growing.done))
}

/// Trains a forest from the start, or from where a checkpoint of the same data and options was written.
pub fn train_with(
    saved: Option<&Saved>,
    problem: &Problem<'_>,
    options: &ForestOptions,
    watch: &mut WatchGrowing<'_>,
) -> Result<Grown> {
    options.check()?;
    problem.check()?;
    problem.check_class_weight(&options.class_weight)?;
    Begin { saved, ..Begin::default() }.check(problem, options)?;
    in_pool(options.threads, || grow(saved, problem, options, watch))
}

fn grow(
    saved: Option<&Saved>,
    problem: &Problem<'_>,
    options: &ForestOptions,
    watch: &mut WatchGrowing<'_>,
) -> Result<Grown> {
    let rows = problem.rows.len();
    let mut shuffled: Vec<u32> = (0..rows as u32).collect();
    Stream::of(&[options.seed, u64::MAX]).shuffle(&mut shuffled);
    let (held_out, train) = shuffled.split_at(HELD_OUT.0.min(rows / HELD_OUT.1));
    let mut train = train.to_vec();
    train.sort_unstable();

    let vectors = groups::class_vectors(problem, &train);
    let leaves = leaf_count(problem.classes);
    let orders: Vec<Vec<u32>> = (0..options.trees as u64)
        .into_par_iter()
        .map(|tree| groups::order(&vectors, problem.rows.features(), leaves, Stream::of(&[options.seed, tree])))
        .collect();
    drop(vectors);
    let plans: Vec<Plan> =
        orders.into_par_iter().map(|order| Plan::new(problem, options, &train, order, leaves)).collect();

    let task = Task { problem, options, square: mean_square(problem.rows, &train) };
    let epochs = options.epochs.unwrap_or_else(|| passes::choose(task, &plans[0]));
    let growth = Growth::new(task, epochs, watch);
    let trees = growth.train(plans, saved)?;
    let finished = !growth.stopped.into_inner();
    let mut forest = Forest::new(problem.rows.features(), trees, calibrate::USUAL);
    forest.calibration = calibrate::fit(&forest, problem, held_out);
    Ok(Grown { forest, epochs, finished })
}

/// The mean ‖x‖² of these rows; 1, which leaves them as they are, where it is zero or beyond what can be divided by.
fn mean_square(rows: Rows<'_>, train: &[u32]) -> f32 {
    let values = train.iter().flat_map(|&row| rows.row(row as usize).values);
    let mean = (values.map(|&value| f64::from(value).powi(2)).sum::<f64>() / train.len() as f64) as f32;
    if mean.is_normal() { mean } else { 1.0 }
}

/// The power of two from √K on: 256 for 25,000 classes.
fn leaf_count(classes: usize) -> usize {
    let root = (classes as f64).sqrt().ceil() as usize;
    root.next_power_of_two().min(classes)
}

/// What all nodes share.
#[derive(Clone, Copy)]
struct Task<'a> {
    problem: &'a Problem<'a>,
    options: &'a ForestOptions,
    /// The mean ‖x‖² of the rows. Rates, penalties and weights are meant for rows scaled to have one of 1, so that a common factor of all
    /// values changes no score.
    square: f32,
}

/// What a tree will learn: the classes of its leaves, and which rows each node sees.
struct Plan {
    order: Vec<u32>,
    /// The root first.
    nodes: Vec<Examples>,
}

impl Plan {
    fn new(problem: &Problem<'_>, options: &ForestOptions, train: &[u32], order: Vec<u32>, leaves: usize) -> Self {
        let starts = leaf_starts(problem.classes, leaves);
        let mut place = vec![(0, 0); problem.classes];
        for (leaf, range) in starts.windows(2).enumerate() {
            for (child, &class) in order[range[0]..range[1]].iter().enumerate() {
                place[class as usize] = (leaf, child as u16);
            }
        }
        let mut nodes = vec![Examples::new(leaves)];
        nodes.extend(starts.windows(2).map(|range| Examples::new(range[1] - range[0])));
        let weights = LabelWeights::new(problem, &options.class_weight);
        let (mut own, mut own_weights) = (Vec::new(), Vec::new());
        for &row in train {
            let labels = &problem.labels[row as usize];
            weights.of_row(row as usize, labels, &mut own_weights);
            own.clear();
            own.extend(labels.iter().zip(&own_weights).map(|(&label, &w)| (place[label as usize], w as f32)));
            own.sort_unstable_by_key(|&(place, _)| place);
            let row_weight = problem.row_weights.get(row as usize).copied().unwrap_or(1.0) as f32;
            for group in own.chunk_by(|a, b| a.0.0 == b.0.0) {
                let leaf = group[0].0.0;
                let mean = group.iter().map(|(_, w)| w).sum::<f32>() / group.len() as f32;
                nodes[0].own(leaf as u16, mean);
                group.iter().for_each(|&((_, child), w)| nodes[leaf + 1].own(child, w));
                nodes[leaf + 1].end_row(row, row_weight);
            }
            nodes[0].end_row(row, row_weight);
        }
        Plan { order, nodes }
    }

    /// The tree of what its nodes have learned, if the weights of a level can be counted.
    fn tree(self, features: usize, learned: Levels) -> Option<Tree> {
        let leaves = self.nodes.len() - 1;
        let starts = leaf_starts(self.order.len(), leaves);
        let root = level::build(features, vec![0, leaves], &learned.root, true)?;
        Some(Tree::new(root, level::build(features, starts, &learned.leaves, false)?, self.order))
    }
}

/// The children of each block of a node.
fn blocks(children: usize) -> impl Iterator<Item = Range<usize>> {
    let count = children.div_ceil(BLOCK);
    let cut = move |block: usize| children * block / count;
    (0..count).map(move |block| cut(block)..cut(block + 1))
}
