//! A data file as rows on disk, made once: training data may then be larger than memory.
//!
//! The file is read in pieces; raw text twice, first for its vocabulary. What comes out is a folder of plain little-endian numbers
//!
//! ```text
//! offsets         rows + 1    64 bits    where the entries of each row start
//! indices         entries     32 bits    features
//! values          entries     floats
//! label-offsets   rows + 1    64 bits    where the labels of each row start
//! labels          labels      32 bits    classes
//! weights         rows        doubles    how often each row counts, or nothing
//! terms, idf                             the vocabulary of raw text
//! card                       JSON        of which file, read how; names of classes; sums over the bytes of all columns and of itself
//! ```
//!
//! that is mapped, not read: every epoch takes it from there, and so does the next run on the same file. The card is written last, and a
//! folder without a whole one, or with that of another file, is made anew. Labels are kept in memory.

mod card;
mod load;
mod write;

use std::fs;
use std::path::Path;

use card::{Card, Origin};
use load::load;
use write::Writer;

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::io::read::{Input, Pieces, ReadOptions, Skipped};
use crate::text::{Text, TextOptions, Vocabulary};

/// About how much of a file is read at a time.
const PIECE_BYTES: usize = 64 << 20;

/// A cache that is ready to train from.
pub struct Cached {
    /// What turns texts into rows, if the file holds texts.
    pub text: Option<Text>,
    /// The rows, on disk.
    pub data: Dataset,
    /// Whether an earlier run had made it.
    pub reused: bool,
}

/// Opens the cache of a file in a folder, after making it where that is needed. `tell` hears how many rows are read.
pub fn open(
    folder: &Path,
    path: &Path,
    read: &ReadOptions,
    text: &TextOptions,
    tell: &mut dyn FnMut(usize),
) -> Result<Cached> {
    let origin = Origin::of(path, read, text)?;
    let kept = Card::read(folder).filter(|card| card.origin == origin);
    let reused = kept.is_some();
    let (card, skipped) = match kept {
        Some(card) => (card, Skipped::default()),
        None => make(folder, origin, (path, read, PIECE_BYTES), text, tell)?,
    };
    let (text, mut data) = load(folder, card)?;
    data.skipped = skipped;
    Ok(Cached { text, data, reused })
}

/// Writes the cache of a file: its card, and the rows that were left out.
fn make(
    folder: &Path,
    origin: Origin,
    (path, read, bytes): (&Path, &ReadOptions, usize),
    options: &TextOptions,
    tell: &mut dyn FnMut(usize),
) -> Result<(Card, Skipped)> {
    fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
    // Without its card it is none, until it is whole again.
    let card_path = folder.join(Card::NAME);
    if card_path.exists() {
        fs::remove_file(&card_path).map_err(|e| Error::file(&card_path, e))?;
    }
    let text = vocabulary(path, read, bytes, options)?;
    let mut writer = Writer::new(folder)?;
    let mut pieces = Pieces::open(path, read, bytes)?;
    while let Some(input) = pieces.next_piece()? {
        let piece = match (input, &text) {
            (Input::Rows(data), _) => data,
            (Input::Texts(texts), Some(text)) => texts.rows(text),
            (Input::Texts(_), None) => unreachable!("a file of texts has a vocabulary"),
        };
        writer.push(&piece)?;
        tell(writer.len());
    }
    let (card, skipped) = writer.finish(origin, text.as_ref())?;
    card.write(folder)?;
    Ok((card, skipped))
}

/// The vocabulary of a file of texts; none if it holds rows.
fn vocabulary(path: &Path, read: &ReadOptions, bytes: usize, options: &TextOptions) -> Result<Option<Text>> {
    let mut vocabulary = Vocabulary::new(options)?;
    let mut pieces = Pieces::open(path, read, bytes)?;
    if !pieces.holds_texts() {
        return Ok(None);
    }
    while let Some(input) = pieces.next_piece()? {
        if let Input::Texts(texts) = input {
            vocabulary.add(&texts.texts());
        }
    }
    vocabulary.finish().map(Some)
}

#[cfg(test)]
mod tests;
