//! The work before the first node is trained, in steps: vectors of the classes and their clusters, or the places of new
//! classes in earlier trees; the rows of each node; and the number of epochs if it is not given.

use std::sync::Arc;

use rayon::prelude::*;

use super::clustering::{ClassVectors, Clustering};
use super::continuation::{Continuation, Placement};
use super::layout::{Layout, leaf_count};
use super::node_examples::NodeExamples;
use super::plan::Plan;
use super::schedule::Schedule;
use super::{Task, calibration, epochs, view_of};
use crate::data::{Examples, View};
use crate::error::Result;
use crate::options::{ClassWeight, TrainOptions, TreeOptions};
use crate::platform::random::Stream;
use crate::scores::Trees;
use crate::train::label_weights::LabelWeights;
use crate::train::validation::hold_out;

/// Maximum number of rows that are held out for calibration, and the divisor of the number of rows.
const HELD_OUT: (usize, usize) = (1000, 50);

/// The preparation of a run.
pub(super) struct Preparation<'a> {
    task: Task<'a>,
    class_weight: ClassWeight,
    /// The number of epochs, if it is given.
    epochs: Option<usize>,
    trees: usize,
    views: Vec<View>,
    leaves: Option<usize>,
    /// The trees that are trained further.
    earlier: Option<Arc<Trees>>,
    continuation: Option<Continuation>,
    /// The plan, if another process has made it.
    plan: Option<Plan>,
    /// Rows held out for calibration, and the others.
    held_out: Vec<u32>,
    train: Vec<u32>,
    phase: Phase,
}

/// What has to be done next.
enum Phase {
    Split,
    Place(Box<Placement>),
    Vectors(ClassVectors),
    Cluster(Clustering),
    Nodes(Vec<Layout>),
    Epochs(Vec<Layout>, Vec<Vec<Arc<NodeExamples>>>),
}

/// A run whose nodes can be trained.
pub(super) struct Prepared<'a> {
    /// Rows held out for calibration, and the others.
    pub held_out: Vec<u32>,
    pub train: Vec<u32>,
    /// What all nodes share.
    pub task: Task<'a>,
    /// The classes of each tree.
    pub layouts: Vec<Layout>,
    pub epochs: usize,
    /// What another process needs to know; nothing for trees that are trained further, which need the earlier ones.
    pub plan: Option<Plan>,
    pub schedule: Schedule<'a>,
}

impl<'a> Preparation<'a> {
    pub fn new(
        task: Task<'a>,
        options: &TrainOptions,
        TreeOptions { trees, leaves, views, .. }: &TreeOptions,
        earlier: Option<Arc<Trees>>,
    ) -> Self {
        Preparation {
            task,
            class_weight: options.class_weight.clone(),
            epochs: options.epochs,
            trees: *trees,
            views: views.clone(),
            leaves: *leaves,
            earlier,
            continuation: None,
            plan: None,
            held_out: Vec::new(),
            train: Vec::new(),
            phase: Phase::Split,
        }
    }

