//! Files in and out.

pub mod atomic;
pub mod cache;
pub mod read;
pub(crate) mod tensors;
pub mod write;
