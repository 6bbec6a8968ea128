//! What makes factored scores an embedding.

use serde::{Deserialize, Serialize};

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
