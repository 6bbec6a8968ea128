//! Texts with their labels, one per line, read on all cores.
//!
//! The whole file is held in memory, and texts are ranges of it, or copies of cells if the file is a table. Pieces that
//! end with a line are read in parallel, each with its own numbering of labels; classes are numbered at the end, by
//! name. For a compressed file, decompression takes longer than everything else.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::string::FromUtf8Error;

use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use super::classes::Names;
use super::label_names::LabelNames;
use super::lines::{Line, strip};
use super::source::Source;
use super::{Columns, Input, OnError, ReadOptions, Skipped, wrong_place};
use crate::data::labels::Labels;
use crate::data::{Dataset, Doubt};
use crate::error::{Error, Result};
use crate::platform::pool;
use crate::text::{Text, TextOptions};

/// Bytes per piece: large enough that few label names are numbered twice.
pub(super) const PIECE_BYTES: usize = 4 << 20;

/// Texts with their classes, as read from a file.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    content: String,
    /// The range of each text in it.
    places: Vec<Range<usize>>,
    /// The classes of each text, as indices into `classes`.
    pub labels: Labels,
    /// The weight of each text in training; empty if every text has weight 1.
    pub row_weights: Vec<f64>,
    /// The name of each class.
    pub classes: Vec<String>,
    /// Number of texts at the end that are names of classes.
    pub name_rows: usize,
    /// The id of each text, if the file is a table that has them and they were asked for.
    pub ids: Vec<String>,
    /// The columns that were read, if the file is a table.
    pub columns: Columns,
    /// The numbers of each row, if these were asked for; its text is empty then.
    numbers: Option<Box<Dataset>>,
    /// Whether labels were split at spaces, which may be a part of them.
    split_at_spaces: bool,
    /// The lines that were skipped.
    pub skipped: Skipped,
}

impl Texts {
    /// Number of texts.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The texts.
    pub fn texts(&self) -> Vec<&str> {
        pool::run(|| self.places.par_iter().map(|place| &self.content[place.clone()]).collect())
    }

    /// Adds the names of classes as texts of this weight, each with its class as label, so that a class can be
    /// predicted by its name, also without a text of its own. Classes that no text has follow the others.
    pub fn learn_names(&mut self, names: &LabelNames, weight: f64) {
        let known = self.classes.iter().cloned().zip(0..);
        let mut classes: HashMap<String, u32> = known.collect();
        self.row_weights.resize(self.len(), 1.0);
        for (class, names) in names.iter() {
            let label = *classes.entry(class.to_owned()).or_insert_with(|| {
                self.classes.push(class.to_owned());
                self.classes.len() as u32 - 1
            });
            for name in names {
                let start = self.content.len();
                self.content.push_str(name);
                self.places.push(start..self.content.len());
                self.labels.push(&[label]);
                self.row_weights.push(weight);
                self.name_rows += 1;
            }
        }
    }

    /// Finds their vocabulary and converts them to rows.
    ///
    /// # Errors
    /// As [`Text::fit`].
    pub fn fit(self, options: &TextOptions) -> Result<(Text, Dataset)> {
        let (text, data) = Text::fit(options, &self.texts())?;
        Ok((text, self.with_rows(data)))
    }

    /// Extends a vocabulary by theirs and converts them to rows.
    ///
    /// # Errors
    /// As [`Text::extended`].
    pub fn extend(self, text: &Text) -> Result<(Text, Dataset)> {
        let text = text.extended(&self.texts())?;
        let data = self.rows(&text);
        Ok((text, data))
    }

    /// Converts them to rows with the vocabulary of `text`.
    pub fn rows(self, text: &Text) -> Dataset {
        let data = text.rows(&self.texts());
        self.with_rows(data)
    }

