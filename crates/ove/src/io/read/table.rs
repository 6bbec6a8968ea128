//! The rules of tables, the same for every format that is one: which columns are used, and how the cells of a row
//! become a text or numbers, labels, a weight and an id.
//!
//! ```text
//! sku,title,description,category          --text title:2,description --label category --label-separator ";" --id sku
//! 17,Red shoes,"With laces, new",a; b  →  text "Red shoes⏎Red shoes⏎With laces, new", labels "a" and "b", id "17"
//! ```
//!
//! Columns are given by name, or by number from 1; a column of that name comes first. What is not given is guessed from
//! the names alone, and only if one column fits.

use std::borrow::Cow;
use std::path::Path;

use super::lines::quote;
use super::texts::Piece;
use super::{Columns, ReadOptions, number, wrong_place};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// The names by which a column of texts is recognised.
const TEXTS: [&str; 2] = ["text", "title"];

/// The names by which a column of labels is recognised.
const LABELS: [&str; 4] = ["label", "labels", "category", "class"];

/// What stands for all columns of numbers.
const ALL: &str = "all";

/// The largest number of times that the terms of a column count.
const MOST_TIMES: usize = 100;

/// The number of columns that an error lists.
const LISTED: usize = 20;

/// The content of a cell.
pub(super) enum Cell<'a> {
    /// Nothing, not even an empty text.
    Null,
    Text(Cow<'a, str>),
    List(Vec<Cow<'a, str>>),
}

/// A row of a table, as its reader has it.
pub(super) trait Record {
    /// The content of a column, counted from 0.
    fn cell(&self, column: usize) -> Result<Cell<'_>>;

    /// The finite number in a column; `None` if its content is not one.
    fn number(&self, column: usize) -> Result<Option<f32>> {
        let Cell::Text(word) = self.cell(column)? else { return Ok(None) };
        let word = word.trim();
        let truth = || ["false", "true"].iter().position(|truth| word.eq_ignore_ascii_case(truth));
        Ok(number::float(word).or_else(|| truth().map(|truth| truth as f32)))
    }

    /// An error about a column of this row.
    fn wrong(&self, column: usize, message: String) -> Error;
}

/// The columns of a table that are used, by their positions.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The name of each column.
    names: Vec<String>,
    /// The columns of the text, and how often the terms of each count.
    pub text: Vec<(usize, usize)>,
    /// The columns of numbers.
    features: Vec<usize>,
    label: Option<usize>,
    separator: Option<String>,
    weight: Option<usize>,
    pub id: Option<usize>,
    /// The same by name, with what was guessed.
    pub columns: Columns,
}

/// Where the names of columns come from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Naming {
    /// A header, or a schema: other names are wrong.
    Header,
    /// There is no header: columns have numbers only.
    Numbers,
    /// The keys of the first row: others may have more.
    FirstRow,
}

