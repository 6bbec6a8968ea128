//! Reads data files: rows of numbers into a [`Dataset`], raw text into [`Texts`], which [`text`](crate::text) turns
//! into one.
//!
//! Each format is in a file of its own that describes it. The format is detected by the name of the file, else by its
//! first bytes. Tables ([`Format::is_table`]) have named columns, of which [`Columns`] says what they hold; those in
//! Parquet and Arrow files need the feature `parquet`. Any file may be compressed with gzip, bzip2, xz or Zstandard
//! (features `gzip`, `bz2`, `xz` and `zstd`), whatever its name. `-` is standard input.
//!
//! ```no_run
//! let train = ove::io::read::read("train.svm.gz".as_ref(), &ove::io::read::ReadOptions::default())?;
//! println!("{} rows, {} features, {} classes", train.len(), train.features(), train.classes.len());
//! # Ok::<(), ove::Error>(())
//! ```

mod arff;
pub mod class_weights;
pub(crate) mod classes;
#[cfg(feature = "parquet")]
mod columnar;
#[cfg(not(feature = "parquet"))]
#[path = "read/columnar/absent.rs"]
mod columnar;
mod compression;
pub mod counts;
mod csv;
mod detect;
mod fasttext;
mod idx;
mod interactions;
mod json_lines;
pub mod label_names;
mod libsvm;
mod lines;
#[cfg(feature = "npz")]
mod matrix;
#[cfg(not(feature = "npz"))]
#[path = "read/matrix/absent.rs"]
mod matrix;
#[cfg(feature = "npz")]
mod npy;
mod number;
mod pair;
mod pieces;
mod row;
mod source;
mod table;
mod texts;
mod triples;
mod tsv;
mod weight;
mod xmc;

use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};

use crate::data::Dataset;
pub use crate::data::{Columns, OnError, Skipped};
use crate::error::{Error, Place, Result};
use crate::platform::names::names;
use columnar::Columnar;
pub use interactions::{InteractionColumns, read_interactions, read_interactions_bytes, read_interactions_in};
pub use pieces::Pieces;
pub(super) use source::Source;
pub use texts::Texts;

/// The format of a data file.
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
    /// `text<TAB>label label …`, with a weight in a third column or without.
    Tsv,
    /// `label label …<TAB>text`, the same.
    TsvLabelFirst,
    /// `__label__a __label__b text`, as fastText has it.
    Fasttext,
    /// A table: comma-separated values, or separated by tabs, semicolons or `|`.
    Csv,
    /// A table: one JSON object per line.
    Jsonl,
    /// A dense matrix as NumPy has it, with the labels in a second file.
    Npy,
    /// A sparse matrix as SciPy has it, with the labels in a second file.
    Npz,
    /// A table: columns of values with their types, compressed.
    Parquet,
    /// A table: an Arrow file, which is also what Feather files are.
    Arrow,
}

names!(Format, "format", {
    Libsvm => "libsvm", Xmc => "xmc", Idx => "idx", Arff => "arff", Triples => "triples",
    Tsv => "tsv", TsvLabelFirst => "tsv-label-first", Fasttext => "fasttext", Csv => "csv", Jsonl => "jsonl",
    Npy => "npy", Npz => "npz", Parquet => "parquet", Arrow => "arrow",
});

impl Format {
    /// Whether this is a format of raw text, not of rows of numbers.
    pub fn is_text(self) -> bool {
        matches!(self, Format::Tsv | Format::TsvLabelFirst | Format::Fasttext) || self.is_table()
    }

    /// Whether this is a format of tables, whose columns have names.
    pub fn is_table(self) -> bool {
        matches!(self, Format::Csv | Format::Jsonl) || self.is_columnar()
    }

    /// Whether this is a format of tables that store the values of a column together.
    pub fn is_columnar(self) -> bool {
        matches!(self, Format::Parquet | Format::Arrow)
    }

    /// Whether a part of a file can be read without the rest.
    pub fn is_piecewise(self) -> bool {
        !matches!(self, Format::Idx | Format::Arff | Format::Triples | Format::Npy | Format::Npz)
    }
}

/// The content of a data file.
#[derive(Debug, Clone)]
pub enum Input {
    /// Rows of numbers.
    Rows(Dataset),
    /// Raw text.
    Texts(Texts),
}

/// How to read a file.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The format; detected if not given.
    pub format: Option<Format>,
    /// ARFF: the number of last attributes that are labels; detected if not given.
    pub labels: Option<usize>,
    /// NumPy and SciPy: the file of the labels; looked for beside the matrix if not given.
    pub labels_file: Option<PathBuf>,
    /// Whether only the first label of each row counts, as in the paper's experiments.
    pub first_label: bool,
    /// Whether a row without a label is an error.
    pub labels_required: bool,
    /// What to do with a row that cannot be read.
    pub on_error: OnError,
    /// Tables: the columns to read. If some are given, a file is a table unless its name says otherwise.
    pub columns: Columns,
    /// Whether a file without these columns may have another format, and a table no ids and weights: the columns are
    /// those of a model, to which other rows may be given.
    pub or_lines: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            labels: None,
            labels_file: None,
            first_label: false,
            labels_required: true,
            on_error: OnError::Stop,
            columns: Columns::default(),
            or_lines: false,
        }
    }
}

impl ReadOptions {
    /// Whether a file of this format holds raw text: a table does, unless its columns of numbers are asked for.
    pub fn reads_texts(&self, format: Format) -> bool {
        format.is_text() && (!format.is_table() || self.columns.features.is_empty())
    }
}

