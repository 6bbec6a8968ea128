//! Parquet and Arrow files (Feather, version 2): tables whose columns have types.
//!
//! Both are read as record batches of the columns that are used:
//!
//! ```text
//! file ─ record batch ─ slices of some thousand rows, on all cores ─ pieces ─ texts or rows of numbers
//! ```
//!
//! Strings and numbers are what they look like, a list of labels is several labels, and null is no label, no text, or
//! no id. The place in an error is the number of a row, from 1. A piece takes the memory of its rows and of the part of
//! the file that is decoded at a time: pages of Parquet, a record batch of Arrow.

mod arrow;
mod parquet;
mod values;

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use rayon::prelude::*;

use super::source::Source;
use super::table::{Cell, Layout, Naming, Record};
use super::texts::{Piece, join};
use super::{Format, Input, ReadOptions, wrong_file, wrong_place};
use crate::error::{Error, Result};
use crate::platform::pool;
use values::Values;

/// Rows that one thread converts at a time.
const SLICE: usize = 4096;

/// Bytes of decoded columns that are converted at a time.
const GROUP_BYTES: usize = 32 << 20;

/// Record batches, one after the other.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// A file that is read batch by batch.
pub(super) struct Columnar {
    batches: Batches,
    rules: Rules,
    /// What is left of the last batch.
    rest: Option<RecordBatch>,
    /// Number of rows before it.
    rows: usize,
}

/// How rows are made of a batch.
struct Rules {
    path: PathBuf,
    layout: Layout,
    /// The columns that a batch has, by their positions in the file.
    used: Vec<usize>,
}

impl Columnar {
    /// Opens a file and finds its columns.
    pub fn open(mut source: Source, format: Format, options: &ReadOptions) -> Result<Self> {
        let path = source.path().to_owned();
        let content = source.content()?;
        let layout = |schema: &Schema| {
            let names = schema.fields().iter().map(|field| field.name().clone()).collect();
            let layout = Layout::new(&path, 0, names, Naming::Header, options)?;
            let used = layout.used();
            match used.iter().find_map(|&column| Some((column, values::unreadable(schema.field(column).data_type())?)))
            {
                Some((column, found)) => Err(wrong_file(
                    &path,
                    format!(
                        "expected texts, numbers, truth values or lists of them in {}, found {found}; convert this \
                         column, for example to strings",
                        layout.called(column)
                    ),
                )),
                None => Ok((layout, used)),
            }
        };
        let (batches, (layout, used)) = match format {
            Format::Parquet => parquet::open(&path, content, layout)?,
            _ => arrow::open(&path, content, layout)?,
        };
        Ok(Columnar { batches, rules: Rules { path, layout, used }, rest: None, rows: 0 })
    }

    /// All rows.
    pub fn read(mut self, options: &ReadOptions) -> Result<Input> {
        let mut pieces = Vec::new();
        while let Some(more) = self.next_pieces(GROUP_BYTES, options)? {
            pieces.extend(more);
        }
        Ok(join(pieces).of_table(&self.rules.layout.columns))
    }

    /// The next rows, of about so many bytes; `None` at the end.
    pub fn next_input(&mut self, bytes: usize, options: &ReadOptions) -> Result<Option<Input>> {
        let pieces = self.next_pieces(bytes, options)?;
        Ok(pieces.map(|pieces| join(pieces).of_table(&self.rules.layout.columns)))
    }

    fn next_pieces(&mut self, bytes: usize, options: &ReadOptions) -> Result<Option<Vec<Piece>>> {
        let slices = self.next_slices(bytes)?;
        if slices.is_empty() {
            return Ok(None);
        }
        let rules = &self.rules;
        let pieces: Vec<Result<Piece>> =
            pool::run(|| slices.into_par_iter().map(|(before, slice)| rules.piece(before, &slice, options)).collect());
        // The first error of the file, not of the first thread that finds one.
        pieces.into_iter().collect::<Result<_>>().map(Some)
    }

    /// Slices of about so many bytes together, each with the number of rows before it.
    fn next_slices(&mut self, bytes: usize) -> Result<Vec<(usize, RecordBatch)>> {
        let (mut slices, mut left) = (Vec::new(), bytes);
        while left > 0 {
            let Some(batch) = self.rest.take().map(Ok).or_else(|| self.batches.next()).transpose()? else { break };
            let (rows, size) = (batch.num_rows(), batch.get_array_memory_size().max(1));
            let taken = ((left as u128 * rows as u128 / size as u128) as usize).clamp(SLICE.min(rows), rows);
            for first in (0..taken).step_by(SLICE) {
                slices.push((self.rows + first, batch.slice(first, SLICE.min(taken - first))));
            }
            self.rows += taken;
            left = if taken < rows { 0 } else { left.saturating_sub(size) };
            self.rest = (taken < rows).then(|| batch.slice(taken, rows - taken));
        }
        Ok(slices)
    }
}

impl Rules {
    fn piece(&self, before: usize, slice: &RecordBatch, options: &ReadOptions) -> Result<Piece> {
        let columns: Vec<Values> = slice.columns().iter().map(Values::of).collect();
        let mut piece = Piece::new(options);
        for row in 0..slice.num_rows() {
            let record = Row { rules: self, columns: &columns, row, number: before + row + 1 };
            self.layout.add(&record, &mut piece).or_else(|error| piece.leave_out_line(options.on_error, error))?;
        }
        Ok(piece)
    }
}

/// A row of a slice.
struct Row<'r, 'a> {
    rules: &'r Rules,
    columns: &'r [Values<'a>],
    row: usize,
    /// Its number in the file, from 1.
    number: usize,
}

impl<'a> Row<'_, 'a> {
    fn values(&self, column: usize) -> &Values<'a> {
        let at = self.rules.used.binary_search(&column).expect("the layout asks for the columns that it uses");
        &self.columns[at]
    }
}

impl Record for Row<'_, '_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>> {
        self.values(column).cell(self.row).map_err(|message| self.wrong(column, message))
    }

    fn number(&self, column: usize) -> Result<Option<f32>> {
        Ok(self.values(column).number(self.row))
    }

    fn wrong(&self, _: usize, message: String) -> Error {
        wrong_place(&self.rules.path, self.number, 0, message)
    }
}

/// What a decoder returns. Decoders are made for sound files: some checks of theirs are assertions, and what one says
/// is that the file is damaged.
fn decoded<T, E: Display>(
    path: &Path,
    format: Format,
    decode: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    let damaged = |reason: String| wrong_file(path, format!("the {format} data are damaged: {reason}"));
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(result) => result.map_err(|error| damaged(error.to_string())),
        Err(_) => Err(damaged("their parts do not fit together".into())),
    }
}
