//! Recommenders: vectors of users and items, trained on interactions by batches of users that share their negatives.
//!
//! One row is one user with all items that the user chose, so a batch computes each score once, however many items its
//! users have. A batch has two phases (see `batch`), and every random number is keyed by the seed and what it is for:
//! the same seed gives the same bits for any number of threads.
//!
//! ```
//! use ove::options::RecommenderOptions;
//! use ove::synthetic;
//! use ove::train::RecommenderTraining;
//!
//! let data = synthetic::interactions(300, 60, 5, 0);
//! let options = RecommenderOptions::from_settings(&serde_json::json!({ "rank": 8, "epochs": 5 }))?;
//! let mut training = RecommenderTraining::new(&data, &options)?;
//! while let Some(progress) = training.step()? {
//!     println!("{:.0} %", 100.0 * progress.done);
//! }
//! let model = training.finish()?;
//! assert_eq!(model.classes(), 60);
//! # Ok::<(), ove::Error>(())
//! ```

mod batch;
mod fit;
mod vectors;

use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use fit::{RecommenderEvent, WatchRecommender, fit_recommender};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::batch::{Batch, shares};
use self::vectors::{Move, Vectors};
use super::checkpoint::{self, F32, Identity, State, StateReader, Table};
use super::run::Progress;
use crate::data::Interactions;
use crate::error::{Error, Result};
use crate::model::{Card, CoOccurrence, Model, Recommender, TracePoint};
use crate::options::{FactoredOptions, RecommenderOptions, ScoreOptions, TrainOptions};
use crate::platform::bytes::Bytes;
use crate::platform::math::add_scaled;
use crate::platform::matrix::PANEL;
use crate::platform::pool;
use crate::platform::random::Stream;
use crate::scores::{Factored, Scores};

/// Maximum number of epochs if it is not given. On Gowalla's validation interactions recall@20 is .200 after 60
/// epochs and .210 after 200.
pub(super) const EPOCHS: usize = 200;

/// Number of batches per epoch at least, where batches are not smaller than the smallest for that: few users need more
/// steps than few batches have. And the sizes of batches between which the default is.
const BATCHES: usize = 50;
const SMALLEST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 512;

/// Keys of random streams.
const USERS: u64 = u64::MAX - 10;
const ITEMS: u64 = u64::MAX - 11;
const ORDER: u64 = u64::MAX - 12;
const NEGATIVES: u64 = u64::MAX - 13;

/// A run that the caller advances batch by batch.
pub struct RecommenderTraining<'a> {
    data: &'a Interactions,
    options: RecommenderOptions,
    epochs: usize,
    users: Vectors,
    items: Vectors,
    batch: Batch,
    users_per_batch: usize,
    /// The users with items, in the order of the current epoch.
    order: Vec<u32>,
    shuffled: usize,
    facts: Facts,
    /// Counted for the first model of the run.
    co_occurrence: OnceLock<Arc<CoOccurrence>>,
}

/// The scalars of the state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Facts {
    /// Number of batches done.
    passed: usize,
    /// Sum of the objective over the batches of this epoch.
    sum: f64,
    trace: Vec<TracePoint>,
}

impl<'a> RecommenderTraining<'a> {
    /// Prepares a run.
    ///
    /// # Errors
    /// [`Error::Setting`] for invalid settings, [`Error::Mismatch`] if there is no interaction or the vectors exceed
    /// the memory budget.
    pub fn new(data: &'a Interactions, options: &RecommenderOptions) -> Result<Self> {
        options.check()?;
        if data.pairs() == 0 {
            return Err(Error::Mismatch("a recommender needs at least one interaction".into()));
        }
        check_memory(data, options)?;
        let (mut options, order) = (options.clone(), users_with_items(data));
        let usual = (order.len() / BATCHES).clamp(SMALLEST_BATCH, LARGEST_BATCH);
        let batch = *options.batch.get_or_insert(usual);
        let width = options.rank.next_multiple_of(PANEL);
        let vectors = |count, key| Vectors::random(count, options.rank, width, [options.seed, key]);
        let (users, items) = pool::run(|| (vectors(data.len(), USERS), vectors(data.item_count(), ITEMS)));
        Ok(RecommenderTraining {
            users,
            items,
            batch: Batch::new(&options, data.item_count(), width),
            users_per_batch: batch,
            order,
            shuffled: 0,
            facts: Facts::default(),
            co_occurrence: OnceLock::new(),
            epochs: options.epochs.unwrap_or(EPOCHS),
            options,
            data,
        })
    }

