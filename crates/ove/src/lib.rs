//! Softmax models with very many classes, trained through the one-vs-each bound.
//!
//! The method is that of *One-vs-Each Approximation to Softmax for Scalable Estimation of Probabilities* (Titsias,
//! 2016), here called the paper; equation numbers are the paper's. Three parts are independent of each other:
//! [`scores`] computes scores from a row and the weights, [`bound`] is the objective as a function of scores, and
//! [`mod@train`] maximises it.
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
//! Modules form layers: each imports only modules before it in the list `platform`, `data`, `bound`, `sample`, `text`,
//! `io`, `scores`, `options`, `model`, `train`, `metrics`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "references for our own"))]

pub mod bound;
pub mod data;
mod error;
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

/// Runs the README's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
