//! Softmax and its lower bounds, as pure functions of scores: the paper itself.

pub(crate) mod all_classes;
pub(crate) mod candidates;
pub mod events;
mod label_sum;
mod multilabel;
pub(crate) mod negatives;
pub mod normalised;
pub mod objective;
pub(crate) mod values;

pub use candidates::EmbeddingObjective;
pub use objective::Objective;
