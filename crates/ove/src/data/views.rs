//! Views of rows: the kinds of terms that a tree sees. Trees that see different terms make different mistakes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::error::{Error, Result};
use crate::platform::names::names;

/// The kind of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Words, or tokens.
    Words,
    /// Pairs of neighbouring words, and longer n-grams.
    Ngrams,
    /// Stems that stand beside the words.
    Stems,
    /// N-grams of characters.
    Chars,
}

names!(Kind, "views", { Words => "words", Ngrams => "ngrams", Stems => "stems", Chars => "chars" });

/// A set of kinds of terms, written `words+ngrams`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View(u8);

impl View {
    /// All kinds.
    pub const ALL: View = View(u8::MAX);

    /// These kinds.
    pub fn of(kinds: &[Kind]) -> Self {
        View(kinds.iter().fold(0, |bits, &kind| bits | 1 << kind as u8))
    }

    /// Whether it has terms of this kind.
    pub fn has(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = Kind::ALL.iter().filter(|&&kind| self.has(kind));
        f.write_str(&kinds.map(|kind| kind.name()).collect::<Vec<_>>().join("+"))
    }
}

impl FromStr for View {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let kinds: Vec<Kind> = text.split('+').map(str::parse).collect::<Result<_>>()?;
        Ok(View::of(&kinds))
    }
}

impl Serialize for View {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for View {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_written_as_they_are_read() {
        for text in ["words", "words+ngrams", "words+ngrams+stems+chars", "stems"] {
            assert_eq!(text.parse::<View>().unwrap().to_string(), text);
        }
        let error = "words+verbs".parse::<View>().unwrap_err().to_string();
        assert_eq!(error, "`views` must be one of words, ngrams, stems, chars, got `verbs`");
        assert!("".parse::<View>().is_err());
        let view = View::of(&[Kind::Stems]);
        assert!(view.has(Kind::Stems) && !view.has(Kind::Words) && View::ALL.has(Kind::Chars));
    }
}
