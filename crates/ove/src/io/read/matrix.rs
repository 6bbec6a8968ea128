//! Matrices of NumPy (`.npy`, dense) and SciPy (`.npz`, sparse, as `scipy.sparse.save_npz` writes CSR), with their
//! labels in a file of their own.
//!
//! ```text
//! X.npz          format, shape, data, indices, indptr: the entries of row n are indptr[n]..indptr[n + 1]
//! X.labels.npy   an array with a label per row, numbers or strings
//! X.labels.npz   a sparse matrix whose entries are labels: column k of row n for the class k, several labels per row
//! X.labels.txt   a line per row, which is a label; several with a separator
//! ```
//!
//! The labels are those of the file that is given, else of one of these beside the matrix. A row in an error counts
//! from 1, a column from 0.

use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::classes::Names;
use super::lines::Lines;
use super::npy::{self, Array, Wrong};
use super::row::Unsorted;
use super::source::{Content, Source};
use super::{ReadOptions, wrong_file, wrong_place};
use crate::data::Dataset;
use crate::data::labels::Labels;
use crate::error::{Error, Result};

/// What a file of labels ends with, after the name of the matrix without its own ending.
const LABELS: [&str; 3] = [".labels.npy", ".labels.npz", ".labels.txt"];

/// Reads a matrix and its labels.
pub(super) fn read(mut source: Source, options: &ReadOptions) -> Result<Dataset> {
    let path = source.path().to_owned();
    let labels = match options.labels_required {
        true => Some(RowLabels::of(&source, options)?),
        false => None,
    };
    let matrix = Matrix::read(&mut source)?;
    if let Some(RowLabels { path: of, rows, .. }) = labels.as_ref().filter(|labels| labels.rows.len() != matrix.rows) {
        let message =
            format!("expected {} rows of labels, as {} has, found {}", matrix.rows, path.display(), rows.len());
        return Err(wrong_file(of, message));
    }
    let mut data = Dataset::new(matrix.columns, Vec::new());
    let mut row = Unsorted::default();
    for n in 0..matrix.rows {
        let of_row = labels.as_ref().map_or(&[][..], |labels| &labels.rows[n]);
        match matrix.add_row(n, &mut row, &mut data) {
            Ok(()) => data.end_row(of_row),
            Err(message) => {
                row.clear();
                data.leave_out_row();
                data.skipped.take(options.on_error, wrong_place(&path, n + 1, 0, message))?;
            }
        }
    }
    if let Some(labels) = labels {
        labels.names.finish(&mut data);
    }
    Ok(data)
}

/// A matrix, dense or sparse.
struct Matrix {
    rows: usize,
    columns: usize,
    values: Array,
    sparse: Option<Sparse>,
}

/// Where the values of a sparse matrix are.
struct Sparse {
    indices: Array,
    offsets: Vec<usize>,
}

impl Matrix {
    fn read(source: &mut Source) -> Result<Matrix> {
        let path = source.path().to_owned();
        let wrong = |message: String| wrong_file(&path, message);
        if !source.head().starts_with(npy::MAGIC) {
            return Matrix::read_sparse(&path, source.content()?).map_err(wrong);
        }
        let values = match Array::read(source.input()) {
            Ok(values) => values,
            Err(Wrong::Content(message)) => return Err(wrong(message)),
            Err(Wrong::Read(error)) => return Err(source.failure(error)),
        };
        match values.shape[..] {
            _ if !values.is_numeric() => Err(wrong("expected numbers, found strings".into())),
            [rows, columns] if (1..u32::MAX as usize).contains(&columns) => {
                Ok(Matrix { rows, columns, values, sparse: None })
            }
            ref shape => Err(wrong(format!("expected a matrix with columns, found an array of the shape {shape:?}"))),
        }
    }

    fn read_sparse(path: &Path, content: Content) -> std::result::Result<Matrix, String> {
        let mut archive = ZipArchive::new(content).map_err(|error| format!("the archive is damaged: {error}"))?;
        let names: Vec<String> = archive.file_names().take(10).flatten().map(|name| name.replace(".npy", "")).collect();
        let mut member = |name: &str| {
            let missing = || {
                let found = names.join(", ");
                format!("expected a sparse matrix, as scipy.sparse.save_npz writes it, found the arrays {found}")
            };
            let mut file = archive.by_name(&format!("{name}.npy")).map_err(|_| missing())?;
            Array::read(&mut file).map_err(|wrong| match wrong {
                Wrong::Content(message) => format!("{name}: {message}"),
                Wrong::Read(error) => format!("the archive is damaged: {error}"),
            })
        };
        let format = member("format")?;
        let format = if format.len() == 1 { format.text(0)? } else { String::new() };
        if format != "csr" {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let hint = format!("save it with scipy.sparse.save_npz(\"{name}.npz\", X.tocsr())");
            return Err(format!("expected a sparse matrix in the format csr, found '{format}'; {hint}"));
        }
        let shape = member("shape")?;
        let size = |n: usize| (n < shape.len() && shape.is_whole()).then(|| shape.index(n)).flatten();
        let (Some(rows), Some(columns)) = (size(0), size(1)) else {
            return Err("shape: expected the numbers of rows and columns".into());
        };
        let (values, indices, indptr) = (member("data")?, member("indices")?, member("indptr")?);
        if columns > u32::MAX.into() {
            return Err(format!("expected at most {} columns, found {columns}", u32::MAX));
        }
        if !values.is_numeric() || !indices.is_whole() || !indptr.is_whole() {
            return Err("expected numbers in data, and whole numbers in indices and indptr".into());
        }
        if indptr.len() as u64 != rows.saturating_add(1) {
            return Err(format!("expected {rows} rows, as shape says, found an indptr of {} numbers", indptr.len()));
        }
        let entries = values.len().min(indices.len()) as u64;
        let offset = |n: usize| indptr.index(n).filter(|offset| *offset <= entries).map(|offset| offset as usize);
        let offsets: Option<Vec<usize>> = (0..indptr.len()).map(offset).collect();
        let offsets = offsets.filter(|offsets| offsets[0] == 0 && offsets.is_sorted());
        let offsets = offsets.ok_or_else(|| {
            format!("expected an indptr that increases from 0 to {entries} at most, as data and indices end")
        })?;
        let sparse = Some(Sparse { indices, offsets });
        Ok(Matrix { rows: rows as usize, columns: columns as usize, values, sparse })
    }

