//! Trains all nodes of all trees in parallel, in time slices.
//!
//! The weights of a node depend only on its own seed, not on which nodes are in progress when a slice ends, nor on the
//! number of threads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rayon::prelude::*;

use super::checkpoint::{Finished, Learned};
use super::continuation::Continuation;
use super::node::{Job, NodeRun, Weights};
use super::node_examples::NodeExamples;
use super::{SLICE, Task, blocks, epochs};
use crate::platform::random::Stream;
use crate::train::parts;

/// Number of rows between two checks of the clock. Threads wait for half of them on average at the end of a step.
const ROWS: usize = 64;

/// Number of rows that a node is trained on at least, if a run is stopped before the node has started.
const MIN_ROWS: usize = 4096;

/// The weight of the negatives of new classes: a row stands for earlier rows of other classes, which are not there.
///
/// With the 15,000 of 150,000 titles that have one of 960 new classes, P@1, 3, 5 on development rows are .2907 .1755
/// .1281 with 10, and .2860 .1734 .1268 with 1.
const NEGATIVES: f32 = 10.0;

/// All nodes of all trees.
pub(super) struct Schedule<'a> {
    /// What the nodes of each tree share.
    tasks: Vec<Task<'a>>,
    jobs: Vec<Placed>,
    /// The trees that are trained further, if any.
    continuation: Option<Continuation>,
    /// The numbers of the jobs that have not started, the longest last.
    waiting: Vec<usize>,
    /// The current job of each thread.
    slots: Vec<Slot<'a>>,
    finished: Finished,
    /// Work done and total work, in children times rows.
    passed: usize,
    total: usize,
    /// Number of weights of finished nodes.
    weights: usize,
}

/// The work of one thread.
#[derive(Default)]
struct Slot<'a> {
    run: Option<(usize, NodeRun<'a>)>,
    /// A buffer with a number per feature.
    numbers: Vec<u32>,
}

/// A job with its tree and node; node 0 is the root.
struct Placed {
    tree: usize,
    node: usize,
    job: Job,
}

impl Placed {
    /// Number of rows visited in all epochs.
    fn visits(&self) -> usize {
        self.job.examples.len() * self.job.epochs
    }

    /// Children times rows visited.
    fn work(&self) -> usize {
        self.visits() * self.job.children.len()
    }
}

impl<'a> Schedule<'a> {
    /// All blocks of all nodes, by tree, the root first.
    pub fn new(
        tasks: Vec<Task<'a>>,
        epochs: usize,
        nodes: Vec<Vec<Arc<NodeExamples>>>,
        continuation: Option<Continuation>,
    ) -> Self {
        let mut jobs = Vec::new();
        for (tree, nodes) in nodes.into_iter().enumerate() {
            for (node, examples) in nodes.into_iter().enumerate() {
                let epochs = epochs::of_node(node, epochs);
                let known = continuation.as_ref().map_or(0, |earlier| earlier.known(tree, node));
                jobs.extend(blocks(0..known).chain(blocks(known..examples.children)).map(|children| {
                    let job = Job { examples: examples.clone(), children, epochs, negatives: 1.0, earlier: None };
                    Placed { tree, node, job }
                }));
            }
        }
        let total = jobs.iter().map(Placed::work).sum();
        let mut schedule = Schedule {
            tasks,
            jobs,
            continuation,
            waiting: Vec::new(),
            slots: Vec::new(),
            finished: BTreeMap::new(),
            passed: 0,
            total,
            weights: 0,
        };
        schedule.queue();
        schedule
    }

    /// Queues all unfinished jobs. The longest start first, so that no thread is left with a long one at the end.
    fn queue(&mut self) {
        self.slots.clear();
        self.waiting = (0..self.jobs.len()).filter(|job| !self.finished.contains_key(job)).collect();
        self.waiting.sort_by_key(|&job| std::cmp::Reverse(self.jobs[job].visits()));
        self.waiting.reverse();
        self.passed = self.finished.keys().map(|&job| self.jobs[job].work()).sum();
        self.weights = self.finished.values().map(|learned| learned.weights.entries.len()).sum();
    }

    /// The children of a job, if there is one with this number.
    pub fn children(&self, job: usize) -> Option<Range<usize>> {
        self.jobs.get(job).map(|placed| placed.job.children.clone())
    }

    /// Whether all jobs are finished.
    pub fn is_done(&self) -> bool {
        self.finished.len() == self.jobs.len()
    }

