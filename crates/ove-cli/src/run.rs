//! A training run: fitting a model, and what the run shows and keeps meanwhile.

pub mod checkpoint;
pub mod comparison;
pub mod fit;
pub mod held_out;
pub mod interrupt;
pub mod log;
pub mod memory;
pub mod progress;
pub mod record;
