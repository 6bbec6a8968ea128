//! Softmax models with very many classes, trained through the one-vs-each bound.
//!
//! The method is that of *One-vs-Each Approximation to Softmax for Scalable Estimation of Probabilities* (Titsias, 2016), here called
//! the paper; equation numbers are its own. [`objective`] holds the exact softmax and its lower bounds as functions of scores, [`solve`]
//! maximises their sum over rows in the weights of a linear model, and [`sampler`] chooses which classes a row visits on the way.
//!
//! Data flows one way:
//!
//! ```text
//! file → read → Dataset → Rows → solve → Model → file
//!             ↘ Texts → text ↗
//!                          Rows → Model → top classes, probabilities → evaluate
//! ```
//!
//! ```
//! use std::ops::ControlFlow;
//! use ove::{Options, Problem, synthetic};
//!
//! let data = synthetic::plane(200, 0);
//! let problem = Problem::of(&data);
//! let fit = ove::train(&problem, &Options::default(), &mut |progress| {
//!     assert!(progress.bound < 0.0); // an unbiased estimate of the bound on the log likelihood of all rows
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!(fit.linear.classes(), 5);
//! # Ok::<(), ove::Error>(())
//! ```

pub mod budget;
pub mod cache;
pub mod checkpoint;
pub mod data;
pub mod digest;
pub mod disk;
pub mod error;
pub mod estimate;
pub mod evaluate;
pub mod events;
pub mod file;
pub mod forest;
pub mod held_out;
pub mod labels;
mod largest;
pub mod linear;
pub mod machine;
pub mod math;
mod matrix;
pub mod model;
mod names;
pub mod numbers;
pub mod objective;
pub mod options;
pub mod places;
pub mod random;
pub mod read;
pub mod sampler;
pub mod solve;
pub mod step;
pub mod synthetic;
pub mod text;
pub mod write;

pub use data::{Dataset, Row, Rows};
pub use error::{Error, Place, Result};
pub use evaluate::{Evaluation, evaluate};
pub use forest::Forest;
pub use held_out::HeldOut;
pub use labels::Labels;
pub use linear::{Linear, Prediction};
pub use model::{Model, Settings, Weights};
pub use objective::Objective;
pub use options::{ForestOptions, Options, Solver};
pub use solve::{Fit, Problem, Progress, train, train_from};

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
