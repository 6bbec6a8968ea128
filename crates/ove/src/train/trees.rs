//! Trains [`Trees`]: `clustering` puts similar classes into the same leaf, and `node` trains the scores of a node's
//! children.
//!
//! A node is trained only on the rows that have a label below it, and its children are independent of each other. A row
//! thus costs about 2√K scores per tree instead of K, each node has a small weight table, and all nodes of all trees
//! can be trained in parallel, with the same bits for any number of threads.

mod assemble;
mod block;
mod calibration;
mod checkpoint;
mod clustering;
mod epochs;
mod node;
mod node_examples;
mod schedule;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use self::node_examples::NodeExamples;
use self::schedule::{Levels, Schedule};
use super::label_weights::LabelWeights;
use super::run::{Outcome, Progress, Run, Start};
use crate::data::{Examples, Rows};
use crate::error::{Error, Result};
use crate::options::{TrainOptions, TreeOptions};
use crate::platform::bytes::Bytes;
use crate::platform::random::Stream;
use crate::scores::trees::{Tree, leaf_starts};
use crate::scores::{Scores, Trees};
use crate::train::budget;
use crate::train::checkpoint::{State, StateReader, Table};

/// Maximum number of children per job: their scores stay in the first-level cache, and a root is split among several
/// threads.
const BLOCK: usize = 128;

/// Maximum number of rows that are held out for calibration, and the divisor of the number of rows.
const HELD_OUT: (usize, usize) = (1000, 50);

/// Default learning rate and penalty. A smaller penalty is better for long texts, a larger one for short texts: P@5 on
/// held-out rows is .693, .695, .696 with 0.5, 0.2, 0.1 (EURLEX57K), and .1693, .1688, .1686 (titles).
pub(super) const LEARNING_RATE: f64 = 0.7;
pub(super) const L2: f64 = 0.2;

/// A run that trains all nodes of all trees.
struct TreeRun<'a> {
    examples: Examples<'a>,
    /// Rows held out for calibration.
    held_out: Vec<u32>,
    /// The classes of each tree, leaf by leaf.
    orders: Vec<Vec<u32>>,
    leaves: usize,
    epochs: usize,
    memory: Bytes,
    learning_rate: f64,
    schedule: Schedule<'a>,
}

/// Clusters the classes, chooses the number of epochs if it is not given, and prepares all nodes.
pub(super) fn run<'a>(
    examples: Examples<'a>,
    options: &TrainOptions,
    trees: &TreeOptions,
    start: Start<'_>,
) -> Result<Box<dyn Run + 'a>> {
    if start.scores.is_some() {
        return Err(Error::Mismatch(
            "trees cannot be trained further; train new ones on the old and the new rows together".into(),
        ));
    }
    let mut shuffled: Vec<u32> = examples.ids().map(|id| id as u32).collect();
    Stream::of(&[options.seed, u64::MAX]).shuffle(&mut shuffled);
    let (held_out, train) = shuffled.split_at(HELD_OUT.0.min(examples.len() / HELD_OUT.1));
    let mut train = train.to_vec();
    train.sort_unstable();

    let vectors = clustering::class_vectors(&examples, &train);
    let leaves = leaf_count(examples.classes);
    let orders: Vec<Vec<u32>> = (0..trees.trees as u64)
        .into_par_iter()
        .map(|tree| clustering::order(&vectors, examples.rows.features(), leaves, Stream::of(&[options.seed, tree])))
        .collect();
    drop(vectors);
    let weights = LabelWeights::new(&examples, &options.class_weight);
    let nodes: Vec<Vec<Arc<NodeExamples>>> =
        orders.par_iter().map(|order| nodes_of(&examples, &weights, &train, order, leaves)).collect();

    let learning_rate = options.learning_rate.unwrap_or(LEARNING_RATE);
    let task = Task {
        examples,
        learning_rate: learning_rate as f32,
        l2: options.l2.unwrap_or(L2),
        seed: options.seed,
        square: mean_square(examples.rows, &train),
    };
    let epochs = options.epochs.unwrap_or_else(|| epochs::choose(task, &nodes[0]));
    Ok(Box::new(TreeRun {
        examples,
        held_out: held_out.to_vec(),
        orders,
        leaves,
        epochs,
        memory: options.memory,
        learning_rate,
        schedule: Schedule::new(task, epochs, nodes),
    }))
}

impl TreeRun<'_> {
    /// Builds the trees from the weights of their nodes.
    fn assemble(&self, learned: Vec<Levels>) -> Result<Vec<Tree>> {
        let (features, starts) = (self.examples.rows.features(), leaf_starts(self.examples.classes, self.leaves));
        let tree = |(order, learned): (&Vec<u32>, Levels)| {
            let root = assemble::build(features, vec![0, self.leaves], &learned.root, true)?;
            Some(Tree::new(root, assemble::build(features, starts.clone(), &learned.leaves, false)?, order.clone()))
        };
        let trees = self.orders.par_iter().zip(learned).map(tree);
        trees.collect::<Option<_>>().ok_or_else(|| {
            let most = u32::MAX;
            Error::Mismatch(format!(
                "a level of a tree over {features} features has more than {most} weights; use fewer features"
            ))
        })
    }
}

