//! The file of a checkpoint: safetensors, as of a model, with a last tensor `checksum` over all bytes before it.
//!
//! The metadata entry `identity` says of which settings and data it is, `facts` holds the few numbers of the solver as JSON, and its tables
//! are tensors. They are written from where they are and read to where they belong: a table that just fits in memory has no room for a
//! copy.

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

/// The tensor with the sum over all that comes before it.
const CHECKSUM: &str = "checksum";

/// How much is read at a time.
const PIECE: usize = 1 << 20;

/// The longest header: names and numbers of a few tensors, and the curve of the bound.
const LONGEST_HEADER: u64 = 100 << 20;

/// The type of the numbers of a table: its name in safetensors, and how many bytes each takes.
type Kind = (&'static str, usize);

pub(crate) const F32: Kind = ("F32", 4);
pub(crate) const F64: Kind = ("F64", 8);
pub(crate) const U32: Kind = ("U32", 4);
pub(crate) const U16: Kind = ("U16", 2);

/// A table of a state.
pub(crate) struct Table<'a> {
    name: String,
    kind: Kind,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Table<'a> {
    /// Numbers of a kind, or several of them together, as they are in memory.
    pub fn new<T: Pod>(name: impl Into<String>, kind: Kind, numbers: &'a [T]) -> Self {
        Table { name: name.into(), kind, bytes: bytemuck::cast_slice(numbers).into() }
    }

    /// Numbers that are put together for the state.
    pub fn owned<T: Pod>(name: impl Into<String>, kind: Kind, numbers: &[T]) -> Self {
        Table { name: name.into(), kind, bytes: bytemuck::cast_slice(numbers).to_vec().into() }
    }
}

/// Writes a state beside its place, syncs it and puts it there.
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

/// A whole checkpoint: its sum was found to be right.
#[derive(Debug)]
pub struct Saved {
    path: PathBuf,
    file: File,
    identity: Identity,
    facts: String,
    /// Where in the file each table is.
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
    /// Opens a checkpoint and looks whether all of it is there.
    pub fn open(path: &Path) -> Result<Saved> {
        let file = File::open(path).map_err(|e| Error::file(path, e))?;
        let (start, header) = read_header(&file).map_err(|reason| unusable(path, reason))?;
        let header: Header = serde_json::from_slice(&header).map_err(|e| unusable(path, e))?;
        let Metadata { version, identity, facts } = header.metadata;
        if version != VERSION {
            return Err(unusable(path, format!("layout version {version}, but this program reads version {VERSION}")));
        }
        let identity = serde_json::from_str(&identity).map_err(|e| unusable(path, e))?;
        let length = file.metadata().map_err(|e| Error::file(path, e))?.len();
        let mut tables = BTreeMap::new();
        for (name, Offsets { data_offsets: [first, end] }) in header.tables {
            let (Some(first), Some(end)) = (start.checked_add(first), start.checked_add(end)) else {
                return Err(unusable(path, format!("`{name}` lies outside the file")));
            };
            if first > end || end > length {
                return Err(unusable(path, format!("`{name}` lies outside the file, as if that were cut short")));
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
            return Err(self.unusable("its checksum is wrong: some of it was changed"));
        }
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
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

/// The state of a run, wherever it is kept: in a file or in memory.
pub trait StateReader: Sync {
    /// Of which settings and data it is.
    #[doc(hidden)]
    fn identity(&self) -> &Identity;

    /// The numbers beside the tables, as JSON.
    fn facts(&self) -> &str;

    /// Number of bytes of a table.
    fn length(&self, name: &str) -> Result<usize>;

    /// Fills `bytes` with a table of as many bytes.
    fn read_bytes(&self, name: &str, bytes: &mut [u8]) -> Result<()>;

    /// An error about what it holds.
    fn unusable(&self, reason: String) -> Error;
}

impl dyn StateReader + '_ {
    pub(crate) fn parse_facts<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.facts()).map_err(|e| self.unusable(e.to_string()))
    }

    /// Fills a table with as many numbers.
    pub(crate) fn read_into<T: Pod>(&self, name: &str, numbers: &mut [T]) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(numbers);
        if self.length(name)? != bytes.len() {
            return Err(self.unusable(format!("`{name}` has another length than this run needs")));
        }
        self.read_bytes(name, bytes)
    }

    /// A table of any length.
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

/// The state of a run in memory, to be sent to another process or kept while the run goes on.
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

/// Where the tables start, and the header.
fn read_header(mut file: &File) -> std::result::Result<(u64, Vec<u8>), String> {
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(|_| "it ends within its first eight bytes")?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER {
        return Err(format!("a header of {length} bytes, but it has at most {LONGEST_HEADER}"));
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
