//! The rows that a graph is given: the entries of all rows, and the offset of each row among them.

use super::ragged::{Ragged, as_floats, scatter_add, slice};
use crate::io::onnx::{Attribute, Graph, Type, Value};
use crate::io::tensors::Tensor;

/// The rows in a graph.
pub struct Rows {
    /// The feature of each entry, 0 for one that the model does not have.
    pub features: Value,
    /// The value of each entry, 0 for a feature that the model does not have.
    pub values: Value,
    /// The first entry of each row, and the number of its entries.
    pub starts: Value,
    pub lengths: Value,
    /// The numbers of the rows.
    pub numbers: Value,
    /// How many rows there are: a list of one.
    pub count: Value,
    /// Whether a row has nothing but zeros.
    pub is_empty: Value,
}

impl Rows {
    /// Declares the inputs.
    pub fn new(g: &Graph<'_>, features: usize) -> Self {
        let indices = g.input("indices", Type::Int64, &["entries"]);
        let values = g.input("values", Type::Float, &["entries"]);
        let offsets = g.input("offsets", Type::Int64, &["offsets"]);
        let is_below = g.op("Less", &[&indices, &g.int(features as i64)]);
        let is_known = g.op("And", &[&is_below, &g.op("GreaterOrEqual", &[&indices, &g.int(0)])]);
        let indices = g.op("Where", &[&is_known, &indices, &g.int(0)]);
        let values = g.op("Where", &[&is_known, &values, &g.float(0.0)]);

        let starts = slice(g, &offsets, 0, -1, 0);
        let lengths = g.op("Sub", &[&slice(g, &offsets, 1, i64::MAX, 0), &starts]);
        let count = g.op("Shape", &[&lengths]);
        let numbers = super::ragged::range(g, &count);
        let entries = Ragged::of(g, &lengths);
        let is_zero = g.op("Equal", &[&values, &g.float(0.0)]);
        let nonzero = as_floats(g, &g.op("Not", &[&is_zero]));
        let none = g.op("Expand", &[&g.float(0.0), &count]);
        let found = scatter_add(g, &none, &entries.owner, &nonzero);
        let is_empty = g.op("Equal", &[&found, &g.float(0.0)]);
        Rows { features: indices, values, starts, lengths, numbers, count, is_empty }
    }

    /// Σ x_d t_d + t_last for each row, where t are the rows of a table whose last belongs to no feature.
    ///
    /// `table` gives the rows of some features. One row after the other: together, their part of the table may be as
    /// large as the rows times the classes times the features of each.
    pub fn weighted_sums(
        &self,
        g: &Graph<'_>,
        last: usize,
        width: usize,
        table: impl FnOnce(&Graph<'static>, &Value) -> Value,
    ) -> Value {
        let body = g.body();
        let row = body.input("row", Type::Int64, &[]);
        let going = body.input("going", Type::Bool, &[]);
        let row = body.op("Reshape", &[&row, &body.ints(&[1])]);
        let from = body.op("Gather", &[&self.starts, &row]);
        let to = body.op("Add", &[&from, &body.op("Gather", &[&self.lengths, &row])]);
        let join = [("axis", Attribute::Int(0))];
        let of = |body: &Graph<'static>, list: &Value, end: Value| {
            let own = body.op("Slice", &[list, &from, &to, &body.ints(&[0])]);
            body.op_with("Concat", &[&own, &end], &join)
        };
        let end = body.ints(&[last as i64]);
        let features = of(&body, &self.features, end);
        let one = body.op("Reshape", &[&body.float(1.0), &body.ints(&[1])]);
        let values = of(&body, &self.values, one);
        let rows = table(&body, &features);
        let values = body.op("Unsqueeze", &[&values, &body.ints(&[0])]);
        let sum = body.op("MatMul", &[&values, &rows]);
        let sum = body.op("Squeeze", &[&sum, &body.ints(&[0])]);
        body.output("still_going", &going, Type::Bool, &[]);
        body.output("sum", &sum, Type::Float, &[&width.to_string()]);
        let count = g.op("Squeeze", &[&self.count]);
        g.op_with("Loop", &[&count, &String::new()], &[("body", Attribute::Body(&body))])
    }
}

/// A list of numbers as a tensor of a graph.
pub fn list<T: bytemuck::Pod>(name: impl Into<String>, dtype: &'static str, numbers: &[T]) -> Tensor<'static> {
    Tensor::owned(name.into(), dtype, numbers)
}
