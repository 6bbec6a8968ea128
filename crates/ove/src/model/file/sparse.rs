//! Sparse blocks from tensors, level by level.

use safetensors::{Dtype, SafeTensors};

use super::Source;
use crate::io::tensors::bytes;
use crate::scores::sparse::{CELL_WEIGHTS, Parts, SparseBlocks};

/// Whether a file has sparse blocks.
pub(super) fn are_in(file: &SafeTensors<'_>) -> bool {
    file.tensor(CELL_WEIGHTS).is_ok()
}

/// The parts of the tensors that are not read yet.
pub(super) struct BlocksReader<'a> {
    source: &'a Source,
    starts: &'a [u8],
    features: &'a [u8],
    ends: &'a [u8],
    weights: &'a [u8],
}

impl<'a> BlocksReader<'a> {
    pub fn of(source: &'a Source, file: &SafeTensors<'a>) -> Result<Self, String> {
        Ok(BlocksReader {
            source,
            starts: bytes(file, "starts", Dtype::U32)?,
            features: bytes(file, "features", Dtype::U32)?,
            ends: bytes(file, "ends", Dtype::U32)?,
            weights: bytes(file, CELL_WEIGHTS, Dtype::U16)?,
        })
    }

    /// Reads the next level; without a number of features, its first node has a cell for each.
    pub fn next(&mut self, features: Option<usize>, children: Vec<usize>) -> Result<SparseBlocks, String> {
        let starts = take::<u32>(&mut self.starts, children.len())?;
        let ends = take::<u32>(&mut self.ends, last(starts))?;
        let parts = Parts {
            features: self.source.numbers(take::<u32>(&mut self.features, last(starts))?),
            weights: self.source.numbers(take::<u16>(&mut self.weights, last(ends))?),
            starts: self.source.numbers(starts),
            ends: self.source.numbers(ends),
        };
        let features = features.unwrap_or(parts.starts.get(1).map_or(0, |&end| end as usize));
        SparseBlocks::new(features, children, parts).map_err(str::to_owned)
    }

    /// Checks that every number was read.
    pub fn finish(self) -> Result<(), String> {
        let left = [self.starts, self.features, self.ends, self.weights].iter().any(|bytes| !bytes.is_empty());
        if left { Err("more weights than its nodes have".into()) } else { Ok(()) }
    }
}

/// Splits the bytes of `count` numbers off the front.
fn take<'a, T>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], String> {
    let needed = count.checked_mul(size_of::<T>());
    needed.and_then(|needed| bytes.split_off(..needed)).ok_or_else(|| "fewer weights than its nodes need".to_owned())
}

/// The last number, 0 if there is none.
fn last(words: &[u8]) -> usize {
    words.as_chunks::<4>().0.last().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}
