//! Rows with their classes.
//!
//! [`Rows`] is a borrowed view: what the solvers and the model read, whoever owns the numbers. [`Dataset`] owns them, together
//! with the names that the file gave to classes and features. [`Examples`] are some of its rows, chosen by an index.

mod dataset;
mod examples;
pub(crate) mod labels;
pub(crate) mod mapped_rows;
mod rows;
mod skipped;

pub use dataset::Dataset;
pub use examples::Examples;
pub use labels::Labels;
pub use rows::{Row, Rows};
pub use skipped::{OnError, Skipped};
