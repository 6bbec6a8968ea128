//! Sparse weights as tensors: the [`Level`]s of a model one after the other.
//!
//! ```text
//! starts       nodes + levels      where the cells of each node start, and where the last ones end, counted from the level's first
//! features     cells               of which feature each cell is
//! ends         cells               where the weights of each cell end, counted from the level's first
//! cell_weights all                 of each cell, 16 bits: if as many as its node has children, their weights; otherwise a child, its
//!                                  weight, the next child, … (weights are bfloat16, the upper half of a 32-bit float)
//! ```

use bytemuck::Pod;
use safetensors::{Dtype, SafeTensors};

use super::{Source, Tensor};
use crate::forest::{Level, Parts};

const CELL_WEIGHTS: &str = "cell_weights";

/// The tensors of some levels.
pub(super) fn tensors<'a>(levels: &[&'a Level]) -> Vec<Tensor<'a>> {
    fn joined<'a, T: Pod>(
        name: &'static str,
        dtype: &'static str,
        levels: &[&'a Level],
        of: impl Fn(&'a Parts) -> &'a [T],
    ) -> Tensor<'a> {
        let lists: Vec<&[T]> = levels.iter().map(|level| of(level.parts())).collect();
        let shape = vec![lists.iter().map(|list| list.len()).sum()];
        Tensor { name, dtype, shape, pieces: lists.into_iter().map(|list| bytemuck::cast_slice(list).into()).collect() }
    }
    vec![
        joined("starts", "U32", levels, |parts| &parts.starts),
        joined("features", "U32", levels, |parts| &parts.features),
        joined("ends", "U32", levels, |parts| &parts.ends),
        joined(CELL_WEIGHTS, "U16", levels, |parts| &parts.weights),
    ]
}

/// Whether a file has levels.
pub(super) fn are_in(file: &SafeTensors) -> bool {
    file.tensor(CELL_WEIGHTS).is_ok()
}

/// What of the tensors is not read yet.
pub(super) struct Levels<'a> {
    source: &'a Source,
    starts: &'a [u8],
    features: &'a [u8],
    ends: &'a [u8],
    weights: &'a [u8],
}

impl<'a> Levels<'a> {
    pub fn of(source: &'a Source, file: &SafeTensors<'a>) -> Result<Self, String> {
        Ok(Levels {
            source,
            starts: bytes(file, "starts", Dtype::U32)?,
            features: bytes(file, "features", Dtype::U32)?,
            ends: bytes(file, "ends", Dtype::U32)?,
            weights: bytes(file, CELL_WEIGHTS, Dtype::U16)?,
        })
    }

    /// The next level, over so many features; without their number, over those of its first node.
    pub fn next(&mut self, features: Option<usize>, children: Vec<usize>) -> Result<Level, String> {
        let starts = take::<u32>(&mut self.starts, children.len())?;
        let ends = take::<u32>(&mut self.ends, last(starts))?;
        let parts = Parts {
            features: self.source.numbers(take::<u32>(&mut self.features, last(starts))?),
            weights: self.source.numbers(take::<u16>(&mut self.weights, last(ends))?),
            starts: self.source.numbers(starts),
            ends: self.source.numbers(ends),
        };
        let features = features.unwrap_or(parts.starts.get(1).map_or(0, |&end| end as usize));
        Level::new(features, children, parts).map_err(str::to_owned)
    }
}

/// Takes the bytes of so many numbers off the front.
fn take<'a, T>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], String> {
    let needed = count.checked_mul(size_of::<T>());
    needed.and_then(|needed| bytes.split_off(..needed)).ok_or_else(|| "fewer weights than the trees have".to_owned())
}

/// The last of these numbers, 0 if there is none.
fn last(words: &[u8]) -> usize {
    words.as_chunks::<4>().0.last().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

/// The bytes of a tensor of this type.
pub(super) fn bytes<'a>(file: &SafeTensors<'a>, name: &str, dtype: Dtype) -> Result<&'a [u8], String> {
    let tensor = file.tensor(name).map_err(|e| e.to_string())?;
    if tensor.dtype() != dtype {
        return Err(format!("`{name}` of type {:?}, but it is of type {dtype:?}", tensor.dtype()));
    }
    Ok(tensor.data())
}
