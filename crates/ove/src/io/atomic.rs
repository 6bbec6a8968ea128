//! Atomic writes: a file is written beside its place, synced and renamed, so there is always the old file or the new
//! one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The error for a file of `bytes` bytes that could not be written, with what is needed.
pub fn unwritten(path: &Path, bytes: usize, error: io::Error) -> Error {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).display();
    let needed = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            format!("; {folder} needs room for {:.1} MB", bytes as f64 / 1e6)
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("; it must be allowed to make files in {folder}")
        }
        _ => String::new(),
    };
    Error::file(path, io::Error::new(error.kind(), format!("{error}{needed}")))
}

/// The path that a file is written to before it is renamed to `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Checks that a file can be written here, by creating an empty one beside it.
///
/// # Errors
/// [`Error::File`] if it cannot.
pub fn check_place(path: &Path) -> Result<()> {
    let beside = beside(path);
    File::create(&beside).and_then(|_| fs::remove_file(&beside)).map_err(|e| unwritten(path, 0, e))
}

/// Lets `write` fill a file beside `path`, then renames it to `path`; on failure nothing is left behind.
///
/// # Errors
/// [`Error::File`] if the file cannot be synced or renamed, and any error of `write`.
pub fn write_beside(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let beside = beside(path);
    let finish = || -> Result<()> {
        write(&beside)?;
        let sync = |path: &PathBuf| File::open(path)?.sync_all();
        sync(&beside).and_then(|()| fs::rename(&beside, path)).map_err(|e| Error::file(path, e))?;
        // The rename is durable once the folder is synced; not every system can open a folder.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().map_err(|e| Error::file(path, e))?;
        }
        Ok(())
    };
    finish().inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}
