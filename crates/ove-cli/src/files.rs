//! Writing folders and files, with errors that name the path, and outputs that are not inputs.

use std::fs;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, Result, bail};
use ove::io::atomic;

/// Creates a folder if it does not exist.
pub fn folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("creating {}", path.display()))
}

/// Writes a file as a whole: if that fails, the old file stays, or none.
pub fn write(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    let content = content.as_ref();
    let fill = |place: &Path| fs::write(place, content).map_err(|error| atomic::unwritten(path, content.len(), error));
    Ok(atomic::write_beside(path, fill)?)
}

/// A file that a command reads or writes, if it is given, after the flag or argument that names it.
pub type Named<'a> = (&'static str, Option<&'a PathBuf>);

/// Checks that no output is one of the inputs or another output, by whatever name: it would replace what was read.
pub fn separate(outputs: &[Named], inputs: &[Named]) -> Result<()> {
    let given = |&(name, path): &Named<'_>| Some((name, path?.clone()));
    let (outputs, inputs): (Vec<_>, Vec<_>) =
        (outputs.iter().filter_map(given).collect(), inputs.iter().filter_map(given).collect());
    for (i, (name, path)) in outputs.iter().enumerate() {
        let same = |files: &[(&'static str, PathBuf)]| files.iter().find(|(_, other)| is_same(path, other)).cloned();
        let path = path.display();
        if let Some((other, _)) = same(&inputs) {
            bail!("`{name}` must not be one of the inputs, got {path}, which is {other}; name another file");
        }
        if let Some((other, _)) = same(&outputs[..i]) {
            bail!("`{name}` must be a file of its own, got {path}, which {other} writes too; name another file");
        }
    }
    Ok(())
}

/// Whether two paths lead to one regular file, or would if it existed.
fn is_same(a: &Path, b: &Path) -> bool {
    // Standard input may be a file: `< rows.tsv`.
    let real = |path: &Path| if path == Path::new("-") { PathBuf::from("/dev/stdin") } else { path.to_owned() };
    let (a, b) = (real(a), real(b));
    match (fs::metadata(&a), fs::metadata(&b)) {
        (Ok(one), Ok(other)) => one.is_file() && other.is_file() && is_one_file(&a, &one, &b, &other),
        (Err(_), Err(_)) => absolute(&a).is_ok_and(|a| absolute(&b).is_ok_and(|b| a == b)),
        _ => false,
    }
}

/// Also through hard links.
#[cfg(unix)]
fn is_one_file(_: &Path, one: &fs::Metadata, _: &Path, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_one_file(a: &Path, _: &fs::Metadata, b: &Path, _: &fs::Metadata) -> bool {
    fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}
