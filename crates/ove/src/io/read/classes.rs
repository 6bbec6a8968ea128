//! MappedSlice the classes that occur in a file, in an order that does not depend on the order of its rows.
//!
//! Classes that are numbers are sorted as numbers, names by name:
//!
//! ```text
//! 10 2 -1  →  -1 2 10        10 2 x  →  10 2 x
//! ```

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use rayon::prelude::*;

use crate::data::Dataset;
use crate::platform::pool;
use crate::text::{Table, hash_of_word};

/// Class names, numbered as they appear; what a name is, its hash says, as for terms.
#[derive(Default)]
pub(crate) struct Names<N> {
    numbers: Table,
    names: Vec<N>,
}

impl<N> Names<N> {
    /// The number of a name.
    #[inline]
    pub fn number<'a>(&mut self, name: &'a str) -> u32
    where
        N: From<&'a str>,
    {
        let next = self.names.len() as u32;
        let number = self.numbers.get_or_insert(hash_of_word(name.as_bytes()), next);
        if number == next {
            self.names.push(name.into());
        }
        number
    }

    /// Each name, by its number.
    pub fn all(&self) -> &[N] {
        &self.names
    }
}

impl<N: AsRef<str> + Into<String> + Ord + Send> Names<N> {
    /// Sorts the names and gives them to `data`, whose labels are numbers from here.
    pub fn finish(self, data: &mut Dataset) {
        let (names, new) = self.sorted();
        data.labels.renumber(|label| Some(new[label as usize]));
        data.classes = names;
    }

    /// The names in order, and the place there of each number from here.
    pub fn sorted(self) -> (Vec<String>, Vec<u32>) {
        let mut names: Vec<(N, u32)> = self.names.into_iter().zip(0..).collect();
        if names.iter().all(|(name, _)| value(name.as_ref()).is_some()) {
            names.sort_by(|(a, _), (b, _)| by_value(a.as_ref(), b.as_ref()));
        } else {
            pool::run(|| names.par_sort_unstable());
        }
        let mut new = vec![0; names.len()];
        for ((_, old), number) in names.iter().zip(0..) {
            new[*old as usize] = number;
        }
        (names.into_iter().map(|(name, _)| name.into()).collect(), new)
    }
}

fn value(name: &str) -> Option<f64> {
    name.parse().ok().filter(|value: &f64| value.is_finite())
}

/// `1` and `1.0` are two classes: equal numbers are sorted by name.
fn by_value(a: &str, b: &str) -> Ordering {
    value(a).partial_cmp(&value(b)).unwrap_or(Ordering::Equal).then_with(|| a.cmp(b))
}

/// Turns labels that are numbers of the file's own, many of them unused, into classes in the order of these numbers.
pub(super) fn from_numbers(data: &mut Dataset, name: impl Fn(u32) -> String) {
    let used: BTreeSet<u32> = data.labels.all().iter().copied().collect();
    let new: HashMap<u32, u32> = used.iter().copied().zip(0..).collect();
    data.labels.renumber(|label| Some(new[&label]));
    data.classes = used.into_iter().map(name).collect();
}
