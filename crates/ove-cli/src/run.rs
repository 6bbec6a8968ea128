//! A training run: what it shows and keeps while it lasts.

pub mod checkpoint;
pub mod comparison;
pub mod interrupt;
pub mod log;
pub mod memory;
pub mod progress;
pub mod record;
pub mod training;
