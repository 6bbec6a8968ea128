//! Parquet and Arrow files (feature `parquet`): tables of typed columns, read a batch of rows at a time.
//!
//! Texts, numbers, truth values, dictionaries of them (categories) and lists of them are read; a list column is several
//! labels, or a text that is joined. Only the columns that are used are decoded. Errors have the number of the row,
//! from 1, in the place of the line.
//!
//! A file may be a stranger's: lengths that lead to allocations are checked against the size of the file, and a panic
//! within the decoders is an error about the file.

use std::borrow::Cow;
use std::cell::Cell as Flag;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::Once;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::{Block, MessageHeader};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;
use rayon::prelude::*;

use super::source::Source;
use super::table::{Cell, Layout, Naming, Record};
use super::texts::{Piece, Texts, join};
use super::{Format, ReadOptions, wrong_file, wrong_place};
use crate::error::{Error, Result};
use crate::platform::pool;

/// Rows per batch.
const BATCH: usize = 1 << 14;

/// Batches that are converted at the same time.
const TOGETHER: usize = 8;

/// How many times its compressed size a buffer may have, at most; LZ4 has 255 at best.
const EXPANSION: u64 = 1 << 12;

type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>>>;

/// A table that is read batch by batch.
pub(super) struct Columnar {
    batches: Batches,
    table: Table,
    /// Number of rows read.
    rows: usize,
}

/// How batches become texts.
struct Table {
    path: PathBuf,
    layout: Layout,
    /// The columns of a batch.
    used: Vec<usize>,
    options: ReadOptions,
}

/// Reads all rows.
pub(super) fn read(source: Source, format: Format, options: &ReadOptions) -> Result<Texts> {
    let mut table = Columnar::open(source, format, options)?;
    let mut pieces = Vec::new();
    while let Some(mut more) = table.next_pieces()? {
        pieces.append(&mut more);
    }
    Ok(table.table.joined(pieces))
}

impl Columnar {
    /// Opens a table and finds its columns.
    pub fn open(mut source: Source, format: Format, options: &ReadOptions) -> Result<Self> {
        let path = source.path().to_owned();
        let content = if source.is_plain() { None } else { Some(Bytes::from(source.read_all()?)) };
        let (batches, layout, used) = guarded(&path, || {
            let mut found = None;
            let mut choose = |schema: &SchemaRef| {
                let names = schema.fields().iter().map(|field| field.name().clone()).collect();
                let layout = Layout::new(&path, 0, names, Naming::Header, options)?;
                let used = layout.used();
                found = Some((layout, used.clone()));
                Ok(used)
            };
            let batches = match (format, content) {
                (Format::Parquet, Some(content)) => parquet_batches(&path, content, &mut choose)?,
                (Format::Parquet, None) => parquet_batches(&path, open(&path)?, &mut choose)?,
                (_, Some(content)) => arrow_batches(&path, Cursor::new(content), &mut choose)?,
                (_, None) => arrow_batches(&path, BufReader::new(open(&path)?), &mut choose)?,
            };
            let (layout, used) = found.expect("the columns were chosen");
            Ok((batches, layout, used))
        })?;
        Ok(Columnar { batches, table: Table { path, layout, used, options: options.clone() }, rows: 0 })
    }

    /// The next rows.
    pub fn next_texts(&mut self) -> Result<Option<Texts>> {
        let pieces = self.next_pieces()?;
        Ok(pieces.map(|pieces| self.table.joined(pieces)))
    }

    fn next_pieces(&mut self) -> Result<Option<Vec<Piece>>> {
        let mut batches: Vec<(usize, RecordBatch)> = Vec::new();
        while batches.len() < TOGETHER {
            let path = &self.table.path;
            let next = guarded(path, || self.batches.next().transpose().map_err(|e| unusable(path, e)))?;
            let Some(batch) = next else { break };
            let before = self.rows;
            self.rows += batch.num_rows();
            batches.push((before, batch));
        }
        if batches.is_empty() {
            return Ok(None);
        }
        let table = &self.table;
        let piece = |(before, batch): (usize, RecordBatch)| table.piece(before, &batch);
        let pieces: Vec<Result<Piece>> = pool::run(|| batches.into_par_iter().map(piece).collect());
        pieces.into_iter().collect::<Result<_>>().map(Some)
    }
}

