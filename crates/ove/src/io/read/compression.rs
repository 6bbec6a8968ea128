//! Compressions of data files, each recognised by its first bytes, whatever the name.
//!
//! ```text
//! 1f 8b                              gzip
//! BZh. 31 41 59 26 53 59             bz2
//! fd 37 7a 58 5a 00                  xz
//! 28 b5 2f fd                        zstd
//! ```
//!
//! A file may have several members, as from `cat a.gz b.gz`. Each compression is a feature of this crate by its name.

use std::io::{self, BufReader, Read};
use std::path::Path;

use super::wrong_file;
use crate::error::{Error, Result};
use crate::platform::names::names;

/// The number of first bytes that tell the compression.
pub(super) const MAGIC: usize = 10;

/// The size of a read buffer: few system calls, and it fits the second-level cache.
pub(super) const BUFFER: usize = 128 << 10;

/// The memory in KiB that an xz file may ask for; the highest preset needs a fifteenth of it.
#[cfg(feature = "xz")]
const XZ_MEMORY: u32 = 1 << 20;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

names!(Compression, "compression", { Gzip => "gzip", Bzip2 => "bz2", Xz => "xz", Zstd => "zstd" });

impl Compression {
    /// That of content with these first bytes.
    pub fn of(head: &[u8]) -> Option<Self> {
        // The first block, or the end of an empty file: text may start with the first three letters.
        const BZIP2: [[u8; 6]; 2] = [[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Compression::Gzip)
        } else if head.starts_with(b"BZh") && head.len() >= MAGIC && BZIP2.iter().any(|block| head[4..10] == *block) {
            Some(Compression::Bzip2)
        } else if head.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            Some(Compression::Xz)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Compression::Zstd)
        } else {
            None
        }
    }

    /// What the names of its files end with.
    pub fn ending(self) -> &'static str {
        match self {
            Compression::Gzip => ".gz",
            Compression::Bzip2 => ".bz2",
            Compression::Xz => ".xz",
            Compression::Zstd => ".zst",
        }
    }

    /// The decompressed content.
    pub fn reader(self, path: &Path, raw: impl Read + 'static) -> Result<Box<dyn Read>> {
        #[allow(unused_variables)]
        let raw = BufReader::with_capacity(BUFFER, raw);
        match self {
            #[cfg(feature = "gzip")]
            Compression::Gzip => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(raw))),
            #[cfg(feature = "bz2")]
            Compression::Bzip2 => Ok(Box::new(bzip2::bufread::MultiBzDecoder::new(raw))),
            #[cfg(feature = "xz")]
            Compression::Xz => Ok(Box::new(lzma_rust2::XzReader::new_mem_limit(raw, true, XZ_MEMORY))),
            #[cfg(feature = "zstd")]
            Compression::Zstd => {
                let decoder = zstd::Decoder::with_buffer(raw).map_err(|error| self.failure(path, error))?;
                Ok(Box::new(decoder))
            }
            #[cfg(not(all(feature = "gzip", feature = "bz2", feature = "xz", feature = "zstd")))]
            _ => {
                let hint = format!("decompress it, or build with feature `{self}`");
                Err(wrong_file(path, format!("expected a file that is not compressed, found {self}; {hint}")))
            }
        }
    }

    /// The error for a failed read: what a decoder says is about the data, and only the system has error numbers.
    pub fn failure(self, path: &Path, error: io::Error) -> Error {
        match error.kind() {
            _ if error.raw_os_error().is_some() => Error::file(path, error),
            io::ErrorKind::UnexpectedEof => wrong_file(path, format!("the {self} data are cut short")),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                wrong_file(path, format!("the {self} data are damaged"))
            }
            _ => wrong_file(path, format!("the {self} data cannot be read: {error}")),
        }
    }
}

/// The name of a file without its folder and without the ending of a compression.
pub(super) fn uncompressed(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let short = Compression::ALL.iter().find_map(|compression| name.strip_suffix(compression.ending()));
    short.unwrap_or(&name).to_owned()
}