    /// Number of batches per epoch.
    fn batches(&self) -> usize {
        self.order.len().div_ceil(self.users_per_batch)
    }

    /// Visits the next batch of users; returns `None` at the end of the run.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the objective is not finite.
    pub fn step(&mut self) -> Result<Option<Progress>> {
        pool::run(|| self.step_here())
    }

    fn step_here(&mut self) -> Result<Option<Progress>> {
        let batches = self.batches();
        let (epoch, batch) = (self.facts.passed / batches, self.facts.passed % batches);
        if epoch >= self.epochs {
            return Ok(None);
        }
        self.shuffle(epoch);
        let mut chosen = self.order.chunks(self.users_per_batch).nth(batch).unwrap_or_default().to_vec();
        chosen.sort_unstable();
        let key = [self.options.seed, self.facts.passed as u64];
        let negatives = self.draw(key);
        let value = self.batch.gradients(self.data, [&self.users, &self.items], &chosen, &negatives, key);
        if !value.is_finite() {
            return Err(Error::Diverged { epoch: epoch + 1, learning_rate: self.options.learning_rate });
        }
        let total = (batches * self.epochs) as f64;
        let rate = self.options.learning_rate * (1.0 - self.facts.passed as f64 / total);
        self.facts.passed += 1;
        let step = Move::new(rate, self.options.l2, self.facts.passed as u64);
        let places: Vec<(u32, u32)> = chosen.iter().copied().zip(0..).collect();
        self.users.ascend(&places, &self.batch.user_gradients, step);
        let mut places: Vec<(u32, u32)> = self.batch.items.iter().copied().zip(0..).collect();
        places.par_sort_unstable();
        self.items.ascend(&places, &self.batch.item_gradients, step);

        self.facts.sum += value;
        if batch + 1 == batches {
            self.facts.trace.push(TracePoint { updates: self.updates(), bound: self.facts.sum });
            self.facts.sum = 0.0;
        }
        Ok(Some(Progress {
            done: self.facts.passed as f64 / total,
            epoch: epoch + 1,
            epochs: self.facts.passed as f64 / batches as f64,
            updates: self.updates(),
            likelihood: None,
            bound: Some(value * self.order.len() as f64 / chosen.len() as f64),
            learning_rate: Some(rate),
        }))
    }

    /// Number of users visited.
    fn updates(&self) -> u64 {
        let (epochs, batches) = (self.facts.passed / self.batches(), self.facts.passed % self.batches());
        (epochs * self.order.len() + batches * self.users_per_batch) as u64
    }

    /// Shuffles the users up to this epoch: each order is a shuffle of the previous one.
    fn shuffle(&mut self, epoch: usize) {
        while self.shuffled <= epoch {
            Stream::of(&[self.options.seed, ORDER, self.shuffled as u64]).shuffle(&mut self.order);
            self.shuffled += 1;
        }
    }

    /// Distinct items, each equally likely, in increasing order.
    fn draw(&self, key: [u64; 2]) -> Vec<u32> {
        let items = self.data.item_count() as u64;
        let count = (self.options.negatives as u64).min(items);
        let mut random = Stream::of(&[key[0], NEGATIVES, key[1]]);
        let mut drawn = std::collections::HashSet::with_capacity(count as usize);
        // Floyd's method: each subset is equally likely, and there is one draw per item.
        for next in items - count..items {
            let item = random.below(next + 1);
            if !drawn.insert(item as u32) {
                drawn.insert(next as u32);
            }
        }
        let mut drawn: Vec<u32> = drawn.into_iter().collect();
        drawn.sort_unstable();
        drawn
    }

    /// A copy of the whole state of the run.
    pub fn state(&self) -> State {
        let (facts, tables) = self.parts();
        State::new(self.identity(), facts, &tables)
    }

    fn parts(&self) -> (String, Vec<Table<'_>>) {
        let tables = [("users", &self.users), ("items", &self.items)].into_iter().flat_map(|(name, vectors)| {
            let parts = [("", &vectors.numbers), ("_means", &vectors.means), ("_squares", &vectors.squares)];
            parts.map(|(part, numbers)| Table::new(format!("{name}{part}"), F32, numbers))
        });
        (serde_json::to_string(&self.facts).expect("facts are numbers"), tables.collect())
    }

