//! The checkpoint file: safetensors, like a model, with a final tensor `checksum` over all bytes before it.
//!
//! The metadata entry `identity` identifies the settings and data, `facts` holds the scalars of the solver as JSON, and
//! its tables are tensors. Tables are written and read in place, since one that just fits in memory leaves no room for
//! a copy.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::identity::Identity;
use crate::error::{Error, Result};
use crate::io::atomic::{unwritten, write_beside};
use crate::platform::digest::Digest;

const VERSION: &str = "3";

/// The tensor with the checksum of all bytes before it.
const CHECKSUM: &str = "checksum";

/// Number of bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// Maximum length of the header: a few tensors, and the trace of the objective.
const LONGEST_HEADER: u64 = 100 << 20;

/// The number type of a table: its name in safetensors, and its size in bytes.
type Kind = (&'static str, usize);

pub(crate) const F32: Kind = ("F32", 4);
pub(crate) const F64: Kind = ("F64", 8);
pub(crate) const U32: Kind = ("U32", 4);
pub(crate) const U16: Kind = ("U16", 2);

/// A table of numbers in a state.
pub(crate) struct Table<'a> {
    name: String,
    kind: Kind,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Table<'a> {
    /// A table of numbers, or of structs of numbers, as they are in memory.
    pub fn new<T: Pod>(name: impl Into<String>, kind: Kind, numbers: &'a [T]) -> Self {
        Table { name: name.into(), kind, bytes: bytemuck::cast_slice(numbers).into() }
    }

    /// A copy of numbers.
    pub fn owned<T: Pod>(name: impl Into<String>, kind: Kind, numbers: &[T]) -> Self {
        Table { name: name.into(), kind, bytes: bytemuck::cast_slice(numbers).to_vec().into() }
    }
}

/// Writes a state atomically: to a temporary file, which is synced and renamed.
pub(crate) fn write(path: &Path, identity: &Identity, facts: &str, tables: &[Table<'_>]) -> Result<()> {
    let json = |value: std::result::Result<String, serde_json::Error>| value.map_err(|e| unusable(path, e));
    let identity = json(serde_json::to_string(identity))?;
    let mut header = json!({ "__metadata__": { "version": VERSION, "identity": identity, "facts": facts } });
    let mut start = 0;
    let mut place = |name: &str, dtype: &str, count: usize, bytes: usize| {
        header[name] = json!({ "dtype": dtype, "shape": [count], "data_offsets": [start, start + bytes] });
        start += bytes;
    };
    for Table { name, kind: (dtype, size), bytes } in tables {
        place(name, dtype, bytes.len() / size, bytes.len());
    }
    place(CHECKSUM, "U64", 1, 8);
    let header = header.to_string();

    write_beside(path, |beside| {
        let write = || {
            let mut out = Summed { out: BufWriter::new(File::create(beside)?), digest: Digest::default() };
            out.write_all(&(header.len() as u64).to_le_bytes())?;
            out.write_all(header.as_bytes())?;
            tables.iter().try_for_each(|table| out.write_all(&table.bytes))?;
            let sum = out.digest.finish();
            out.out.write_all(&sum.to_le_bytes())?;
            out.out.flush()
        };
        write().map_err(|e| unwritten(path, header.len() + start, e))
    })
}

/// A writer that computes a digest.
struct Summed<W> {
    out: W,
    digest: Digest,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// An open checkpoint file whose checksum was verified.
#[derive(Debug)]
pub struct Saved {
    path: PathBuf,
    file: File,
    identity: Identity,
    facts: String,
    /// The byte range of each table in the file.
    tables: BTreeMap<String, Range<u64>>,
}

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "__metadata__")]
    metadata: Metadata,
    #[serde(flatten)]
    tables: BTreeMap<String, Offsets>,
}

#[derive(Deserialize)]
struct Metadata {
    version: String,
    identity: String,
    facts: String,
}

#[derive(Deserialize)]
struct Offsets {
    data_offsets: [u64; 2],
}

impl Saved {
    /// Opens a checkpoint and verifies its checksum.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::Checkpoint`] if it is damaged or of another version.
    pub fn open(path: &Path) -> Result<Saved> {
        let file = File::open(path).map_err(|e| Error::file(path, e))?;
        let (start, header) = read_header(&file).map_err(|reason| unusable(path, reason))?;
        let header: Header = serde_json::from_slice(&header).map_err(|e| unusable(path, e))?;
        let Metadata { version, identity, facts } = header.metadata;
        if version != VERSION {
            return Err(unusable(
                path,
                format!(
                    "it has layout version {version}, and this program reads version {VERSION}; finish the run with the \
                     version of ove that wrote it, or start anew in an empty folder"
                ),
            ));
        }
        let identity = serde_json::from_str(&identity).map_err(|e| unusable(path, e))?;
        let length = file.metadata().map_err(|e| Error::file(path, e))?.len();
        let mut tables = BTreeMap::new();
        for (name, Offsets { data_offsets: [first, end] }) in header.tables {
            let (Some(first), Some(end)) = (start.checked_add(first), start.checked_add(end)) else {
                return Err(unusable(path, format!("`{name}` is outside the file")));
            };
            if first > end || end > length {
                return Err(unusable(path, format!("`{name}` is outside the file, which may be truncated")));
            }
            tables.insert(name, first..end);
        }
        let saved = Saved { path: path.to_owned(), file, identity, facts, tables };
        saved.check_sum(length)?;
        Ok(saved)
    }