impl Table {
    fn joined(&self, pieces: Vec<Piece>) -> Texts {
        let mut texts = join(pieces);
        texts.columns = self.layout.columns.clone();
        texts
    }

    fn piece(&self, before: usize, batch: &RecordBatch) -> Result<Piece> {
        let mut columns = Vec::new();
        for (array, &column) in batch.columns().iter().zip(&self.used) {
            columns.push(Values::of(array.as_ref()).map_err(|kind| {
                let expected = "expected texts, numbers or lists of them in";
                wrong_file(&self.path, format!("{expected} {}, found {kind}", self.layout.called(column)))
            })?);
        }
        let mut piece = Piece::new(&self.options);
        for row in 0..batch.num_rows() {
            let row = Row { path: &self.path, number: before + row + 1, row, used: &self.used, columns: &columns };
            self.layout.add(&row, &mut piece).or_else(|error| piece.leave_out_line(self.options.on_error, error))?;
        }
        Ok(piece)
    }
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::file(path, e))
}

fn unusable(path: &Path, error: impl ToString) -> Error {
    let message = super::lines::quote_up_to(&error.to_string(), 200);
    wrong_file(path, format!("the file is damaged, or of a kind that is not supported: {message}"))
}

/// Chooses columns.
type Choose<'a> = &'a mut dyn FnMut(&SchemaRef) -> Result<Vec<usize>>;

fn parquet_batches(path: &Path, content: impl ChunkReader + 'static, choose: Choose) -> Result<Batches> {
    // Types are those of Parquet itself, not those of the program that wrote it.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(content, options);
    let builder = builder.map_err(|e| unusable(path, e))?;
    let used = choose(builder.schema())?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), used);
    let reader = builder.with_projection(mask).with_batch_size(BATCH).build().map_err(|e| unusable(path, e))?;
    Ok(Box::new(reader))
}

fn arrow_batches(path: &Path, mut content: impl Read + Seek + 'static, choose: Choose) -> Result<Batches> {
    let wrong = |error: ArrowError| unusable(path, error);
    let mut magic = [0; 6];
    let io = |e| Error::file(path, e);
    content.read_exact(&mut magic).and_then(|()| content.rewind()).map_err(io)?;
    check_lengths(&mut content, &magic == b"ARROW1").map_err(|e| unusable(path, e))?;
    content.rewind().map_err(io)?;
    if &magic == b"ARROW1" {
        let reader = FileReader::try_new(content, None).map_err(wrong)?;
        let used = choose(&reader.schema())?;
        return Ok(Box::new(reader.map(move |batch| batch?.project(&used))));
    }
    let reader = StreamReader::try_new(content, None).map_err(wrong)?;
    let used = choose(&reader.schema())?;
    Ok(Box::new(reader.map(move |batch| batch?.project(&used))))
}

/// Checks the lengths in an Arrow file or stream that memory is allocated by.
fn check_lengths(content: &mut (impl Read + Seek), is_file: bool) -> std::result::Result<(), String> {
    let io = |e: std::io::Error| e.to_string();
    let end = content.seek(SeekFrom::End(0)).map_err(io)?;
    if !is_file {
        let mut at = 0;
        while let Some(next) = check_message(content, at, end)? {
            at = next;
        }
        return Ok(());
    }
    let mut tail = [0; 10];
    content.seek(SeekFrom::End(-10)).and_then(|_| content.read_exact(&mut tail)).map_err(io)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let start = end.checked_sub(10 + length).ok_or("the footer is longer than the file")?;
    let footer = bytes_at(content, start, length)?;
    let footer = arrow_ipc::root_as_footer(&footer).map_err(|e| e.to_string())?;
    let blocks = [footer.dictionaries(), footer.recordBatches()];
    for block in blocks.into_iter().flatten().flat_map(|blocks| blocks.iter().copied().collect::<Vec<Block>>()) {
        let part = |length: i64| u64::try_from(length).ok().filter(|&length| length <= end);
        let lengths = [block.offset(), block.metaDataLength().into(), block.bodyLength()].map(part);
        let [Some(at), Some(metadata), Some(body)] = lengths else { return Err("a block has a wrong length".into()) };
        if at + metadata + body > end {
            return Err("a block ends behind the end of the file".into());
        }
        check_message(content, at, end)?;
    }
    Ok(())
}

