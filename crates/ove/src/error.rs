//! One error for the whole library. Each says where, what was found and what is allowed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A data file holds something that its format does not allow.
    #[error("{place}: {found}, but {allowed}")]
    Input {
        /// Where in which file.
        place: Place,
        /// What stands there.
        found: String,
        /// What may stand there.
        allowed: String,
    },
    /// The operating system refused a file.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A setting lies outside its range.
    #[error("`{name}` must {must}, got {got}")]
    Setting {
        /// The setting, named as on the command line.
        name: String,
        /// What it must be.
        must: String,
        /// What it is.
        got: String,
    },
    /// A setting is given that nothing uses beside the others.
    #[error("`{name}` is a setting of {owner}, which {chosen} not use")]
    Unused {
        /// The setting, named as on the command line.
        name: String,
        /// What uses it.
        owner: &'static str,
        /// What was chosen instead.
        chosen: &'static str,
    },
    /// Settings that cannot be used, for another reason.
    #[error("{0}")]
    Settings(String),
    /// Two things that must fit together do not: rows and labels, model and data.
    #[error("{0}")]
    Mismatch(String),
    /// A model file cannot be used.
    #[error("{}: not a usable model: {reason}", path.display())]
    ModelFile {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A checkpoint cannot be used.
    #[error("{}: not a usable checkpoint: {reason}", path.display())]
    Checkpoint {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The cache of a data file cannot be used.
    #[error("{}: not a usable cache: {reason}; remove its folder to have it made again", path.display())]
    Cache {
        /// Which of its files.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Training was stopped, and nothing is kept of it.
    #[error("stopped")]
    Stopped,
    /// Training diverged: numbers that are not finite, or an objective far below its value at w = 0.
    #[error("{}", diverged(*epoch, *learning_rate))]
    Diverged {
        /// The epoch, from 1.
        epoch: usize,
        /// The rate that was given; 0 where there is none.
        learning_rate: f64,
    },
}

fn diverged(epoch: usize, learning_rate: f64) -> String {
    if learning_rate == 0.0 {
        return format!("training diverged in iteration {epoch}; scale the features, whose values are too large");
    }
    // Two digits will do for something to try.
    let smaller: f64 = format!("{:.1e}", learning_rate / 10.0).parse().unwrap_or_default();
    format!("training diverged in epoch {epoch} at the learning rate {learning_rate}; try a learning rate of {smaller}")
}

impl Error {
    /// An [`Error::File`] for `path`.
    pub fn file(path: &Path, source: io::Error) -> Self {
        Error::File { path: path.to_owned(), source }
    }

    /// An [`Error::Setting`]: `` `name` must be …, got … ``.
    pub fn setting(name: &str, must: impl Into<String>, got: impl fmt::Display) -> Self {
        Error::Setting { name: name.replace('_', "-"), must: must.into(), got: got.to_string() }
    }
}

/// A place in a file: `path:line:column`. Lines and columns count from 1; 0 means that the place has none
/// (a binary file, a line as a whole). Columns count bytes, as editors and compilers do for ASCII.
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
