//! Reads data files into a [`Dataset`].
//!
//! Five formats are known; each has its own file, which tells its form. The format is found by the name of the file,
//! else by its first bytes. Any of them may be compressed with gzip, whatever its name. `-` is standard input.
//!
//! ```no_run
//! let train = ove::read::read("train.svm.gz".as_ref(), &ove::read::ReadOptions::default())?;
//! println!("{} rows, {} features, {} classes", train.len(), train.features(), train.classes.len());
//! # Ok::<(), ove::Error>(())
//! ```

mod arff;
pub mod class_weights;
mod classes;
pub mod counts;
mod detect;
mod idx;
mod libsvm;
mod lines;
mod number;
mod pair;
mod row;
mod source;
mod triples;
mod weight;
mod xmc;

use std::path::Path;

use crate::data::Dataset;
use crate::error::{Error, Place, Result};
use crate::names::names;
use source::Source;

/// The form of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `label,label index:value index:value …`, also called svmlight.
    Libsvm,
    /// The extreme classification repository: a header, then `label,label feature:value …`.
    Xmc,
    /// MNIST's binary images, with the labels in a second file.
    Idx,
    /// Weka's attribute-relation file, dense or sparse, with one class or with labels as Mulan and MEKA mark them.
    Arff,
    /// `document word count`, with labels and vocabulary in files beside it, as 20 Newsgroups comes.
    Triples,
}

names!(Format, "format", {
    Libsvm => "libsvm", Xmc => "xmc", Idx => "idx", Arff => "arff", Triples => "triples",
});

/// How to read a file.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The format; found from the file if not given.
    pub format: Option<Format>,
    /// ARFF: how many of the last attributes are labels; found from the file if not given.
    pub labels: Option<usize>,
    /// Whether only the first label of each row counts, as in the paper's experiments.
    pub first_label: bool,
    /// Whether a row without a label is an error.
    pub labels_required: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { format: None, labels: None, first_label: false, labels_required: true }
    }
}

/// Reads a data file, and the files beside it that belong to it. The path `-` is standard input.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    let source = Source::open(path)?;
    let path = source.path().to_owned();
    if source.head().is_empty() {
        return Err(no_rows(&path));
    }
    let format = match options.format {
        Some(format) => format,
        None => detect::format(&source)?,
    };
    if source.is_stdin() && matches!(format, Format::Idx | Format::Triples) {
        return Err(Error::Option {
            name: "format",
            found: format.to_string(),
            allowed: "standard input is libsvm, xmc or arff".into(),
        });
    }
    let mut data = match format {
        Format::Libsvm => libsvm::read(source, options.labels_required),
        Format::Xmc => xmc::read(source, options.labels_required),
        Format::Idx => idx::read(source, options.labels_required),
        Format::Arff => arff::read(source, options),
        Format::Triples => triples::read(source, options.labels_required),
    }?;
    if data.is_empty() {
        return Err(no_rows(&path));
    }
    if options.first_label {
        data.labels.keep_first();
        data.drop_unused_classes();
    }
    Ok(data)
}

fn no_rows(path: &Path) -> Error {
    wrong_file(path, "no rows", "there must be at least one")
}

/// An error about a file as a whole.
fn wrong_file(path: &Path, found: impl Into<String>, allowed: impl Into<String>) -> Error {
    wrong_place(path, 0, 0, found, allowed)
}

/// An error about a place in a file.
fn wrong_place(path: &Path, line: usize, column: usize, found: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::Input { place: Place { path: path.to_owned(), line, column }, found: found.into(), allowed: allowed.into() }
}
