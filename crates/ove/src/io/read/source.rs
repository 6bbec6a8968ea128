//! Opens files: plain or gzip, or standard input.
//!
//! Gzip (feature `gzip`) is recognised by its first two bytes, not by the name, and may have several members, as from
//! `cat a.gz b.gz`. The first bytes of the content can be inspected without consuming them, so that formats are
//! detected on standard input too:
//!
//! ```text
//! file ─ first 2 bytes ─ gunzip, if they are its magic number ─ head ─ reader
//! ```

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use super::wrong_file;
use crate::error::{Error, Result};
use crate::platform::memory;

/// The number of bytes that `head` shows.
pub(super) const HEAD: usize = 4096;

/// The size of the read buffer: few system calls, and it fits the second-level cache.
const BUFFER: usize = 128 << 10;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An input whose first bytes were read and put back.
type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

/// An open file, decompressed.
pub(super) struct Source {
    path: PathBuf,
    input: BufReader<Peeked<Box<dyn Read>>>,
    gzip: bool,
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
        // Already decompressed: these bytes are not gzip, even if they look like it.
        Ok(Source { lines_before, ..Source::of_content(path, Box::new(Cursor::new(content)), false, true)? })
    }

    fn new(path: &Path, raw: Box<dyn Read>, stdin: bool) -> Result<Source> {
        let raw = peek(raw, GZIP.len()).map_err(|e| Error::file(path, e))?;
        let gzip = head(&raw) == GZIP;
        let content = if gzip { gunzip(path, raw)? } else { Box::new(raw) };
        Source::of_content(path, content, gzip, stdin)
    }

    fn of_content(path: &Path, content: Box<dyn Read>, gzip: bool, stdin: bool) -> Result<Source> {
        let content = peek(content, HEAD).map_err(|e| failure(path, gzip, e))?;
        Ok(Source {
            path: path.to_owned(),
            input: BufReader::with_capacity(BUFFER, content),
            gzip,
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
        failure(&self.path, self.gzip, error)
    }

    /// The file `name`, or else `name.gz`, in the same folder.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        if self.stdin {
            return None;
        }
        let names = [name.to_owned(), format!("{name}.gz")];
        names.iter().map(|name| self.path.with_file_name(name)).find(|path| path.is_file())
    }

    /// The name of the file without its folder and without `.gz`.
    pub fn name(&self) -> String {
        uncompressed(&self.path)
    }
}

/// The name of a file without its folder and without `.gz`.
pub(super) fn uncompressed(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".gz").unwrap_or(&name).to_owned()
}

#[cfg(feature = "gzip")]
fn gunzip(_: &Path, raw: Peeked<Box<dyn Read>>) -> Result<Box<dyn Read>> {
    Ok(Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BUFFER, raw))))
}

#[cfg(not(feature = "gzip"))]
fn gunzip(path: &Path, _: Peeked<Box<dyn Read>>) -> Result<Box<dyn Read>> {
    Err(wrong_file(
        path,
        "expected a file that is not compressed, found gzip; decompress it, or build with feature `gzip`",
    ))
}

fn peek<R: Read>(mut input: R, count: usize) -> io::Result<Peeked<R>> {
    let mut head = Vec::with_capacity(count);
    input.by_ref().take(count as u64).read_to_end(&mut head)?;
    Ok(Cursor::new(head).chain(input))
}

fn head<R>(peeked: &Peeked<R>) -> &[u8] {
    peeked.get_ref().0.get_ref()
}

/// The error for a failed read: the decoder distinguishes damaged data from I/O errors by their kind.
fn failure(path: &Path, gzip: bool, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof if gzip => wrong_file(path, "the gzip data are cut short"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if gzip => {
            wrong_file(path, "the gzip data are damaged")
        }
        _ => Error::file(path, error),
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
