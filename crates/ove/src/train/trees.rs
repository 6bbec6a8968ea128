//! Trains [`Trees`]: `clustering` puts similar classes into the same leaf, and `node` trains the scores of a node's
//! children.
//!
//! Given trees are trained further on new rows alone (`continuation`).
//!
//! The trees then find the rivals of each label for a `second_stage`, which is trained by the paper's bound.
//!
//! A node is trained only on the rows that have a label below it, and its children are independent of each other. A row
//! thus costs about 2√K scores per tree instead of K, each node has a small weight table, and all nodes of all trees
//! can be trained in parallel, with the same bits for any number of threads.

mod assemble;
mod block;
mod calibration;
mod checkpoint;
mod clustering;
mod continuation;
mod epochs;
mod layout;
mod node;
mod node_examples;
mod plan;
mod preparation;
mod schedule;
mod second_stage;

pub(super) use self::calibration::fit as calibration;
pub(super) use self::preparation::held_out;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;

use self::checkpoint::{Facts, Finished};
use self::layout::Layout;
use self::preparation::{Preparation, Prepared};
use self::schedule::Levels;
use self::second_stage::SecondStageRun;
use super::run::{Outcome, Progress, Run, Start};
use crate::data::{Examples, View};
use crate::error::{Error, Result};
use crate::options::{ClassWeight, TrainOptions, TreeOptions};
use crate::platform::bytes::Bytes;
use crate::scores::trees::{SecondStage, Tree};
use crate::scores::{Calibration, Predictor, Scores, Trees};
use crate::train::budget;
use crate::train::checkpoint::{State, StateReader, Table};
use crate::train::label_weights::LabelWeights;
use crate::train::parts::{Part, Stage as PartStage};

/// Maximum number of children per job: their scores stay in the first-level cache, and a root is split among several
/// threads.
const BLOCK: usize = 128;

/// Duration of a step. Threads wait for each other at its end, until each has finished a small piece of work.
const SLICE: Duration = Duration::from_millis(100);

/// The trees' share of the work, as progress is counted; the second stage has the rest.
const TREES_SHARE: f64 = 0.75;

/// Default learning rate and penalty. A smaller penalty is better for long texts, a larger one for short texts: P@5 on
/// held-out rows is .693, .695, .696 with 0.5, 0.2, 0.1 (EURLEX57K), and .1693, .1688, .1686 (titles).
pub(super) const LEARNING_RATE: f64 = 0.7;
pub(super) const L2: f64 = 0.2;

/// A run that trains all nodes of all trees, then the second stage.
struct TreeRun<'a> {
    examples: Examples<'a>,
    options: TreeOptions,
    class_weight: ClassWeight,
    memory: Bytes,
    learning_rate: f64,
    /// The calibration, if it is known.
    known: Option<Calibration>,
    /// The trees that are trained further.
    earlier: Option<Arc<Trees>>,
    stage: Stage<'a>,
    /// The trees and their second stage, once all nodes are trained.
    second: Option<(Trees, SecondStageRun<'a>)>,
}

/// Preparation takes seconds with many classes, so it is divided into steps too.
enum Stage<'a> {
    Preparing(Preparation<'a>),
    Training(Prepared<'a>),
}

/// A run that has not been prepared.
pub(super) fn run<'a>(
    examples: Examples<'a>,
    options: &TrainOptions,
    trees: &TreeOptions,
    start: Start<'_>,
) -> Result<Box<dyn Run + 'a>> {
    let earlier = start.scores.map(|scores| earlier_trees(scores, &examples, trees)).transpose()?.map(Arc::new);
    let learning_rate = options.learning_rate.unwrap_or(LEARNING_RATE);
    let task = Task {
        examples,
        learning_rate: learning_rate as f32,
        l2: options.l2.unwrap_or(L2),
        seed: options.seed,
        square: 1.0,
        view: View::ALL,
    };
    if !trees.views.is_empty() && examples.kinds.is_empty() {
        let must = "be left out for rows whose features are not terms of a vocabulary";
        return Err(Error::setting("views", must, trees.views[0]));
    }
    let preparation = Preparation::new(task, options, trees, earlier.clone());
    Ok(Box::new(TreeRun {
        examples,
        options: trees.clone(),
        class_weight: options.class_weight.clone(),
        memory: options.memory,
        learning_rate,
        known: start.calibration,
        earlier,
        stage: Stage::Preparing(preparation),
        second: None,
    }))
}