    /// Those of a table with these columns, or its rows of numbers.
    pub(super) fn of_table(mut self, columns: &Columns) -> Input {
        self.columns.clone_from(columns);
        match self.numbers.take() {
            Some(mut rows) => {
                rows.allow_features(columns.features.len());
                rows.feature_names.clone_from(&columns.features);
                Input::Rows(self.with_rows(*rows))
            }
            None => Input::Texts(self),
        }
    }

    /// The same, whose labels were split at spaces.
    pub(super) fn split_at_spaces(self) -> Self {
        Texts { split_at_spaces: true, ..self }
    }

    /// A short text of each third of them, if there is one.
    fn examples(&self) -> Vec<String> {
        let text = |place: &Range<usize>| self.content[place.clone()].trim();
        let of_third = |third: usize| {
            let places = &self.places[third * self.len() / 3..(third + 1) * self.len() / 3];
            places.iter().map(text).find(|text| EXAMPLE.contains(&text.len())).map(str::to_owned)
        };
        (0..3).filter_map(of_third).collect()
    }

    fn with_rows(self, mut data: Dataset) -> Dataset {
        data.examples = self.examples();
        let first = self.places.first().map(|place| self.content[place.clone()].to_owned());
        (data.labels, data.row_weights, data.classes) = (self.labels, self.row_weights, self.classes);
        (data.ids, data.columns, data.skipped) = (self.ids, self.columns, self.skipped);
        data.name_rows = self.name_rows;
        let header = first.and_then(|text| Doubt::header(&text, &data.labels, &data.classes));
        let split = if self.split_at_spaces { Doubt::split(&data.labels, &data.classes) } else { None };
        data.doubts = header.into_iter().chain(split).collect();
        data
    }
}

/// Lengths in bytes of a text that shows what the others are like, at a glance.
const EXAMPLE: RangeInclusive<usize> = 8..=120;

pub(super) fn read(
    source: Source,
    options: &ReadOptions,
    line: impl Fn(&Line, &mut Piece) -> Result<()> + Sync,
) -> Result<Texts> {
    let content = Content::read(source, options)?;
    let mut texts = content.texts(options, line)?;
    texts.content = content.text;
    Ok(texts)
}

/// The content of a file of lines.
pub(super) struct Content {
    pub source: Source,
    pub text: String,
    /// The lines that are not UTF-8; they are blank in the text.
    skipped: Skipped,
}

impl Content {
    pub fn read(mut source: Source, options: &ReadOptions) -> Result<Content> {
        let mut skipped = Skipped::default();
        let text = match String::from_utf8(source.read_all()?) {
            Ok(content) => content,
            Err(error) if options.on_error == OnError::Skip => without_bad_lines(&source, error, &mut skipped)?,
            Err(error) => return Err(not_utf8(&source, &error)),
        };
        Ok(Content { source, text, skipped })
    }

    /// The texts, where `line` adds a line to the piece that it belongs to.
    pub fn texts(&self, options: &ReadOptions, line: impl Fn(&Line, &mut Piece) -> Result<()> + Sync) -> Result<Texts> {
        let lines = pieces(&self.source, &self.text);
        let pieces: Vec<Result<Piece>> =
            pool::run(|| lines.into_par_iter().map(|lines| Piece::read(lines, options, &line)).collect());
        // The first error of the file, not of the first thread that finds one.
        let mut texts = join(pieces.into_iter().collect::<Result<_>>()?);
        texts.skipped.join(self.skipped.clone());
        Ok(texts)
    }
}

