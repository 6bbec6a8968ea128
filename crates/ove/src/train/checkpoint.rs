//! Checkpoints: the whole state of a run in a file.
//!
//! A run that is resumed from a checkpoint ends in the same bits as one that was never interrupted.
//! [`Training::save`](super::Training::save) writes a checkpoint and [`Training::restore`](super::Training::restore)
//! resumes from a [`Saved`] one. [`Checkpoints`] is a folder of them: it decides when the next one is due, numbers
//! them, and keeps the last two. Files are written atomically and have a checksum; damaged ones are skipped.
//!
//! ```
//! use ove::train::checkpoint::{Checkpoints, Every};
//! use ove::train::{Start, Training};
//! use ove::{Examples, TrainOptions, synthetic};
//!
//! let data = synthetic::plane(200, 0);
//! let settings = serde_json::json!({ "scores": "linear", "epochs": 5, "learning_rate": 0.1, "batch": 50 });
//! let options = TrainOptions::from_settings(&settings)?;
//! let start = || Training::new(Examples::of(&data), &options, Start::default());
//! let folder = tempfile::tempdir().unwrap();
//! let mut checkpoints = Checkpoints::new(folder.path(), Every::Epochs(1))?;
//!
//! let mut interrupted = start()?;
//! while let Some(progress) = interrupted.step()? {
//!     if checkpoints.is_due(progress.epochs) {
//!         checkpoints.write(progress.epochs, &|path| interrupted.save(path))?;
//!     }
//!     if progress.epochs > 2.5 {
//!         break; // a power failure
//!     }
//! }
//! let saved = checkpoints.newest()?.saved.expect("two epochs were saved");
//!
//! let (mut resumed, mut whole) = (start()?, start()?);
//! resumed.restore(&saved)?;
//! while resumed.step()?.is_some() {}
//! while whole.step()?.is_some() {}
//! assert_eq!(resumed.finish()?.scores, whole.finish()?.scores);
//! # Ok::<(), ove::Error>(())
//! ```

mod identity;
mod state;

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
pub(crate) use identity::Identity;
pub(crate) use state::{F32, F64, Table, U16, U32, write};
pub use state::{Saved, State, StateReader};

/// Number of checkpoints that are kept: if the newest is damaged, the previous one can be used.
const KEPT: usize = 2;

/// The file extension; the file names are numbers.
const ENDING: &str = "checkpoint";

/// A function that writes the state of a run to a file.
pub type Save<'a> = dyn Fn(&Path) -> Result<()> + 'a;

/// The interval between checkpoints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Every {
    /// A duration.
    Time(Duration),
    /// A number of epochs (for the batch solver: iterations).
    Epochs(u32),
}

impl Default for Every {
    fn default() -> Self {
        Every::Time(Duration::from_secs(300))
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Every::Time(time) => humantime::format_duration(*time).fmt(f),
            Every::Epochs(1) => f.write_str("1epoch"),
            Every::Epochs(count) => write!(f, "{count}epochs"),
        }
    }
}

impl FromStr for Every {
    type Err = Error;

    /// Parses `30s`, `5min`, `2h` or `1epoch`.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            let must = "be a time such as 30s, 5min or 2h, or a number of epochs such as 1epoch";
            Error::setting("checkpoint-every", must, format!("`{text}`"))
        };
        let epochs = text.strip_suffix("epochs").or_else(|| text.strip_suffix("epoch"));
        match epochs.map(|count| count.trim().parse()) {
            Some(Ok(count)) if count > 0 => Ok(Every::Epochs(count)),
            Some(_) => Err(bad()),
            None => humantime::parse_duration(text).map(Every::Time).map_err(|_| bad()),
        }
    }
}

/// A folder with the checkpoints of one run.
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    every: Every,
    /// The number of the newest one.
    number: u64,
    /// The time when it was written, and the number of epochs.
    written: (Instant, f64),
}

/// The newest usable checkpoint of a folder.
#[derive(Debug, Default)]
pub struct Newest {
    /// The newest checkpoint that is not damaged.
    pub saved: Option<Saved>,
    /// The errors of newer checkpoints, which were skipped.
    pub passed_over: Vec<Error>,
}

