//! The cache of a data file: its rows on disk, so that training data may be larger than memory.
//!
//! The file is read in pieces, raw text twice, first for its vocabulary. The result is a folder of columns, plain
//! little-endian numbers:
//!
//! ```text
//! offsets         rows + 1    64 bits    start of the entries of each row
//! indices         entries     32 bits    features
//! values          entries     floats
//! label-offsets   rows + 1    64 bits    start of the labels of each row
//! labels          labels      32 bits    classes
//! weights         rows        doubles    the weight of each row, or nothing
//! terms, idf                             the vocabulary of raw text
//! card                        JSON       the file and how it was read; class names; checksums
//! ```
//!
//! The columns are memory-mapped: every epoch reads them, and so does the next run on the same file. The card is
//! written last. A folder without a valid card, or with the card of another file or version, is built again. Labels are
//! kept in memory.

mod card;
mod load;
pub mod parts;
mod write;

use std::fs;
use std::path::Path;

use card::{Card, Origin};
use load::load;
use write::{COLUMNS, Writer};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::io::read::{Input, Pieces, ReadOptions, Skipped};
use crate::text::{Text, TextOptions, Vocabulary};

/// The approximate number of bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 20;

/// A cache that is ready to train from.
pub struct Cached {
    /// The text settings and vocabulary, if the file contains texts.
    pub text: Option<Text>,
    /// The rows, on disk.
    pub data: Dataset,
    /// Whether an earlier run built it.
    pub reused: bool,
}

/// Opens the cache of a file in `folder`, and builds it if necessary. `tell` is called with the number of rows so far.
///
/// # Errors
/// [`Error::Input`] and [`Error::File`] as the readers of the file do, [`Error::Cache`] for a damaged cache, and
/// [`Error::Setting`] for standard input and for formats that cannot be read piece by piece.
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
        None if !is_free(folder) => {
            return Err(Error::setting(
                "cache",
                "be a new folder or an earlier cache",
                format!("{}, which has other files in it", folder.display()),
            ));
        }
        None => make(folder, origin, (path, read, PIECE_BYTES), text, tell)?,
    };
    let (text, mut data) = load(folder, card)?;
    data.skipped = skipped;
    Ok(Cached { text, data, reused })
}

/// Opens the cache in a folder as it is, whatever file it is made of: for a process that works for the one that opened
/// it.
///
/// # Errors
/// [`Error::Cache`] if there is none or it is damaged, [`Error::File`] if it cannot be read.
pub fn reopen(folder: &Path) -> Result<Cached> {
    let no_card = || Error::Cache { path: folder.join(Card::NAME), reason: "there is no valid card".into() };
    let (text, data) = load(folder, Card::read(folder).ok_or_else(no_card)?)?;
    Ok(Cached { text, data, reused: true })
}

/// Whether nothing but a cache, or what is left of one, is in a folder: its files would be overwritten.
fn is_free(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    let mut names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.all(|name| COLUMNS.contains(&name.as_str()) || name.split('.').next() == Some(Card::NAME))
}

/// Builds the cache of a file; returns its card and the rows that were skipped. On failure nothing is left behind: on a
/// full disk, half a cache would only take the room that is missing.
fn make(
    folder: &Path,
    origin: Origin,
    source: (&Path, &ReadOptions, usize),
    options: &TextOptions,
    tell: &mut dyn FnMut(usize),
) -> Result<(Card, Skipped)> {
    let is_new = !folder.exists();
    fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
    // A folder without a card is not a cache: it stays invalid until everything is written.
    let card_path = folder.join(Card::NAME);
    if card_path.exists() {
        fs::remove_file(&card_path).map_err(|e| Error::file(&card_path, e))?;
    }
    fill(folder, origin, source, options, tell).inspect_err(|_| {
        // The error that led here is the one to report.
        COLUMNS.iter().for_each(|name| drop(fs::remove_file(folder.join(name))));
        if is_new {
            let _ = fs::remove_dir(folder);
        }
    })
}

/// Writes the columns of a cache and its card.
fn fill(
    folder: &Path,
    origin: Origin,
    (path, read, bytes): (&Path, &ReadOptions, usize),
    options: &TextOptions,
    tell: &mut dyn FnMut(usize),
) -> Result<(Card, Skipped)> {
    let text = vocabulary(path, read, bytes, options)?;
    let mut writer = Writer::new(folder)?;
    let mut pieces = open_pieces(path, read, bytes)?;
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

/// Opens a file that can be read piece by piece.
fn open_pieces(path: &Path, read: &ReadOptions, bytes: usize) -> Result<Pieces> {
    let pieces = Pieces::open(path, read, bytes)?;
    if !pieces.format().is_piecewise() {
        let must = "be used with libsvm, XMC, texts or tables, which can be read piece by piece";
        return Err(Error::setting("cache", must, pieces.format()));
    }
    Ok(pieces)
}

/// The vocabulary of a file of texts; `None` if it contains rows.
fn vocabulary(path: &Path, read: &ReadOptions, bytes: usize, options: &TextOptions) -> Result<Option<Text>> {
    let mut vocabulary = Vocabulary::new(options)?;
    let mut pieces = open_pieces(path, read, bytes)?;
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
