//! Writing folders and text files, with errors that name the path.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ove::io::atomic;

/// Creates a folder if it does not exist.
pub fn folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("creating {}", path.display()))
}

/// Writes a text file as a whole: if that fails, the old file stays, or none.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let fill = |place: &Path| fs::write(place, text).map_err(|error| atomic::unwritten(path, text.len(), error));
    // Only a file can be replaced; a device, a pipe or what a link leads to is written to.
    let is_replaced = fs::symlink_metadata(path).map_or(true, |found| found.is_file());
    Ok(if is_replaced { atomic::write_beside(path, fill) } else { fill(path) }?)
}
