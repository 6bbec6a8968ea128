//! The card of a cache: which file it is made from, how that was read, and the checksums of its columns.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::io::atomic::write_beside;
use crate::io::read::{Columns, ReadOptions};
use crate::platform::digest::Digest;
use crate::text::TextOptions;

/// The version of this layout.
const VERSION: u32 = 6;

/// Number of blocks of a file that its sample has.
const BLOCKS: u64 = 64;

/// Bytes per block.
const BLOCK_BYTES: u64 = 4096;

/// The file that a cache is made from, and how it was read.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Origin {
    version: u32,
    path: PathBuf,
    bytes: u64,
    modified_nanoseconds: u128,
    /// The checksum of a sample of its bytes: a file may be changed without changing its length and its time.
    sample: u64,
    read: String,
    pub text: TextOptions,
}

impl Origin {
    pub fn of(path: &Path, read: &ReadOptions, text: &TextOptions) -> Result<Self> {
        if path == Path::new("-") {
            return Err(Error::setting("cache", "be used with a file, which can be read again", "standard input"));
        }
        let about = || {
            let path = fs::canonicalize(path)?;
            let facts = fs::metadata(&path)?;
            let modified = facts.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let sample = sample(&mut File::open(&path)?, facts.len())?;
            Ok((path, facts.len(), modified, sample))
        };
        let (path, bytes, modified_nanoseconds, sample) = about().map_err(|e| Error::file(path, e))?;
        let read = format!("{read:?}");
        Ok(Origin { version: VERSION, path, bytes, modified_nanoseconds, sample, read, text: *text })
    }
}

impl Origin {
    /// The origin of the rows of several files.
    pub fn of_all(paths: &[PathBuf], read: &ReadOptions, text: &TextOptions) -> Result<Self> {
        let all = paths.iter().map(|path| Origin::of(path, read, text)).collect::<Result<Vec<_>>>()?;
        let mut digest = Digest::default();
        for origin in &all {
            digest.update(origin.path.as_os_str().as_encoded_bytes());
            digest.update(&origin.sample.to_le_bytes());
        }
        Ok(Origin {
            version: VERSION,
            path: PathBuf::new(),
            bytes: all.iter().map(|origin| origin.bytes).sum(),
            modified_nanoseconds: all.iter().map(|origin| origin.modified_nanoseconds).max().unwrap_or_default(),
            sample: digest.finish(),
            read: format!("{read:?}"),
            text: *text,
        })
    }
}

/// The checksum of evenly spaced blocks of a file, the first and the last among them; of all bytes of a short file.
fn sample(file: &mut File, bytes: u64) -> io::Result<u64> {
    let (mut digest, mut block) = (Digest::default(), Vec::new());
    let last = bytes.saturating_sub(BLOCK_BYTES);
    for start in (0..BLOCKS).map(|n| (u128::from(last) * u128::from(n) / u128::from(BLOCKS - 1)) as u64) {
        block.clear();
        file.seek(SeekFrom::Start(start))?;
        file.take(BLOCK_BYTES).read_to_end(&mut block)?;
        digest.update(&block);
    }
    Ok(digest.finish())
}

/// Everything that is not in a column.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Card {
    pub origin: Origin,
    pub features: usize,
    pub classes: Vec<String>,
    /// The columns, if the file is a table.
    #[serde(default)]
    pub columns: Columns,
    /// The settings of texts with what the first texts decided, such as the language; none for rows of numbers.
    pub text: Option<TextOptions>,
    /// The checksum of each column.
    pub sums: BTreeMap<String, u64>,
}

impl Card {
    /// The name of its file.
    pub const NAME: &str = "card";

    /// The card of a folder; `None` if there is no valid one.
    pub fn read(folder: &Path) -> Option<Card> {
        let content = fs::read_to_string(folder.join(Card::NAME)).ok()?;
        let (json, _) = content.split_once('\n')?;
        if summed(json) != content {
            return None;
        }
        serde_json::from_str(json).ok()
    }

    /// Writes it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(Card::NAME);
        let content = summed(&serde_json::to_string(self).expect("plain names and numbers"));
        write_beside(&path, |beside| fs::write(beside, content).map_err(|e| Error::file(&path, e)))
    }
}

/// A line, followed by a line with its checksum.
pub(super) fn summed(line: &str) -> String {
    format!("{line}\n{:016x}\n", Digest::of(line.as_bytes()))
}
