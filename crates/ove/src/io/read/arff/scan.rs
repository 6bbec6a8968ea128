//! Cuts a line of ARFF into tokens.
//!
//! A token ends at white space or at one of the characters that its caller names; in quotes it may hold any character,
//! with a backslash before a quote or a backslash. The rest of a line after `%` is a comment where a token could start.
//!
//! ```text
//! 'sour cherry', 8   % two tokens and a comma
//! ```

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::io::read::lines::{Line, quote};

/// A place in a line, moving right.
pub(super) struct Scan<'a> {
    line: Line<'a>,
    at: usize,
}

/// A word or a quoted text, and its offset.
pub(super) struct Token<'a> {
    pub text: Cow<'a, str>,
    pub at: usize,
    quoted: bool,
}

impl Token<'_> {
    /// Whether this is the question mark that stands for a missing value.
    pub fn is_missing(&self) -> bool {
        !self.quoted && self.text == "?"
    }
}

impl<'a> Scan<'a> {
    pub fn new(line: Line<'a>) -> Self {
        Scan { line, at: line.skip_space(0) }
    }

    /// The next character that is not white space.
    pub fn peek(&self) -> Option<u8> {
        self.line.text.as_bytes().get(self.at).copied()
    }

    /// Whether only a comment is left, or nothing.
    pub fn at_end(&self) -> bool {
        matches!(self.peek(), None | Some(b'%'))
    }

    /// Steps over a character if it is the next one.
    pub fn take(&mut self, character: u8) -> bool {
        let found = self.peek() == Some(character);
        if found {
            self.move_to(self.at + 1);
        }
        found
    }

    /// The next token; there must be one.
    pub fn token(&mut self, stops: &[u8]) -> Result<Token<'a>> {
        let at = self.at;
        match self.peek() {
            Some(mark @ (b'\'' | b'"')) => self.quoted(mark),
            _ => {
                let rest = &self.line.text[at..];
                let end = rest.bytes().position(|b| b.is_ascii_whitespace() || stops.contains(&b));
                let text = &rest[..end.unwrap_or(rest.len())];
                if text.is_empty() {
                    return Err(self.expected("a name or a value"));
                }
                self.move_to(at + text.len());
                Ok(Token { text: text.into(), at, quoted: false })
            }
        }
    }

    fn quoted(&mut self, mark: u8) -> Result<Token<'a>> {
        let (at, start) = (self.at, self.at + 1);
        let bytes = self.line.text.as_bytes();
        let mut end = start;
        while end < bytes.len() && bytes[end] != mark {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            return Err(self.line.expected(at, "a closing quote", "the end of the line"));
        }
        let text = &self.line.text[start..end];
        self.move_to(end + 1);
        Ok(Token { text: unescape(text), at, quoted: true })
    }

    /// Checks that only a comment is left, or nothing.
    pub fn end(&self) -> Result<()> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    /// An error about what comes next.
    pub fn expected(&self, expected: &str) -> Error {
        let word = self.line.word(self.at);
        let found = if word.is_empty() { "the end of the line".into() } else { format!("'{}'", quote(word)) };
        self.line.expected(self.at, expected, found)
    }

    fn move_to(&mut self, at: usize) {
        self.at = self.line.skip_space(at);
    }
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    plain.into()
}
