//! A model in several files, its shards, and an index that opens as the model.
//!
//! The shards are consecutive pieces of the bytes of the model file, so that to join them is to copy them one after the
//! other. They are mapped one after the other into one range of addresses: a model larger than memory is never joined
//! in it. The index is JSON:
//!
//! ```text
//! {"ove_shards":1,"shards":[{"name":"titles.model.3f2a…-1-of-2","bytes":1073741824},{"name":…
//! ```
//!
//! A model file starts with the length of its header, a multiple of eight, and thus never with `{`.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use memmap2::Mmap;
use serde::{Deserialize, Serialize};

use super::checksum;
use crate::error::{Error, Result};
use crate::io::atomic::{unwritten, write_beside};
use crate::model::Model;
use crate::platform::digest::Digest;
use crate::platform::memory::{self, PIECE};

/// The version of the layout of an index.
const VERSION: u32 = 1;

/// Largest index: some thousands of names.
const LONGEST_INDEX: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct Index {
    ove_shards: u32,
    shards: Vec<Shard>,
}

#[derive(Serialize, Deserialize)]
struct Shard {
    /// Its file, beside the index.
    name: String,
    bytes: usize,
}

impl Index {
    /// The index in a file; `None` if this is no index.
    fn read(path: &Path) -> Result<Option<Index>> {
        let read = || -> io::Result<Vec<u8>> {
            let (mut file, mut start) = (File::open(path)?, [0; 1]);
            if file.read(&mut start)? == 0 || start != *b"{" {
                return Ok(Vec::new());
            }
            let mut content = start.to_vec();
            file.take(LONGEST_INDEX).read_to_end(&mut content)?;
            Ok(content)
        };
        let content = read().map_err(|e| Error::file(path, e))?;
        // Anything else may start like this: the reader of model files says what is wrong with it.
        let index = serde_json::from_slice::<Index>(&content).ok();
        index.map_or(Ok(None), |index| index.check().map(Some).map_err(|reason| unusable(path, reason)))
    }

    fn check(self) -> std::result::Result<Index, String> {
        if self.ove_shards != VERSION {
            return Err(format!("its index has layout version {}, and this program reads {VERSION}", self.ove_shards));
        }
        let count = self.shards.len();
        for (Shard { name, bytes }, number) in self.shards.iter().zip(1..) {
            let is_plain = Path::new(name).file_name().is_some_and(|own| own == name.as_str());
            if !is_plain {
                return Err(format!("the shard `{name}` must be a file beside the index"));
            }
            if *bytes == 0 || (number < count && !bytes.is_multiple_of(PIECE)) {
                return Err(format!("the shard `{name}` must have a multiple of {PIECE} bytes, got {bytes}"));
            }
        }
        match self.shards.iter().try_fold(0usize, |sum, shard| sum.checked_add(shard.bytes)) {
            Some(1..) => Ok(self),
            _ => Err("it has no shards, or more than can be mapped".into()),
        }
    }

    /// Maps the shards, which are beside the index.
    fn map(&self, path: &Path) -> Result<Mmap> {
        let open = |Shard { name, bytes }: &Shard| {
            let place = path.with_file_name(name);
            let file = File::open(&place).map_err(|e| Error::file(&place, e))?;
            let found = file.metadata().map_err(|e| Error::file(&place, e))?.len();
            if found != *bytes as u64 {
                return Err(unusable(&place, format!("the index says {bytes} bytes, found {found}")));
            }
            Ok((file, *bytes))
        };
        let files = self.shards.iter().map(open).collect::<Result<Vec<_>>>()?;
        memory::map_all(&files).map_err(|e| Error::file(path, e))
    }
}

/// Maps a model file, or the shards of one.
pub(super) fn map(path: &Path) -> Result<Mmap> {
    match Index::read(path)? {
        Some(index) => index.map(path),
        None => memory::map(path).map_err(|e| Error::file(path, e)),
    }
}

impl Model {
    /// Writes the model as shards of about `bytes` bytes beside an index, which opens as the model does.
    ///
    /// The index is written last; shards of an earlier model have other names and stay.
    ///
    /// # Errors
    /// Those of [`Model::save`].
    pub fn save_in_shards(&self, path: &Path, bytes: u64) -> Result<()> {
        let (header, tensors) = self.checked_contents(path)?;
        let length = (header.len() as u64).to_le_bytes();
        let tensors = tensors.iter().flat_map(|tensor| &tensor.pieces).map(|piece| &piece[..]);
        let pieces: Vec<&[u8]> = [&length[..], header.as_bytes()].into_iter().chain(tensors).collect();
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        let size = (bytes as usize).max(1).next_multiple_of(PIECE);
        let (count, key) = (total.div_ceil(size), Digest::of(header.as_bytes()));
        let stem = path.file_name().unwrap_or_default().to_string_lossy();
        let mut shards = Vec::new();
        for number in 0..count {
            let range = number * size..total.min((number + 1) * size);
            let name = format!("{stem}.{key:016x}-{}-of-{count}", number + 1);
            let place = path.with_file_name(&name);
            write_beside(&place, |beside| {
                let write = || {
                    let mut out = BufWriter::new(File::create(beside)?);
                    let mut start = 0;
                    for piece in &pieces {
                        let within = |at: usize| at.clamp(start, start + piece.len()) - start;
                        out.write_all(&piece[within(range.start)..within(range.end)])?;
                        start += piece.len();
                    }
                    out.flush()
                };
                write().map_err(|e| unwritten(&place, range.len(), e))
            })?;
            shards.push(Shard { name, bytes: range.len() });
        }
        let index = serde_json::to_string(&Index { ove_shards: VERSION, shards }).expect("names and numbers are JSON");
        write_beside(path, |beside| std::fs::write(beside, &index).map_err(|e| unwritten(path, index.len(), e)))
    }

    /// Joins the shards of an index in one model file, after checking the checksum.
    ///
    /// # Errors
    /// [`Error::ModelFile`] if this is no index or the shards are not those of a model, [`Error::File`] if a file
    /// cannot be read or written.
    pub fn merge_shards(index: &Path, path: &Path) -> Result<()> {
        let found = Index::read(index)?.ok_or_else(|| unusable(index, "it is no index of shards".into()))?;
        let model = found.map(index)?;
        checksum::check(&model).map_err(|reason| unusable(index, reason))?;
        write_beside(path, |beside| std::fs::write(beside, &model).map_err(|e| unwritten(path, model.len(), e)))
    }

    /// Whether a file is the index of the shards of a model.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::ModelFile`] for an index that cannot be used.
    pub fn is_in_shards(path: &Path) -> Result<bool> {
        Index::read(path).map(|index| index.is_some())
    }
}

fn unusable(path: &Path, reason: String) -> Error {
    Error::ModelFile { path: path.to_owned(), reason }
}
