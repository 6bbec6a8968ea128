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

/// Where the bytes for a path go.
enum Place {
    /// A regular file, behind any symbolic links, or none yet.
    File(PathBuf),
    /// A device, pipe or socket, which is written through: a file in its place would replace it.
    Through,
}

impl Place {
    fn of(path: &Path) -> io::Result<Place> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink());
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => Ok(Place::Through),
            Ok(_) if is_link => Ok(Place::File(fs::canonicalize(path)?)),
            // A link to a file that does not exist yet; relative to its own folder.
            Err(_) if is_link => Ok(Place::File(path.with_file_name("").join(fs::read_link(path)?))),
            _ => Ok(Place::File(path.to_owned())),
        }
    }
}

/// Checks that a file can be written here, by creating an empty one beside it.
///
/// # Errors
/// [`Error::File`] if it cannot.
pub fn check_place(path: &Path) -> Result<()> {
    let check = || match Place::of(path)? {
        Place::Through => Ok(()),
        Place::File(place) => {
            let beside = beside(&place);
            File::create(&beside).and_then(|_| fs::remove_file(&beside))
        }
    };
    check().map_err(|e| unwritten(path, 0, e))
}

/// Lets `write` fill a file beside `path`, then renames it to `path`; on failure nothing is left behind.
///
/// A symbolic link is followed, and what is not a regular file, such as a pipe, is written through.
///
/// # Errors
/// [`Error::File`] if the file cannot be synced or renamed, and any error of `write`.
pub fn write_beside(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let place = match Place::of(path).map_err(|e| Error::file(path, e))? {
        Place::File(place) => place,
        Place::Through => return write(path),
    };
    let beside = beside(&place);
    let finish = || -> Result<()> {
        write(&beside)?;
        let sync = |path: &PathBuf| File::open(path)?.sync_all();
        sync(&beside).and_then(|()| fs::rename(&beside, &place)).map_err(|e| Error::file(path, e))?;
        // The rename is durable once the folder is synced; not every system can open a folder.
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().map_err(|e| Error::file(path, e))?;
        }
        Ok(())
    };
    finish().inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}
