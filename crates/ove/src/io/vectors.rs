//! Word vectors in the forms of others: word2vec's, as text and binary, and GloVe's.
//!
//! ```text
//! word2vec           2 3⏎the 0.1 -0.2 0.3⏎of 0.2 0.1 0.4⏎
//! word2vec-binary    2 3⏎the <3 floats, little-endian>⏎of <3 floats>⏎
//! glove              the 0.1 -0.2 0.3⏎of 0.2 0.1 0.4⏎
//! ```
//!
//! Numbers are written with as many digits as are needed to read the same number again. The form of a file is detected
//! from its first lines.

use std::fs::File;
use std::io::{BufRead, BufWriter, Read, Write};
use std::path::Path;

use super::atomic::write_beside;
use super::read::Source;
use crate::error::{Error, Place, Result};
use crate::platform::names::names;

/// The form of a file of word vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorFormat {
    /// Text with a line `words numbers` before it.
    Word2vec,
    /// The same with binary numbers.
    Word2vecBinary,
    /// Text without such a line.
    Glove,
}

names!(VectorFormat, "format", { Word2vec => "word2vec", Word2vecBinary => "word2vec-binary", Glove => "glove" });

/// The longest word, and the longest vector, of a file that is read.
const LONGEST: usize = 1 << 20;

/// Words and their vectors, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorTable {
    /// The words.
    pub words: Vec<String>,
    /// Length of the vectors.
    pub rank: usize,
    /// The vectors.
    pub vectors: Vec<f32>,
}

/// Writes vectors to a file, atomically.
///
/// # Errors
/// [`Error::File`] if it cannot be written, [`Error::Mismatch`] if a word contains a blank, which no form can hold.
pub fn write(path: &Path, format: VectorFormat, words: &[String], rank: usize, vectors: &[f32]) -> Result<()> {
    if let Some(word) = words.iter().find(|word| word.is_empty() || word.contains(|c: char| c.is_ascii_whitespace())) {
        return Err(Error::Mismatch(format!(
            "the word `{word}` is empty or contains a blank, which {format} cannot hold"
        )));
    }
    write_beside(path, |beside| {
        let fill = || -> std::io::Result<()> {
            let mut out = BufWriter::new(File::create(beside)?);
            if format != VectorFormat::Glove {
                writeln!(out, "{} {rank}", words.len())?;
            }
            for (word, vector) in words.iter().zip(vectors.chunks_exact(rank)) {
                out.write_all(word.as_bytes())?;
                if format == VectorFormat::Word2vecBinary {
                    out.write_all(b" ")?;
                    vector.iter().try_for_each(|x| out.write_all(&x.to_le_bytes()))?;
                } else {
                    vector.iter().try_for_each(|x| write!(out, " {x}"))?;
                }
                out.write_all(b"\n")?;
            }
            out.flush()
        };
        fill().map_err(|e| Error::file(path, e))
    })
}

/// Reads vectors in any of the forms; the file may be compressed with gzip.
///
/// # Errors
/// [`Error::File`] if it cannot be read, [`Error::Input`] if it has none of the forms.
pub fn read(path: &Path) -> Result<VectorTable> {
    let mut source = Source::open(path)?;
    let head = source.head().to_vec();
    let mut file = Lines { path, number: 0 };
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Some((count, rank)) = std::str::from_utf8(first).ok().and_then(sizes) else {
        return file.read_text(&mut source, None);
    };
    if rank == 0 || rank > LONGEST || count == 0 {
        return Err(file.wrong(format!("expected words and numbers per word, found {count} and {rank}")));
    }
    let second = head[first.len()..].get(1..).unwrap_or_default();
    match is_text(second, rank) {
        true => file.read_text(&mut source, Some((count, rank))),
        false => file.read_binary(&mut source, count, rank),
    }
}

