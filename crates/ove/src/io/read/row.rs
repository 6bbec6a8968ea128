//! A row whose features may come in any order.
//!
//! Entries are collected with their positions until the row is complete, then sorted and added to the data set without
//! zeros. Repeated features are neighbours after sorting:
//!
//! ```text
//! 7:1 2:1 7:3  →  2:1 7:1 7:3  →  feature 7 again, at the position of the third entry
//! ```

use crate::data::Dataset;

/// The entries of a row, reused from row to row.
#[derive(Default)]
pub(super) struct Unsorted {
    entries: Vec<Entry>,
}

struct Entry {
    feature: u32,
    value: f32,
    line: usize,
    at: usize,
}

/// A feature that occurs twice in a row, and the position of the second time.
pub(super) struct Repeated {
    pub feature: u32,
    pub line: usize,
    pub at: usize,
}

impl Unsorted {
    /// Adds an entry at offset `at` of line `line`.
    pub fn push(&mut self, feature: u32, value: f32, line: usize, at: usize) {
        self.entries.push(Entry { feature, value, line, at });
    }

    /// Discards the entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Moves the entries to the current row of `data`.
    pub fn move_to(&mut self, data: &mut Dataset) -> Result<(), Repeated> {
        self.entries.sort_unstable_by_key(|e| (e.feature, e.line, e.at));
        if let Some(pair) = self.entries.windows(2).find(|pair| pair[0].feature == pair[1].feature) {
            let Entry { feature, line, at, .. } = pair[1];
            return Err(Repeated { feature, line, at });
        }
        for entry in self.entries.drain(..).filter(|entry| entry.value != 0.0) {
            data.push_entry(entry.feature, entry.value);
        }
        Ok(())
    }
}
