//! What makes factored scores an embedding.

use serde::{Deserialize, Serialize};

use super::Model;
use crate::error::{Error, Result};
use crate::options::EmbeddingOptions;

/// What makes factored scores an embedding: classes are words, and features are words and then n-grams of characters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// The settings of training.
    pub options: EmbeddingOptions,
    /// The bucket of each n-gram that has a vector, in increasing order.
    #[serde(skip)]
    pub buckets: Vec<u32>,
}

impl Model {
    /// Checks that the model predicts the classes of rows, as an embedding does not.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for an embedding.
    pub fn check_predicts_rows(&self) -> Result<()> {
        match &self.card.embedding {
            None => Ok(()),
            Some(_) => Err(Error::Mismatch(
                "the model is an embedding, which has vectors of words and does not predict the classes of rows; use \
                 `ove similar`, `ove analogy` or `ove evaluate --analogies`"
                    .into(),
            )),
        }
    }
}