    fn check_sum(&self, length: u64) -> Result<()> {
        let place = self.table(CHECKSUM)?;
        if place.end - place.start != 8 || place.end != length {
            return Err(self.unusable("its checksum is not at its end"));
        }
        let mut digest = Digest::default();
        self.read_pieces(0..place.start, |bytes| digest.update(bytes))?;
        let mut kept = [0; 8];
        self.read_pieces(place.clone(), |bytes| kept.copy_from_slice(bytes))?;
        if digest.finish() != u64::from_le_bytes(kept) {
            return Err(self.unusable("its checksum is wrong: the file is damaged"));
        }
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of epochs of the run, if it was given or chosen.
    pub(crate) fn epochs(&self) -> Option<usize> {
        self.identity.epochs()
    }

    fn table(&self, name: &str) -> Result<&Range<u64>> {
        self.tables.get(name).ok_or_else(|| self.unusable(format!("no `{name}`")))
    }

    fn seek(&self, place: u64) -> Result<()> {
        (&self.file).seek(SeekFrom::Start(place)).map(drop).map_err(|e| Error::file(&self.path, e))
    }

    fn read_pieces(&self, place: Range<u64>, mut take: impl FnMut(&[u8])) -> Result<()> {
        self.seek(place.start)?;
        let mut buffer = vec![0; PIECE];
        let mut left = place.end - place.start;
        while left > 0 {
            let piece = &mut buffer[..left.min(PIECE as u64) as usize];
            (&self.file).read_exact(piece).map_err(|e| Error::file(&self.path, e))?;
            take(piece);
            left -= piece.len() as u64;
        }
        Ok(())
    }

    fn unusable(&self, reason: impl ToString) -> Error {
        unusable(&self.path, reason)
    }
}

/// The state of a run, in a file ([`Saved`]) or in memory ([`State`]).
pub trait StateReader: Sync {
    /// The identity of its settings and data.
    #[doc(hidden)]
    fn identity(&self) -> &Identity;

    /// The scalars, as JSON.
    fn facts(&self) -> &str;

    /// Length of a table in bytes.
    ///
    /// # Errors
    /// If there is no such table.
    fn length(&self, name: &str) -> Result<usize>;

    /// Reads a table into a buffer of its length.
    ///
    /// # Errors
    /// If there is no such table, or it cannot be read.
    fn read_bytes(&self, name: &str, bytes: &mut [u8]) -> Result<()>;

    /// An error about invalid content.
    fn unusable(&self, reason: String) -> Error;
}

impl dyn StateReader + '_ {
    pub(crate) fn parse_facts<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.facts()).map_err(|e| self.unusable(e.to_string()))
    }

    /// Reads a table into a slice of its length.
    pub(crate) fn read_into<T: Pod>(&self, name: &str, numbers: &mut [T]) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(numbers);
        if self.length(name)? != bytes.len() {
            return Err(self.unusable(format!("`{name}` does not have the length that this run needs")));
        }
        self.read_bytes(name, bytes)
    }

    /// Reads a table of any length.
    pub(crate) fn read<T: Pod>(&self, name: &str) -> Result<Vec<T>> {
        let mut numbers = vec![T::zeroed(); self.length(name)? / size_of::<T>()];
        self.read_into(name, &mut numbers)?;
        Ok(numbers)
    }
}

impl StateReader for Saved {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn facts(&self) -> &str {
        &self.facts
    }

    fn length(&self, name: &str) -> Result<usize> {
        self.table(name).map(|place| (place.end - place.start) as usize)
    }

    fn read_bytes(&self, name: &str, bytes: &mut [u8]) -> Result<()> {
        self.seek(self.table(name)?.start)?;
        (&self.file).read_exact(bytes).map_err(|e| Error::file(&self.path, e))
    }

    fn unusable(&self, reason: String) -> Error {
        unusable(&self.path, reason)
    }
}

/// A copy of the state of a run, which can be serialised and sent to another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    identity: Identity,
    facts: String,
    tables: BTreeMap<String, Vec<u8>>,
}

impl State {
    pub(crate) fn new(identity: Identity, facts: String, tables: &[Table<'_>]) -> Self {
        let tables = tables.iter().map(|table| (table.name.clone(), table.bytes.to_vec())).collect();
        State { identity, facts, tables }
    }

    fn table(&self, name: &str) -> Result<&[u8]> {
        self.tables.get(name).map(Vec::as_slice).ok_or_else(|| self.unusable(format!("no `{name}`")))
    }
}

impl StateReader for State {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn facts(&self) -> &str {
        &self.facts
    }

    fn length(&self, name: &str) -> Result<usize> {
        self.table(name).map(<[u8]>::len)
    }

    fn read_bytes(&self, name: &str, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(self.table(name)?);
        Ok(())
    }

    fn unusable(&self, reason: String) -> Error {
        unusable(Path::new("a state in memory"), reason)
    }
}

/// The start of the tables, and the header.
fn read_header(mut file: &File) -> std::result::Result<(u64, Vec<u8>), String> {
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(|_| "it ends within its first eight bytes")?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER {
        return Err(format!("its header has {length} bytes, more than the maximum of {LONGEST_HEADER}"));
    }
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).map_err(|e| e.to_string())?;
    if (header.len() as u64) < length {
        return Err("it ends within its header".into());
    }
    Ok((8 + length, header))
}

fn unusable(path: &Path, reason: impl ToString) -> Error {
    Error::Checkpoint { path: path.to_owned(), reason: reason.to_string() }
}
