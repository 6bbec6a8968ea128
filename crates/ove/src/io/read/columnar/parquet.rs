//! Record batches of a Parquet file. Pages are read and decompressed one by one, row group by row group.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Take};
use std::path::Path;

use arrow_schema::Schema;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::{self, ParquetError};
use parquet::file::reader::{ChunkReader, Length};

use super::{Batches, Format, SLICE, decoded};
use crate::error::{Error, Result};
use crate::io::read::source::Content;
use crate::io::read::table::Layout;

/// Opens a file; `layout` says which of its columns are read.
pub(super) fn open(
    path: &Path,
    content: Content,
    layout: impl FnOnce(&Schema) -> Result<(Layout, Vec<usize>)>,
) -> Result<(Batches, (Layout, Vec<usize>))> {
    let chunks = Chunks::new(content).map_err(|e| Error::file(path, e))?;
    // The types that the file itself has: those of the writing program, beside them, are of no use here.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder =
        decoded(path, Format::Parquet, || ParquetRecordBatchReaderBuilder::try_new_with_options(chunks, options))?;
    let (layout, used) = layout(builder.schema())?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), used.iter().copied());
    let builder = builder.with_projection(mask).with_batch_size(SLICE);
    let mut reader = decoded(path, Format::Parquet, || builder.build())?;
    let path = path.to_owned();
    let mut ended = false;
    let batches = std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let batch = decoded(&path, Format::Parquet, || reader.next().transpose()).transpose();
        ended = !matches!(batch, Some(Ok(_)));
        batch
    });
    Ok((Box::new(batches), (layout, used)))
}

/// The file. Unlike the reader that comes with the format, it allocates nothing for what lies beyond its end.
enum Chunks {
    File(File, u64),
    Memory(Bytes),
}

impl Chunks {
    fn new(content: Content) -> io::Result<Self> {
        Ok(match content {
            Content::File(file) => {
                let length = file.metadata()?.len();
                Chunks::File(file, length)
            }
            Content::Memory(content) => Chunks::Memory(content.into_inner().into()),
        })
    }

    /// The end of a range, if the file has it.
    fn end(&self, start: u64, length: u64) -> errors::Result<u64> {
        let end = start.checked_add(length).filter(|end| *end <= self.len());
        end.ok_or_else(|| ParquetError::EOF(format!("{length} bytes at {start}, in a file of {}", self.len())))
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        match self {
            Chunks::File(_, length) => *length,
            Chunks::Memory(content) => content.len() as u64,
        }
    }
}

impl ChunkReader for Chunks {
    type T = ChunkRead;

    fn get_read(&self, start: u64) -> errors::Result<ChunkRead> {
        self.end(start, 0)?;
        Ok(match self {
            Chunks::File(file, length) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                ChunkRead::File(BufReader::new(file).take(length - start))
            }
            Chunks::Memory(content) => ChunkRead::Memory(Cursor::new(content.slice(start as usize..))),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> errors::Result<Bytes> {
        let end = self.end(start, length as u64)?;
        match self {
            Chunks::File(..) => {
                let mut bytes = Vec::with_capacity(length);
                self.get_read(start)?.take(length as u64).read_to_end(&mut bytes)?;
                match bytes.len() == length {
                    true => Ok(bytes.into()),
                    false => Err(ParquetError::EOF("the file is shorter than it was".into())),
                }
            }
            Chunks::Memory(content) => Ok(content.slice(start as usize..end as usize)),
        }
    }
}

/// A part of the file.
enum ChunkRead {
    File(Take<BufReader<File>>),
    Memory(Cursor<Bytes>),
}

impl Read for ChunkRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            ChunkRead::File(file) => file.read(buffer),
            ChunkRead::Memory(content) => content.read(buffer),
        }
    }
}
