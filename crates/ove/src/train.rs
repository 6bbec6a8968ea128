//! Training: the sum over rows of the objective, less the penalty, maximised in the weights of the scores.
//!
//! ```text
//! F(w) = Σ_n w_n Σ_{y ∈ Y_n} c_y log p̃(y | x_n)  −  λ/2 ‖w‖²
//! ```
//!
//! Each label of a row is compared with the classes that are not labels of it. The weights of rows and classes, w_n and
//! c_y, are 1 if not given.
//!
//! [`fit()`] is the whole policy: it chooses what is not given, trains, calibrates and gives a model. [`Training`] is a
//! run that is stepped by whoever drives it. Below it, `stochastic` visits a few rows and a few of their remaining classes
//! at a time, `batch` follows the gradient of the full sum, and `trees` trains trees over very many classes node by node.
//! All give the same bits for any number of threads.

pub mod batch;
pub(crate) mod budget;
pub(crate) mod calibration;
pub mod categorical;
pub mod checkpoint;
mod early_stopping;
mod fit;
mod fit_data;
mod label_weights;
pub(crate) mod learning_rate;
mod optimizer;
mod stochastic;
mod training;
mod trees;
pub(crate) mod validation;

pub use fit::{Chosen, Event, FitStart, Stop, Watch, fit, fit_with};
pub use fit_data::FitData;
pub use training::{Progress, Start, Trained, Training};