impl Checkpoints {
    /// Creates the folder if it does not exist, and removes incomplete files of a killed run.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be created or read.
    pub fn new(folder: &Path, every: Every) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
        for path in files(folder)? {
            let is_ours = |name: &str| name.contains(&format!(".{ENDING}.")) && name.ends_with(".part");
            if path.file_name().and_then(OsStr::to_str).is_some_and(is_ours) {
                fs::remove_file(&path).map_err(|e| Error::file(&path, e))?;
            }
        }
        let number = numbered(folder)?.last().map_or(0, |(number, _)| *number);
        Ok(Checkpoints { folder: folder.to_owned(), every, number, written: (Instant::now(), 0.0) })
    }

    /// Whether there is no checkpoint.
    pub fn is_empty(&self) -> bool {
        self.number == 0
    }

    /// Opens the newest checkpoint that is not damaged.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read.
    pub fn newest(&self) -> Result<Newest> {
        let mut newest = Newest::default();
        for (_, path) in numbered(&self.folder)?.into_iter().rev() {
            match Saved::open(&path) {
                Ok(saved) => {
                    newest.saved = Some(saved);
                    break;
                }
                Err(error) => newest.passed_over.push(error),
            }
        }
        Ok(newest)
    }

    /// Whether the next checkpoint is due after the given number of epochs.
    pub fn is_due(&self, epochs: f64) -> bool {
        match self.every {
            Every::Time(time) => self.written.0.elapsed() >= time,
            Every::Epochs(count) => (epochs / f64::from(count)).floor() > (self.written.1 / f64::from(count)).floor(),
        }
    }

    /// Writes the next checkpoint and removes all but the last two. After a failure, the earlier ones are still there.
    ///
    /// # Errors
    /// Those of `save`, and [`Error::File`] if an old checkpoint cannot be removed.
    pub fn write(&mut self, epochs: f64, save: &Save<'_>) -> Result<()> {
        let path = self.folder.join(format!("{:06}.{ENDING}", self.number + 1));
        let saved = save(&path);
        // After a failure, the next attempt also waits for the interval.
        self.written = (Instant::now(), epochs);
        saved?;
        self.number += 1;
        let numbered = numbered(&self.folder)?;
        for (_, path) in numbered.iter().rev().skip(KEPT) {
            fs::remove_file(path).map_err(|e| Error::file(path, e))?;
        }
        Ok(())
    }

    /// Sets the epoch at which a run was resumed, from which the next checkpoint is due.
    pub fn resumed_at(&mut self, epochs: f64) {
        self.written = (Instant::now(), epochs);
    }

    /// Removes all checkpoints, at the end of a run.
    ///
    /// # Errors
    /// [`Error::File`] if one cannot be removed.
    pub fn clear(&self) -> Result<()> {
        for (_, path) in numbered(&self.folder)? {
            fs::remove_file(&path).map_err(|e| Error::file(&path, e))?;
        }
        Ok(())
    }
}

/// The checkpoints of a folder, oldest first.
fn numbered(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let number = |path: &Path| -> Option<u64> {
        let is_one = path.extension() == Some(OsStr::new(ENDING));
        path.file_stem().filter(|_| is_one)?.to_str()?.parse().ok()
    };
    let mut found: Vec<_> =
        files(folder)?.into_iter().filter_map(|path| number(&path).map(|number| (number, path))).collect();
    found.sort_unstable();
    Ok(found)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>();
    list().map_err(|e| Error::file(folder, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_epochs() {
        for (text, every, shown) in [
            ("30s", Every::Time(Duration::from_secs(30)), "30s"),
            ("0.25s", Every::Time(Duration::from_millis(250)), "250ms"),
            ("5min", Every::Time(Duration::from_secs(300)), "5m"),
            ("2h", Every::Time(Duration::from_secs(7200)), "2h"),
            ("1h 30min", Every::Time(Duration::from_secs(5400)), "1h 30m"),
            ("1epoch", Every::Epochs(1), "1epoch"),
            ("3 epochs", Every::Epochs(3), "3epochs"),
        ] {
            let parsed: Every = text.parse().unwrap();
            assert_eq!((parsed, parsed.to_string().as_str()), (every, shown));
            assert_eq!(shown.parse::<Every>().unwrap(), every);
        }
        for text in ["", "5", "min", "epoch", "0epoch", "1.5epoch", "-1s", "1e9s", "7 parsecs", "99999999999999999999h"]
        {
            assert!(text.parse::<Every>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_two_are_kept_and_numbers_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut checkpoints = Checkpoints::new(folder.path(), Every::Epochs(1)).unwrap();
        assert!(checkpoints.is_empty());
        let save = |path: &Path| {
            fs::write(path, "x").unwrap();
            Ok(())
        };
        for epoch in 1..=4 {
            assert!(checkpoints.is_due(f64::from(epoch)) && !checkpoints.is_due(f64::from(epoch) - 0.5));
            checkpoints.write(epoch.into(), &save).unwrap();
        }
        fs::write(folder.path().join("000005.checkpoint.77.part"), "half").unwrap();
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        let again = Checkpoints::new(folder.path(), Every::Epochs(1)).unwrap();
        assert_eq!(again.number, 4);
        let mut names: Vec<_> =
            files(folder.path()).unwrap().iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        names.sort_unstable();
        assert_eq!(names, ["000003.checkpoint", "000004.checkpoint", "notes.txt"]);
        assert_eq!(again.newest().unwrap().passed_over.len(), 2);
        again.clear().unwrap();
        assert_eq!(files(folder.path()).unwrap().len(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let mut checkpoints = Checkpoints::new(folder.path(), Every::Epochs(1)).unwrap();
        let good = |path: &Path| {
            fs::write(path, "x").unwrap();
            Ok(())
        };
        checkpoints.write(1.0, &good).unwrap();
        let full = |path: &Path| Err(Error::file(path, std::io::Error::from_raw_os_error(28)));
        assert!(checkpoints.write(2.0, &full).is_err());
        assert_eq!(numbered(folder.path()).unwrap().len(), 1);
        assert!(!checkpoints.is_due(2.5));
    }
}
