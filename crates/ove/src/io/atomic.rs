//! Files that are written beside their place, synced and renamed: there is the old file or the new one, never a part of one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Why a file of so many bytes could not be written, and what it takes.
pub(crate) fn unwritten(path: &Path, bytes: usize, error: io::Error) -> Error {
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

/// Where a file is written before it takes the place of `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Whether a file could be written here, by writing an empty one beside it.
pub fn check_place(path: &Path) -> Result<()> {
    let beside = beside(path);
    File::create(&beside).and_then(|_| fs::remove_file(&beside)).map_err(|e| unwritten(path, 0, e))
}

/// Has `write` fill a file beside `path`, then puts it in the place of `path`. On failure nothing is left behind.
pub fn write_beside(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let beside = beside(path);
    let finish = || -> Result<()> {
        write(&beside)?;
        let sync = |path: &PathBuf| File::open(path)?.sync_all();
        sync(&beside).and_then(|()| fs::rename(&beside, path)).map_err(|e| Error::file(path, e))?;
        // The rename itself lasts once the folder is synced; not every system can open a folder.
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
