//! Errors of the core as the exceptions that Python has for them.

use ove::Error;
use pyo3::exceptions::{PyFloatingPointError, PyOSError, PyValueError};
use pyo3::prelude::*;

/// The exception of an error.
pub fn exception(error: Error) -> PyErr {
    match error {
        Error::File { path, reason } => {
            let words = reason.to_string();
            match reason.raw_os_error() {
                // Python makes a FileNotFoundError and the like of the number.
                Some(number) => {
                    let words = words.trim_end_matches(&format!(" (os error {number})")).to_owned();
                    PyOSError::new_err((number, words, path))
                }
                None => PyOSError::new_err(format!("{}: {words}", path.display())),
            }
        }
        Error::Diverged { .. } => PyFloatingPointError::new_err(error.to_string()),
        // Keywords are spelt with the underscores of Python.
        Error::Option { name, found, allowed } => {
            PyValueError::new_err(format!("{} is {found}, but {allowed}", name.replace('-', "_")))
        }
        other => PyValueError::new_err(other.to_string()),
    }
}
