//! `ove._ove`, the private half of the Python package: arrays in, arrays out, without a copy where their types allow.
//! What a user sees (estimators, their checks and docstrings) is Python, in `python/ove`.

mod bounds;
mod cached;
mod errors;
mod model;
mod parts;
mod recommender;
mod rows;
mod settings;
mod text;
mod train;
mod watch;
mod word_vectors;

use pyo3::prelude::*;

#[pymodule]
mod _ove {
    #[pymodule_export]
    use super::bounds::{estimate, log_softmax_bound};
    #[pymodule_export]
    use super::cached::{CachedRows, add_up_terms, count_terms, join_rows, resolve_texts, write_rows};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::parts::{train_in_parts, train_parts};
    #[pymodule_export]
    use super::recommender::{Recommender, fit_recommender};
    #[pymodule_export]
    use super::settings::{check_settings, defaults};
    #[pymodule_export]
    use super::text::{TextRows, fit_text, fit_text_on_disk};
    #[pymodule_export]
    use super::train::{many_classes, train};
    #[pymodule_export]
    use super::word_vectors::{WordVectors, fit_words};
}
