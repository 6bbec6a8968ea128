//! The lines of a text file, each with its number.
//!
//! All lines share one buffer, so reading takes the memory of the longest line. A byte order mark and `\r` before `\n`
//! are not part of a line. Text must be UTF-8, which is checked line by line.
//!
//! ```text
//! train.svm:17:23: expected a finite 32-bit number, found 'nan'
//! ```

use std::fmt::Display;
use std::io::BufRead;
use std::path::Path;

use super::source::Source;
use super::wrong_place;
use crate::error::{Error, Result};

/// The number of characters of a word that an error quotes.
const QUOTED: usize = 40;

/// The lines of a file.
pub(super) struct Lines {
    source: Source,
    buffer: Vec<u8>,
    number: usize,
}

/// One line. Offsets into it count bytes from 0; the columns in errors, from 1.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub text: &'a str,
    pub number: usize,
    path: &'a Path,
}

impl Lines {
    pub fn new(source: Source) -> Self {
        let number = source.lines_before();
        Lines { source, buffer: Vec::new(), number }
    }

    /// Opens a file beside another.
    pub fn open(path: &Path) -> Result<Self> {
        Source::open(path).map(Lines::new)
    }

    /// The next line, or `None` at the end of the file.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        if self.advance()? { self.line().map(Some) } else { Ok(None) }
    }

    /// Reads the next line; false at the end of the file.
    pub fn advance(&mut self) -> Result<bool> {
        self.buffer.clear();
        let read = self.source.input().read_until(b'\n', &mut self.buffer);
        let more = read.map_err(|e| self.source.failure(e))? > 0;
        self.number += usize::from(more);
        Ok(more)
    }

    /// The line that was read last, if it is UTF-8.
    pub fn line(&self) -> Result<Line<'_>> {
        let bytes = strip_bytes(&self.buffer, self.number == 1);
        let path = self.source.path();
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Line { text, number: self.number, path }),
            Err(error) => {
                let at = error.valid_up_to();
                let line = Line { text: "", number: self.number, path };
                Err(line.expected(at, "UTF-8", format!("byte {:#04x}", bytes[at])))
            }
        }
    }

    /// Number of lines read.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

/// A line without its end and, if it is the first of a file, without a byte order mark.
pub(super) fn strip(line: &str, first: bool) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if first { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line }
}

/// The same for bytes.
fn strip_bytes(line: &[u8], first: bool) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line }
}

impl<'a> Line<'a> {
    pub fn new(text: &'a str, number: usize, path: &'a Path) -> Self {
        Line { text, number, path }
    }

    /// An error at an offset.
    #[cold]
    pub fn wrong(&self, at: usize, message: impl Into<String>) -> Error {
        wrong_place(self.path, self.number, at + 1, message)
    }

    /// An error at an offset: "expected …, found …".
    #[cold]
    pub fn expected(&self, at: usize, expected: impl Display, found: impl Display) -> Error {
        self.wrong(at, format!("expected {expected}, found {found}"))
    }

    /// The error for a row that needs a label and has none.
    pub fn no_label(&self) -> Error {
        self.expected(0, "a label", "none")
    }

    /// The offset of the first byte from `at` on that is not white space.
    #[inline]
    pub fn skip_space(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    }

    /// The word at `at`, up to white space.
    pub fn word(&self, at: usize) -> &'a str {
        let rest = &self.text[at..];
        let end = rest.bytes().position(|b| b.is_ascii_whitespace());
        &rest[..end.unwrap_or(rest.len())]
    }

    /// The words with their offsets.
    pub fn words(self) -> impl Iterator<Item = (usize, &'a str)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.skip_space(at);
            let word = self.word(start);
            at = start + word.len();
            (!word.is_empty()).then_some((start, word))
        })
    }

    /// The words of the line, if there are exactly `N`.
    pub fn exactly<const N: usize>(self) -> Option<[(usize, &'a str); N]> {
        let mut words = self.words();
        let mut found = [(0, ""); N];
        for word in &mut found {
            *word = words.next()?;
        }
        words.next().is_none().then_some(found)
    }
}

/// A word for an error message: truncated if it is long, with control characters escaped.
pub(super) fn quote(word: &str) -> String {
    quote_up_to(word, QUOTED)
}

/// The same, truncated at another number of characters.
pub(super) fn quote_up_to(word: &str, most: usize) -> String {
    let mut quoted = String::new();
    for character in word.chars().take(most) {
        if character.is_control() {
            quoted.extend(character.escape_default());
        } else {
            quoted.push(character);
        }
    }
    if word.chars().nth(most).is_some() {
        quoted.push('…');
    }
    quoted
}
