//! The header above `@data`: the name of the relation and the attributes.
//!
//! ```text
//! @relation 'fruit: -C 2'
//! @attribute weight numeric
//! @attribute kind {apple,'sour cherry'}
//! ```
//!
//! Keywords are case-insensitive. Types are `numeric`, `real`, `integer` or a list of values.

use std::collections::HashSet;

use super::scan::Scan;
use crate::error::Result;
use crate::io::read::lines::{Line, Lines, quote};
use crate::io::read::wrong_file;

/// The attributes of a file.
#[derive(Default)]
pub(super) struct Header {
    pub relation: String,
    pub attributes: Vec<Attribute>,
}

/// One attribute.
pub(super) struct Attribute {
    pub name: String,
    pub kind: Kind,
    /// Its line.
    pub line: usize,
}

/// The type of an attribute.
#[derive(PartialEq)]
pub(super) enum Kind {
    Number,
    Nominal(Vec<String>),
}

impl Kind {
    /// Whether the values are 0 and 1, so that a sparse row omits zeros.
    pub fn is_binary(&self) -> bool {
        matches!(self, Kind::Nominal(values) if values == &["0", "1"])
    }
}

impl Header {
    /// Reads up to the line `@data`.
    pub fn read(lines: &mut Lines) -> Result<Header> {
        let mut header = Header::default();
        while let Some(line) = lines.next_line()? {
            let mut scan = Scan::new(line);
            if scan.at_end() {
                continue;
            }
            let keyword = scan.token(b"")?;
            match keyword.text.to_ascii_lowercase().as_str() {
                "@relation" if scan.at_end() => {}
                "@relation" => header.relation = scan.token(b"")?.text.into_owned(),
                "@attribute" => header.attributes.push(attribute(line, scan)?),
                "@data" => {
                    scan.end()?;
                    return Ok(header);
                }
                _ => {
                    let found = format!("'{}'", quote(&keyword.text));
                    return Err(line.expected(keyword.at, "@relation, @attribute or @data", found));
                }
            }
        }
        Err(wrong_file(lines.source().path(), "expected a line @data above the rows, found none"))
    }
}

fn attribute(line: Line, mut scan: Scan) -> Result<Attribute> {
    let name = scan.token(b"{")?.text.into_owned();
    let kind = if scan.take(b'{') { nominal(line, &mut scan)? } else { number(line, &mut scan)? };
    scan.end()?;
    Ok(Attribute { name, kind, line: line.number })
}

fn number(line: Line, scan: &mut Scan) -> Result<Kind> {
    let token = scan.token(b"")?;
    match token.text.to_ascii_lowercase().as_str() {
        "numeric" | "real" | "integer" => Ok(Kind::Number),
        _ => {
            let found = format!("'{}'", quote(&token.text));
            Err(line.expected(token.at, "the type numeric, real, integer or {value,…}", found))
        }
    }
}

fn nominal(line: Line, scan: &mut Scan) -> Result<Kind> {
    let mut values: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    loop {
        let token = scan.token(b",}")?;
        if !seen.insert(token.text.to_string()) {
            return Err(line.expected(token.at, "each value once", format!("'{}' again", quote(&token.text))));
        }
        values.push(token.text.into_owned());
        if scan.take(b'}') {
            return Ok(Kind::Nominal(values));
        }
        if !scan.take(b',') {
            return Err(scan.expected("'{value,…}'"));
        }
    }
}
