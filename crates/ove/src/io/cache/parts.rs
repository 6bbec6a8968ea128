//! A cache of several files, made in parts by processes that know nothing of each other.
//!
//! ```text
//! file 1  →  counts of its terms  ↘                ↗  rows of file 1  ↘
//! file 2  →  counts of its terms  →   vocabulary  →   rows of file 2  →   cache
//! …                                                                   ↗
//! ```
//!
//! The cache has the rows of all files in their order, and is the one that a file with the content of all of them would
//! have. Files of numbers have no counts.

use std::fs;
use std::path::{Path, PathBuf};

use super::card::{Card, Origin, summed};
use super::load::load;
use super::write::Writer;
use super::{PIECE_BYTES, open_pieces};
use crate::error::{Error, Result};
use crate::io::atomic::write_beside;
use crate::io::read::{Input, ReadOptions};
use crate::text::{Counts, Text, TextOptions, Vocabulary};

/// The settings of texts with what their first piece decides, such as the language; as they are for rows of numbers.
///
/// # Errors
/// Those of [`open`](super::open).
pub fn resolve(path: &Path, read: &ReadOptions, options: &TextOptions) -> Result<TextOptions> {
    options.check()?;
    match open_pieces(path, read, PIECE_BYTES)?.next_piece()? {
        Some(Input::Texts(texts)) => Ok(options.resolved(&texts.texts())),
        _ => Ok(*options),
    }
}

/// Counts the terms of a file of texts, and writes the counts to a file; returns whether it has texts.
///
/// # Errors
/// Those of [`open`](super::open).
pub fn count(path: &Path, read: &ReadOptions, options: &TextOptions, to: &Path) -> Result<bool> {
    let mut pieces = open_pieces(path, read, PIECE_BYTES)?;
    if !pieces.holds_texts() {
        return Ok(false);
    }
    let mut vocabulary = Vocabulary::of_resolved(options)?;
    while let Some(input) = pieces.next_piece()? {
        if let Input::Texts(texts) = input {
            vocabulary.add(&texts.texts());
        }
    }
    write_counts(&vocabulary.counts(), to)?;
    Ok(true)
}

/// Adds up the counts of all files, and writes those of the vocabulary to a file.
///
/// # Errors
/// [`Error::Cache`] for damaged counts, [`Error::Setting`] if no term is frequent enough.
pub fn add_up(counts: &[PathBuf], options: &TextOptions, to: &Path) -> Result<()> {
    let mut vocabulary = Vocabulary::of_resolved(options)?;
    for path in counts {
        vocabulary.join(&read_counts(path)?)?;
    }
    write_counts(&vocabulary.kept(), to)
}

/// Writes the rows of a file to a folder, with the vocabulary of all files if they have texts.
///
/// # Errors
/// Those of [`open`](super::open), and [`Error::Cache`] for damaged counts.
pub fn rows(path: &Path, read: &ReadOptions, counts: Option<&Path>, folder: &Path) -> Result<()> {
    let text = text_of(counts)?;
    fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
    let mut writer = Writer::new(folder)?;
    let mut pieces = open_pieces(path, read, PIECE_BYTES)?;
    while let Some(input) = pieces.next_piece()? {
        writer.push(&match (input, &text) {
            (Input::Rows(data), None) => data,
            (Input::Texts(texts), Some(text)) => texts.rows(text),
            _ => return Err(Error::Mismatch(format!("{}: all files must have texts, or none", path.display()))),
        })?;
    }
    let options = text.as_ref().map_or_else(TextOptions::default, |text| *text.options());
    let (card, _) = writer.finish(Origin::of(path, read, &options)?, None)?;
    card.write(folder)
}

/// Joins the rows of all files in a cache.
///
/// # Errors
/// [`Error::Cache`] for damaged rows or counts, [`Error::File`] if the cache cannot be written.
pub fn join(
    files: &[PathBuf],
    read: &ReadOptions,
    counts: Option<&Path>,
    parts: &[PathBuf],
    folder: &Path,
) -> Result<()> {
    let text = text_of(counts)?;
    fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
    let mut writer = Writer::new(folder)?;
    for part in parts {
        let no_card = || Error::Cache { path: part.join(Card::NAME), reason: "there is no valid card".into() };
        writer.push(&load(part, Card::read(part).ok_or_else(no_card)?)?.1)?;
    }
    let options = text.as_ref().map_or_else(TextOptions::default, |text| *text.options());
    let (card, _) = writer.finish(Origin::of_all(files, read, &options)?, text.as_ref())?;
    card.write(folder)
}

fn text_of(counts: Option<&Path>) -> Result<Option<Text>> {
    let Some(counts) = counts else { return Ok(None) };
    let counts = read_counts(counts)?;
    let mut vocabulary = Vocabulary::of_resolved(counts.options())?;
    vocabulary.join(&counts)?;
    vocabulary.finish().map(Some)
}

fn write_counts(counts: &Counts, to: &Path) -> Result<()> {
    let content = summed(&serde_json::to_string(counts).expect("names and numbers"));
    write_beside(to, |beside| fs::write(beside, content).map_err(|e| Error::file(to, e)))
}

fn read_counts(path: &Path) -> Result<Counts> {
    let damaged = |reason: &str| Error::Cache { path: path.to_owned(), reason: reason.into() };
    let content = fs::read_to_string(path).map_err(|e| Error::file(path, e))?;
    let json = content.split_once('\n').map(|(json, _)| json).filter(|json| summed(json) == content);
    let json = json.ok_or_else(|| damaged("its checksum is wrong: some of it was changed"))?;
    serde_json::from_str(json).map_err(|e| damaged(&e.to_string()))
}