/// The content with lines that are not UTF-8 replaced by blanks; they stay lines, so that line numbers do not change.
fn without_bad_lines(source: &Source, error: FromUtf8Error, skipped: &mut Skipped) -> Result<String> {
    let mut content = error.into_bytes();
    for (line, number) in content.split_inclusive_mut(|&byte| byte == b'\n').zip(source.lines_before() + 1..) {
        if let Err(error) = str::from_utf8(line) {
            let at = error.valid_up_to();
            let column = at + 1 - if number == 1 { skipped_bytes(line, 0) } else { 0 };
            skipped.take(OnError::Skip, wrong_byte(source, number, column, line[at]))?;
            line.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    }
    String::from_utf8(content).map_err(|error| not_utf8(source, &error))
}

fn not_utf8(source: &Source, error: &FromUtf8Error) -> Error {
    let (before, after) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let number = source.lines_before() + 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let column = before.len() + 1 - start - if number == 1 { skipped_bytes(before, start) } else { 0 };
    wrong_byte(source, number, column, after[0])
}

fn wrong_byte(source: &Source, line: usize, column: usize, byte: u8) -> Error {
    wrong_place(source.path(), line, column, format!("expected UTF-8, found byte {byte:#04x}"))
}

/// The length of the byte order mark of a line that starts at `start`.
pub(super) fn skipped_bytes(content: &[u8], start: usize) -> usize {
    if start == 0 && content.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// A part of a file that ends at the end of a line.
struct Lines<'a> {
    path: &'a Path,
    text: &'a str,
    /// Its offset in the file.
    start: usize,
    /// Number of lines before it.
    number: usize,
}

impl<'a> Lines<'a> {
    fn each(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut rest = self.text;
        std::iter::from_fn(move || {
            let (line, others) = rest.split_at(memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1));
            rest = others;
            (!line.is_empty()).then_some(line)
        })
    }

    fn count(&self) -> usize {
        memchr_iter(b'\n', self.text.as_bytes()).count()
    }
}

fn pieces<'a>(source: &'a Source, content: &'a str) -> Vec<Lines<'a>> {
    let (mut pieces, mut start, mut number) = (Vec::new(), 0, source.lines_before());
    let path = source.path();
    while start < content.len() {
        let bytes = &content.as_bytes()[start..];
        let ahead = PIECE_BYTES.min(bytes.len());
        let end = bytes[ahead..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| ahead + at + 1);
        pieces.push(Lines { path, text: &content[start..start + end], start, number: 0 });
        start += end;
    }
    let lines: Vec<usize> = pool::run(|| pieces.par_iter().map(|piece| piece.count()).collect());
    for (piece, lines) in pieces.iter_mut().zip(lines) {
        piece.number = number;
        number += lines;
    }
    pieces
}

/// The texts and labels of a piece.
pub(super) struct Piece {
    /// Whether a line without a label is an error; if not, labels are ignored.
    pub labels_required: bool,
    first_label: bool,
    names: Names,
    labels: Labels,
    /// The labels of the current line.
    row: Vec<u32>,
    row_weights: Vec<f64>,
    /// The range of each text in the file or, if it is a table, in `content`.
    places: Vec<Range<usize>>,
    /// The texts of a table.
    pub content: String,
    /// The ids of a table.
    pub ids: Vec<String>,
    /// The numbers of a table.
    pub numbers: Option<Box<Dataset>>,
    /// The offset of the current line in the file.
    start: usize,
    skipped: Skipped,
}

impl Piece {
    pub fn new(options: &ReadOptions) -> Self {
        Piece {
            labels_required: options.labels_required,
            first_label: options.first_label,
            names: Names::default(),
            labels: Labels::default(),
            row: Vec::new(),
            row_weights: Vec::new(),
            places: Vec::new(),
            content: String::new(),
            ids: Vec::new(),
            numbers: (!options.columns.features.is_empty()).then(|| Box::new(Dataset::new(0, Vec::new()))),
            start: 0,
            skipped: Skipped::default(),
        }
    }