/// Reads a file with rows of numbers, and the files beside it that belong to it; `-` is standard input.
///
/// # Errors
/// [`Error::Input`] if the content is not valid or is raw text, [`Error::File`] if it cannot be read,
/// [`Error::Setting`] if the options do not fit the file.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    match read_any(path, options)? {
        Input::Rows(data) => Ok(data),
        Input::Texts(texts) => Err(no_rows_of_numbers(path, !texts.columns.is_empty())),
    }
}

/// Whether a panic is one of the decoders of Parquet and Arrow files, which are made for sound files. The reader takes it
/// as the word that the file is damaged, and returns an error: a hook that prints panics can leave these out.
pub fn is_of_a_decoder(panic: &PanicHookInfo<'_>) -> bool {
    let file = panic.location().map_or("", |at| at.file());
    ["/arrow-", "/parquet-", "/flatbuffers-"].iter().any(|decoder| file.contains(decoder))
}

/// Reads a data file of any format.
///
/// # Errors
/// As [`read`], except that raw text is not an error.
pub fn read_any(path: &Path, options: &ReadOptions) -> Result<Input> {
    read_source(Source::open(path)?, options, detect::format)
}

/// Reads the content of a file of this name from memory; there are no files beside it.
///
/// # Errors
/// As [`read_any`].
pub fn read_bytes(name: &Path, content: Vec<u8>, options: &ReadOptions) -> Result<Input> {
    read_source(Source::from_bytes(name, content)?, options, detect::format)
}

/// Reads a file of raw text; if no labels are required, this may be plain text with one text per line.
///
/// # Errors
/// As [`read`], except that rows of numbers are an error.
pub fn read_texts(path: &Path, options: &ReadOptions) -> Result<Texts> {
    match read_source(Source::open(path)?, options, detect::text_format)? {
        Input::Texts(texts) => Ok(texts),
        Input::Rows(_) => Err(no_texts(path)),
    }
}

/// Finds the format of a file.
type Detect = fn(&Source, &ReadOptions) -> Result<Format>;

fn read_source(
    source: Source,
    options: &ReadOptions,
    detect: fn(&Source, &ReadOptions) -> Result<Format>,
) -> Result<Input> {
    let format = format_of(&source, options, detect)?;
    read_known(source, format, options)
}

/// The format that is given or detected.
fn format_of(source: &Source, options: &ReadOptions, detect: Detect) -> Result<Format> {
    if source.head().is_empty() {
        return Err(no_rows(source.path()));
    }
    options.format.map_or_else(|| detect(source, options), Ok)
}

/// Reads a file whose format is known.
fn read_known(source: Source, format: Format, options: &ReadOptions) -> Result<Input> {
    let path = source.path().to_owned();
    if source.is_stdin() && options.labels_required && matches!(format, Format::Idx | Format::Triples) {
        let must = "be a format with its labels in the same file, to be read from standard input";
        return Err(Error::setting("format", must, format));
    }
    match read_format(source, format, options)? {
        Input::Rows(data) if data.is_empty() => Err(no_rows(&path)),
        Input::Texts(texts) if texts.is_empty() => Err(no_rows(&path)),
        input => Ok(input),
    }
}

/// Reads a file whose format is known; it may have no rows.
fn read_format(source: Source, format: Format, options: &ReadOptions) -> Result<Input> {
    let input = match format {
        Format::Libsvm => Input::Rows(libsvm::read(source, options)?),
        Format::Xmc => Input::Rows(xmc::read(source, options)?),
        Format::Idx => Input::Rows(idx::read(source, options.labels_required)?),
        Format::Arff => Input::Rows(arff::read(source, options)?),
        Format::Triples => Input::Rows(triples::read(source, options)?),
        Format::Tsv => Input::Texts(texts::read(source, options, tsv::text_first)?.split_at_spaces()),
        Format::TsvLabelFirst => Input::Texts(texts::read(source, options, tsv::label_first)?.split_at_spaces()),
        Format::Fasttext => Input::Texts(texts::read(source, options, fasttext::line)?),
        Format::Csv => csv::read(source, options, &mut None)?,
        Format::Jsonl => json_lines::read(source, options, &mut None)?,
        Format::Npy | Format::Npz => Input::Rows(matrix::read(source, options)?),
        Format::Parquet | Format::Arrow => Columnar::open(source, format, options)?.read(options)?,
    };
    Ok(match input {
        Input::Rows(mut data) => {
            if options.first_label {
                data.labels.keep_first();
            }
            // A skipped row may have been the only one of a class.
            if options.first_label || data.skipped.count() > 0 {
                data.drop_unused_classes();
            }
            Input::Rows(data)
        }
        input => input,
    })
}

fn no_rows_of_numbers(path: &Path, is_table: bool) -> Error {
    let hint = if is_table { "; say which columns are numbers: --features COLUMNS or --features all" } else { "" };
    wrong_file(path, format!("expected rows of numbers, found raw text{hint}"))
}

fn no_texts(path: &Path) -> Error {
    wrong_file(path, "expected texts, found rows of numbers")
}

fn no_rows(path: &Path) -> Error {
    wrong_file(path, "expected at least one row, found none")
}

/// An error about a file as a whole.
fn wrong_file(path: &Path, message: impl Into<String>) -> Error {
    wrong_place(path, 0, 0, message)
}

/// The lines of a small text file, plain or gzipped.
pub(crate) fn text_lines(path: &Path) -> Result<Vec<String>> {
    let mut lines = lines::Lines::open(path)?;
    let mut all = Vec::new();
    while let Some(line) = lines.next_line()? {
        all.push(line.text.to_owned());
    }
    Ok(all)
}

/// An error about a place in a file.
fn wrong_place(path: &Path, line: usize, column: usize, message: impl Into<String>) -> Error {
    Error::Input { place: Place { path: path.to_owned(), line, column }, message: message.into() }
}
