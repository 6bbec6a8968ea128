//! Errors of the library as the exceptions that Python has for them.

use std::io::ErrorKind;

use ove::Error;
use pyo3::exceptions::{PyFloatingPointError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The exception for an error.
pub fn exception(error: Error) -> PyErr {
    match error {
        // Python makes a FileNotFoundError and the like from the number.
        Error::File { path, source } => {
            let number = source.raw_os_error().unwrap_or_else(|| number(source.kind()));
            let message = source.to_string().trim_end_matches(&format!(" (os error {number})")).to_owned();
            PyOSError::new_err((number, message, path))
        }
        Error::Stopped => PyRuntimeError::new_err("training was stopped before there was a model"),
        Error::Diverged { .. } => PyFloatingPointError::new_err(error.to_string()),
        Error::Setting { name, must, got } => {
            PyValueError::new_err(Error::Setting { name: keyword(&name), must, got }.to_string())
        }
        Error::Unused { name, owner, chosen } => {
            PyValueError::new_err(Error::Unused { name: keyword(&name), owner, chosen }.to_string())
        }
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The keyword for a setting, which the library names as the command line does.
fn keyword(setting: &str) -> String {
    match setting {
        "seed" => "random_state".into(),
        "threads" => "n_jobs".into(),
        other => other.replace('-', "_"),
    }
}

/// The number that the system has for a failure of which the library gives only the kind.
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
