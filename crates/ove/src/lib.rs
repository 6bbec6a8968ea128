//! Softmax models with very many classes, trained through the one-vs-each bound.
pub mod data;
pub mod error;
pub mod estimate;
pub mod evaluate;
pub mod events;
pub mod file;
pub mod math;
mod memory;
pub mod model;
mod names;
pub mod objective;
pub mod options;
pub mod random;
pub mod read;
pub mod sampler;
pub mod solve;
pub mod step;
pub mod synthetic;

pub use data::{Dataset, NO_CLASS, Row, Rows};
pub use error::{Error, Place, Result};
pub use evaluate::{Evaluation, evaluate};
pub use model::{Linear, Model};
pub use objective::Objective;
pub use options::{Options, Solver};
pub use solve::{Fit, Problem, Progress, train};
