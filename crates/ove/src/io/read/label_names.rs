//! Names of classes for people: one class per line, its name, and any other names.
//!
//! ```text
//! p19839<TAB>wood construction<TAB>timber building
//! p3650<TAB>wood
//! ```
//!
//! Blank lines are skipped.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::lines::{Lines, quote};
use super::source::Source;
use crate::error::{Error, Result};

/// Default weight of a name in training, where a row has weight 1.
///
/// On 20,284 held-out rows, after training on 100,000 library titles with names for 27,754 subjects, precision@1 is
/// .271 without names, and .275, .281, .288, .291 and .288 with the weights 0.1, 0.3, 1, 2 and 4; propensity-scored
/// precision@1 is .214, and .219, .227, .237, .242 and .242.
pub const WEIGHT: f64 = 1.0;

/// Names of classes, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelNames(Vec<(String, Vec<String>)>);

/// Reads a file of label names.
///
/// # Errors
/// [`Error::Input`] if a line has no name or an empty one, or a class for the second time; [`Error::File`] if the file
/// cannot be read.
pub fn read(path: &Path) -> Result<LabelNames> {
    parse(path, Source::open(path)?)
}

/// Reads the content of a file of this name from memory.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &Path, content: Vec<u8>) -> Result<LabelNames> {
    parse(name, Source::from_bytes(name, content)?)
}

fn parse(path: &Path, source: Source) -> Result<LabelNames> {
    let mut lines = Lines::new(source);
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    while let Some(line) = lines.next_line()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let mut fields = line.text.split('\t').map(str::trim);
        let class = fields.next().unwrap_or_default();
        let names: Vec<String> = fields.map(str::to_owned).collect();
        if class.is_empty() || names.is_empty() || names.iter().any(String::is_empty) {
            let found = format!("'{}'", quote(line.text));
            return Err(line.expected(0, "'class<TAB>name', with or without other names after more tabs", found));
        }
        if !seen.insert(class.to_owned()) {
            return Err(line.expected(0, "each class once", format!("'{}' again", quote(class))));
        }
        all.push((class.to_owned(), names));
    }
    match all.is_empty() {
        true => Err(Error::file(path, std::io::Error::other("expected lines 'class<TAB>name', found none"))),
        false => Ok(LabelNames(all)),
    }
}

impl LabelNames {
    /// From classes with their names.
    pub fn new(names: Vec<(String, Vec<String>)>) -> Self {
        LabelNames(names)
    }

    /// The names of each of these classes, of which some may have none.
    ///
    /// # Errors
    /// [`Error::Setting`] if no class has a name.
    pub fn of(&self, classes: &[String]) -> Result<Vec<Vec<String>>> {
        let index: HashMap<&str, &Vec<String>> = self.iter().collect();
        let names: Vec<Vec<String>> = classes
            .iter()
            .map(|class| index.get(class.as_str()).map_or_else(Vec::new, |&names| names.clone()))
            .collect();
        if names.iter().all(Vec::is_empty) {
            let found = self.0.first().map_or("none", |(class, _)| class);
            let known = classes.first().map_or("none", String::as_str);
            let must = format!("name classes of the data, such as `{known}`");
            return Err(Error::setting("label-names", must, format!("only others, such as `{found}`")));
        }
        Ok(names)
    }

    /// The classes with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Vec<String>)> {
        self.0.iter().map(|(class, names)| (class.as_str(), names))
    }
}
