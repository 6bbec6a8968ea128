//! Writes ONNX models: a graph of operators over tensors, as protobuf.
//!
//! ```text
//! graph.op("Add", &[&x, &y])  →  node { op_type: "Add", input: [x, y], output: ["v7"] }
//! ```
//!
//! The few messages of onnx.proto that a model needs are written here by hand: with `prost` they would be as many lines
//! of structs, and a model would be in memory a second time before it is encoded. Weights are written from where they
//! are. Protobuf ends at 2 GB; beyond that, weights go to a second file, as ONNX's external data.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::atomic;
use super::tensors::Tensor;
use crate::error::{Error, Result};

/// The version of the file format, and of the operators: the first in which `ScatterElements` adds and `ReduceMax`
/// takes its axes as an input.
const FORMAT: u64 = 8;
const OPERATORS: u64 = 18;

/// A model with more bytes of weights has them in a second file: protobuf has room for 2³¹, names included.
const MOST_BYTES: usize = (1 << 31) - (1 << 26);

/// Smaller tensors stay in the first file.
const LEAST_EXTERNAL: usize = 1 << 10;

/// Weights in the second file start at a multiple of this many bytes, so that they can be mapped.
const ALIGNMENT: usize = 4096;

/// The name of a tensor in a graph.
pub(crate) type Value = String;

/// The type of the numbers of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Float = 1,
    Int64 = 7,
    Bool = 9,
}

/// A graph, or the body of a loop in one.
///
/// It grows behind a shared reference, so that the inputs of an operator can be operators.
#[derive(Default)]
pub(crate) struct Graph<'a> {
    /// What the names of a body begin with: none may be that of a tensor outside.
    prefix: String,
    /// The fields of the graph that are already written: nodes, inputs and outputs.
    written: RefCell<Vec<u8>>,
    weights: RefCell<Vec<Tensor<'a>>>,
    names: RefCell<HashSet<String>>,
    count: Cell<usize>,
}

/// An attribute of an operator.
pub(crate) enum Attribute<'g> {
    Int(i64),
    Text(&'static str),
    Body(&'g Graph<'static>),
}

