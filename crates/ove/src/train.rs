//! Training: maximises the objective, summed over rows, minus an L2 penalty.
//!
//! ```text
//! F(w) = Σ_n w_n Σ_{y ∈ Y_n} c_y log p̃(y | x_n)  −  λ/2 ‖w‖²
//! ```
//!
//! Each label of a row is compared with the row's negatives, the classes that are not its labels. The weights of rows
//! and classes, w_n and c_y, are 1 if not given.
//!
//! [`fit()`] is the whole procedure: it chooses the settings that are not given, trains, calibrates and returns a
//! model. [`Training`] is a run that the caller advances step by step. There are three solvers: `stochastic` samples
//! rows and negatives, `batch` runs L-BFGS on the sum over all rows, and `trees` trains trees over very many classes
//! node by node. All give the same bits for any number of threads.

pub mod batch;
pub(crate) mod budget;
pub(crate) mod calibration;
pub mod categorical;
pub mod checkpoint;
pub(crate) mod choice;
mod early_stopping;
mod embedding;
mod fit;
mod fit_data;
mod folds;
mod label_weights;
pub(crate) mod learning_rate;
mod logistic;
mod optimizer;
mod parts;
mod recommender;
mod run;
mod simplex;
mod stochastic;
mod training;
mod trees;
pub(crate) mod validation;
mod word_start;

pub use choice::Compared;
pub use embedding::{EmbeddingEvent, EmbeddingTraining, WatchEmbedding, fit_embedding};
pub use fit::{Chosen, Divide, Event, FitStart, Stop, Watch, fit, fit_in_parts, fit_with};
pub use fit_data::FitData;
pub use parts::{Part, Stage};
pub use recommender::{RecommenderEvent, RecommenderTraining, WatchRecommender, fit_recommender};
pub use run::{Progress, Start};
pub use training::{Trained, Training};