/// The trees that initial scores are, if they can be trained further on these rows.
fn earlier_trees(scores: &Scores, examples: &Examples<'_>, options: &TreeOptions) -> Result<Trees> {
    let Scores::Trees(trees) = scores else {
        return Err(Error::Mismatch("training of trees must start from trees".into()));
    };
    let (shape, count) = (trees.shape(), trees.trees().len());
    if shape.features > examples.rows.features() || shape.classes > examples.classes {
        return Err(Error::Mismatch(format!(
            "the data has {} features and {} classes, fewer than the {} and {} of the trees",
            examples.rows.features(),
            examples.classes,
            shape.features,
            shape.classes
        )));
    }
    if options.trees != count {
        return Err(Error::setting(
            "trees",
            format!("be {count}, as in the model that is trained further"),
            options.trees,
        ));
    }
    Ok(trees.clone())
}

impl<'a> TreeRun<'a> {
    /// Completes the preparation.
    fn prepared(&mut self) -> Result<&mut Prepared<'a>> {
        while let Stage::Preparing(preparation) = &mut self.stage {
            if let Some(prepared) = preparation.advance()? {
                self.stage = Stage::Training(prepared);
            }
        }
        match &mut self.stage {
            Stage::Training(prepared) => Ok(prepared),
            Stage::Preparing(_) => unreachable!("the loop ends with the preparation"),
        }
    }

    /// The calibration before it is fitted: the earlier one, unless rows have several labels for the first time.
    fn calibration(&self) -> Calibration {
        let default = calibration::default(&self.examples);
        match (self.earlier.as_ref().map(|trees| trees.calibration), default) {
            (None, _) | (Some(Calibration::Normalised(_)), Calibration::Logistic(_)) => default,
            (Some(earlier), _) => earlier,
        }
    }

    /// The trees, when all nodes are trained.
    fn assembled(&mut self) -> Result<Trees> {
        let (examples, count) = (self.examples, self.options.trees);
        let (memory, learning_rate) = (self.memory, self.learning_rate);
        let calibration = self.calibration();
        let Prepared { layouts, epochs, schedule, .. } = self.prepared()?;
        let learned = schedule.learned(count);
        if !learned.iter().all(Levels::are_finite) {
            return Err(Error::Diverged { epoch: *epochs, learning_rate });
        }
        let trees = assemble(examples.rows.features(), layouts, learned)?;
        let trees = Trees::new(examples.rows.features(), trees, calibration);
        budget::check_trees(memory, count, trees.weights())?;
        Ok(trees)
    }

    /// Whether there is a second stage: not without rivals, nor without enough rows to fit its part in the ranking.
    fn has_second_stage(&self) -> bool {
        let Stage::Training(prepared) = &self.stage else { return self.options.rivals > 0 };
        let may_be = match &self.earlier {
            Some(trees) => trees.second_stage.is_some(),
            None => second_stage::may_be_fitted(&prepared.held_out),
        };
        self.options.rivals > 0 && may_be
    }

    /// The second stage, started if it is not yet. All nodes must be trained.
    fn second_stage(&mut self) -> Result<&mut (Trees, SecondStageRun<'a>)> {
        if self.second.is_none() {
            let trees = self.assembled()?;
            let weights = LabelWeights::new(&self.examples, &self.class_weight);
            let (options, memory) = (self.options.clone(), self.memory);
            let earlier = self.earlier_second_stage();
            let Prepared { task, train, .. } = self.prepared()?;
            let run = SecondStageRun::new(*task, weights, &options, memory, train.clone(), earlier);
            self.second = Some((trees, run));
        }
        Ok(self.second.as_mut().expect("it was just started"))
    }

    /// The second stage of the trees that are trained further, for the features and classes of these rows.
    fn earlier_second_stage(&self) -> Option<SecondStage> {
        let (features, classes) = (self.examples.rows.features(), self.examples.classes);
        let wanted = self.earlier.as_ref().filter(|_| self.options.rivals > 0);
        wanted.and_then(|trees| trees.second_stage.as_ref()).map(|second| second.grown(features, classes))
    }

    /// Takes a step of the second stage; `None` if it is done.
    fn step_second_stage(&mut self, epochs: usize) -> Result<Option<Progress>> {
        if !self.has_second_stage() {
            return Ok(None);
        }
        let (trees, second) = self.second_stage()?;
        if second.is_done() {
            return Ok(None);
        }
        second.advance(trees)?;
        let (done, bound) = (second.done(), second.trace.last().map(|point| point.bound));
        Ok(Some(Progress {
            done: TREES_SHARE + (1.0 - TREES_SHARE) * done,
            epoch: epochs,
            epochs: epochs as f64,
            updates: (self.examples.len() * epochs * self.options.trees) as u64,
            bound,
            likelihood: None,
            learning_rate: None,
        }))
    }

    /// Takes over the plan of a state, unless there is one.
    fn adopt_plan(&mut self, state: &dyn StateReader) -> Result<()> {
        if let (Stage::Preparing(preparation), None) = (&mut self.stage, &self.earlier)
            && let Some(plan) = checkpoint::read_plan(state)?
            && !preparation.adopt(plan)
        {
            return Err(state.unusable("its plan does not match these trees".into()));
        }
        Ok(())
    }

    /// Adds rivals that another process has found.
    fn restore_rivals(&mut self, state: &dyn StateReader, first: usize) -> Result<()> {
        if !self.prepared()?.schedule.is_done() {
            return Err(state.unusable("rivals of unfinished trees".into()));
        }
        let found = checkpoint::read_rivals(state, self.examples.classes)?;
        let second = &mut self.second_stage()?.1;
        if second.searched() != first {
            let wanted = second.searched();
            return Err(
                state.unusable(format!("rivals from row {first} on, where those from row {wanted} on are next"))
            );
        }
        second.add(&found)
    }

    /// Adds the finished nodes of a state.
    fn restore_nodes(&mut self, state: &dyn StateReader) -> Result<Facts> {
        self.adopt_plan(state)?;
        let features = self.examples.rows.features();
        let schedule = &mut self.prepared()?.schedule;
        let (facts, finished) = checkpoint::restore(state, features, |job| schedule.children(job))?;
        schedule.restore(finished);
        Ok(facts)
    }
}

