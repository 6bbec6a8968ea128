//! Lists of different lengths in a graph, and the search in them: the rows, and what belongs to each of some places.
//!
//! ```text
//! lengths 2 0 3   →   owner  0 0 2 2 2     within  0 1 0 1 2     starts  0 2 2     total 5
//! ```

use crate::io::onnx::{Attribute, Graph, Type, Value};

/// Lists of different lengths, one after the other.
pub struct Ragged {
    /// The list of each number.
    pub owner: Value,
    /// The place of each number in its list.
    pub within: Value,
    /// The place of the first number of each list.
    pub starts: Value,
    /// How many numbers there are: a list of one.
    pub total: Value,
}

impl Ragged {
    /// Lists of these lengths.
    pub fn of(g: &Graph<'_>, lengths: &Value) -> Self {
        let (zero, one) = (g.ints(&[0]), g.ints(&[1]));
        let padded = g.op_with("Concat", &[&zero, lengths], &[("axis", Attribute::Int(0))]);
        let ends = g.op("CumSum", &[&padded, &g.int(0)]);
        let starts = without_last(g, &ends);
        let total = slice(g, &ends, -1, i64::MAX, 0);
        // A mark where each list starts, and behind the end for the empty ones there.
        let marks = g.op("Expand", &[&zero, &g.op("Add", &[&total, &one])]);
        let ones = g.op("Expand", &[&one, &g.op("Shape", &[&starts])]);
        let marks = scatter_add(g, &marks, &starts, &ones);
        let counted = g.op("CumSum", &[&marks, &g.int(0)]);
        let owner = g.op("Sub", &[&without_last(g, &counted), &one]);
        let within = g.op("Sub", &[&range(g, &total), &g.op("Gather", &[&starts, &owner])]);
        Ragged { owner, within, starts, total }
    }
}

/// 0, 1, … below a list of one number.
pub fn range(g: &Graph<'_>, total: &Value) -> Value {
    let scalar = g.op("Squeeze", &[total]);
    g.op("Range", &[&g.int(0), &scalar, &g.int(1)])
}

/// Part of a tensor along an axis.
pub fn slice(g: &Graph<'_>, of: &Value, from: i64, to: i64, axis: i64) -> Value {
    g.op("Slice", &[of, &g.ints(&[from]), &g.ints(&[to]), &g.ints(&[axis])])
}

fn without_last(g: &Graph<'_>, of: &Value) -> Value {
    slice(g, of, 0, -1, 0)
}

/// Adds numbers to a list at these places, in order.
pub fn scatter_add(g: &Graph<'_>, to: &Value, at: &Value, numbers: &Value) -> Value {
    g.op_with("ScatterElements", &[to, at, numbers], &[("reduction", Attribute::Text("add"))])
}

/// As numbers of 64 bits.
pub fn as_ints(g: &Graph<'_>, value: &Value) -> Value {
    g.op_with("Cast", &[value], &[("to", Attribute::Int(Type::Int64 as i64))])
}

/// As floating-point numbers.
pub fn as_floats(g: &Graph<'_>, value: &Value) -> Value {
    g.op_with("Cast", &[value], &[("to", Attribute::Int(Type::Float as i64))])
}

/// Numbers of a list at some places, as numbers of 64 bits.
pub fn gather_ints(g: &Graph<'_>, from: &Value, at: &Value) -> Value {
    let found = g.op("Gather", &[from, at]);
    as_ints(g, &found)
}

/// The places where a condition holds, as a list.
pub fn places(g: &Graph<'_>, condition: &Value) -> Value {
    let found = g.op("NonZero", &[condition]);
    g.op("Reshape", &[&found, &g.ints(&[-1])])
}

/// Searches for each of some numbers in a part of a list that rises; returns the place of each, and whether it is
/// there.
///
/// `from` and `to` are the ends of the parts, and `longest` the length of the longest. The list goes on for one number
/// after the last part.
pub fn search(g: &Graph<'_>, list: &Value, from: &Value, to: &Value, wanted: &Value, longest: usize) -> [Value; 2] {
    let body = g.body();
    body.input("step", Type::Int64, &[]);
    let going = body.input("going", Type::Bool, &[]);
    let low = body.input("low", Type::Int64, &["n"]);
    let high = body.input("high", Type::Int64, &["n"]);
    let middle = body.op("Div", &[&body.op("Add", &[&low, &high]), &body.int(2)]);
    let found = gather_ints(&body, list, &middle);
    let is_less = body.op("Less", &[&found, wanted]);
    let is_open = body.op("Less", &[&low, &high]);
    let is_above = body.op("And", &[&is_less, &is_open]);
    let next = body.op("Add", &[&middle, &body.int(1)]);
    let new_low = body.op("Where", &[&is_above, &next, &low]);
    let new_high = body.op("Where", &[&is_above, &high, &middle]);
    body.output("still_going", &going, Type::Bool, &[]);
    body.output("new_low", &new_low, Type::Int64, &["n"]);
    body.output("new_high", &new_high, Type::Int64, &["n"]);
    let steps = usize::BITS - longest.leading_zeros();
    let steps = g.int(steps.into());
    let [at, _] = g.ops("Loop", &[&steps, &String::new(), from, to], &[("body", Attribute::Body(&body))]);
    let found = gather_ints(g, list, &at);
    let is_within = g.op("Less", &[&at, to]);
    let is_equal = g.op("Equal", &[&found, wanted]);
    let is_there = g.op("And", &[&is_within, &is_equal]);
    [at, is_there]
}
