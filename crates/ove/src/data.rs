//! Rows with their classes.
//!
//! [`Rows`] is a borrowed view, which solvers and models read. [`Dataset`] owns rows, together with the names of
//! classes and features. [`Examples`] is a subset of rows with their labels and weights. [`Interactions`] are users
//! with the items that they chose.

mod columns;
mod dataset;
mod doubts;
mod examples;
mod interactions;
pub(crate) mod labels;
pub(crate) mod mapped_rows;
mod rows;
mod skipped;
mod views;

pub use columns::Columns;
pub use dataset::Dataset;
pub use doubts::Doubt;
pub use examples::Examples;
pub use interactions::Interactions;
pub use labels::Labels;
pub use rows::{Row, Rows};
pub use skipped::{OnError, Skipped};
pub use views::{Kind, View};
