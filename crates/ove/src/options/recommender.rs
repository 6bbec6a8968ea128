//! The settings of recommenders.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::settings::{bytes, take};
use super::{Bytes, at_least_one, at_least_zero, positive, usual_memory};
use crate::bound::Objective;
use crate::error::{Error, Result};

/// The settings of a recommender.
///
/// ```
/// use ove::options::RecommenderOptions;
///
/// let options = RecommenderOptions::from_settings(&serde_json::json!({ "rank": 32, "temperature": 0.15 }))?;
/// assert_eq!((options.rank, options.normalize), (32, true));
/// # Ok::<(), ove::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecommenderOptions {
    /// Length of the vectors of users and items.
    pub rank: usize,
    /// Whether scores are cosines; otherwise they are inner products.
    pub normalize: bool,
    /// The number that scores are divided by.
    pub temperature: f64,
    /// The objective: `sampled-softmax`, with one logarithm per interaction, or `one-vs-each`, with one per negative.
    pub objective: Objective,
    /// Number of negatives that the users of a batch share.
    pub negatives: usize,
    /// Number of users per batch; if not given, 512, or fewer for fewer than 25,600 users.
    pub batch: Option<usize>,
    /// Number of epochs; if not given, chosen on held-out interactions.
    pub epochs: Option<usize>,
    /// Learning rate of Adam.
    pub learning_rate: f64,
    /// λ of the penalty λ/2·‖w‖² per visit of a vector, which grows with how often an item occurs.
    pub l2: f64,
    /// The share of the numbers of a user vector that are zero at each visit.
    pub dropout: f64,
    /// η, the weight of the mean of the vectors of a user's items, which is added to the user's vector.
    #[serde(default)] // a file without it is of a model without it
    pub history: f64,
    /// The weight of co-occurrence in the scores, beside the cosines.
    #[serde(default)]
    pub co_occurrence: f64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The memory budget of the vectors.
    #[serde(skip, default = "usual_memory")]
    pub memory: Bytes,
}

impl Default for RecommenderOptions {
    fn default() -> Self {
        RecommenderOptions {
            rank: 64,
            normalize: true,
            temperature: 0.1,
            objective: Objective::SampledSoftmax,
            negatives: 2048,
            batch: None,
            epochs: None,
            learning_rate: 0.02,
            l2: 0.0,
            dropout: 0.0,
            history: 3.0,
            co_occurrence: 5.0,
            seed: 0,
            memory: usual_memory(),
        }
    }
}

impl RecommenderOptions {
    /// Builds options from settings by name; null stands for a setting that is not given.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value out of range, [`Error::Settings`] for an unknown name.
    pub fn from_settings(settings: &Value) -> Result<Self> {
        let given = settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let mut list: Map<String, Value> = given.map(|(name, value)| (name.replace('-', "_"), value.clone())).collect();
        let memory = list.remove("memory").map_or(Ok(usual_memory()), |memory| bytes(&memory))?;
        let options = RecommenderOptions { memory, ..take(RecommenderOptions::default(), &mut list)? };
        if let Some(name) = list.keys().next() {
            return Err(Error::Settings(format!("`{}` is not a setting of recommenders", name.replace('_', "-"))));
        }
        options.check()?;
        Ok(options)
    }

    /// Checks the ranges of all settings.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first value out of range.
    pub fn check(&self) -> Result<()> {
        at_least_one("rank", Some(self.rank))?;
        at_least_one("negatives", Some(self.negatives))?;
        at_least_one("batch", self.batch)?;
        at_least_one("epochs", self.epochs)?;
        positive("temperature", Some(self.temperature))?;
        positive("learning-rate", Some(self.learning_rate))?;
        at_least_zero("l2", Some(self.l2))?;
        at_least_zero("history", Some(self.history))?;
        at_least_zero("co-occurrence", Some(self.co_occurrence))?;
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::setting("dropout", "be at least 0 and below 1", self.dropout));
        }
        match self.objective {
            Objective::SampledSoftmax | Objective::OneVsEach => Ok(()),
            other => Err(Error::setting("objective", "be sampled-softmax or one-vs-each for recommenders", other)),
        }
    }
}