    /// Restores the state or checkpoint of a run on the same interactions with the same options; the run then ends in
    /// the same bits as the other would have.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for the state of another run, [`Error::Checkpoint`] for a damaged one.
    pub fn restore(&mut self, state: &dyn StateReader) -> Result<()> {
        self.identity().check(state.identity())?;
        let facts: Facts = state.parse_facts()?;
        let batches = self.batches() * self.epochs;
        if facts.passed > batches {
            return Err(state.unusable(format!("{} of {batches} batches are done", facts.passed)));
        }
        for (name, vectors) in [("users", &mut self.users), ("items", &mut self.items)] {
            state.read_into(name, &mut vectors.numbers)?;
            state.read_into(&format!("{name}_means"), &mut vectors.means)?;
            state.read_into(&format!("{name}_squares"), &mut vectors.squares)?;
        }
        self.facts = facts;
        if self.shuffled > 0 {
            self.order = users_with_items(self.data);
            self.shuffled = 0;
        }
        Ok(())
    }

    /// Writes the state to a checkpoint file, atomically.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let (facts, tables) = self.parts();
        checkpoint::write(path, &self.identity(), &facts, &tables)
    }

    fn identity(&self) -> Identity {
        Identity::of_interactions(self.data, &self.options)
    }

    fn snapshot(&self) -> Scores {
        let RecommenderOptions { rank, normalize, temperature, history, .. } = self.options;
        let scale = (1.0 / temperature) as f32;
        pool::run(|| {
            let items = self.items.frozen(rank, normalize, 1.0, |_, _| ());
            let users = self.users.frozen(rank, normalize, scale, |user, vector| {
                let own = self.data.items_of(user).iter().filter(|_| history > 0.0);
                for (&item, share) in own.zip(shares(self.data.weights_of(user), history as f32)) {
                    add_scaled(vector, share, &items[item as usize * rank..][..rank]);
                }
            });
            Scores::Factored(Factored::new(rank, users, items, vec![0.0; self.data.item_count()]))
        })
    }

    fn card(&self) -> Card {
        let finished = self.facts.passed == self.batches() * self.epochs;
        let factored = FactoredOptions { rank: self.options.rank, ..FactoredOptions::default() };
        let mut options = TrainOptions::new(ScoreOptions::Factored(factored));
        (options.epochs, options.seed) = (Some(self.epochs), self.options.seed);
        let items = self.data.item_count();
        let count = || pool::run(|| Recommender::count(&self.options, self.data, items));
        let co_occurrence = self.co_occurrence.get_or_init(count).clone();
        let mut recommender = Recommender::new(self.options.clone(), self.data, co_occurrence);
        recommender.options.epochs = Some(self.epochs);
        Card {
            feature_names: self.data.users.clone(),
            finished,
            trace: self.facts.trace.clone(),
            recommender: Some(recommender),
            ..Card::new(options, self.data.item_names.clone(), self.data.counts(), self.data.len() as u64)
        }
    }

    /// A model with the current vectors.
    pub fn model(&self) -> Model {
        Model { scores: self.snapshot(), card: self.card() }
    }

    /// The interactions that the run trains on.
    pub fn data(&self) -> &'a Interactions {
        self.data
    }

    /// Number of epochs of the run.
    pub fn epochs(&self) -> usize {
        self.epochs
    }

    /// Ends the run, complete or not, and returns the model.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a number is not finite.
    pub fn finish(self) -> Result<Model> {
        let model = self.model();
        if !model.scores.are_finite() {
            return Err(Error::Diverged { epoch: self.epochs, learning_rate: self.options.learning_rate });
        }
        Ok(model)
    }
}

fn users_with_items(data: &Interactions) -> Vec<u32> {
    (0..data.len() as u32).filter(|&user| !data.items_of(user as usize).is_empty()).collect()
}

fn check_memory(data: &Interactions, options: &RecommenderOptions) -> Result<()> {
    let vectors = (data.len() + data.item_count()) as u64;
    // Three numbers in training, and one in the model.
    let needed = Bytes(vectors * 16 * options.rank.next_multiple_of(PANEL) as u64);
    if needed.0 <= options.memory.0 {
        return Ok(());
    }
    let (rank, memory) = (options.rank, options.memory);
    Err(Error::Mismatch(format!(
        "{vectors} vectors of {rank} numbers need {needed}; `memory` allows {memory}; try a smaller rank"
    )))
}
