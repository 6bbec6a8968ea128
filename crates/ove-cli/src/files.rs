//! Writing folders and text files, with errors that name the path.

use std::path::Path;

use anyhow::{Context, Result};

/// Creates a folder if it does not exist.
pub fn folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("creating {}", path.display()))
}

/// Writes a text file.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
