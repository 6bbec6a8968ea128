//! Text for embeddings: words between blanks, and a sentence per line.
//!
//! A file is streamed in pieces of the same size, cut at blanks, as often as it is wanted: a text of any length takes
//! the memory of a few pieces. Words are what stands between ASCII blanks, as they are: lower case, punctuation and
//! other languages are up to whoever prepares the text. Any symbols will do, such as products of baskets or nodes of
//! walks.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::read::Source;
use crate::error::{Error, Place, Result};
use crate::text::{Counter, WordCounts};

/// Stands between sentences.
pub(crate) const BREAK: u32 = u32::MAX;

/// Bytes per piece of a file.
const PIECE: usize = 256 << 10;

/// The longest run of bytes without a blank.
const LONGEST_WORD: usize = 64 * PIECE;

/// Words per piece of sentences in memory.
const WORDS: usize = 40_000;

/// Where the sentences are.
#[derive(Debug, Clone)]
pub enum Corpus {
    /// A text file, plain or compressed with gzip.
    File(PathBuf),
    /// Sentences in memory.
    Sentences(Sentences),
}

/// Sentences as numbers of words.
#[derive(Debug, Clone, Default)]
pub struct Sentences {
    words: Vec<String>,
    tokens: Vec<u32>,
}

impl Sentences {
    /// Numbers the words of sentences by their first occurrence.
    pub fn of<S: AsRef<str>>(sentences: impl IntoIterator<Item = impl IntoIterator<Item = S>>) -> Self {
        let (mut numbers, mut all) = (std::collections::HashMap::new(), Sentences::default());
        for sentence in sentences {
            for word in sentence {
                let next = numbers.len() as u32;
                let number = *numbers.entry(word.as_ref().to_owned()).or_insert(next);
                if number == next {
                    all.words.push(word.as_ref().to_owned());
                }
                all.tokens.push(number);
            }
            all.tokens.push(BREAK);
        }
        all
    }

    /// Pieces that end with a sentence.
    fn pieces(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = &self.tokens[..];
        std::iter::from_fn(move || {
            let from = rest.len().min(WORDS);
            let end = rest[from..].iter().position(|&token| token == BREAK).map_or(rest.len(), |at| from + at + 1);
            let piece;
            (piece, rest) = rest.split_at(end);
            (!piece.is_empty()).then_some(piece)
        })
    }
}

impl Corpus {
    /// Counts all words; `watch` is called with the number of words so far and may stop.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, [`Error::Input`] if it is not UTF-8, [`Error::Stopped`].
    pub fn count(
        &self,
        min_count: u64,
        memory: u64,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<WordCounts> {
        let (mut counter, mut count) = (Counter::new(memory), 0);
        match self {
            Corpus::Sentences(sentences) => {
                let tokens = sentences.tokens.iter().filter(|&&token| token != BREAK);
                tokens.for_each(|&token| counter.add(&sentences.words[token as usize]));
            }
            Corpus::File(path) => {
                let mut pieces = Pieces::open(path)?;
                while let Some(text) = pieces.next()? {
                    for word in text.split(is_blank).filter(|word| !word.is_empty()) {
                        counter.add(word);
                        count += 1;
                    }
                    counter.shrink();
                    if watch(count).is_break() {
                        return Err(Error::Stopped);
                    }
                }
            }
        }
        Ok(counter.finish(min_count))
    }

    /// Passes over the text, piece by piece, from piece `from` on: the numbers of known words, with [`BREAK`] between
    /// sentences. Ends when `take` breaks.
    pub(crate) fn each_piece(
        &self,
        vocabulary: &WordCounts,
        from: usize,
        take: &mut dyn FnMut(Vec<u32>) -> ControlFlow<()>,
    ) -> Result<()> {
        match self {
            Corpus::Sentences(sentences) => {
                let numbers: Vec<Option<u32>> = sentences.words.iter().map(|word| vocabulary.get(word)).collect();
                for piece in sentences.pieces().skip(from) {
                    let number = |&token: &u32| if token == BREAK { Some(BREAK) } else { numbers[token as usize] };
                    if take(piece.iter().filter_map(number).collect()).is_break() {
                        break;
                    }
                }
            }
            Corpus::File(path) => {
                let mut pieces = Pieces::open(path)?;
                let mut passed = 0;
                while let Some(text) = pieces.next()? {
                    passed += 1;
                    if passed > from && take(numbers(text, vocabulary)).is_break() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

fn numbers(text: &str, vocabulary: &WordCounts) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(text.len() / 5);
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            numbers.push(BREAK);
        }
        numbers.extend(line.split(is_blank).filter(|word| !word.is_empty()).filter_map(|word| vocabulary.get(word)));
    }
    numbers
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// The pieces of a file.
struct Pieces {
    source: Source,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were returned.
    used: usize,
    /// The lines before the buffer, and the bytes of its first line that came before.
    lines: usize,
    column: usize,
}

impl Pieces {
    fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Err(Error::setting("text", "be a file, since it is read several times", "`-`"));
        }
        Ok(Pieces { source: Source::open(path)?, buffer: Vec::new(), used: 0, lines: 0, column: 0 })
    }

    /// The next piece, which ends with a blank or with the file.
    fn next(&mut self) -> Result<Option<&str>> {
        let last = &self.buffer[..self.used];
        self.lines += memchr::memchr_iter(b'\n', last).count();
        self.column = memchr::memrchr(b'\n', last).map_or(self.column + last.len(), |end| last.len() - end - 1);
        self.buffer.drain(..self.used);
        self.used = 0;
        loop {
            let wanted = (PIECE - self.buffer.len() % PIECE) as u64;
            let read = self.source.input().take(wanted).read_to_end(&mut self.buffer);
            let ended = read.map_err(|e| self.source.failure(e))? < wanted as usize;
            let blank = self.buffer.iter().rposition(u8::is_ascii_whitespace);
            self.used = if ended { self.buffer.len() } else { blank.map_or(0, |at| at + 1) };
            if self.used > 0 || ended {
                break;
            }
            if self.buffer.len() > LONGEST_WORD {
                return Err(self.wrong(0, format!("expected blanks between words, found none in {LONGEST_WORD} bytes")));
            }
        }
        let piece = &self.buffer[..self.used];
        match std::str::from_utf8(piece) {
            Ok("") => Ok(None),
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let at = error.valid_up_to();
                Err(self.wrong(at, format!("expected UTF-8, found byte {:#04x}", piece[at])))
            }
        }
    }

    fn wrong(&self, at: usize, message: String) -> Error {
        let before = &self.buffer[..at];
        let line = self.lines + memchr::memchr_iter(b'\n', before).count() + 1;
        let column = memchr::memrchr(b'\n', before).map_or(self.column + at, |end| at - end - 1) + 1;
        Error::Input { place: Place { path: self.source.path().to_owned(), line, column }, message }
    }
}
