//! Triples `document word count`, the format of 20 Newsgroups: one entry per line, documents in increasing order.
//!
//! ```text
//! train.data      1 17 2     document 1 has word 17 twice
//! train.label     4          the class of document 1; one line per document
//! train.map       sport 4    the name of class 4; without this file, its number is its name
//! vocabulary.txt  goal       the first word
//! ```
//!
//! All numbers count from 1; feature 0 is word 1. A document without words is an empty row. All files are in the same
//! folder. An error skips the whole document; an error in a line without a valid document number skips the current one.
//! `test.data` uses `train.map` if there is no `test.map`.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::lines::{Line, Lines, quote};
use super::row::Unsorted;
use super::source::Source;
use super::{OnError, ReadOptions, Skipped, classes, number, pair, wrong_file, wrong_place};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// Maximum number of consecutive documents without words if there is no label file: enough for real data, and a wrong
/// number does not fill the memory.
const GREATEST_GAP: u64 = 1000;

/// The rows read so far.
struct Documents {
    path: PathBuf,
    /// The label file's name and the class of each document.
    labels: Option<(String, Vec<u32>)>,
    /// Number of complete documents.
    ended: usize,
    /// Whether the current one is skipped.
    spoilt: bool,
    on_error: OnError,
    row: Unsorted,
    data: Dataset,
}

pub(super) fn read(source: Source, options: &ReadOptions) -> Result<Dataset> {
    let name = source.name();
    let stem = name.strip_suffix(".data").unwrap_or(&name);
    let names = class_names(&source, stem)?;
    let labels = labels(&source, stem, names.as_ref(), options.labels_required)?;
    let vocabulary = vocabulary(&source)?;
    let mut data = Dataset::new(vocabulary.len(), Vec::new());
    data.feature_names = vocabulary;
    let mut documents = Documents {
        path: source.path().to_owned(),
        labels,
        ended: 0,
        spoilt: false,
        on_error: options.on_error,
        row: Unsorted::default(),
        data,
    };
    let mut lines = Lines::new(source);
    while lines.advance()? {
        if let Err(error) = lines.line().and_then(|line| documents.line(line)) {
            documents.spoil(error)?;
        }
    }
    let mut data = documents.finish()?;
    classes::from_numbers(&mut data, |id| match &names {
        Some(names) => names[&id].clone(),
        None => id.to_string(),
    });
    Ok(data)
}

impl Documents {
    fn line(&mut self, line: Line) -> Result<()> {
        if line.text.trim_ascii().is_empty() {
            return Ok(());
        }
        let [document, word, (at, count)] = line
            .exactly()
            .ok_or_else(|| line.expected(0, "'document word count'", format!("'{}'", quote(line.text))))?;
        self.advance(&line, document.0, whole(&line, "document", document)?.into())?;
        let feature = whole(&line, "word", word)? - 1;
        let words = self.data.feature_names.len();
        if words > 0 && feature as usize >= words {
            return Err(line.expected(word.0, format!("a word from 1 to {words}, the size of the vocabulary"), word.1));
        }
        let value = number::float(count).ok_or_else(|| pair::wrong_value(&line, at, count))?;
        self.row.push(feature, value, line.number, word.0);
        Ok(())
    }

    /// Ends the documents before `document`.
    fn advance(&mut self, line: &Line, at: usize, document: u64) -> Result<()> {
        let current = self.ended as u64 + 1;
        if document < current {
            return Err(line.wrong(at, format!("documents must not decrease, found {document} after {current}")));
        }
        match &self.labels {
            Some((name, labels)) if document > labels.len() as u64 => {
                let expected = format!("a document from 1 to {}, the number of labels in {name}", labels.len());
                return Err(line.expected(at, expected, document));
            }
            None if document - current > GREATEST_GAP => {
                let expected = format!("at most {GREATEST_GAP} documents without words after {current}");
                return Err(line.expected(at, expected, format!("document {document}")));
            }
            _ => {}
        }
        for _ in current..document {
            self.end_document()?;
        }
        Ok(())
    }

