//! Errors of the core as the exceptions that Python has for them.

use std::io::ErrorKind;

use ove::Error;
use pyo3::exceptions::{PyFloatingPointError, PyOSError, PyValueError};
use pyo3::prelude::*;

/// The exception of an error.
pub fn exception(error: Error) -> PyErr {
    match error {
        // Python makes a FileNotFoundError and the like of the number.
        Error::File { path, reason } => {
            let number = reason.raw_os_error().unwrap_or_else(|| number(reason.kind()));
            let words = reason.to_string().trim_end_matches(&format!(" (os error {number})")).to_owned();
            PyOSError::new_err((number, words, path))
        }
        Error::Diverged { .. } => PyFloatingPointError::new_err(error.to_string()),
        // Keywords are spelt with the underscores of Python.
        Error::Option { name, found, allowed } => {
            PyValueError::new_err(format!("{} is {found}, but {allowed}", name.replace('-', "_")))
        }
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The number of the system for a failure that the core has put into words of its own.
fn number(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::NotFound => 2,
        ErrorKind::PermissionDenied => 13,
        ErrorKind::AlreadyExists => 17,
        ErrorKind::NotADirectory => 20,
        ErrorKind::IsADirectory => 21,
        ErrorKind::StorageFull => 28,
        _ => 5, // input or output
    }
}
