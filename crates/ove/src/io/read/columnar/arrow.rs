//! Record batches of an Arrow file, as its footer lists them.
//!
//! ```text
//! ARROW1 00 00 │ schema │ dictionaries and record batches │ footer │ its length, 32 bits │ ARROW1
//! ```
//!
//! Sizes are checked before memory is taken for them.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, RecordBatch, convert, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, Schema};

use super::{Batches, Format, decoded};
use crate::error::Result;
use crate::io::read::source::Content;
use crate::io::read::table::Layout;
use crate::io::read::wrong_file;

/// The length of the footer's length and the magic number behind it.
const TAIL: u64 = 10;

/// The largest decompressed buffer: that of a column with 32-bit offsets.
const MOST_BYTES: i64 = i32::MAX as i64;

type Decoded<T> = std::result::Result<T, ArrowError>;

/// Opens a file; `layout` says which of its columns are read.
pub(super) fn open(
    path: &Path,
    content: Content,
    layout: impl FnOnce(&Schema) -> Result<(Layout, Vec<usize>)>,
) -> Result<(Batches, (Layout, Vec<usize>))> {
    let mut file = File { content };
    let mut magic = [0; 4];
    let starts = decoded(path, Format::Arrow, || file.read_at(0, 4).map(|head| magic.copy_from_slice(&head)));
    if starts.is_ok() && magic == *b"FEA1" {
        let hint = "write it again with version=2";
        return Err(wrong_file(path, format!("expected version 2 of the Feather format, found version 1; {hint}")));
    }
    let Footer { schema, mut decoder, dictionaries, batches } = decoded(path, Format::Arrow, || file.footer())?;
    let (layout, used) = layout(&schema)?;
    decoded(path, Format::Arrow, || {
        dictionaries.iter().try_for_each(|block| decoder.read_dictionary(block, &file.block(block)?))
    })?;
    let decoder = decoder.with_projection(used.clone());
    let path = path.to_owned();
    let mut blocks = batches.into_iter();
    let batches = std::iter::from_fn(move || {
        let block = blocks.next()?;
        let read = || decoder.read_record_batch(&block, &file.block(&block)?);
        decoded(&path, Format::Arrow, read).transpose()
    });
    Ok((Box::new(batches), (layout, used)))
}

/// What the end of a file says.
struct Footer {
    schema: Arc<Schema>,
    decoder: FileDecoder,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

struct File {
    content: Content,
}

impl File {
    fn footer(&mut self) -> Decoded<Footer> {
        let length = self.content.seek(SeekFrom::End(0))?;
        let wrong = |what: &str| ArrowError::ParseError(what.to_owned());
        let tail_start = length.checked_sub(TAIL).ok_or_else(|| wrong("it is too short"))?;
        let tail = self.read_at(tail_start, TAIL)?;
        let footer_length = read_footer_length(tail.try_into().expect("ten bytes"))? as u64;
        let start = tail_start.checked_sub(footer_length).ok_or_else(|| wrong("its footer is cut short"))?;
        let bytes = self.read_at(start, footer_length)?;
        let footer = root_as_footer(&bytes).map_err(|error| wrong(&format!("its footer: {error}")))?;
        let schema = footer.schema().ok_or_else(|| wrong("it has no schema"))?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err(wrong("its bytes are in the order of another kind of processor"));
        }
        let schema = Arc::new(convert::try_fb_to_schema(schema)?);
        Ok(Footer {
            decoder: FileDecoder::new(schema.clone(), footer.version()),
            schema,
            dictionaries: footer.dictionaries().iter().flatten().copied().collect(),
            batches: footer.recordBatches().iter().flatten().copied().collect(),
        })
    }

    /// A dictionary or a record batch, with its message.
    fn block(&mut self, block: &Block) -> Decoded<Buffer> {
        let wrong = |what: &str| ArrowError::ParseError(what.to_owned());
        let sizes = [block.offset(), block.metaDataLength().into(), block.bodyLength()];
        let [offset, head, body] = sizes.map(|size| u64::try_from(size).unwrap_or(u64::MAX));
        let length = head.checked_add(body).filter(|_| head >= 8).ok_or_else(|| wrong("a block without its head"))?;
        let bytes = Buffer::from_vec(self.read_at(offset, length)?);
        let message = if bytes[..4] == [0xff; 4] { &bytes[8..] } else { &bytes[4..] };
        let message = root_as_message(message).map_err(|error| wrong(&error.to_string()))?;
        let batch = match message.header_type() {
            MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
            _ => message.header_as_record_batch(),
        };
        if let Some(batch) = batch {
            check_lengths(batch, &bytes[head as usize..])?;
        }
        Ok(bytes)
    }

    /// These bytes, if the file has them.
    fn read_at(&mut self, start: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.content.seek(SeekFrom::Start(start))?;
        (&mut self.content).take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Checks the lengths that compressed buffers say they have without compression: the decoder takes memory by them.
fn check_lengths(batch: RecordBatch, body: &[u8]) -> Decoded<()> {
    if batch.compression().is_none() {
        return Ok(());
    }
    for buffer in batch.buffers().iter().flatten() {
        let start = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
        let length =
            body.get(start..).and_then(|bytes| bytes.first_chunk::<8>()).map(|bytes| i64::from_le_bytes(*bytes));
        if buffer.length() > 0 && length.is_none_or(|length| length > MOST_BYTES) {
            return Err(ArrowError::ParseError(format!("a buffer with the length {}", length.unwrap_or(-1))));
        }
    }
    Ok(())
}
