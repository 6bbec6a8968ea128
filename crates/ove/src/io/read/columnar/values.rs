//! The values of a column, whatever its type, as cells of a table.

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayAccessor, ArrayRef, BooleanArray};
use arrow_schema::DataType;

use crate::io::read::table::Cell;

/// What of a type cannot be read; `None` if it can.
pub(super) fn unreadable(kind: &DataType) -> Option<String> {
    match kind {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            if is_list(field.data_type()) { Some("lists of lists".into()) } else { unreadable(field.data_type()) }
        }
        DataType::Dictionary(_, values) if is_list(values) => Some(kind.to_string()),
        DataType::Dictionary(_, values) => unreadable(values),
        DataType::Null => Some("nothing but nulls".into()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => None,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => None,
        DataType::Boolean | DataType::Float16 | DataType::Float32 | DataType::Float64 => None,
        DataType::Decimal128(..) => None,
        kind if kind.is_integer() => None,
        kind => Some(kind.to_string()),
    }
}

fn is_list(kind: &DataType) -> bool {
    matches!(kind, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
}

/// The values of a column of a readable type.
pub(super) struct Values<'a> {
    array: &'a dyn Array,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Text(Box<dyn ArrayAccessor<Item = &'a str> + 'a>),
    Bytes(Box<dyn ArrayAccessor<Item = &'a [u8]> + 'a>),
    Truth(&'a BooleanArray),
    Number(Box<dyn Fn(usize) -> Number + 'a>),
    /// Where the value of a row is among the distinct ones.
    Dictionary(Box<dyn Fn(usize) -> usize + 'a>, Box<Values<'a>>),
    /// Where the elements of a row are.
    List(Box<dyn Fn(usize) -> Range<usize> + 'a>, Box<Values<'a>>),
}

enum Number {
    Whole(i64),
    Natural(u64),
    Single(f32),
    Double(f64),
}

impl<'a> Values<'a> {
    /// Those of a column.
    pub fn of(array: &'a ArrayRef) -> Self {
        macro_rules! number {
            ($kind:ty, $number:ident) => {{
                let values = array.as_primitive::<$kind>().values();
                Kind::Number(Box::new(move |row| Number::$number(values[row].into())))
            }};
        }
        macro_rules! list {
            ($list:expr) => {{
                let (list, offsets) = ($list, $list.value_offsets());
                let range = move |row: usize| offsets[row] as usize..offsets[row + 1] as usize;
                Kind::List(Box::new(range), Box::new(Values::of(list.values())))
            }};
        }
        let kind = match array.data_type() {
            DataType::Utf8 => Kind::Text(Box::new(array.as_string::<i32>())),
            DataType::LargeUtf8 => Kind::Text(Box::new(array.as_string::<i64>())),
            DataType::Utf8View => Kind::Text(Box::new(array.as_string_view())),
            DataType::Binary => Kind::Bytes(Box::new(array.as_binary::<i32>())),
            DataType::LargeBinary => Kind::Bytes(Box::new(array.as_binary::<i64>())),
            DataType::BinaryView => Kind::Bytes(Box::new(array.as_binary_view())),
            DataType::Boolean => Kind::Truth(array.as_boolean()),
            DataType::Int8 => number!(Int8Type, Whole),
            DataType::Int16 => number!(Int16Type, Whole),
            DataType::Int32 => number!(Int32Type, Whole),
            DataType::Int64 => number!(Int64Type, Whole),
            DataType::UInt8 => number!(UInt8Type, Natural),
            DataType::UInt16 => number!(UInt16Type, Natural),
            DataType::UInt32 => number!(UInt32Type, Natural),
            DataType::UInt64 => number!(UInt64Type, Natural),
            DataType::Float16 => number!(Float16Type, Single),
            DataType::Float32 => number!(Float32Type, Single),
            DataType::Float64 => number!(Float64Type, Double),
            DataType::Decimal128(_, scale) => {
                let (values, unit) = (array.as_primitive::<Decimal128Type>().values(), 10f64.powi((*scale).into()));
                Kind::Number(Box::new(move |row| Number::Double(values[row] as f64 / unit)))
            }
            DataType::List(_) => list!(array.as_list::<i32>()),
            DataType::LargeList(_) => list!(array.as_list::<i64>()),
            DataType::FixedSizeList(_, size) => {
                let (list, size) = (array.as_fixed_size_list(), *size as usize);
                let range = move |row: usize| row * size..(row + 1) * size;
                Kind::List(Box::new(range), Box::new(Values::of(list.values())))
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let keys = dictionary.normalized_keys();
                Kind::Dictionary(Box::new(move |row| keys[row]), Box::new(Values::of(dictionary.values())))
            }
            kind => unreachable!("a column of {kind} was refused when the file was opened"),
        };
        Values { array, kind }
    }

    /// The content of a row, or why it has none.
    pub fn cell(&self, row: usize) -> Result<Cell<'_>, String> {
        if self.array.is_null(row) {
            return Ok(Cell::Null);
        }
        Ok(match &self.kind {
            Kind::Text(values) => Cell::Text(Cow::Borrowed(values.value(row))),
            Kind::Bytes(values) => {
                let text = std::str::from_utf8(values.value(row));
                Cell::Text(Cow::Borrowed(text.map_err(|error| format!("expected UTF-8, but {error}"))?))
            }
            Kind::Truth(values) => Cell::Text(Cow::Borrowed(if values.value(row) { "true" } else { "false" })),
            Kind::Number(number) => Cell::Text(Cow::Owned(number(row).to_string())),
            Kind::Dictionary(key, values) => values.cell(key(row))?,
            Kind::List(range, values) => {
                let mut texts = Vec::new();
                for element in range(row) {
                    if let Cell::Text(text) = values.cell(element)? {
                        texts.push(text);
                    }
                }
                Cell::List(texts)
            }
        })
    }

    /// The finite number of a row, if it is one.
    pub fn number(&self, row: usize) -> Option<f32> {
        if self.array.is_null(row) {
            return None;
        }
        match &self.kind {
            Kind::Number(number) => Some(number(row).single()).filter(|number| number.is_finite()),
            Kind::Truth(values) => Some(f32::from(u8::from(values.value(row)))),
            Kind::Dictionary(key, values) => values.number(key(row)),
            _ => None,
        }
    }
}

impl Number {
    fn single(self) -> f32 {
        match self {
            Number::Whole(number) => number as f32,
            Number::Natural(number) => number as f32,
            Number::Single(number) => number,
            Number::Double(number) => number as f32,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Whole(number) => number.fmt(f),
            Number::Natural(number) => number.fmt(f),
            Number::Single(number) => number.fmt(f),
            Number::Double(number) => number.fmt(f),
        }
    }
}
