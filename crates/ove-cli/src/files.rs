//! Folders and texts that the command line writes, with errors that name them.

use std::path::Path;

use anyhow::{Context, Result};

/// Makes a folder, unless it is there.
pub fn folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("making {}", path.display()))
}

/// Writes a text.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