/// The two numbers of the first line.
fn sizes(line: &str) -> Option<(usize, usize)> {
    let mut parts = line.split_ascii_whitespace();
    let sizes = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(sizes)
}

/// Whether bytes start with a word and numbers in letters, as far as they go.
fn is_text(bytes: &[u8], rank: usize) -> bool {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let is_whole = line.len() < bytes.len();
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let mut numbers: Vec<&str> = line.split_ascii_whitespace().skip(1).collect();
    if !is_whole {
        numbers.pop();
    }
    numbers.len() <= rank && !numbers.is_empty() && numbers.iter().all(|number| number.parse::<f32>().is_ok())
}

/// A position in a file.
struct Lines<'a> {
    path: &'a Path,
    number: usize,
}

impl Lines<'_> {
    fn wrong(&self, message: impl Into<String>) -> Error {
        let place = Place { path: self.path.to_owned(), line: self.number.max(1), column: 1 };
        Error::Input { place, message: message.into() }
    }

    fn read_text(&mut self, source: &mut Source, sizes: Option<(usize, usize)>) -> Result<VectorTable> {
        let mut table = VectorTable { words: Vec::new(), rank: sizes.map_or(0, |sizes| sizes.1), vectors: Vec::new() };
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = source.input().read_until(b'\n', &mut line);
            if read.map_err(|e| source.failure(e))? == 0 {
                break;
            }
            self.number += 1;
            if self.number == 1 && sizes.is_some() {
                continue;
            }
            let text = std::str::from_utf8(&line).map_err(|_| self.wrong("expected UTF-8"))?;
            let mut parts = text.split_ascii_whitespace();
            let Some(word) = parts.next() else { continue };
            let before = table.vectors.len();
            for part in parts {
                let number = part.parse::<f32>().ok().filter(|number| number.is_finite());
                let found = || self.wrong(format!("expected a finite number, found `{part}`"));
                table.vectors.push(number.ok_or_else(found)?);
            }
            let found = table.vectors.len() - before;
            if table.rank == 0 {
                table.rank = found;
            }
            if found != table.rank || found == 0 {
                return Err(
                    self.wrong(format!("expected a word and {} numbers, found {found} numbers", table.rank.max(1)))
                );
            }
            table.words.push(word.to_owned());
        }
        let found = table.words.len();
        match sizes {
            Some((count, _)) if count != found => {
                Err(self.wrong(format!("the first line says {count} words; the file has {found}")))
            }
            _ if found == 0 => Err(self.wrong("expected words and their vectors, found an empty file")),
            _ => Ok(table),
        }
    }

    fn read_binary(&mut self, source: &mut Source, count: usize, rank: usize) -> Result<VectorTable> {
        let mut table = VectorTable { words: Vec::new(), rank, vectors: Vec::new() };
        let mut line = Vec::new();
        let read = source.input().read_until(b'\n', &mut line);
        read.map_err(|e| source.failure(e))?;
        let (mut word, mut numbers) = (Vec::new(), vec![0; 4 * rank]);
        for number in 0..count {
            self.number = number + 2;
            word.clear();
            let read = source.input().take(LONGEST as u64).read_until(b' ', &mut word);
            read.map_err(|e| source.failure(e))?;
            let cut = || self.wrong(format!("the file ends within word {} of {count}", number + 1));
            if word.pop() != Some(b' ') {
                return Err(cut());
            }
            let start = word.iter().position(|&byte| byte != b'\n').unwrap_or(word.len());
            let name = std::str::from_utf8(&word[start..]).map_err(|_| self.wrong("expected a word in UTF-8"))?;
            source.input().read_exact(&mut numbers).map_err(|_| cut())?;
            let floats = numbers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            table.vectors.extend(floats);
            if table.vectors[number * rank..].iter().any(|x| !x.is_finite()) {
                return Err(self.wrong(format!("the vector of `{name}` is not finite")));
            }
            table.words.push(name.to_owned());
        }
        Ok(table)
    }
}
