//! All nodes of all trees learn at the same time, and tell how far they are.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use rayon::prelude::*;

use super::kept::{self, Finished, Learned};
use super::node::{Job, Weights};
use super::{Growing, Plan, Task, WatchGrowing, blocks, passes};
use crate::checkpoint::Saved;
use crate::error::{Error, Result};
use crate::forest::Tree;
use crate::random::Stream;

/// All nodes of all trees, with what they report on the way.
pub(super) struct Growth<'a, 'w> {
    task: Task<'a>,
    watch: Mutex<&'a mut WatchGrowing<'w>>,
    /// Whether the watch ended it early.
    pub stopped: AtomicBool,
    /// Children times rows passed so far.
    passed: AtomicUsize,
    /// Weights of finished nodes.
    weights: AtomicUsize,
    epochs: usize,
    finished: Mutex<Finished>,
}

impl<'a, 'w> Growth<'a, 'w> {
    pub fn new(task: Task<'a>, epochs: usize, watch: &'a mut WatchGrowing<'w>) -> Self {
        let (stopped, passed, weights) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        Growth { task, watch: Mutex::new(watch), stopped, passed, weights, epochs, finished: Mutex::default() }
    }

    /// The trees, once every node has learned or the watch has ended it.
    pub fn train(&self, plans: Vec<Plan>, saved: Option<&Saved>) -> Result<Vec<Tree>> {
        let features = self.task.problem.rows.features();
        let jobs = self.jobs(&plans);
        if let Some(saved) = saved {
            self.resume(&jobs, kept::restore(saved, jobs.len(), features)?);
        }
        self.run(&jobs);
        let mut learned: Vec<Levels> = plans.iter().map(|_| Levels::default()).collect();
        for (placed, of_job) in jobs.iter().zip(std::mem::take(&mut *self.finished()).into_values()) {
            learned[placed.tree].push(placed.node, of_job.weights);
        }
        drop(jobs);
        if !learned.iter().all(Levels::are_finite) {
            return Err(Error::Diverged { epoch: self.epochs, learning_rate: self.task.options.learning_rate });
        }
        let trees = plans.into_par_iter().zip(learned).map(|(plan, learned)| plan.tree(features, learned));
        trees.collect::<Option<_>>().ok_or_else(|| Error::Mismatch {
            found: format!("a tree over {features} features with more weights than it can hold"),
            allowed: format!("{} numbers a level; fewer features need fewer", u32::MAX),
        })
    }

    /// All blocks of all nodes, by tree, the root first.
    fn jobs<'p>(&self, plans: &'p [Plan]) -> Vec<Placed<'p>>
    where
        'a: 'p,
    {
        let mut jobs = Vec::new();
        for (tree, plan) in plans.iter().enumerate() {
            for (node, examples) in plan.nodes.iter().enumerate() {
                let passes = passes::of_node(node, self.epochs);
                jobs.extend(blocks(examples.children).map(|children| {
                    let job = Job { task: self.task, examples, children, passes };
                    Placed { tree, node, job }
                }));
            }
        }
        jobs
    }

    /// Counts what a checkpoint has kept as done.
    fn resume(&self, jobs: &[Placed<'_>], kept: Finished) {
        self.passed.store(kept.keys().map(|&job| jobs[job].work()).sum(), Ordering::Relaxed);
        let weights = kept.values().map(|learned| learned.weights.entries.len()).sum();
        self.weights.store(weights, Ordering::Relaxed);
        *self.finished() = kept;
    }

    /// Trains all that is not finished, the long ones first. What each learns does not depend on what finishes when.
    fn run(&self, jobs: &[Placed<'_>]) {
        let total: usize = jobs.iter().map(Placed::work).sum();
        let mut todo: Vec<usize> = (0..jobs.len()).filter(|job| !self.finished().contains_key(job)).collect();
        todo.sort_by_key(|&job| std::cmp::Reverse(jobs[job].visits()));
        todo.into_par_iter().with_max_len(1).for_each_init(Vec::new, |numbers, number| {
            let placed @ Placed { tree, node, job } = &jobs[number];
            let random = Stream::of(&[self.task.options.seed, *tree as u64, *node as u64, job.children.start as u64]);
            let mut left = placed.visits();
            let weights = job.train(random, numbers, &mut |rows| {
                left -= rows;
                self.report(rows * job.children.len(), total)
            });
            self.weights.fetch_add(weights.entries.len(), Ordering::Relaxed);
            self.finished().insert(number, Learned { weights, whole: left == 0 });
        });
    }

    fn finished(&self) -> MutexGuard<'_, Finished> {
        self.finished.lock().expect("no thread panics while it holds this")
    }

    /// Tells of more work done; whether to go on.
    fn report(&self, work: usize, total: usize) -> ControlFlow<()> {
        let passed = self.passed.fetch_add(work, Ordering::Relaxed) + work;
        let done = passed as f64 / total as f64;
        let growing = Growing {
            done,
            epochs: done * self.epochs as f64,
            of: self.epochs,
            weights: self.weights.load(Ordering::Relaxed),
            save: &|path| kept::save(path, self.task.problem, self.task.options, done, &self.finished()),
        };
        // Whoever finds another thread reporting leaves it to that one.
        if let Ok(mut watch) = self.watch.try_lock()
            && watch(&growing).is_break()
            && done < 1.0
        {
            self.stopped.store(true, Ordering::Relaxed);
        }
        if self.stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// What the blocks of a tree have learned, in their order, each with the number of its node in the level.
#[derive(Default)]
pub(super) struct Levels {
    pub root: Vec<(u16, Weights)>,
    pub leaves: Vec<(u16, Weights)>,
}

impl Levels {
    fn push(&mut self, node: usize, weights: Weights) {
        match node {
            0 => self.root.push((0, weights)),
            leaf => self.leaves.push(((leaf - 1) as u16, weights)),
        }
    }

    fn are_finite(&self) -> bool {
        let mut entries = self.root.iter().chain(&self.leaves).flat_map(|(_, weights)| &weights.entries);
        entries.all(|entry| entry.weight().is_finite())
    }
}

/// A job and where in the forest it is; node 0 is the root.
struct Placed<'a> {
    tree: usize,
    node: usize,
    job: Job<'a>,
}

impl Placed<'_> {
    /// Rows passed, again and again.
    fn visits(&self) -> usize {
        self.job.examples.len() * self.job.passes
    }

    /// Children times rows passed.
    fn work(&self) -> usize {
        self.visits() * self.job.children.len()
    }
}
