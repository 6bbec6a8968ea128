//! The settings of embeddings.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::settings::{bytes, take};
use super::{Bytes, at_least_one, at_least_zero, positive, usual_memory};
use crate::bound::EmbeddingObjective;
use crate::error::{Error, Result};
use crate::text::CharRange;

/// The widest window: the numbers of words before and after are kept in a byte.
const WIDEST: usize = 100;

/// The settings of an embedding.
///
/// ```
/// use ove::options::EmbeddingOptions;
///
/// let options = EmbeddingOptions::from_settings(&serde_json::json!({ "rank": 32, "subwords": [3, 6] }))?;
/// assert_eq!((options.rank, options.window, options.cbow), (32, 5, false));
/// # Ok::<(), ove::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbeddingOptions {
    /// Length of the vectors.
    pub rank: usize,
    /// The largest distance between a word and a neighbour; that of each word is drawn from 1 to this.
    pub window: usize,
    /// Minimum number of occurrences of a word.
    pub min_count: u64,
    /// Words with a higher frequency than this are subsampled; 0 to keep all.
    pub sample: f64,
    /// The number of negatives that each neighbour is compared with.
    pub negatives: usize,
    /// The objective.
    pub objective: EmbeddingObjective,
    /// Lengths of the n-grams of characters whose vectors are part of those of words, such as `3-6`.
    pub subwords: Option<CharRange>,
    /// The number of buckets that n-grams are hashed into.
    pub buckets: usize,
    /// Whether the mean of the neighbours predicts the word (CBOW) instead of the word its neighbours (skip-gram).
    pub cbow: bool,
    /// Number of passes over the text.
    pub epochs: usize,
    /// The learning rate at the start, from which it falls to zero.
    pub learning_rate: f64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The memory budget of counts and vectors.
    #[serde(skip, default = "usual_memory")]
    pub memory: Bytes,
}

impl Default for EmbeddingOptions {
    fn default() -> Self {
        EmbeddingOptions {
            rank: 100,
            window: 5,
            min_count: 5,
            sample: 1e-3,
            negatives: 5,
            objective: EmbeddingObjective::SampledSoftmax,
            subwords: None,
            buckets: 2_000_000,
            cbow: false,
            epochs: 5,
            learning_rate: 0.05,
            seed: 0,
            memory: usual_memory(),
        }
    }
}

impl EmbeddingOptions {
    /// Builds options from settings by name; null stands for a setting that is not given.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value out of range, [`Error::Settings`] for an unknown name.
    pub fn from_settings(settings: &Value) -> Result<Self> {
        let given = settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let mut list: Map<String, Value> = given.map(|(name, value)| (name.replace('-', "_"), value.clone())).collect();
        let memory = list.remove("memory").map_or(Ok(usual_memory()), |memory| bytes(&memory))?;
        let options = EmbeddingOptions { memory, ..take(EmbeddingOptions::default(), &mut list)? };
        if let Some(name) = list.keys().next() {
            return Err(Error::Settings(format!("`{}` is not a setting of embeddings", name.replace('_', "-"))));
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
        at_least_one("window", Some(self.window))?;
        at_least_one("min-count", Some(self.min_count as usize))?;
        at_least_one("negatives", Some(self.negatives))?;
        at_least_one("buckets", Some(self.buckets))?;
        at_least_one("epochs", Some(self.epochs))?;
        at_least_zero("sample", Some(self.sample))?;
        positive("learning-rate", Some(self.learning_rate))?;
        if let Some(lengths) = self.subwords {
            lengths.check("subwords")?;
        }
        for (name, value, most) in [("window", self.window, WIDEST), ("buckets", self.buckets, u32::MAX as usize / 2)] {
            if value > most {
                return Err(Error::setting(name, format!("be at most {most}"), value));
            }
        }
        Ok(())
    }
}
