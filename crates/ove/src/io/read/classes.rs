//! Numbers the classes of a file, in an order that does not depend on the order of its rows.
//!
//! Classes that are numbers are sorted as numbers, names by name:
//!
//! ```text
//! 10 2 -1  →  -1 2 10        10 2 x  →  10 2 x
//! ```

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use rayon::prelude::*;

use crate::data::Dataset;
use crate::platform::pool;
use crate::text::{Table, hash_of_name};

/// Class names, numbered in order of appearance. Names with equal hashes are compared, so they never become one class; they
/// are stored side by side, which keeps the comparison cheap.
#[derive(Default)]
pub(crate) struct Names {
    numbers: Table,
    all: String,
    /// The end of each name in `all`.
    ends: Vec<usize>,
}

impl Names {
    /// The number of a name.
    #[inline]
    pub fn number(&mut self, name: &str) -> u32 {
        self.number_of(hash_of_name(name), name)
    }

    #[inline]
    fn number_of(&mut self, hash: u64, name: &str) -> u32 {
        let next = self.ends.len() as u32;
        let (all, ends) = (self.all.as_bytes(), &self.ends);
        let is_same = |number: u32| all[range(ends, number as usize)] == *name.as_bytes();
        let number = self.numbers.get_same_or_insert(hash, next, is_same);
        if number == next {
            self.all.push_str(name);
            self.ends.push(self.all.len());
        }
        number
    }

    /// The names in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|number| &self.all[range(&self.ends, number)])
    }

    /// Sorts the names and moves them to `data`, whose labels are these numbers.
    pub fn finish(self, data: &mut Dataset) {
        let (names, new) = self.sorted();
        data.labels.renumber(|label| Some(new[label as usize]));
        data.classes = names;
    }

    /// The sorted names, and the position of each number among them.
    pub fn sorted(self) -> (Vec<String>, Vec<u32>) {
        let mut names: Vec<(&str, u32)> = self.iter().zip(0..).collect();
        if names.iter().all(|(name, _)| value(name).is_some()) {
            names.sort_by(|(a, _), (b, _)| by_value(a, b));
        } else {
            pool::run(|| names.par_sort_unstable());
        }
        let mut new = vec![0; names.len()];
        for ((_, old), number) in names.iter().zip(0..) {
            new[*old as usize] = number;
        }
        (names.into_iter().map(|(name, _)| name.to_owned()).collect(), new)
    }
}

/// The range of the name of a number, given the end of each name.
#[inline]
fn range(ends: &[usize], number: usize) -> Range<usize> {
    let start = if number == 0 { 0 } else { ends[number - 1] };
    start..ends[number]
}

fn value(name: &str) -> Option<f64> {
    name.parse().ok().filter(|value: &f64| value.is_finite())
}

/// `1` and `1.0` are two classes: equal numbers are sorted by name.
fn by_value(a: &str, b: &str) -> Ordering {
    value(a).partial_cmp(&value(b)).unwrap_or(Ordering::Equal).then_with(|| a.cmp(b))
}

/// Replaces label numbers of the file, many of which may be unused, by classes in the order of these numbers.
pub(super) fn from_numbers(data: &mut Dataset, name: impl Fn(u32) -> String) {
    let used: BTreeSet<u32> = data.labels.all().iter().copied().collect();
    let new: HashMap<u32, u32> = used.iter().copied().zip(0..).collect();
    data.labels.renumber(|label| Some(new[&label]));
    data.classes = used.into_iter().map(name).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_the_same_hash_are_two_classes() {
        let mut names = Names::default();
        assert_eq!(["sea", "forest", "sea", "forest"].map(|name| names.number_of(7, name)), [0, 1, 0, 1]);
        assert!(names.iter().eq(["sea", "forest"]));
    }
}
