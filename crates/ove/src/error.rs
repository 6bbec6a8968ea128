//! The error type of the library. Messages say where the problem is, what was found and what is allowed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The error type of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A data file is not valid in its format.
    #[error("{place}: {message}")]
    Input {
        /// The position in the file.
        place: Place,
        /// What is wrong there, such as "expected …, found …".
        message: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A setting is out of range.
    #[error("`{name}` must {must}, got {got}")]
    Setting {
        /// The setting, named as on the command line.
        name: String,
        /// What the value must be, starting with a verb: `be at least 1`.
        must: String,
        /// The value that was given.
        got: String,
    },
    /// A setting that the chosen scores or solver do not use.
    #[error("`{name}` is a setting of {owner}, which {chosen} not use")]
    Unused {
        /// The setting, named as on the command line.
        name: String,
        /// The part of training that uses it.
        owner: &'static str,
        /// The part that was chosen instead, with `do` or `does`.
        chosen: &'static str,
    },
    /// Settings that are invalid for another reason.
    #[error("{0}")]
    Settings(String),
    /// Two inputs are inconsistent: rows and labels, model and data, checkpoint and options.
    #[error("{0}")]
    Mismatch(String),
    /// A model file is invalid.
    #[error("{}: not a usable model: {reason}", path.display())]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What is invalid.
        reason: String,
    },
    /// A checkpoint is invalid.
    #[error("{}: not a usable checkpoint: {reason}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is invalid.
        reason: String,
    },
    /// The cache of a data file is invalid.
    #[error("{}: not a usable cache: {reason}; remove its folder to rebuild it", path.display())]
    Cache {
        /// The file within the cache.
        path: PathBuf,
        /// What is invalid.
        reason: String,
    },
    /// Training was stopped and its result discarded.
    #[error("stopped")]
    Stopped,
    /// Training diverged: a weight is not finite, or the objective is far below its value at w = 0.
    #[error("{}", diverged(*epoch, *learning_rate))]
    Diverged {
        /// The epoch, from 1.
        epoch: usize,
        /// The learning rate; 0 for the batch solver, which has none.
        learning_rate: f64,
    },
}

fn diverged(epoch: usize, learning_rate: f64) -> String {
    if learning_rate == 0.0 {
        return format!("training diverged in iteration {epoch}; the feature values are too large, scale them down");
    }
    // A suggestion needs no more than two digits.
    let smaller: f64 = format!("{:.1e}", learning_rate / 10.0).parse().unwrap_or_default();
    format!("training diverged in epoch {epoch} at the learning rate {learning_rate}; try a learning rate of {smaller}")
}

impl Error {
    /// Returns an [`Error::File`] for `path`.
    pub fn file(path: &Path, source: io::Error) -> Self {
        Error::File { path: path.to_owned(), source }
    }

    /// Returns an [`Error::Setting`]: `` `name` must be …, got … ``.
    pub fn setting(name: &str, must: impl Into<String>, got: impl fmt::Display) -> Self {
        Error::Setting { name: name.replace('_', "-"), must: must.into(), got: got.to_string() }
    }
}

/// A position in a file, printed as `path:line:column`.
///
/// Lines and columns count from 1; 0 stands for none (a binary file, a whole line). Columns count bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}
