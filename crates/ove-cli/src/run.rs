//! Support for training runs: progress, checkpoints, logs and interrupts.

pub mod checkpoint;
pub mod comparison;
pub mod interrupt;
pub mod log;
pub mod memory;
pub mod progress;
pub mod record;
pub mod training;
