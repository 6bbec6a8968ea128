//! Decides which attributes are labels, by the first rule that applies:
//!
//! ```text
//! the number that the caller gives     that many at the end
//! @relation 'name: -C 3' (MEKA)        the first 3; with -C -3 the last 3
//! name.xml beside the file (Mulan)     those that it names; name-train and name-test share name.xml
//! TAG_a, TAG_b, … at the end           these
//! a nominal attribute at the end       its values are the classes
//! ```
//!
//! A row has the labels whose value is 1, in the order of the attributes. If there is a single nominal label attribute,
//! its value is the class.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use super::header::{Attribute, Header, Kind};
use crate::error::{Error, Result};
use crate::io::read::lines::quote;
use crate::io::read::source::Source;
use crate::io::read::{ReadOptions, wrong_file, wrong_place};

const TAG: &str = "TAG_";

/// The role of an attribute.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// A feature and its index.
    Feature(u32),
    /// The class of rows in which this is 1.
    Label(u32),
    /// Its value is the class.
    Class,
}

/// The roles of all attributes.
pub(super) struct Labels {
    pub roles: Vec<Role>,
    /// Whether one of them is [`Role::Class`].
    pub has_class: bool,
}

/// The roles of the attributes of a file.
pub(super) fn choose(header: &Header, source: &Source, options: &ReadOptions) -> Result<Labels> {
    let labels = marked(header, source, options)?;
    if labels.is_empty() && options.labels_required {
        let message =
            "expected label attributes, found none; give the number of labels if they are the last attributes";
        return Err(wrong_file(source.path(), message));
    }
    let labels = roles(header, &labels);
    check(header, &labels, source.path())?;
    Ok(labels)
}

fn marked(header: &Header, source: &Source, options: &ReadOptions) -> Result<HashSet<usize>> {
    let count = header.attributes.len();
    if let Some(labels) = options.labels {
        let start = count.checked_sub(labels).ok_or_else(|| {
            let must = format!("be at most {count}, the number of attributes of {}", source.path().display());
            Error::setting("labels", must, labels)
        })?;
        return Ok((start..count).collect());
    }
    if let Some(range) = meka(header, source.path())? {
        return Ok(range.collect());
    }
    if let Some(labels) = mulan(header, source)? {
        return Ok(labels);
    }
    Ok(tags(header).unwrap_or_else(|| last_nominal(header)).collect())
}

/// `-C 3` in the name of the relation.
fn meka(header: &Header, path: &Path) -> Result<Option<Range<usize>>> {
    let mut words = header.relation.split_whitespace();
    if !words.any(|word| word == "-C") {
        return Ok(None);
    }
    let Some(labels) = words.next().and_then(|word| word.parse::<i64>().ok()).filter(|&labels| labels != 0) else {
        return Ok(None);
    };
    let count = header.attributes.len();
    let number = usize::try_from(labels.unsigned_abs()).unwrap_or(usize::MAX);
    if number > count {
        let message =
            format!("expected at most {count} labels, the number of attributes, found -C {labels} in @relation");
        return Err(wrong_file(path, message));
    }
    Ok(Some(if labels > 0 { 0..number } else { count - number..count }))
}

/// The names in the XML file beside this one.
fn mulan(header: &Header, source: &Source) -> Result<Option<HashSet<usize>>> {
    let name = source.name();
    let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
    let base = stem.strip_suffix("-train").or_else(|| stem.strip_suffix("-test")).unwrap_or(stem);
    let file = source.beside(&format!("{stem}.xml")).or_else(|| source.beside(&format!("{base}.xml")));
    let Some(path) = file else { return Ok(None) };
    let mut xml = Source::open(&path)?;
    let mut text = String::new();
    // Bytes that are not UTF-8 are an error in the content, not of the disk.
    xml.input().read_to_string(&mut text).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => wrong_file(&path, "expected UTF-8, found other bytes"),
        _ => xml.failure(e),
    })?;
    let index: HashMap<&str, usize> = header.attributes.iter().map(|a| a.name.as_str()).zip(0..).collect();
    let find = |name: String| {
        let unknown = || format!("expected names of attributes, found the label '{}'", quote(&name));
        index.get(name.as_str()).copied().ok_or_else(|| wrong_file(&path, unknown()))
    };
    xml_names(&text).map(find).collect::<Result<_>>().map(Some)
}

/// The content of each `name="…"`.
fn xml_names(text: &str) -> impl Iterator<Item = String> {
    let plain = |name: &str| {
        let name = name.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
        name.replace("&amp;", "&")
    };
    text.split("name=\"").skip(1).filter_map(|rest| rest.split_once('"')).map(move |(name, _)| plain(name))
}

fn tags(header: &Header) -> Option<Range<usize>> {
    let count = header.attributes.len();
    let first = header.attributes.iter().position(|a| a.name.starts_with(TAG))?;
    header.attributes[first..].iter().all(|a| a.name.starts_with(TAG)).then_some(first..count)
}

fn last_nominal(header: &Header) -> Range<usize> {
    let count = header.attributes.len();
    match header.attributes.last() {
        Some(last) if last.kind != Kind::Number => count - 1..count,
        _ => 0..0,
    }
}

fn roles(header: &Header, labels: &HashSet<usize>) -> Labels {
    let (mut feature, mut label) = (0, 0);
    let mut has_class = false;
    let role = |(n, attribute): (usize, &Attribute)| {
        if !labels.contains(&n) {
            feature += 1;
            Role::Feature(feature - 1)
        } else if labels.len() == 1 && attribute.kind != Kind::Number {
            has_class = true;
            Role::Class
        } else {
            label += 1;
            Role::Label(label - 1)
        }
    };
    let roles = header.attributes.iter().enumerate().map(role).collect();
    Labels { roles, has_class }
}

/// Nominal features and labels are 0 or 1, and no two labels share a name.
fn check(header: &Header, labels: &Labels, path: &Path) -> Result<()> {
    let mut names = HashSet::new();
    for (attribute, role) in header.attributes.iter().zip(&labels.roles) {
        let what = if matches!(role, Role::Feature(_)) { "features" } else { "several labels" };
        if *role != Role::Class && attribute.kind != Kind::Number && !attribute.kind.is_binary() {
            let name = quote(&attribute.name);
            let message = format!("expected {what} that are numeric or {{0,1}}, found the nominal attribute {name}");
            return Err(wrong_place(path, attribute.line, 0, message));
        }
        if matches!(role, Role::Label(_)) && !names.insert(&attribute.name) {
            let message = format!("expected each label once, found {} again", quote(&attribute.name));
            return Err(wrong_place(path, attribute.line, 0, message));
        }
    }
    Ok(())
}