impl<'a> Graph<'a> {
    /// The body of a loop.
    pub fn body(&self) -> Graph<'static> {
        Graph { prefix: format!("{}_", self.fresh()), ..Graph::default() }
    }

    fn fresh(&self) -> Value {
        self.count.set(self.count.get() + 1);
        format!("{}v{}", self.prefix, self.count.get())
    }

    /// Declares an input. Each dimension is a number or a name.
    pub fn input(&self, name: &str, of: Type, shape: &[&str]) -> Value {
        let name = format!("{}{name}", self.prefix);
        field(&mut self.written.borrow_mut(), 11, &value_info(&name, of, shape));
        name
    }

    /// Declares an output under its own name.
    pub fn output(&self, name: &str, value: &Value, of: Type, shape: &[&str]) {
        let name = format!("{}{name}", self.prefix);
        self.node("Identity", &[value], &[], std::slice::from_ref(&name));
        field(&mut self.written.borrow_mut(), 12, &value_info(&name, of, shape));
    }

    /// Adds numbers that belong to the model.
    pub fn weights(&self, tensor: Tensor<'a>) -> Value {
        let name = format!("{}{}", self.prefix, tensor.name);
        assert!(self.names.borrow_mut().insert(name.clone()), "{name} is there already");
        self.weights.borrow_mut().push(Tensor { name: name.clone().into(), ..tensor });
        name
    }

    /// A list of numbers.
    pub fn ints(&self, numbers: &[i64]) -> Value {
        self.constant(&format!("ints {numbers:?}"), || (vec![numbers.len()], "I64", bytemuck::cast_slice(numbers)))
    }

    /// A number without dimensions.
    pub fn int(&self, number: i64) -> Value {
        self.constant(&format!("int {number}"), || (Vec::new(), "I64", bytemuck::bytes_of(&number)))
    }

    /// A number without dimensions.
    pub fn float(&self, number: f32) -> Value {
        self.constant(&format!("float {number:?}"), || (Vec::new(), "F32", bytemuck::bytes_of(&number)))
    }

    /// A constant, once under each name.
    fn constant<'n>(&self, name: &str, of: impl FnOnce() -> (Vec<usize>, &'static str, &'n [u8])) -> Value {
        let name = format!("{}{name}", self.prefix);
        if self.names.borrow_mut().insert(name.clone()) {
            let (shape, dtype, bytes) = of();
            let pieces = vec![Cow::Owned(bytes.to_vec())];
            self.weights.borrow_mut().push(Tensor { name: name.clone().into(), dtype, shape, pieces });
        }
        name
    }

    /// Adds an operator with one output.
    pub fn op(&self, kind: &str, inputs: &[&Value]) -> Value {
        self.op_with(kind, inputs, &[])
    }

    /// Adds an operator with attributes and one output.
    pub fn op_with(&self, kind: &str, inputs: &[&Value], attributes: &[(&str, Attribute<'_>)]) -> Value {
        let [value] = self.ops(kind, inputs, attributes);
        value
    }

    /// Adds an operator with attributes and several outputs.
    pub fn ops<const N: usize>(
        &self,
        kind: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute<'_>)],
    ) -> [Value; N] {
        let outputs = std::array::from_fn(|_| self.fresh());
        self.node(kind, inputs, attributes, &outputs);
        outputs
    }

    fn node(&self, kind: &str, inputs: &[&Value], attributes: &[(&str, Attribute<'_>)], outputs: &[Value]) {
        let mut node = Vec::new();
        inputs.iter().for_each(|name| field(&mut node, 1, name.as_bytes()));
        outputs.iter().for_each(|name| field(&mut node, 2, name.as_bytes()));
        field(&mut node, 4, kind.as_bytes());
        for (name, attribute) in attributes {
            let mut own = Vec::new();
            field(&mut own, 1, name.as_bytes());
            let of = match attribute {
                Attribute::Int(value) => {
                    number(&mut own, 3, *value as u64);
                    2
                }
                Attribute::Text(value) => {
                    field(&mut own, 4, value.as_bytes());
                    3
                }
                Attribute::Body(body) => {
                    let mut graph = Vec::new();
                    body.write(&body.headers(None), &mut graph).expect("a vector takes any bytes");
                    field(&mut own, 6, &graph);
                    5
                }
            };
            number(&mut own, 20, of);
            field(&mut node, 5, &own);
        }
        field(&mut self.written.borrow_mut(), 1, &node);
    }

    /// What stands before the numbers of each tensor. With the name of a second file, large ones refer to that.
    fn headers(&self, second: Option<&str>) -> Vec<Header> {
        let mut end = 0;
        let of = |tensor: &Tensor<'_>| {
            let mut bytes = Vec::new();
            tensor.shape.iter().for_each(|&size| number(&mut bytes, 1, size as u64));
            number(&mut bytes, 2, data_type(tensor.dtype));
            field(&mut bytes, 8, tensor.name.as_bytes());
            let Some(second) = second.filter(|_| tensor.len() >= LEAST_EXTERNAL) else {
                prefix(&mut bytes, 9, tensor.len());
                return Header { bytes, offset: None };
            };
            let offset = usize::next_multiple_of(end, ALIGNMENT);
            end = offset + tensor.len();
            for (key, value) in
                [("location", second), ("offset", &offset.to_string()), ("length", &tensor.len().to_string())]
            {
                let mut entry = Vec::new();
                field(&mut entry, 1, key.as_bytes());
                field(&mut entry, 2, value.as_bytes());
                field(&mut bytes, 13, &entry);
            }
            number(&mut bytes, 14, 1);
            Header { bytes, offset: Some(offset) }
        };
        self.weights.borrow().iter().map(of).collect()
    }

    /// Number of bytes of the graph.
    fn len(&self, headers: &[Header]) -> usize {
        let of = |(tensor, header): (&Tensor<'_>, &Header)| {
            let length = header.message_len(tensor);
            1 + varint_len(length as u64) + length
        };
        let name = 2 + NAME.len();
        self.written.borrow().len() + name + self.weights.borrow().iter().zip(headers).map(of).sum::<usize>()
    }

    fn write(&self, headers: &[Header], out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.written.borrow())?;
        let mut start = Vec::new();
        field(&mut start, 2, NAME.as_bytes());
        for (tensor, header) in self.weights.borrow().iter().zip(headers) {
            prefix(&mut start, 5, header.message_len(tensor));
            out.write_all(&start)?;
            out.write_all(&header.bytes)?;
            if header.offset.is_none() {
                tensor.pieces.iter().try_for_each(|piece| out.write_all(piece))?;
            }
            start.clear();
        }
        out.write_all(&start)
    }

    /// Saves a model; its weights in a second file if that is asked for or they are too many for one.
    pub fn save(&self, path: &Path, separate: bool) -> Result<()> {
        let bytes = self.weights.borrow().iter().map(Tensor::len).sum::<usize>();
        let second = (separate || bytes > MOST_BYTES).then(|| second_file(path));
        let name = second.as_ref().and_then(|second| second.file_name()).map(|name| name.to_string_lossy());
        let headers = self.headers(name.as_deref());
        if let Some(second) = &second {
            write_file(second, bytes, |out| self.write_second(&headers, out))?;
        }
        let mut model = Vec::new();
        number(&mut model, 1, FORMAT);
        field(&mut model, 2, NAME.as_bytes());
        field(&mut model, 3, env!("CARGO_PKG_VERSION").as_bytes());
        let mut operators = Vec::new();
        number(&mut operators, 2, OPERATORS);
        field(&mut model, 8, &operators);
        prefix(&mut model, 7, self.len(&headers));
        write_file(path, bytes, |out| {
            out.write_all(&model)?;
            self.write(&headers, out)
        })
    }

    fn write_second(&self, headers: &[Header], out: &mut impl Write) -> io::Result<()> {
        let mut end = 0;
        for (tensor, header) in self.weights.borrow().iter().zip(headers) {
            let Some(offset) = header.offset else { continue };
            out.write_all(&vec![0; offset - end])?;
            tensor.pieces.iter().try_for_each(|piece| out.write_all(piece))?;
            end = offset + tensor.len();
        }
        Ok(())
    }
}

/// The name of the program, and of its graphs.
const NAME: &str = "ove";

/// The fields of a tensor without its numbers.
struct Header {
    bytes: Vec<u8>,
    /// The place of the numbers in the second file, if they are there.
    offset: Option<usize>,
}

impl Header {
    fn message_len(&self, tensor: &Tensor<'_>) -> usize {
        self.bytes.len() + if self.offset.is_none() { tensor.len() } else { 0 }
    }
}

/// The second file of a model: `m.onnx.data` beside `m.onnx`.
pub(crate) fn second_file(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".data");
    path.with_file_name(name)
}