    /// Takes a step; returns what was prepared after the last one.
    pub fn advance(&mut self) -> Result<Option<Prepared<'a>>> {
        let (examples, seed) = (self.task.examples, self.task.seed);
        self.phase = match std::mem::replace(&mut self.phase, Phase::Split) {
            Phase::Split => {
                self.split();
                match (&self.earlier, &self.plan) {
                    (Some(trees), _) => {
                        let trees = trees.clone();
                        Phase::Place(Placement::new(trees, &examples, &self.train, self.leaves, seed).into())
                    }
                    (None, Some(plan)) => {
                        let layout = |order: &[u32]| Layout::even(order.to_vec(), self.leaf_count());
                        Phase::Nodes(plan.orders.chunks(examples.classes).map(layout).collect())
                    }
                    (None, None) => Phase::Vectors(ClassVectors::new(&examples, &self.train)),
                }
            }
            Phase::Place(mut placement) => match placement.advance(&examples)? {
                Some((continuation, layouts)) => {
                    self.continuation = Some(continuation);
                    Phase::Nodes(layouts)
                }
                None => Phase::Place(placement),
            },
            Phase::Vectors(mut vectors) => {
                vectors.advance(&examples);
                if vectors.is_done() {
                    let streams = (0..self.trees as u64).map(|tree| Stream::of(&[seed, tree])).collect();
                    let vectors = vectors.into_vectors();
                    Phase::Cluster(Clustering::new(vectors, examples.rows.features(), self.leaf_count(), streams))
                } else {
                    Phase::Vectors(vectors)
                }
            }
            Phase::Cluster(mut clustering) => {
                clustering.advance();
                match clustering.is_done() {
                    true => {
                        let layout = |order| Layout::even(order, self.leaf_count());
                        Phase::Nodes(clustering.into_orders().into_iter().map(layout).collect())
                    }
                    false => Phase::Cluster(clustering),
                }
            }
            Phase::Nodes(layouts) => {
                let weights = LabelWeights::new(&examples, &self.class_weight);
                let of_tree = |layout: &Layout| nodes_of(&examples, &weights, &self.train, layout);
                let nodes = layouts.par_iter().map(of_tree).collect();
                self.task.square = match &self.plan {
                    Some(plan) => plan.squares[0],
                    None => mean_square(&examples, View::ALL, &self.train),
                };
                Phase::Epochs(layouts, nodes)
            }
            Phase::Epochs(layouts, nodes) => {
                let tasks: Vec<Task<'a>> = (0..self.trees).map(|tree| self.task_of(tree)).collect();
                let planned = self.epochs.or(self.plan.as_ref().map(|plan| plan.epochs));
                let epochs = planned.unwrap_or_else(|| epochs::choose(tasks[0], &nodes[0]));
                let plan = self.earlier.is_none().then(|| Plan {
                    orders: layouts.iter().flat_map(|layout| &layout.order).copied().collect(),
                    squares: std::iter::once(&self.task).chain(&tasks).map(|task| task.square).collect(),
                    epochs,
                });
                let schedule = Schedule::new(tasks, epochs, nodes, self.continuation.take());
                let (held_out, train) = (std::mem::take(&mut self.held_out), std::mem::take(&mut self.train));
                return Ok(Some(Prepared { held_out, train, task: self.task, layouts, epochs, plan, schedule }));
            }
        };
        Ok(None)
    }

    /// Takes over a plan instead of making one, before the first step; returns whether it fits.
    pub fn adopt(&mut self, plan: Plan) -> bool {
        let classes = self.task.examples.classes;
        let mut seen = vec![0; classes];
        let is_next = |(tree, &class): (usize, &u32)| {
            seen.get_mut(class as usize).is_some_and(|times| std::mem::replace(times, tree + 1) == tree)
        };
        let each = plan.orders.chunks(classes).enumerate();
        let fits = plan.orders.len() == self.trees * classes
            && each.flat_map(|(tree, order)| order.iter().map(move |class| (tree, class))).all(is_next)
            && plan.squares.len() == self.trees + 1
            && plan.squares.iter().all(|square| square.is_normal());
        self.plan = fits.then_some(plan);
        fits
    }

    fn leaf_count(&self) -> usize {
        leaf_count(self.task.examples.classes, self.leaves)
    }

    /// What the nodes of a tree share.
    fn task_of(&self, tree: usize) -> Task<'a> {
        let view = view_of(&self.views, tree);
        let square = match &self.plan {
            Some(plan) => plan.squares[tree + 1],
            None if view == View::ALL => self.task.square,
            None => mean_square(&self.task.examples, view, &self.train),
        };
        Task { view, square, ..self.task }
    }

    /// Holds out random rows for calibration.
    fn split(&mut self) {
        let stream = Stream::of(&[self.task.seed, u64::MAX]);
        (self.held_out, self.train) = hold_out(&self.task.examples, stream, held_out(&self.task.examples));
    }
}

/// The number of rows that are held out for calibration: none if they would be too few, to be calibrated by `folds`.
pub(crate) fn held_out(examples: &Examples<'_>) -> usize {
    let count = HELD_OUT.0.min(examples.len() / HELD_OUT.1);
    if count < calibration::MIN_ROWS { 0 } else { count }
}

/// The mean ‖x‖² of what a view shows of these rows; 1 if it is zero or not a normal number.
fn mean_square(examples: &Examples<'_>, view: View, train: &[u32]) -> f32 {
    let (rows, kinds) = (examples.rows, examples.kinds);
    let entries = train.iter().flat_map(|&row| {
        let row = rows.row(row as usize);
        row.indices.iter().zip(row.values)
    });
    let seen = entries.filter(|&(&feature, _)| kinds.get(feature as usize).is_none_or(|&kind| view.has(kind)));
    let mean = (seen.map(|(_, &value)| f64::from(value).powi(2)).sum::<f64>() / train.len() as f64) as f32;
    if mean.is_normal() { mean } else { 1.0 }
}

/// The training rows of each node of a tree, the root first.
fn nodes_of(
    examples: &Examples<'_>,
    weights: &LabelWeights<'_>,
    train: &[u32],
    layout: &Layout,
) -> Vec<Arc<NodeExamples>> {
    let place = layout.places();
    let mut nodes = vec![NodeExamples::new(layout.leaves())];
    nodes.extend(layout.each_leaf().map(|classes| NodeExamples::new(classes.len())));
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