impl Run for TreeRun<'_> {
    fn step(&mut self) -> Result<Option<Progress>> {
        if self.schedule.is_done() {
            return Ok(None);
        }
        self.schedule.advance();
        budget::check_trees(self.memory, self.orders.len(), self.schedule.weights())?;
        let done = self.schedule.done();
        let updates = (self.examples.len() * self.epochs * self.orders.len()) as f64;
        Ok(Some(Progress {
            done,
            epoch: ((done * self.epochs as f64) as usize + 1).min(self.epochs),
            epochs: done * self.epochs as f64,
            updates: (done * updates) as u64,
            bound: None,
            learning_rate: None,
        }))
    }

    fn state(&self) -> (String, Vec<Table<'_>>) {
        checkpoint::state(self.schedule.done(), self.schedule.finished())
    }

    fn restore(&mut self, state: &dyn StateReader) -> Result<()> {
        let features = self.examples.rows.features();
        let finished = checkpoint::restore(state, features, |job| self.schedule.children(job))?;
        self.schedule.restore(finished);
        Ok(())
    }

    fn merge(&mut self, others: &[State]) -> Result<()> {
        let features = self.examples.rows.features();
        for other in others {
            let finished = checkpoint::restore(other, features, |job| self.schedule.children(job))?;
            self.schedule.restore(finished);
        }
        Ok(())
    }

    fn snapshot(&self) -> Option<Scores> {
        None
    }

    fn finish(mut self: Box<Self>) -> Result<Outcome> {
        let finished = self.schedule.is_done();
        let learned = self.schedule.learned(self.orders.len());
        if !learned.iter().all(Levels::are_finite) {
            return Err(Error::Diverged { epoch: self.epochs, learning_rate: self.learning_rate });
        }
        let trees = self.assemble(learned)?;
        let mut trees = Trees::new(self.examples.rows.features(), trees, calibration::DEFAULT);
        budget::check_trees(self.memory, self.orders.len(), trees.weights())?;
        trees.calibration = calibration::fit(&trees, &self.examples, &self.held_out);
        let updates = (self.examples.len() * self.epochs * self.orders.len()) as u64;
        let epochs = Some(self.epochs);
        Ok(Outcome { scores: Scores::Trees(trees), trace: Vec::new(), finished, updates, epochs })
    }
}

/// The mean ‖x‖² of these rows; 1 if it is zero or not a normal number.
fn mean_square(rows: Rows<'_>, train: &[u32]) -> f32 {
    let values = train.iter().flat_map(|&row| rows.row(row as usize).values);
    let mean = (values.map(|&value| f64::from(value).powi(2)).sum::<f64>() / train.len() as f64) as f32;
    if mean.is_normal() { mean } else { 1.0 }
}

/// The smallest power of two that is at least √K: 256 for 25,000 classes.
fn leaf_count(classes: usize) -> usize {
    let root = (classes as f64).sqrt().ceil() as usize;
    root.next_power_of_two().min(classes)
}

/// The inputs that all nodes share.
#[derive(Clone, Copy)]
struct Task<'a> {
    examples: Examples<'a>,
    learning_rate: f32,
    l2: f64,
    seed: u64,
    /// The mean ‖x‖² of the rows. Learning rate, penalty and pruning threshold refer to rows scaled to a mean of 1, so
    /// that a common factor of all values does not change the scores.
    square: f32,
}

/// The training rows of each node of a tree, the root first.
fn nodes_of(
    examples: &Examples<'_>,
    weights: &LabelWeights<'_>,
    train: &[u32],
    order: &[u32],
    leaves: usize,
) -> Vec<Arc<NodeExamples>> {
    let starts = leaf_starts(examples.classes, leaves);
    let mut place = vec![(0, 0); examples.classes];
    for (leaf, range) in starts.windows(2).enumerate() {
        for (child, &class) in order[range[0]..range[1]].iter().enumerate() {
            place[class as usize] = (leaf, child as u16);
        }
    }
    let mut nodes = vec![NodeExamples::new(leaves)];
    nodes.extend(starts.windows(2).map(|range| NodeExamples::new(range[1] - range[0])));
    let (mut own, mut own_weights) = (Vec::new(), Vec::new());
    for &row in train {
        let labels = &examples.labels[row as usize];
        weights.of_row(row as usize, labels, &mut own_weights);
        own.clear();
        own.extend(labels.iter().zip(&own_weights).map(|(&label, &w)| (place[label as usize], w as f32)));
        own.sort_unstable_by_key(|&(place, _)| place);
        let row_weight = examples.weight(row as usize) as f32;
        for group in own.chunk_by(|a, b| a.0.0 == b.0.0) {
            let leaf = group[0].0.0;
            let mean = group.iter().map(|(_, w)| w).sum::<f32>() / group.len() as f32;
            nodes[0].push_positive(leaf as u16, mean);
            group.iter().for_each(|&((_, child), w)| nodes[leaf + 1].push_positive(child, w));
            nodes[leaf + 1].end_row(row, row_weight);
        }
        nodes[0].end_row(row, row_weight);
    }
    nodes.into_iter().map(Arc::new).collect()
}

/// The children of each block of a node.
fn blocks(children: usize) -> impl Iterator<Item = Range<usize>> {
    let count = children.div_ceil(BLOCK);
    let cut = move |block: usize| children * block / count;
    (0..count).map(move |block| cut(block)..cut(block + 1))
}