    /// Adds the entries of row `n`.
    fn add_row(&self, n: usize, row: &mut Unsorted, data: &mut Dataset) -> std::result::Result<(), String> {
        match &self.sparse {
            None => {
                for column in 0..self.columns {
                    let at = if self.values.fortran_order { column * self.rows + n } else { n * self.columns + column };
                    row.push(column as u32, self.value(at, column)?, n, column);
                }
            }
            Some(Sparse { indices, offsets }) => {
                for at in offsets[n]..offsets[n + 1] {
                    let column = self.column(indices, at)?;
                    row.push(column as u32, self.value(at, column)?, n, at);
                }
            }
        }
        row.move_to(data).map_err(|again| format!("expected each column once per row, found {} again", again.feature))
    }

    fn column(&self, indices: &Array, at: usize) -> std::result::Result<usize, String> {
        let column = indices.index(at).filter(|column| *column < self.columns as u64);
        column.map(|column| column as usize).ok_or_else(|| {
            let found = indices.number(at);
            format!("expected a column from 0 to {}, as the shape says, found {found}", self.columns.saturating_sub(1))
        })
    }

    fn value(&self, at: usize, column: usize) -> std::result::Result<f32, String> {
        let value = self.values.number(at) as f32;
        if value.is_finite() {
            return Ok(value);
        }
        Err(format!("expected a finite 32-bit number in column {column}, found {}", self.values.number(at)))
    }
}

/// The labels of the rows, numbered in order of appearance.
struct RowLabels {
    path: PathBuf,
    rows: Labels,
    names: Names,
}

impl RowLabels {
    /// Those of a matrix.
    fn of(source: &Source, options: &ReadOptions) -> Result<RowLabels> {
        let name = source.name();
        let stem = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
        let beside = || LABELS.iter().find_map(|ending| source.beside(&format!("{stem}{ending}")));
        let path = options.labels_file.clone().or_else(beside).ok_or_else(|| {
            let files = LABELS.map(|ending| format!("{stem}{ending}")).join(", ");
            let message = format!("expected its labels, found none of {files}; name another file with --labels FILE");
            wrong_file(source.path(), message)
        })?;
        let mut labels = RowLabels { path, rows: Labels::default(), names: Names::default() };
        let mut own = Source::open(&labels.path)?;
        if own.head().starts_with(npy::MAGIC) {
            labels.read_array(&mut own)?;
        } else if own.head().starts_with(b"PK") {
            labels.read_matrix(&mut own)?;
        } else {
            labels.read_lines(own, options.columns.label_separator.as_deref())?;
        }
        Ok(labels)
    }

    fn wrong(&self, row: usize, message: impl Into<String>) -> Error {
        wrong_place(&self.path, row, 0, message)
    }

    fn read_array(&mut self, source: &mut Source) -> Result<()> {
        let array = match Array::read(source.input()) {
            Ok(array) => array,
            Err(Wrong::Content(message)) => return Err(self.wrong(0, message)),
            Err(Wrong::Read(error)) => return Err(source.failure(error)),
        };
        if array.shape.iter().filter(|length| **length != 1).count() > 1 || array.shape.is_empty() {
            let shape = &array.shape;
            return Err(self.wrong(0, format!("expected one label per row, found an array of the shape {shape:?}")));
        }
        for n in 0..array.len() {
            let name = array.text(n).map_err(|message| self.wrong(n + 1, message))?;
            if name.trim().is_empty() || (array.is_numeric() && !array.number(n).is_finite()) {
                return Err(self.wrong(n + 1, format!("expected a label, found '{name}'")));
            }
            let label = self.names.number(name.trim());
            self.rows.push(&[label]);
        }
        Ok(())
    }

    fn read_matrix(&mut self, source: &mut Source) -> Result<()> {
        let matrix = Matrix::read(source)?;
        let Some(Sparse { indices, offsets }) = &matrix.sparse else { return Ok(()) };
        for n in 0..matrix.rows {
            let mut row = Vec::new();
            for at in (offsets[n]..offsets[n + 1]).filter(|&at| matrix.values.number(at) != 0.0) {
                let column = matrix.column(indices, at).map_err(|message| self.wrong(n + 1, message))?;
                row.push(self.names.number(&column.to_string()));
            }
            if row.is_empty() {
                return Err(self.wrong(n + 1, "expected a label, found none"));
            }
            self.rows.push(&row);
        }
        Ok(())
    }

    fn read_lines(&mut self, source: Source, separator: Option<&str>) -> Result<()> {
        let mut lines = Lines::new(source);
        while let Some(line) = lines.next_line()? {
            let mut row = Vec::new();
            let names = match separator {
                Some(separator) if !separator.is_empty() => line.text.split(separator).collect(),
                _ => vec![line.text],
            };
            for name in names.into_iter().map(str::trim).filter(|name| !name.is_empty()) {
                row.push(self.names.number(name));
            }
            if row.is_empty() {
                return Err(line.no_label());
            }
            self.rows.push(&row);
        }
        Ok(())
    }
}
