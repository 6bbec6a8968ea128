//! Softmax models with very many classes, trained through the one-vs-each bound.
//!
//! The method is that of *One-vs-Each Approximation to Softmax for Scalable Estimation of Probabilities* (Titsias, 2016),
//! here called the paper; equation numbers are its own. Three things do not know each other: [`scores`], how a row and the
//! weights make scores; [`bound`], what is maximised as a function of scores; and [`mod@train`], how.
//!
//! ```text
//! file → io → Dataset → Examples → train(scores, bound) → Model → file
//!           ↘ text ↗                       Rows → Model → top-k, probabilities → metrics
//! ```
//!
//! ```
//! use std::ops::ControlFlow;
//! use ove::{TrainOptions, evaluate, fit, synthetic};
//!
//! let data = synthetic::plane(500, 0); // five classes in the plane
//! let model = fit(&data, &TrainOptions::default(), |_| ControlFlow::Continue(()))?;
//! assert_eq!(model.classes(), 5);
//! let evaluation = evaluate(&model, data.rows(), &data.labels)?;
//! assert!(evaluation.error < 0.3);
//! # Ok::<(), ove::Error>(())
//! ```
//!
//! Modules import downwards in this order and never upwards: `platform`, `data`, `bound`, `sample`, `text`, `io`,
//! `scores`, `options`, `model`, `train`, `metrics`.

pub mod bound;
pub mod data;
pub mod error;
pub mod io;
mod metrics;
pub mod model;
pub mod options;
#[doc(hidden)]
pub mod platform;
pub mod sample;
pub mod scores;
pub mod synthetic;
pub mod text;
pub mod train;

pub use bound::Objective;
pub use data::{Dataset, Examples, Labels, Row, Rows};
pub use error::{Error, Place, Result};
pub use metrics::evaluate;
pub use model::{Evaluation, Model};
pub use options::TrainOptions;
pub use platform::pool::with_threads;
pub use scores::{Prediction, Scores};
pub use train::{Training, fit, fit_with};

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
