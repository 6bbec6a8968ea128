//! Opens files: plain or compressed, or standard input.
//!
//! The first bytes of the content can be inspected without consuming them, so that compressions and formats are
//! detected on standard input too:
//!
//! ```text
//! file ─ first 10 bytes ─ decompress, if they are a magic number ─ head ─ reader
//! ```

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::compression::{self, BUFFER, Compression, uncompressed};
use crate::error::{Error, Result};
use crate::platform::memory;

/// The number of bytes that `head` shows.
pub(super) const HEAD: usize = 4096;

/// An input whose first bytes were read and put back.
type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

/// An open file, decompressed.
pub(in crate::io) struct Source {
    path: PathBuf,
    input: BufReader<Peeked<Box<dyn Read>>>,
    compression: Option<Compression>,
    stdin: bool,
    /// The length of the file, if it is one; decompressed content may be longer.
    length: usize,
    /// Number of lines before this part of a file.
    lines_before: usize,
}

impl Source {
    /// Opens `path`, or standard input if it is `-`.
    pub fn open(path: &Path) -> Result<Source> {
        let stdin = path == Path::new("-");
        let path = if stdin { Path::new("<stdin>") } else { path };
        if stdin {
            return Source::new(path, Box::new(io::stdin().lock()), stdin);
        }
        let file = File::open(path).map_err(|e| Error::file(path, e))?;
        let length = file.metadata().map_or(0, |facts| facts.len()) as usize;
        Ok(Source { length, ..Source::new(path, Box::new(file), stdin)? })
    }

    /// Content in memory, under a name; like standard input, it has no files beside it.
    pub fn from_bytes(name: &Path, content: Vec<u8>) -> Result<Source> {
        Source::new(name, Box::new(Cursor::new(content)), true)
    }

    /// Lines of a file, after `lines_before` others.
    pub fn from_lines(path: &Path, content: Vec<u8>, lines_before: usize) -> Result<Source> {
        // Already decompressed: these bytes are content, even if they look compressed.
        Ok(Source { lines_before, ..Source::of_content(path, Box::new(Cursor::new(content)), None, true)? })
    }

    fn new(path: &Path, raw: Box<dyn Read>, stdin: bool) -> Result<Source> {
        let raw = peek(raw, compression::MAGIC).map_err(|e| Error::file(path, e))?;
        let compression = Compression::of(head(&raw));
        let content = match compression {
            Some(compression) => compression.reader(path, raw)?,
            None => Box::new(raw),
        };
        Source::of_content(path, content, compression, stdin)
    }

    fn of_content(
        path: &Path,
        content: Box<dyn Read>,
        compression: Option<Compression>,
        stdin: bool,
    ) -> Result<Source> {
        let content = peek(content, HEAD).map_err(|e| failure(path, compression, e))?;
        Ok(Source {
            path: path.to_owned(),
            input: BufReader::with_capacity(BUFFER, content),
            compression,
            stdin,
            length: 0,
            lines_before: 0,
        })
    }

    /// The path, as in errors.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of lines of the file before this part.
    pub fn lines_before(&self) -> usize {
        self.lines_before
    }

    /// Whether this is standard input or memory, which have no files beside them.
    pub fn is_stdin(&self) -> bool {
        self.stdin
    }

    /// The first [`HEAD`] bytes, or all if the content is shorter.
    pub fn head(&self) -> &[u8] {
        head(self.input.get_ref())
    }

    /// The content that was not read yet.
    pub fn input(&mut self) -> &mut (impl io::BufRead + use<>) {
        &mut self.input
    }

    /// All of the content.
    pub fn read_all(&mut self) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        memory::reserve(&mut content, self.length);
        match self.input.read_to_end(&mut content) {
            Ok(_) => Ok(content),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// The error for a failed read.
    pub fn failure(&self, error: io::Error) -> Error {
        failure(&self.path, self.compression, error)
    }

    /// The content for a reader that goes back and forth: the file, if it is one and not compressed, else its bytes.
    #[cfg_attr(not(any(feature = "npz", feature = "parquet")), allow(dead_code))]
    pub fn content(&mut self) -> Result<Content> {
        let is_file = !self.stdin && self.compression.is_none() && self.path.is_file();
        if is_file {
            return File::open(&self.path).map(Content::File).map_err(|e| Error::file(&self.path, e));
        }
        self.read_all().map(|content| Content::Memory(Cursor::new(content)))
    }

    /// The file `name` in the same folder, or else the same compressed.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        if self.stdin {
            return None;
        }
        let endings = Compression::ALL.iter().map(|compression| compression.ending());
        let mut names = std::iter::once("").chain(endings).map(|ending| format!("{name}{ending}"));
        names.find_map(|name| Some(self.path.with_file_name(name)).filter(|path| path.is_file()))
    }

    /// The name of the file without its folder and without the ending of a compression.
    pub fn name(&self) -> String {
        uncompressed(&self.path)
    }
}

/// Content that can be read from any place.
#[cfg_attr(not(any(feature = "npz", feature = "parquet")), allow(dead_code))]
pub(in crate::io) enum Content {
    File(File),
    Memory(Cursor<Vec<u8>>),
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Content::File(file) => file.read(buffer),
            Content::Memory(content) => content.read(buffer),
        }
    }
}

impl Seek for Content {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Content::File(file) => file.seek(to),
            Content::Memory(content) => content.seek(to),
        }
    }
}

fn peek<R: Read>(mut input: R, count: usize) -> io::Result<Peeked<R>> {
    let mut head = Vec::with_capacity(count);
    input.by_ref().take(count as u64).read_to_end(&mut head)?;
    Ok(Cursor::new(head).chain(input))
}

fn head<R>(peeked: &Peeked<R>) -> &[u8] {
    peeked.get_ref().0.get_ref()
}

fn failure(path: &Path, compression: Option<Compression>, error: io::Error) -> Error {
    match compression {
        Some(compression) => compression.failure(path, error),
        None => Error::file(path, error),
    }
}

#[cfg(all(test, not(feature = "gzip")))]
mod tests {
    use super::*;

    #[test]
    fn gzip_without_the_feature_is_an_error_that_says_so() {
        let error = Source::from_bytes("a.gz".as_ref(), vec![0x1f, 0x8b, 8, 0]).err().expect("an error");
        assert!(error.to_string().contains("build with feature `gzip`"), "{error}");
    }
}
