//! Reads and writes safetensors: a JSON header, then raw tensors.
//!
//! The header is written by hand, since the safetensors crate writes metadata in random order and the same run must give
//! the same file. Numbers are little-endian, and tensors are aligned in a mapped file.

use std::borrow::Cow;
use std::io::{self, Write};

use bytemuck::Pod;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

/// Tensors start at a multiple of this many bytes.
const ALIGNMENT: usize = 8;

/// A tensor to be written.
pub(crate) struct Tensor<'a> {
    pub name: Cow<'static, str>,
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    /// Its bytes, piece after piece.
    pub pieces: Vec<Cow<'a, [u8]>>,
}

impl<'a> Tensor<'a> {
    /// Numbers in a shape.
    pub fn new<T: Pod>(
        name: impl Into<Cow<'static, str>>,
        dtype: &'static str,
        shape: Vec<usize>,
        numbers: &'a [T],
    ) -> Self {
        Tensor { name: name.into(), dtype, shape, pieces: vec![bytemuck::cast_slice(numbers).into()] }
    }

    /// A list of numbers.
    pub fn list<T: Pod>(name: impl Into<Cow<'static, str>>, dtype: &'static str, numbers: &'a [T]) -> Self {
        Tensor::new(name, dtype, vec![numbers.len()], numbers)
    }

    /// A list of numbers that is made for the file.
    pub fn owned<T: Pod>(name: impl Into<Cow<'static, str>>, dtype: &'static str, numbers: &[T]) -> Self {
        let pieces = vec![Cow::Owned(bytemuck::cast_slice(numbers).to_vec())];
        Tensor { name: name.into(), dtype, shape: vec![numbers.len()], pieces }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }
}

/// The header for tensors that follow each other, padded so that they are aligned.
pub(crate) fn header(metadata: Value, tensors: &[Tensor<'_>]) -> String {
    let mut header = json!({ "__metadata__": metadata });
    let mut start = 0;
    for tensor in tensors {
        let end = start + tensor.len();
        header[&*tensor.name] = json!({ "dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [start, end] });
        start = end;
    }
    let mut header = header.to_string();
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(ALIGNMENT) - header.len()));
    header
}

/// Writes a header and the tensors that it names.
pub(crate) fn write(header: &str, tensors: &[Tensor<'_>], out: &mut impl Write) -> io::Result<()> {
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    tensors.iter().flat_map(|tensor| &tensor.pieces).try_for_each(|piece| out.write_all(piece))
}

/// The bytes of a tensor of this type.
pub(crate) fn bytes<'a>(file: &SafeTensors<'a>, name: &str, dtype: Dtype) -> Result<&'a [u8], String> {
    let tensor = file.tensor(name).map_err(|e| e.to_string())?;
    if tensor.dtype() != dtype {
        return Err(format!("`{name}`: expected the type {dtype:?}, found {:?}", tensor.dtype()));
    }
    Ok(tensor.data())
}
