//! JSON lines: one object per line, whose keys are the columns of a table.
//!
//! ```text
//! {"sku": 17, "title": "Red shoes", "categories": ["shoes", "red, not brown"]}
//! {"sku": 18, "title": "A title", "categories": "other"}
//! ```
//!
//! A list of labels is several labels, and a list of texts is joined. Numbers and truth values are what they look like.
//! A missing key is null: no label, or no text of this column. Keys that are not used are passed over, whatever they
//! hold.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::lines::{Line, quote_up_to, strip};
use super::source::Source;
use super::table::{Cell, Layout, Naming, Record, listed};
use super::texts::{Content, Piece};
use super::{Input, ReadOptions};
use crate::error::{Error, Result};

/// The number of characters of the parser's message that an error has.
const MESSAGE: usize = 160;

/// Reads the lines of a source. Its first row tells the columns, unless that was in an earlier part of the file.
pub(super) fn read(source: Source, options: &ReadOptions, known: &mut Option<Layout>) -> Result<Input> {
    let content = Content::read(source, options)?;
    if known.is_none() {
        *known = layout(&content, options)?;
    }
    // Without a row, all lines are blank or were skipped, and the next part of the file may have the first row.
    let Some(layout) = known else {
        return Ok(content.texts(options, |_, _| Ok(()))?.of_table(&options.columns));
    };
    let used = layout.used();
    let read_line = |line: &Line, piece: &mut Piece| match line.text.trim_ascii().is_empty() {
        true => Ok(()),
        false => layout.add(&Row::parse(line, layout, &used, options.or_lines)?, piece),
    };
    Ok(content.texts(options, read_line)?.of_table(&layout.columns))
}

/// The columns, as the keys of the first row tell, if there is one.
fn layout(content: &Content, options: &ReadOptions) -> Result<Option<Layout>> {
    let path = content.source.path();
    for (text, number) in content.text.split('\n').zip(content.source.lines_before() + 1..) {
        let text = strip(text, number == 1);
        if !text.trim_ascii().is_empty() {
            let line = Line::new(text, number, path);
            let Keys(names) = parsed(&line, serde_json::from_str(text))?;
            return Layout::new(path, number, names, Naming::FirstRow, options).map(Some);
        }
    }
    Ok(None)
}

/// What was parsed from a line, or the error at its place.
fn parsed<T>(line: &Line, parsed: serde_json::Result<T>) -> Result<T> {
    parsed.map_err(|error| {
        let message = error.to_string();
        let message = quote_up_to(message.split(" at line ").next().unwrap_or_default(), MESSAGE);
        line.wrong(error.column().saturating_sub(1), format!("expected a JSON object per line: {message}"))
    })
}

/// The keys of an object.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Keys, A::Error> {
                let mut names: Vec<String> = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Keys(names))
            }
        }
        deserializer.deserialize_map(Names)
    }
}

/// A row: the cells of the columns that are used.
struct Row<'a> {
    line: &'a Line<'a>,
    /// The column and its content; without it, if there is no such key.
    cells: Vec<(usize, Option<Value<'a>>)>,
}

impl<'a> Row<'a> {
    fn parse(line: &'a Line<'a>, layout: &Layout, used: &[usize], may_lack_id: bool) -> Result<Self> {
        let cells = used.iter().map(|&column| (column, None)).collect();
        let seed = Cells { names: layout.names(), cells };
        let mut json = serde_json::Deserializer::from_str(line.text);
        let cells = parsed(line, seed.deserialize(&mut json).and_then(|cells| json.end().map(|()| cells)))?;
        let row = Row { line, cells };
        let has = |column: usize| row.cells.iter().any(|(own, cell)| *own == column && cell.is_some());
        let no_text = !layout.text.iter().any(|&(column, _)| has(column));
        let lacking = if no_text { layout.text.first().map(|&(column, _)| column) } else { None };
        match lacking.or(layout.id.filter(|&id| !may_lack_id && !has(id))) {
            None => Ok(row),
            Some(column) => {
                let Keys(keys) = parsed(line, serde_json::from_str(line.text))?;
                let found = if keys.is_empty() { "no key".into() } else { listed(&keys) };
                Err(line.wrong(0, format!("expected the key {}, found {found}", layout.called(column))))
            }
        }
    }
}

impl Record for Row<'_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>> {
        let found = self.cells.iter().find(|(own, _)| *own == column).and_then(|(_, cell)| cell.as_ref());
        Ok(match found {
            None | Some(Value::Null) => Cell::Null,
            Some(Value::Text(text)) => Cell::Text(Cow::Borrowed(text)),
            Some(Value::List(texts)) => Cell::List(texts.iter().map(|text| Cow::Borrowed(&**text)).collect()),
        })
    }

    fn wrong(&self, _: usize, message: String) -> Error {
        self.line.wrong(0, message)
    }
}

/// The content of a cell.
enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    List(Vec<Cow<'a, str>>),
}

/// Reads the cells of an object.
struct Cells<'n, 'a> {
    names: &'n [String],
    cells: Vec<(usize, Option<Value<'a>>)>,
}

impl<'de> DeserializeSeed<'de> for Cells<'_, 'de> {
    type Value = Vec<(usize, Option<Value<'de>>)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Cells<'_, 'de> {
    type Value = Vec<(usize, Option<Value<'de>>)>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            match self.cells.iter_mut().find(|(column, _)| *self.names[*column] == *key) {
                None => drop(map.next_value::<IgnoredAny>()?),
                Some((_, Some(_))) => return Err(A::Error::custom(format!("the key `{key}` twice"))),
                Some((_, cell)) => *cell = Some(map.next_value()?),
            }
        }
        Ok(self.cells)
    }
}

/// A string, borrowed if nothing in it is escaped.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match deserializer.deserialize_any(OneValue { in_list: true })? {
            Value::Text(text) => Ok(Text(text)),
            _ => Ok(Text(Cow::Borrowed(""))),
        }
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(OneValue { in_list: false })
    }
}

/// A value as a text.
fn shown<'a, E>(value: impl ToString) -> std::result::Result<Value<'a>, E> {
    Ok(Value::Text(Cow::Owned(value.to_string())))
}

/// Reads a value; one in a list is no list.
struct OneValue {
    in_list: bool,
}

impl<'de> Visitor<'de> for OneValue {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.in_list { "a text or a number" } else { "a text, a number or a list of them" })
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Value<'de>, E> {
        shown(text)
    }

    fn visit_string<E>(self, text: String) -> std::result::Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text)))
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value<'de>, E> {
        shown(value)
    }

    fn visit_u64<E>(self, number: u64) -> std::result::Result<Value<'de>, E> {
        shown(number)
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Value<'de>, E> {
        shown(number)
    }

    fn visit_f64<E>(self, number: f64) -> std::result::Result<Value<'de>, E> {
        shown(number)
    }

    fn visit_unit<E>(self) -> std::result::Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Value<'de>, A::Error> {
        if self.in_list {
            return Err(A::Error::custom("a list within a list"));
        }
        let mut texts = Vec::new();
        while let Some(Text(text)) = list.next_element()? {
            texts.push(text);
        }
        Ok(Value::List(texts))
    }
}