/// Whether columns are given by number alone, so that there is no header.
pub(super) fn has_no_header(columns: &Columns) -> bool {
    let mut given = names(columns).peekable();
    given.peek().is_some() && given.all(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The names of all columns that are given, without how often they count.
fn names(columns: &Columns) -> impl Iterator<Item = &str> {
    let text = columns.text.iter().flat_map(|names| names.split(',')).map(|name| times_of(name).0);
    let features = columns.features.iter().flat_map(|names| names.split(',')).filter(|name| *name != ALL);
    text.chain(features).chain([&columns.label, &columns.weight, &columns.id].into_iter().flatten().map(String::as_str))
}

/// How many of the columns that are given by name a header has.
pub(super) fn fitting(header: &[String], columns: &Columns) -> usize {
    let has = |name: &str| header.iter().any(|own| own == name);
    let text: usize = columns
        .text
        .iter()
        .map(|given| if has(given) { 1 } else { given.split(',').filter(|name| has(times_of(name).0)).count() })
        .sum();
    let features = columns.features.iter().flat_map(|names| names.split(',')).filter(|name| has(name)).count();
    text + features
        + [&columns.label, &columns.weight, &columns.id].into_iter().flatten().filter(|name| has(name)).count()
}

/// Whether a header has all columns of the text, or of numbers.
pub(super) fn has_content(header: &[String], columns: &Columns) -> bool {
    let of = Columns { text: columns.text.clone(), features: columns.features.clone(), ..Columns::default() };
    let given = || columns.text.iter().chain(&columns.features);
    let wanted: usize = given().map(|given| given.split(',').count()).sum();
    let whole = given().all(|given| header.contains(given));
    !(columns.text.is_empty() && columns.features.is_empty()) && (whole || fitting(header, &of) == wanted)
}

/// `title:3` is `title`, three times.
fn times_of(name: &str) -> (&str, usize) {
    let parts = name.rsplit_once(':').and_then(|(name, times)| Some((name, times.parse().ok()?)));
    parts.filter(|(_, times)| (1..=MOST_TIMES).contains(times)).unwrap_or((name, 1))
}

impl Layout {
    /// Finds the columns among these names; `line` is that of the header.
    pub fn new(path: &Path, line: usize, names: Vec<String>, naming: Naming, options: &ReadOptions) -> Result<Self> {
        let given = &options.columns;
        let mut finder = Finder { path, line, names, naming };
        let guess = naming != Naming::Numbers;
        if !given.text.is_empty() && !given.features.is_empty() {
            let both = "rows consist of a text or of numbers, so give `text` or `features`, not both";
            return Err(Error::Settings(both.into()));
        }
        let text = match guess_of(&finder.names, &TEXTS).filter(|_| given.text.is_empty() && guess) {
            _ if !given.features.is_empty() => Vec::new(),
            Some(column) => vec![(column, 1)],
            None => finder.texts(&given.text)?,
        };
        let label = match (&given.label, options.labels_required) {
            (_, false) => None,
            (Some(name), true) => Some(finder.find(name)?),
            (None, true) => guess_of(&finder.names, &LABELS).filter(|_| guess),
        };
        let no_content = text.is_empty() && given.features.is_empty();
        if no_content || (label.is_none() && options.labels_required) {
            return Err(finder.unknown(no_content, label, options));
        }
        let features = finder.features(given)?;
        let mut find = |name: &Option<String>| match name {
            // A table may lack what the rows of the model had besides.
            Some(name) if options.or_lines => Ok(finder.position(name).ok().flatten()),
            Some(name) => finder.find(name).map(Some),
            None => Ok(None),
        };
        let weight = find(&given.weight.clone().filter(|_| options.labels_required))?;
        let id = find(&given.id.clone().filter(|_| !options.labels_required))?;
        let name = |column: usize| finder.names[column].clone();
        let columns = Columns {
            text: match text.first() {
                Some(&(column, _)) if given.text.is_empty() => vec![name(column)],
                _ => given.text.clone(),
            },
            features: features.iter().copied().map(name).collect(),
            label: given.label.clone().or_else(|| label.map(name)),
            ..given.clone()
        };
        let separator = given.label_separator.clone().filter(|separator| !separator.is_empty());
        Ok(Layout { text, features, label, separator, weight, id, columns, names: finder.names })
    }

    /// The name of each column.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns that are used, each once, in increasing order.
    pub fn used(&self) -> Vec<usize> {
        let content = self.text.iter().map(|&(column, _)| column).chain(self.features.iter().copied());
        let mut used: Vec<usize> = content.chain([self.label, self.weight, self.id].into_iter().flatten()).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Adds a row to the piece that it belongs to.
    pub fn add(&self, record: &impl Record, piece: &mut Piece) -> Result<()> {
        if let Some(column) = self.label {
            self.add_labels(record, column, piece)?;
        }
        if let Some(column) = self.weight
            && let Cell::Text(word) = record.cell(column)?
        {
            let weight = number::weight(word.trim()).ok_or_else(|| {
                self.wrong(record, column, "a weight, finite and at least 0,", &format!("'{}'", quote(&word)))
            })?;
            piece.weight(weight);
        }
        if let Some(mut numbers) = piece.numbers.take() {
            let added = self.add_numbers(record, &mut numbers);
            piece.numbers = Some(numbers);
            added?;
        }
        let start = piece.content.len();
        for &(column, times) in &self.text {
            let cell = record.cell(column)?;
            let mut add = |text: &str| {
                if piece.content.len() > start {
                    piece.content.push('\n');
                }
                piece.content.push_str(text);
            };
            for _ in 0..times {
                match &cell {
                    Cell::Null => {}
                    Cell::Text(text) => add(text),
                    Cell::List(texts) => texts.iter().for_each(|text| add(text)),
                }
            }
        }
        if let Some(column) = self.id {
            let id = match record.cell(column)? {
                Cell::Null => String::new(),
                Cell::Text(id) => id.into_owned(),
                Cell::List(_) => return Err(self.wrong(record, column, "an id", "a list")),
            };
            piece.ids.push(id);
        }
        piece.end_row(start..piece.content.len());
        Ok(())
    }

    fn add_numbers(&self, record: &impl Record, numbers: &mut Dataset) -> Result<()> {
        for (feature, &column) in (0..).zip(&self.features) {
            match record.number(column)? {
                None => return Err(self.no_number(record, column)),
                Some(0.0) => {}
                Some(number) => numbers.push_entry(feature, number),
            }
        }
        Ok(())
    }

    #[cold]
    fn no_number(&self, record: &impl Record, column: usize) -> Error {
        let found = match record.cell(column) {
            Ok(Cell::Text(text)) if !text.trim().is_empty() => format!("'{}'", quote(&text)),
            Ok(Cell::List(_)) => "a list".into(),
            _ => "nothing".into(),
        };
        self.wrong(record, column, "a finite number", &found)
    }

    fn add_labels(&self, record: &impl Record, column: usize, piece: &mut Piece) -> Result<()> {
        let mut found = false;
        let mut add = |name: &str| {
            let name = name.trim();
            if !name.is_empty() {
                piece.label(name);
                found = true;
            }
        };
        match (record.cell(column)?, &self.separator) {
            (Cell::Null, _) => {}
            (Cell::Text(names), Some(separator)) => names.split(separator.as_str()).for_each(add),
            (Cell::Text(name), None) => add(&name),
            (Cell::List(names), _) => names.iter().for_each(|name| add(name)),
        }
        if found { Ok(()) } else { Err(self.wrong(record, column, "a label", "none")) }
    }

    fn wrong(&self, record: &impl Record, column: usize, expected: &str, found: &str) -> Error {
        record.wrong(column, format!("expected {expected} in {}, found {found}", self.called(column)))
    }

    /// A column, as errors name it.
    pub fn called(&self, column: usize) -> String {
        format!("`{}`", quote(&self.names[column]))
    }
}

/// The one column whose name is among these.
fn guess_of(names: &[String], known: &[&str]) -> Option<usize> {
    let mut fitting = names.iter().enumerate().filter(|(_, name)| known.contains(&name.to_lowercase().as_str()));
    let first = fitting.next().map(|(column, _)| column);
    if fitting.next().is_none() { first } else { None }
}

/// The names of columns, for an error.
pub(super) fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{}`", quote(name.as_ref()))).collect();
    let more = if names.len() > LISTED { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Finds columns.
struct Finder<'a> {
    path: &'a Path,
    line: usize,
    names: Vec<String>,
    naming: Naming,
}

impl Finder<'_> {
    fn wrong(&self, message: String) -> Error {
        wrong_place(self.path, self.line, 0, message)
    }

    /// The column of this name or, if there is none, of this number.
    fn position(&self, name: &str) -> Result<Option<usize>> {
        let mut named = self.names.iter().enumerate().filter(|(_, own)| *own == name && self.naming != Naming::Numbers);
        if let Some((column, _)) = named.next() {
            return match named.next() {
                None => Ok(Some(column)),
                Some((other, _)) => {
                    let (first, second) = (column + 1, other + 1);
                    let which = format!("columns {first} and {second} are both named `{}`", quote(name));
                    Err(self.wrong(format!("{which}; give the number of one")))
                }
            };
        }
        let column = number::integer(name).filter(|_| self.naming != Naming::FirstRow && !name.is_empty());
        Ok(column.filter(|number| (1..=self.names.len() as u64).contains(number)).map(|number| number as usize - 1))
    }

    fn find(&mut self, name: &str) -> Result<usize> {
        match self.position(name)? {
            Some(column) => Ok(column),
            None if self.naming == Naming::FirstRow => {
                self.names.push(name.to_owned());
                Ok(self.names.len() - 1)
            }
            None => Err(self.wrong(format!("expected the column `{}`, found {}", quote(name), self.listed()))),
        }
    }

    fn texts(&mut self, given: &[String]) -> Result<Vec<(usize, usize)>> {
        let mut columns = Vec::new();
        for names in given {
            if let Some(column) = self.position(names)? {
                columns.push((column, 1));
                continue;
            }
            for name in names.split(',') {
                // A name may have a colon in it.
                let (name, times) = if self.position(name)?.is_some() { (name, 1) } else { times_of(name) };
                columns.push((self.find(name)?, times));
            }
        }
        Ok(columns)
    }

    /// The columns of numbers.
    fn features(&mut self, given: &Columns) -> Result<Vec<usize>> {
        let mut columns = Vec::new();
        for names in &given.features {
            match self.position(names)? {
                Some(column) => columns.push(column),
                None if names == ALL => columns.extend(self.all_others(given)?),
                None => names.split(',').try_for_each(|name| self.find(name).map(|column| columns.push(column)))?,
            }
        }
        let mut sorted = columns.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                Err(self
                    .wrong(format!("expected each of `features` once, found `{}` twice", quote(&self.names[pair[0]]))))
            }
            None => Ok(columns),
        }
    }

    /// The columns that are not labels, weights or ids.
    fn all_others(&self, given: &Columns) -> Result<Vec<usize>> {
        let mut others = Vec::new();
        for name in [&given.label, &given.weight, &given.id].into_iter().flatten() {
            others.extend(self.position(name)?);
        }
        if given.label.is_none() {
            others.extend(guess_of(&self.names, &LABELS));
        }
        Ok((0..self.names.len()).filter(|column| !others.contains(column)).collect())
    }

    fn listed(&self) -> String {
        match self.naming {
            Naming::Numbers => format!("{} columns", self.names.len()),
            _ => listed(&self.names),
        }
    }

    /// The error for columns that are not given and cannot be guessed, with an example of how to give them.
    fn unknown(&self, no_text: bool, label: Option<usize>, options: &ReadOptions) -> Error {
        let what = match (no_text, label.is_none() && options.labels_required) {
            (true, true) => "which columns are texts and labels",
            (true, false) => "which columns are texts",
            _ => "which column is the label",
        };
        let shown = |column: usize| match self.names.get(column) {
            Some(name) if self.naming == Naming::Numbers || name.is_empty() => (column + 1).to_string(),
            Some(name) if name.contains(|c: char| c.is_whitespace() || "'\"$&;|<>()`\\*?!#".contains(c)) => {
                format!("'{}'", name.replace('\'', r"'\''"))
            }
            Some(name) => name.clone(),
            None => "COLUMN".into(),
        };
        let given = options.columns.label.as_deref().and_then(|name| self.position(name).ok().flatten());
        let known = |known: &[&str]| self.names.iter().position(|name| known.contains(&name.to_lowercase().as_str()));
        let last = self.names.len().saturating_sub(1);
        let label = label.or(given).or_else(|| known(&LABELS)).unwrap_or(last);
        let text = known(&TEXTS).unwrap_or(usize::from(label == 0));
        let text = if no_text { shown(text) } else { options.columns.text.join(",") };
        let label = if options.labels_required { format!(" --label {}", shown(label)) } else { String::new() };
        self.wrong(format!("say {what} among {}, for example: --text {text}{label}", self.listed()))
    }
}
