//! ARFF, Weka's format: attributes first, then one row per line, dense or sparse.
//!
//! ```text
//! @relation fruit            % a comment
//! @attribute weight numeric
//! @attribute round {0,1}
//! @attribute kind {apple,'sour cherry'}
//! @data
//! 170,1,apple
//! {0 8,2 'sour cherry'}
//! ```
//!
//! A sparse row numbers attributes from 0 and omits zeros; for a nominal attribute, zero is its first value. Label
//! attributes are not features: features are numbered as if there were no label attributes.

mod header;
mod labels;
mod scan;

use std::collections::HashMap;

use super::lines::{Line, Lines, quote};
use super::source::Source;
use super::{ReadOptions, number, pair};
use crate::data::Dataset;
use crate::error::Result;
use header::{Attribute, Header, Kind};
use labels::{Labels, Role};
use scan::{Scan, Token};

/// The rows read so far.
struct Reader {
    attributes: Vec<Attribute>,
    labels: Labels,
    /// The class of each value of the class attribute.
    values: HashMap<String, u32>,
    labels_required: bool,
    /// The classes of the current row.
    row_labels: Vec<u32>,
    data: Dataset,
}

pub(super) fn read(source: Source, options: &ReadOptions) -> Result<Dataset> {
    let mut lines = Lines::new(source);
    let header = Header::read(&mut lines)?;
    let labels = labels::choose(&header, lines.source(), options)?;
    let mut reader = Reader::new(header, labels, options.labels_required);
    while lines.advance()? {
        if let Err(error) = lines.line().and_then(|line| reader.row(line)) {
            reader.data.leave_out_row();
            reader.data.skipped.take(options.on_error, error)?;
        }
    }
    let mut data = reader.data;
    data.drop_unused_classes();
    Ok(data)
}

impl Reader {
    fn new(header: Header, labels: Labels, labels_required: bool) -> Self {
        let attributes = header.attributes;
        let is = |role: fn(&Role) -> bool| attributes.iter().zip(&labels.roles).filter(move |(_, r)| role(r));
        let feature_names: Vec<String> = is(|r| matches!(r, Role::Feature(_))).map(|(a, _)| a.name.clone()).collect();
        let classes: Vec<String> = match is(|r| *r == Role::Class).next() {
            Some((Attribute { kind: Kind::Nominal(values), .. }, _)) => values.clone(),
            _ => is(|r| matches!(r, Role::Label(_))).map(|(a, _)| a.name.clone()).collect(),
        };
        let values = classes.iter().cloned().zip(0..).collect();
        let mut data = Dataset::new(feature_names.len(), classes);
        data.feature_names = feature_names;
        Reader { attributes, labels, values, labels_required, row_labels: Vec::new(), data }
    }

    fn row(&mut self, line: Line) -> Result<()> {
        let scan = Scan::new(line);
        if scan.at_end() {
            return Ok(());
        }
        self.row_labels.clear();
        if scan.peek() == Some(b'{') { self.sparse(line, scan) } else { self.dense(line, scan) }?;
        if self.row_labels.is_empty() && self.labels_required {
            return Err(line.no_label());
        }
        self.data.end_row(&self.row_labels);
        Ok(())
    }

    fn dense(&mut self, line: Line, mut scan: Scan) -> Result<()> {
        let count = self.attributes.len();
        let expected = || format!("{count} values, one per attribute");
        let mut values = 0;
        loop {
            let token = scan.token(b",")?;
            if values == count {
                return Err(line.expected(token.at, expected(), format!("value {}", count + 1)));
            }
            self.value(line, values, &token)?;
            values += 1;
            if !scan.take(b',') {
                break;
            }
        }
        scan.end()?;
        if values < count {
            return Err(line.expected(line.text.len(), expected(), values));
        }
        Ok(())
    }

    fn sparse(&mut self, line: Line, mut scan: Scan) -> Result<()> {
        let mut class_given = false;
        let mut last = None;
        scan.take(b'{');
        while !scan.take(b'}') {
            let token = scan.token(b",}")?;
            let attribute = self.attribute(line, &token)?;
            if let Some(last) = last.filter(|&last| last >= attribute) {
                let message = format!("attributes must increase within a row, found {attribute} after {last}");
                return Err(line.wrong(token.at, message));
            }
            last = Some(attribute);
            class_given |= self.labels.roles[attribute] == Role::Class;
            self.value(line, attribute, &scan.token(b",}")?)?;
            if !scan.take(b',') && scan.peek() != Some(b'}') {
                return Err(scan.expected("'{attribute value,…}'"));
            }
        }
        scan.end()?;
        if self.labels.has_class && !class_given {
            self.row_labels.push(0);
        }
        Ok(())
    }

    fn attribute(&self, line: Line, token: &Token) -> Result<usize> {
        let expected = || match self.attributes.len() {
            0 => "'}' in a file without attributes".into(),
            count => format!("an attribute from 0 to {}", count - 1),
        };
        match number::integer(&token.text) {
            Some(attribute) if attribute < self.attributes.len() as u64 => Ok(attribute as usize),
            _ => Err(line.expected(token.at, expected(), format!("'{}'", quote(&token.text)))),
        }
    }

    /// Adds a value: an entry of the row if it is a feature, else a class of the row.
    fn value(&mut self, line: Line, attribute: usize, token: &Token) -> Result<()> {
        let role = self.labels.roles[attribute];
        if token.is_missing() {
            let is_feature = matches!(role, Role::Feature(_));
            if is_feature || self.labels_required {
                return Err(line.expected(token.at, "a value", "a missing one"));
            }
            return Ok(());
        }
        let name = &self.attributes[attribute].name;
        if role == Role::Class {
            let class = self.values.get(token.text.as_ref()).ok_or_else(|| {
                let expected = format!("a value of attribute {}", quote(name));
                line.expected(token.at, expected, format!("'{}'", quote(&token.text)))
            })?;
            self.row_labels.push(*class);
            return Ok(());
        }
        let value = number::float(&token.text).ok_or_else(|| pair::wrong_value(&line, token.at, &token.text))?;
        let binary = matches!(role, Role::Label(_)) || self.attributes[attribute].kind != Kind::Number;
        if binary && value != 0.0 && value != 1.0 {
            let expected = format!("0 or 1 for attribute {}", quote(name));
            return Err(line.expected(token.at, expected, format!("'{}'", quote(&token.text))));
        }
        match role {
            Role::Feature(feature) if value != 0.0 => self.data.push_entry(feature, value),
            Role::Label(label) if value == 1.0 => self.row_labels.push(label),
            _ => {}
        }
        Ok(())
    }
}