    fn read(lines: Lines, options: &ReadOptions, read_line: impl Fn(&Line, &mut Piece) -> Result<()>) -> Result<Self> {
        let mut piece = Piece { start: lines.start, ..Piece::new(options) };
        for (text, number) in lines.each().zip(lines.number + 1..) {
            let (first, end) = (number == 1, piece.start + text.len());
            let text = strip(text, first);
            piece.start += if first { skipped_bytes(lines.text.as_bytes(), 0) } else { 0 };
            let line = Line::new(text, number, lines.path);
            // For prediction no line is skipped, so that output lines match input lines.
            if !(options.labels_required && text.trim_ascii().is_empty()) {
                read_line(&line, &mut piece).or_else(|error| piece.leave_out_line(options.on_error, error))?;
            }
            piece.start = end;
        }
        Ok(piece)
    }

    /// The number of each of its names in `names`. Only names of rows are added: skipped lines may have had others.
    fn number(&self, names: &mut Names) -> Vec<u32> {
        let own = self.names.iter();
        let mut used = vec![self.skipped.count() == 0; own.len()];
        if self.skipped.count() > 0 {
            self.labels.all().iter().for_each(|&label| used[label as usize] = true);
        }
        own.zip(used).map(|(name, used)| if used { names.number(name) } else { 0 }).collect()
    }

    /// Discards the current line.
    pub fn leave_out_line(&mut self, on_error: OnError, error: Error) -> Result<()> {
        self.row.clear();
        self.row_weights.truncate(self.places.len());
        self.ids.truncate(self.places.len());
        if let Some(numbers) = &mut self.numbers {
            numbers.leave_out_row();
        }
        self.skipped.take(on_error, error)
    }

    /// Adds a label to the current line.
    pub fn label(&mut self, name: &str) {
        if self.first_label && !self.row.is_empty() {
            return;
        }
        self.row.push(self.names.number(name));
    }

    /// Sets the weight of the current line.
    pub fn weight(&mut self, weight: f64) {
        self.row_weights.resize(self.places.len(), 1.0);
        self.row_weights.push(weight);
    }

    /// Ends the current line, whose text is this range of it.
    pub fn end_line(&mut self, line: &Line, text: Range<usize>) -> Result<()> {
        if self.row.is_empty() && self.labels_required {
            return Err(line.no_label());
        }
        self.end_row(self.start + text.start..self.start + text.end);
        Ok(())
    }

    /// Ends the current row, whose text is this range of the file or of `content`.
    pub fn end_row(&mut self, text: Range<usize>) {
        self.labels.push(&self.row);
        self.row.clear();
        if let Some(numbers) = &mut self.numbers {
            numbers.end_row(&[]);
        }
        self.places.push(text);
    }
}

/// Joins all pieces, with classes numbered by name.
pub(super) fn join(pieces: Vec<Piece>) -> Texts {
    let mut names = Names::default();
    let numbers: Vec<Vec<u32>> = pieces.iter().map(|piece| piece.number(&mut names)).collect();
    let (classes, places) = names.sorted();
    let mut texts = Texts { classes, ..Texts::default() };
    let rows = pieces.iter().map(|piece| piece.places.len()).sum();
    texts.places.reserve_exact(rows);
    texts.labels.reserve(rows);
    texts.content.reserve_exact(pieces.iter().map(|piece| piece.content.len()).sum());
    for (piece, numbers) in pieces.into_iter().zip(numbers) {
        texts.labels.append(&piece.labels, |label| places[numbers[label as usize] as usize]);
        if !piece.row_weights.is_empty() {
            texts.row_weights.resize(texts.places.len(), 1.0);
            texts.row_weights.extend(piece.row_weights);
        }
        let before = texts.content.len();
        texts.places.extend(piece.places.into_iter().map(|place| before + place.start..before + place.end));
        texts.content.push_str(&piece.content);
        texts.ids.extend(piece.ids);
        if let Some(numbers) = &piece.numbers {
            texts.numbers.get_or_insert_with(|| Box::new(Dataset::new(0, Vec::new()))).append_unlabelled(numbers);
        }
        texts.skipped.join(piece.skipped);
        if !texts.row_weights.is_empty() {
            texts.row_weights.resize(texts.places.len(), 1.0);
        }
    }
    texts
}