    /// The share of the work that is done.
    pub fn done(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.passed as f64 / self.total as f64 }
    }

    pub fn weights(&self) -> usize {
        self.weights
    }

    /// Ranges of all jobs, of about the same work.
    pub fn parts(&self, count: usize) -> Vec<Range<usize>> {
        parts::cut(&self.jobs.iter().map(Placed::work).collect::<Vec<_>>(), count)
    }

    /// Trains these jobs, or fewer if there are not so many.
    pub fn train(&self, jobs: Range<usize>) -> Finished {
        let train = |numbers: &mut Vec<u32>, number: usize| {
            let mut run = start(&self.tasks, &self.jobs[number], self.continuation.as_ref(), numbers);
            run.advance(usize::MAX);
            (number, Learned { weights: run.weights() })
        };
        let jobs = jobs.start..jobs.end.min(self.jobs.len());
        jobs.into_par_iter().with_max_len(1).map_init(Vec::new, train).collect()
    }

    pub fn finished(&self) -> &Finished {
        &self.finished
    }

    /// Adds finished jobs of a checkpoint or another run.
    pub fn restore(&mut self, finished: Finished) {
        self.finished.extend(finished);
        self.queue();
    }

    /// Trains for a slice of time on all threads.
    pub fn advance(&mut self) {
        let deadline = Instant::now() + SLICE;
        self.slots.resize_with(rayon::current_num_threads().max(self.slots.len()), Slot::default);
        let (waiting, finished) = (Mutex::new(&mut self.waiting), Mutex::new(Vec::new()));
        let (passed, jobs, tasks) = (AtomicUsize::new(0), &self.jobs, &self.tasks);
        let continuation = self.continuation.as_ref();
        self.slots.par_iter_mut().with_max_len(1).for_each(|slot| {
            while Instant::now() < deadline {
                if slot.run.is_none() {
                    let Some(number) = waiting.lock().expect("no thread panics with it").pop() else { return };
                    slot.run = Some((number, start(tasks, &jobs[number], continuation, &mut slot.numbers)));
                }
                let Some((number, run)) = &mut slot.run else { return };
                passed.fetch_add(run.advance(ROWS) * jobs[*number].job.children.len(), Ordering::Relaxed);
                if run.is_done() {
                    finished.lock().expect("no thread panics with it").push((*number, run.weights()));
                    slot.run = None;
                }
            }
        });
        self.passed += passed.into_inner();
        for (number, weights) in finished.into_inner().expect("no thread panicked") {
            self.weights += weights.entries.len();
            self.finished.insert(number, Learned { weights });
        }
    }

    /// Finishes all jobs as they are. Those in progress give their current weights; those that have not started are
    /// first trained on some rows.
    pub fn stop(&mut self) {
        let (jobs, tasks, continuation) = (&self.jobs, &self.tasks, self.continuation.as_ref());
        let in_progress = self.slots.drain(..).filter_map(|slot| slot.run);
        let in_progress: Vec<(usize, Weights)> = in_progress.map(|(number, run)| (number, run.weights())).collect();
        let started = self.waiting.par_drain(..).map_init(Vec::new, |numbers, number| {
            let mut run = start(tasks, &jobs[number], continuation, numbers);
            run.advance(MIN_ROWS);
            (number, run.weights())
        });
        let started: Vec<(usize, Weights)> = started.collect();
        let unfinished = in_progress.into_iter().chain(started).map(|(number, weights)| (number, Learned { weights }));
        self.finished.extend(unfinished);
    }

    /// The weights of all nodes, tree by tree, when all jobs are finished.
    pub fn learned(&self, trees: usize) -> Vec<Levels<'_>> {
        let mut learned: Vec<Levels<'_>> = (0..trees).map(|_| Levels::default()).collect();
        for (placed, of_job) in self.jobs.iter().zip(self.finished.values()) {
            learned[placed.tree].push(placed.node, &of_job.weights);
        }
        learned
    }
}

fn start<'a>(
    tasks: &[Task<'a>],
    Placed { tree, node, job }: &Placed,
    continuation: Option<&Continuation>,
    numbers: &mut Vec<u32>,
) -> NodeRun<'a> {
    let (task, is_going_on) = (tasks[*tree], continuation.is_some());
    // New children have no earlier weights.
    let continuation = continuation.filter(|earlier| job.children.start < earlier.known(*tree, *node));
    let negatives = if is_going_on && continuation.is_none() { NEGATIVES } else { 1.0 };
    let earlier = continuation.map(|earlier| earlier.weights(*tree, *node, job.children.clone()).into());
    let job = Job { earlier, negatives, ..job.clone() };
    let random = Stream::of(&[task.seed, *tree as u64, *node as u64, job.children.start as u64]);
    job.start(task, random, numbers)
}

/// The weights of the blocks of a tree in order, each with the number of its node in the level.
#[derive(Default)]
pub(super) struct Levels<'a> {
    pub root: Vec<(u16, &'a Weights)>,
    pub leaves: Vec<(u16, &'a Weights)>,
}

impl<'a> Levels<'a> {
    fn push(&mut self, node: usize, weights: &'a Weights) {
        match node {
            0 => self.root.push((0, weights)),
            leaf => self.leaves.push(((leaf - 1) as u16, weights)),
        }
    }

    pub fn are_finite(&self) -> bool {
        let mut entries = self.root.iter().chain(&self.leaves).flat_map(|(_, weights)| &weights.entries);
        entries.all(|entry| entry.weight().is_finite())
    }
}
