//! Files in and out.

pub mod atomic;
pub mod cache;
mod corpus;
pub(crate) mod onnx;
pub mod read;
pub(crate) mod tensors;
pub mod vectors;
pub mod write;

pub(crate) use corpus::BREAK;
pub use corpus::{Corpus, Sentences};
