//! Opens files: plain or gzip, or standard input.
//!
//! Gzip is recognised by its first two bytes, since names lie, and may have several members, as `cat a.gz b.gz` makes
//! them. The first bytes of the content can be looked at without taking them, so that a format is found on standard
//! input too:
//!
//! ```text
//! file ─ first 2 bytes ─ gunzip, if they say so ─ head ─ reader
//! ```

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::wrong_file;
use crate::error::{Error, Result};
use crate::platform::memory;

/// How much of the content `head` shows.
pub(super) const HEAD: usize = 4096;

/// How much is read at a time: few system calls, and still in the second-level cache.
const BUFFER: usize = 128 << 10;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An input after its first bytes were read and put back.
type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

/// An open file, decompressed.
pub(super) struct Source {
    path: PathBuf,
    input: BufReader<Peeked<Box<dyn Read>>>,
    gzip: bool,
    stdin: bool,
    /// How long the file is, if it is one; what is compressed in it may be longer.
    length: usize,
    /// How many lines of a whole stand before this part of it.
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

    /// What stands in memory, under a name. It has no files beside it, as standard input.
    pub fn from_bytes(name: &Path, content: Vec<u8>) -> Result<Source> {
        Source::new(name, Box::new(Cursor::new(content)), true)
    }

    /// Lines in the middle of a file, after so many others.
    pub fn from_lines(path: &Path, content: Vec<u8>, lines_before: usize) -> Result<Source> {
        // Decompressed already: these bytes are gzip only by accident.
        Ok(Source { lines_before, ..Source::of_content(path, Box::new(Cursor::new(content)), false, true)? })
    }

    fn new(path: &Path, raw: Box<dyn Read>, stdin: bool) -> Result<Source> {
        let raw = peek(raw, GZIP.len()).map_err(|e| Error::file(path, e))?;
        let gzip = head(&raw) == GZIP;
        let content: Box<dyn Read> =
            if gzip { Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, raw))) } else { Box::new(raw) };
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

    /// The file, as errors name it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many lines of the file stand before this.
    pub fn lines_before(&self) -> usize {
        self.lines_before
    }

    /// Whether this is standard input or stands in memory, and so has no files beside it.
    pub fn is_stdin(&self) -> bool {
        self.stdin
    }

    /// The first bytes, at most [`HEAD`]; fewer only if the file is shorter.
    pub fn head(&self) -> &[u8] {
        head(self.input.get_ref())
    }

    /// The content, not yet taken.
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

    /// The error for a read that failed.
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
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".gz").unwrap_or(&name).to_owned()
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

/// The decoder tells damage apart from trouble with the disk only by the kind of its error.
fn failure(path: &Path, gzip: bool, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof if gzip => wrong_file(path, "the gzip data are cut short"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if gzip => {
            wrong_file(path, "the gzip data are damaged")
        }
        _ => Error::file(path, error),
    }
}