/// Checks the message at an offset; returns that of the next one, or `None` at the end.
fn check_message(content: &mut (impl Read + Seek), at: u64, end: u64) -> std::result::Result<Option<u64>, String> {
    if at == end {
        return Ok(None);
    }
    let start = bytes_at(content, at, 8.min(end - at))?;
    let Some((mark, length)) = start.split_at_checked(4).filter(|(mark, _)| *mark == [255; 4]) else {
        return Err("expected a message".into());
    };
    let length = u64::from(u32::from_le_bytes(length.try_into().map_err(|_| format!("cut short after {mark:?}"))?));
    if length == 0 {
        return Ok(None);
    }
    let body = at + 8 + length;
    if body > end {
        return Err("a message ends behind the end of the file".into());
    }
    let metadata = bytes_at(content, at + 8, length)?;
    let message = arrow_ipc::root_as_message(&metadata).map_err(|e| e.to_string())?;
    let next = u64::try_from(message.bodyLength()).ok().and_then(|length| body.checked_add(length));
    let next = next.filter(|&next| next <= end).ok_or("a message ends behind the end of the file")?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
        _ => None,
    };
    let compressed = batch.filter(|batch| batch.compression().is_some()).and_then(|batch| batch.buffers());
    for buffer in compressed.into_iter().flat_map(|buffers| buffers.iter().copied().collect::<Vec<_>>()) {
        let (Ok(offset), Ok(length)) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length())) else {
            return Err("a buffer has a wrong length".into());
        };
        let start = body.checked_add(offset).filter(|start| start.checked_add(length).is_some_and(|to| to <= next));
        let start = start.ok_or("a buffer ends behind its message")?;
        if length >= 8 {
            let bytes = bytes_at(content, start, 8)?;
            let expanded = i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            if expanded > 0 && expanded as u64 > length.saturating_mul(EXPANSION) {
                return Err(format!("a buffer of {length} bytes says that it holds {expanded}"));
            }
        }
    }
    Ok(Some(next))
}

/// Bytes within the file.
fn bytes_at(content: &mut (impl Read + Seek), at: u64, length: u64) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    content.seek(SeekFrom::Start(at)).map_err(|e| e.to_string())?;
    content.take(length).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes)
}

thread_local! {
    /// Whether a panic of this thread becomes an error.
    static GUARDED: Flag<bool> = const { Flag::new(false) };
}

/// Runs what decodes a file. A panic is an error about the file, and nothing is printed.
fn guarded<T>(path: &Path, run: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                usual(panic);
            }
        }));
    });
    GUARDED.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(false);
    result.unwrap_or_else(|_| Err(unusable(path, "it cannot be decoded")))
}