fn write_file(path: &Path, bytes: usize, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    atomic::write_beside(path, |place| {
        let fill = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(place)?);
            write(&mut out)?;
            out.flush()
        };
        fill().map_err(|error| -> Error { atomic::unwritten(path, bytes, error) })
    })
}

fn value_info(name: &str, of: Type, shape: &[&str]) -> Vec<u8> {
    let (mut dimensions, mut tensor, mut kind, mut value) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for size in shape {
        let mut dimension = Vec::new();
        match size.parse::<u64>() {
            Ok(size) => number(&mut dimension, 1, size),
            Err(_) => field(&mut dimension, 2, size.as_bytes()),
        }
        field(&mut dimensions, 1, &dimension);
    }
    number(&mut tensor, 1, of as u64);
    field(&mut tensor, 2, &dimensions);
    field(&mut kind, 1, &tensor);
    field(&mut value, 1, name.as_bytes());
    field(&mut value, 2, &kind);
    value
}

/// The number of a type in onnx.proto.
fn data_type(name: &str) -> u64 {
    match name {
        "F32" => Type::Float as u64,
        "I64" => Type::Int64 as u64,
        "U16" => 4,
        "U32" => 12,
        "BF16" => 16,
        other => unreachable!("no tensor of the type {other} is exported"),
    }
}

/// Appends a field with a number.
fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

/// Appends a field with bytes: a text or a message.
fn field(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    prefix(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends what stands before the bytes of a field.
fn prefix(out: &mut Vec<u8>, field: u64, length: usize) {
    varint(out, field << 3 | 2);
    varint(out, length as u64);
}

/// Appends a number in groups of seven bits, the lowest first.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}