/// Builds the trees from the weights of their nodes.
fn assemble(features: usize, layouts: &[Layout], learned: Vec<Levels<'_>>) -> Result<Vec<Tree>> {
    let tree = |(layout, learned): (&Layout, Levels<'_>)| {
        let root = assemble::build(features, vec![0, layout.leaves()], &learned.root, true)?;
        let leaves = assemble::build(features, layout.starts.clone(), &learned.leaves, false)?;
        Some(Tree::new(root, leaves, layout.order.clone()))
    };
    let trees = layouts.par_iter().zip(learned).map(tree);
    trees.collect::<Option<_>>().ok_or_else(|| {
        let most = u32::MAX;
        Error::Mismatch(format!(
            "a level of a tree over {features} features has more than {most} weights; use fewer features"
        ))
    })
}

impl Run for TreeRun<'_> {
    fn step(&mut self) -> Result<Option<Progress>> {
        if let Stage::Training(Prepared { schedule, epochs, .. }) = &self.stage
            && schedule.is_done()
        {
            let epochs = *epochs;
            return self.step_second_stage(epochs);
        }
        let (done, epochs) = match &mut self.stage {
            Stage::Preparing(preparation) => {
                if let Some(prepared) = preparation.advance()? {
                    self.stage = Stage::Training(prepared);
                }
                (0.0, 0)
            }
            Stage::Training(Prepared { schedule, epochs, .. }) => {
                schedule.advance();
                budget::check_trees(self.memory, self.options.trees, schedule.weights())?;
                (schedule.done(), *epochs)
            }
        };
        let updates = (self.examples.len() * epochs * self.options.trees) as f64;
        Ok(Some(Progress {
            done: done * if self.has_second_stage() { TREES_SHARE } else { 1.0 },
            epoch: ((done * epochs as f64) as usize + 1).min(epochs.max(1)),
            epochs: done * epochs as f64,
            updates: (done * updates) as u64,
            bound: None,
            likelihood: None,
            learning_rate: None,
        }))
    }

    fn state(&self) -> (String, Vec<Table<'_>>) {
        let nothing = Finished::new();
        let (share, plan, finished) = match &self.stage {
            Stage::Preparing(_) => (0.0, None, &nothing),
            Stage::Training(Prepared { schedule, plan, .. }) => (schedule.done(), plan.as_ref(), schedule.finished()),
        };
        let second = self.second.as_ref().map(|(_, second)| second);
        checkpoint::state(share, plan, finished, second)
    }

    fn restore(&mut self, state: &dyn StateReader) -> Result<()> {
        let Facts { waves, trace, rivals_from, .. } = self.restore_nodes(state)?;
        if let Some(first) = rivals_from {
            return self.restore_rivals(state, first);
        }
        let Some(waves) = waves else { return Ok(()) };
        if !self.prepared()?.schedule.is_done() {
            return Err(state.unusable("a second stage of unfinished trees".into()));
        }
        self.second_stage()?.1.restore(state, waves, trace)
    }

    /// Other runs have trained other nodes; the second stage starts when there are all.
    fn merge(&mut self, others: &[State]) -> Result<()> {
        others.iter().try_for_each(|other| self.restore_nodes(other).map(drop))
    }

    fn parts(&mut self, count: usize) -> Result<Vec<Part>> {
        let Prepared { schedule, plan, .. } = self.prepared()?;
        if plan.is_none() {
            return Ok(Vec::new());
        }
        let (stage, ranges) = match (schedule.is_done(), self.has_second_stage()) {
            (false, _) => (PartStage::Nodes, self.prepared()?.schedule.parts(count)),
            (true, true) => (PartStage::Rivals, self.second_stage()?.1.parts(count)),
            (true, false) => return Ok(Vec::new()),
        };
        Ok(ranges.into_iter().map(|range| Part { stage, range }).collect())
    }

    fn work(&mut self, part: &Part) -> Result<(String, Vec<Table<'static>>)> {
        let schedule = &self.prepared()?.schedule;
        match part.stage {
            PartStage::Nodes => Ok(checkpoint::nodes(&schedule.train(part.range.clone()))),
            PartStage::Rivals if !schedule.is_done() => {
                Err(Error::Mismatch("rivals are searched with all nodes, and some are not trained".into()))
            }
            PartStage::Rivals => {
                let (trees, second) = self.second_stage()?;
                let range = part.range.start..part.range.end.min(second.len());
                Ok(checkpoint::rivals(range.start, &second.search(trees, range)))
            }
        }
    }

    fn snapshot(&self) -> Option<Scores> {
        None
    }

    fn finish(mut self: Box<Self>) -> Result<Outcome> {
        let (examples, count) = (self.examples, self.options.trees);
        let is_trained = self.prepared()?.schedule.is_done();
        let calibration = self.earlier.as_ref().map(|trees| trees.calibration);
        let earlier = self.earlier_second_stage();
        let (mut trees, second) = match self.second.take() {
            Some((trees, second)) => (trees, Some(second)),
            None => {
                self.prepared()?.schedule.stop();
                (self.assembled()?, None)
            }
        };
        let known = self.known;
        let finished = is_trained && second.as_ref().map_or(!self.has_second_stage(), SecondStageRun::is_done);
        let Prepared { held_out, epochs, .. } = self.prepared()?;
        let epochs = *epochs;
        // That of earlier trees is kept: new rows may be of few classes only.
        let is_kept = calibration == Some(trees.calibration);
        if !is_kept {
            let fitted = || calibration::fit(&[(&trees, &held_out[..])], &examples);
            trees.calibration = known.unwrap_or_else(fitted);
        }
        let mut trace = Vec::new();
        if let Some(mut second) = second {
            trace = std::mem::take(&mut second.trace);
            trees.second_stage = second.finish(&trees, held_out)?;
            if !is_kept {
                trees.calibration = calibration::refit(&trees, &examples, held_out);
            }
        }
        trees.second_stage = trees.second_stage.take().or(earlier);
        let updates = (examples.len() * epochs * count) as u64;
        let epochs = Some(epochs);
        Ok(Outcome { scores: Scores::Trees(trees), trace, likelihood: Vec::new(), finished, updates, epochs })
    }
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
    /// The kinds of terms that the nodes see.
    view: View,
}

/// The view of a tree: each has the next one.
fn view_of(views: &[View], tree: usize) -> View {
    if views.is_empty() { View::ALL } else { views[tree % views.len()] }
}

/// These children of a node, block by block.
fn blocks(children: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let count = children.len().div_ceil(BLOCK);
    let cut = move |block: usize| children.start + children.len() * block / count;
    (0..count).map(move |block| cut(block)..cut(block + 1))
}
