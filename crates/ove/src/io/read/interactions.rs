//! Interactions of users with items. A table with a header (see `csv`) has the columns `user` and `item`, and may have
//! a column `weight`, or columns of other names that are given; the others are not used:
//!
//! ```text
//! user,item,weight
//! Ann,"Tea, green",2
//! ```
//!
//! Without a header there are two forms, which may be mixed. A line with tabs is one interaction:
//!
//! ```text
//! user<TAB>item
//! user<TAB>item<TAB>weight
//! user<TAB>item<TAB>weight<TAB>time
//! ```
//!
//! A line without tabs is a user with any number of items, all of weight 1:
//!
//! ```text
//! user item item item
//! ```
//!
//! Weights are positive; those of the same user and item add up. The time is checked to be a number and not used.
//! Empty lines are skipped. Users and items are sorted, by value if all are numbers and by name otherwise.

use std::path::Path;

use super::classes::Names;
use super::lines::{Line, Lines, quote};
use super::source::Source;
use super::table::{Cell, Record};
use super::{Columns, OnError, csv, no_rows, wrong_place};
use crate::data::{Interactions, Skipped};
use crate::error::Result;

/// The columns of a table of interactions, by name; what is not given is recognised by its usual name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InteractionColumns {
    /// The user; usually `user` or `user_id`.
    pub user: Option<String>,
    /// The item; usually `item` or `item_id`.
    pub item: Option<String>,
    /// The weight; usually `weight`, or none.
    pub weight: Option<String>,
}

/// Reads a file of interactions; `-` is standard input.
///
/// # Errors
/// [`Error::Input`](crate::Error::Input) if the content is not valid, [`Error::File`](crate::Error::File) if it cannot
/// be read.
pub fn read_interactions(path: &Path, on_error: OnError) -> Result<Interactions> {
    read_interactions_in(path, &InteractionColumns::default(), on_error)
}

/// As [`read_interactions`], with columns by name: the file is a table if one is given.
///
/// # Errors
/// As [`read_interactions`].
pub fn read_interactions_in(path: &Path, columns: &InteractionColumns, on_error: OnError) -> Result<Interactions> {
    read(Source::open(path)?, columns, on_error)
}

/// Reads interactions from memory, under a name.
///
/// # Errors
/// As [`read_interactions`].
pub fn read_interactions_bytes(name: &Path, content: Vec<u8>, on_error: OnError) -> Result<Interactions> {
    read(Source::from_bytes(name, content)?, &InteractionColumns::default(), on_error)
}

/// The interactions read so far, by numbers in order of appearance.
#[derive(Default)]
struct Reader {
    users: Names,
    items: Names,
    pairs: Vec<(u32, u32, f32)>,
}

fn read(mut source: Source, columns: &InteractionColumns, on_error: OnError) -> Result<Interactions> {
    let path = source.path().to_owned();
    let (mut reader, mut skipped) = (Reader::default(), Skipped::default());
    if let Some(columns) = Places::find(&path, source.head(), columns)? {
        let content = source.read_all()?;
        csv::each(&path, &content, on_error, &mut skipped, |record| reader.record(record, &columns))?;
    } else {
        let mut lines = Lines::new(source);
        while lines.advance()? {
            let before = reader.pairs.len();
            if let Err(error) = lines.line().and_then(|line| reader.line(&line)) {
                reader.pairs.truncate(before);
                skipped.take(on_error, error)?;
            }
        }
    }
    if reader.pairs.is_empty() {
        return Err(no_rows(&path));
    }
    Ok(reader.finish(skipped))
}

/// The places of the columns of a table.
struct Places {
    user: usize,
    item: usize,
    weight: Option<usize>,
}