/// The values of a column.
enum Values<'a> {
    /// Bytes that should be UTF-8.
    Text(Box<dyn Fn(usize) -> &'a [u8] + 'a>, &'a dyn Array),
    /// Numbers and truth values.
    Shown(Box<dyn Fn(usize) -> String + 'a>, &'a dyn Array),
    /// The place of each value among those of a dictionary.
    Dictionary(Vec<usize>, Box<Values<'a>>, &'a dyn Array),
    /// The range of each list.
    List(Box<dyn Fn(usize) -> std::ops::Range<usize> + 'a>, Box<Values<'a>>, &'a dyn Array),
}

impl<'a> Values<'a> {
    /// Those of an array, or its type if that is not supported.
    fn of(array: &'a dyn Array) -> std::result::Result<Self, String> {
        macro_rules! shown {
            ($kind:ty) => {{
                let numbers = array.as_primitive::<$kind>();
                Values::Shown(Box::new(move |row| numbers.value(row).to_string()), array)
            }};
        }
        macro_rules! text {
            ($values:expr) => {{
                let values = $values;
                Values::Text(Box::new(move |row| values.value(row).as_ref()), array)
            }};
        }
        macro_rules! list {
            ($lists:expr) => {{
                let lists = $lists;
                let offsets = lists.value_offsets();
                let range = move |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
                Values::List(Box::new(range), Box::new(Values::of(lists.values())?), array)
            }};
        }
        Ok(match array.data_type() {
            DataType::Utf8 => text!(array.as_string::<i32>()),
            DataType::LargeUtf8 => text!(array.as_string::<i64>()),
            DataType::Utf8View => text!(array.as_string_view()),
            DataType::Binary => text!(array.as_binary::<i32>()),
            DataType::LargeBinary => text!(array.as_binary::<i64>()),
            DataType::BinaryView => text!(array.as_binary_view()),
            DataType::Boolean => {
                let values = array.as_boolean();
                Values::Shown(Box::new(move |row| values.value(row).to_string()), array)
            }
            DataType::Int8 => shown!(Int8Type),
            DataType::Int16 => shown!(Int16Type),
            DataType::Int32 => shown!(Int32Type),
            DataType::Int64 => shown!(Int64Type),
            DataType::UInt8 => shown!(UInt8Type),
            DataType::UInt16 => shown!(UInt16Type),
            DataType::UInt32 => shown!(UInt32Type),
            DataType::UInt64 => shown!(UInt64Type),
            DataType::Float32 => shown!(Float32Type),
            DataType::Float64 => shown!(Float64Type),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = dictionary.values();
                let keys = if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
                Values::Dictionary(keys, Box::new(Values::of(values)?), array)
            }
            DataType::List(_) => list!(array.as_list::<i32>()),
            DataType::LargeList(_) => list!(array.as_list::<i64>()),
            other => return Err(other.to_string()),
        })
    }

    /// The text or number of a row, if there is one.
    fn one(&self, row: usize) -> std::result::Result<Option<Cow<'_, str>>, String> {
        let is_null = match self {
            Values::Text(_, array) | Values::Shown(_, array) | Values::Dictionary(_, _, array) => array.is_null(row),
            Values::List(..) => return Err("a list within a list".into()),
        };
        Ok(match self {
            _ if is_null => None,
            Values::Text(text, _) => {
                let bytes = text(row);
                let wrong = |e: std::str::Utf8Error| format!("byte {:#04x}", bytes[e.valid_up_to()]);
                Some(Cow::Borrowed(std::str::from_utf8(bytes).map_err(wrong)?))
            }
            Values::Shown(text, _) => Some(Cow::Owned(text(row))),
            Values::Dictionary(keys, values, _) => values.one(keys[row])?,
            Values::List(..) => None,
        })
    }

    fn cell(&self, row: usize) -> std::result::Result<Cell<'_>, String> {
        match self {
            Values::List(_, _, array) if array.is_null(row) => Ok(Cell::Null),
            Values::List(range, values, _) => {
                let texts = range(row).map(|place| values.one(place)).filter_map(std::result::Result::transpose);
                texts.collect::<std::result::Result<_, _>>().map(Cell::List)
            }
            _ => Ok(self.one(row)?.map_or(Cell::Null, Cell::Text)),
        }
    }
}

/// A row of a batch.
struct Row<'r, 'a> {
    path: &'r Path,
    /// The number of the row in the file, from 1.
    number: usize,
    /// Its place in the batch.
    row: usize,
    used: &'r [usize],
    columns: &'r [Values<'a>],
}

impl Record for Row<'_, '_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>> {
        let place = self.used.binary_search(&column).expect("a column that is used");
        let wrong = |found| self.wrong(column, format!("expected UTF-8, found {found}"));
        self.columns[place].cell(self.row).map_err(wrong)
    }

    fn wrong(&self, _: usize, message: String) -> Error {
        wrong_place(self.path, self.number, 0, message)
    }
}