    fn end_document(&mut self) -> Result<()> {
        let moved = self.row.move_to(&mut self.data).map_err(|r| {
            let message = format!("expected each word once per document, found {} again", u64::from(r.feature) + 1);
            wrong_place(&self.path, r.line, r.at + 1, message)
        });
        if let Err(error) = moved {
            self.spoil(error)?;
        }
        if std::mem::take(&mut self.spoilt) {
            self.row.clear();
            self.data.leave_out_row();
        } else {
            let label = self.labels.as_ref().map(|(_, labels)| labels[self.ended]);
            self.data.end_row(label.as_slice());
        }
        self.ended += 1;
        Ok(())
    }

    /// Skips the current document, of which only the first error is reported.
    fn spoil(&mut self, error: Error) -> Result<()> {
        let mut told = Skipped::default();
        told.take(self.on_error, error)?;
        if !std::mem::replace(&mut self.spoilt, true) {
            self.data.skipped.join(told);
        }
        Ok(())
    }

    /// Ends the last document with words, and documents without words that have labels.
    fn finish(mut self) -> Result<Dataset> {
        let count = match &self.labels {
            Some((_, labels)) => labels.len(),
            None => self.ended + 1,
        };
        while self.ended < count {
            self.end_document()?;
        }
        Ok(self.data)
    }
}

/// A whole number from 1 on.
fn whole(line: &Line, what: &str, (at, word): (usize, &str)) -> Result<u32> {
    match number::integer(word).map(u32::try_from) {
        Some(Ok(number)) if number > 0 => Ok(number),
        _ => {
            let expected = format!("a {what}, a number from 1 to {}", u32::MAX);
            Err(line.expected(at, expected, format!("'{}'", quote(word))))
        }
    }
}

/// A class as the label file numbers it.
fn class_number(line: &Line, at: usize, word: &str) -> Result<u32> {
    number::integer(word).and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        let expected = format!("a class, a number from 0 to {}", u32::MAX);
        line.expected(at, expected, format!("'{}'", quote(word)))
    })
}

fn labels(
    source: &Source,
    stem: &str,
    names: Option<&HashMap<u32, String>>,
    required: bool,
) -> Result<Option<(String, Vec<u32>)>> {
    let name = format!("{stem}.label");
    let Some(path) = source.beside(&name) else {
        if !required {
            return Ok(None);
        }
        let message = format!("expected the labels beside it, found no {name}, compressed or not");
        return Err(wrong_file(source.path(), message));
    };
    let mut labels = Vec::new();
    let mut lines = Lines::open(&path)?;
    while let Some(line) = lines.next_line()? {
        let [(at, word)] = line.exactly().ok_or_else(|| {
            let found = format!("'{}'", quote(line.text));
            line.expected(0, "the number of a class", found)
        })?;
        let label = class_number(&line, at, word)?;
        if names.is_some_and(|names| !names.contains_key(&label)) {
            return Err(line.expected(at, "a class that the map file names", label));
        }
        labels.push(label);
    }
    Ok(Some((name, labels)))
}

/// The names of the classes by number, if there is a file with them.
fn class_names(source: &Source, stem: &str) -> Result<Option<HashMap<u32, String>>> {
    let Some(path) = source.beside(&format!("{stem}.map")).or_else(|| source.beside("train.map")) else {
        return Ok(None);
    };
    let mut names = HashMap::new();
    let mut seen = HashSet::new();
    let mut lines = Lines::open(&path)?;
    while let Some(line) = lines.next_line()? {
        let text = line.text.trim_ascii_end();
        let Some((name, number)) = text.rsplit_once([' ', '\t']) else {
            return Err(line.expected(0, "'name number'", format!("'{}'", quote(text))));
        };
        let at = text.len() - number.len();
        let id = class_number(&line, at, number)?;
        let name = name.trim_ascii().to_owned();
        if !seen.insert(name.clone()) || names.insert(id, name).is_some() {
            return Err(line.expected(0, "each name and number once", format!("'{}' again", quote(text))));
        }
    }
    Ok(Some(names))
}

/// The words in their order; none if there is no file with them.
fn vocabulary(source: &Source) -> Result<Vec<String>> {
    let Some(path) = source.beside("vocabulary.txt") else { return Ok(Vec::new()) };
    let mut words = Vec::new();
    let mut lines = Lines::open(&path)?;
    while let Some(line) = lines.next_line()? {
        words.push(line.text.trim_ascii().to_owned());
    }
    Ok(words)
}