impl Places {
    /// Finds them in the header; `None` if the file is not a table.
    fn find(path: &Path, head: &[u8], columns: &InteractionColumns) -> Result<Option<Places>> {
        let InteractionColumns { user, item, weight } = columns;
        let is_table = user.is_some() || item.is_some() || weight.is_some();
        let names = csv::header(path, head, &Columns::default()).unwrap_or_default();
        let find = |given: &Option<String>, usual: &str| match given {
            Some(given) => names.iter().position(|name| name == given),
            None => names.iter().position(|name| {
                let plain = name.to_lowercase().replace(['_', ' '], "");
                plain.strip_suffix("id").unwrap_or(&plain) == usual
            }),
        };
        match (find(user, "user"), find(item, "item"), find(weight, "weight")) {
            (Some(user), Some(item), found) if found.is_some() || weight.is_none() => {
                Ok(Some(Places { user, item, weight: found }))
            }
            _ if !is_table => Ok(None),
            _ => {
                let wanted: Vec<String> = [(user, "user"), (item, "item"), (weight, "weight")]
                    .into_iter()
                    .filter(|(given, usual)| given.is_some() || *usual != "weight")
                    .map(|(given, usual)| format!("`{}`", given.as_deref().unwrap_or(usual)))
                    .collect();
                let message = format!("expected columns {}, found {}", wanted.join(", "), quote(&names.join(", ")));
                Err(wrong_place(path, 1, 0, message))
            }
        }
    }
}

impl Reader {
    fn line(&mut self, line: &Line) -> Result<()> {
        if line.text.contains('\t') {
            return self.pair(line);
        }
        let mut words = line.words();
        let Some((_, user)) = words.next() else { return Ok(()) };
        let user = self.users.number(user);
        for (_, item) in words {
            self.pairs.push((user, self.items.number(item), 1.0));
        }
        Ok(())
    }

    fn record(&mut self, record: &dyn Record, places: &Places) -> Result<()> {
        let mut names = Vec::with_capacity(2);
        for (column, what) in [(places.user, "a user"), (places.item, "an item")] {
            match record.cell(column)? {
                Cell::Text(text) if !text.trim().is_empty() => names.push(text.trim().to_owned()),
                _ => return Err(record.wrong(column, format!("expected {what}, found none"))),
            }
        }
        let mut weight = 1.0;
        if let Some(column) = places.weight {
            weight = match record.number(column)? {
                Some(weight) if weight > 0.0 => weight,
                _ => return Err(record.wrong(column, "expected a weight, finite and above 0".into())),
            };
        }
        self.pairs.push((self.users.number(&names[0]), self.items.number(&names[1]), weight));
        Ok(())
    }

    fn pair(&mut self, line: &Line) -> Result<()> {
        let mut columns = [(0, ""); 4];
        let (mut count, mut at) = (0, 0);
        for column in line.text.split('\t') {
            let Some(place) = columns.get_mut(count) else {
                return Err(line.expected(at, "at most four columns: user, item, weight and time", "more"));
            };
            let trimmed = column.trim();
            *place = (at + (column.len() - column.trim_start().len()), trimmed);
            at += column.len() + 1;
            count += 1;
        }
        for (n, what) in ["a user", "an item"].into_iter().enumerate() {
            if columns[n].1.is_empty() {
                return Err(line.expected(columns[n].0, what, "none"));
            }
        }
        let mut weight = 1.0;
        if count > 2 {
            let (at, word) = columns[2];
            let parsed = word.parse().ok().filter(|weight: &f32| weight.is_finite() && *weight > 0.0);
            weight = parsed
                .ok_or_else(|| line.expected(at, "a weight, finite and above 0", format!("'{}'", quote(word))))?;
        }
        if count > 3 {
            let (at, word) = columns[3];
            if !word.parse().is_ok_and(f64::is_finite) {
                return Err(line.expected(at, "a time, a finite number", format!("'{}'", quote(word))));
            }
        }
        self.pairs.push((self.users.number(columns[0].1), self.items.number(columns[1].1), weight));
        Ok(())
    }

    fn finish(self, skipped: Skipped) -> Interactions {
        let ((users, new_user), (items, new_item)) = (self.users.sorted(), self.items.sorted());
        let mut of_users: Vec<Vec<(u32, f32)>> = vec![Vec::new(); users.len()];
        for (user, item, weight) in self.pairs {
            of_users[new_user[user as usize] as usize].push((new_item[item as usize], weight));
        }
        let mut data = Interactions::new(items);
        for (user, chosen) in users.into_iter().zip(of_users) {
            data.push(user, chosen);
        }
        data.skipped = skipped;
        data
    }
}
