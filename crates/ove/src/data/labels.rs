//! The classes of each row: one or several.

use std::ops::Index;

/// Rows with more labels than this are sorted to find repeated ones. Searching the labels so far is faster for short
/// rows, takes about as long at this length (some 30 µs), and is quadratic for long ones.
const LONG: usize = 500;

/// The labels of many rows: row `n` has the distinct classes `labels[n]`, in the order of the file.
///
/// A row may have none: its class is not known, or the model was not trained on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    offsets: Vec<usize>,
    classes: Vec<u32>,
    /// Number of labels per row that were dropped since they have no class; empty if none were.
    unseen: Vec<u32>,
}

impl Default for Labels {
    fn default() -> Self {
        Labels { offsets: vec![0], classes: Vec::new(), unseen: Vec::new() }
    }
}

impl Labels {
    /// One class per row.
    pub fn single(classes: Vec<u32>) -> Self {
        Labels { offsets: (0..=classes.len()).collect(), classes, unseen: Vec::new() }
    }

    /// From offsets and the labels of all rows; `None` if the two do not match.
    pub(crate) fn from_parts(offsets: Vec<usize>, classes: Vec<u32>) -> Option<Self> {
        let fit = offsets.first() == Some(&0) && offsets.last() == Some(&classes.len()) && offsets.is_sorted();
        fit.then_some(Labels { offsets, classes, unseen: Vec::new() })
    }

    /// The offset of the labels of each row, and the end of the last.
    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of labels of all rows.
    pub fn total(&self) -> usize {
        self.classes.len()
    }

    /// The labels of all rows, one after the other.
    pub fn all(&self) -> &[u32] {
        &self.classes
    }

    /// Number of labels of row `n` that were dropped since the model does not have them.
    pub fn unseen(&self, n: usize) -> usize {
        self.unseen.get(n).map_or(0, |&count| count as usize)
    }

    /// Reserves room for `rows` more rows with one label each.
    pub fn reserve(&mut self, rows: usize) {
        self.offsets.reserve_exact(rows);
        self.classes.reserve_exact(rows);
    }

    /// Adds a row with these classes, in this order; repeated classes are dropped.
    pub fn push(&mut self, classes: &[u32]) {
        if classes.len() > LONG {
            self.push_distinct(classes);
        } else {
            let start = self.classes.len();
            for &class in classes {
                if !self.classes[start..].contains(&class) {
                    self.classes.push(class);
                }
            }
        }
        self.offsets.push(self.classes.len());
    }

    /// Adds the classes that no earlier place of the list has, in O(n log n).
    #[cold]
    fn push_distinct(&mut self, classes: &[u32]) {
        let mut places: Vec<(u32, usize)> = classes.iter().copied().zip(0..).collect();
        places.sort_unstable();
        places.dedup_by_key(|(class, _)| *class);
        places.sort_unstable_by_key(|&(_, place)| place);
        self.classes.extend(places.iter().map(|(class, _)| class));
    }

    /// Adds the rows of `others`, with each class replaced by `number(class)`, which must be injective.
    pub(crate) fn append(&mut self, others: &Labels, number: impl Fn(u32) -> u32) {
        let start = self.classes.len();
        self.classes.extend(others.classes.iter().map(|&class| number(class)));
        self.offsets.extend(others.offsets[1..].iter().map(|offset| start + offset));
    }

    /// The labels of each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.offsets.windows(2).map(|pair| &self.classes[pair[0]..pair[1]])
    }

    /// Keeps only the first label of each row.
    pub fn keep_first(&mut self) {
        let mut first = Labels::default();
        first.reserve(self.len());
        self.iter().for_each(|labels| first.push(&labels[..labels.len().min(1)]));
        *self = first;
    }

    /// Replaces each class by `new(class)`; labels without a new class are dropped and counted as
    /// [`unseen`](Labels::unseen).
    pub fn renumber(&mut self, new: impl Fn(u32) -> Option<u32>) {
        let mut labels = Labels::default();
        labels.reserve(self.len());
        let (mut kept, mut unseen) = (Vec::new(), Vec::with_capacity(self.len()));
        for (n, old) in self.iter().enumerate() {
            kept.clear();
            kept.extend(old.iter().filter_map(|&class| new(class)));
            unseen.push((self.unseen(n) + old.len() - kept.len()) as u32);
            labels.push(&kept);
        }
        if unseen.iter().any(|&count| count > 0) {
            labels.unseen = unseen;
        }
        *self = labels;
    }
}

impl Index<usize> for Labels {
    type Output = [u32];

    /// The classes of row `n`, in the order of the file.
    #[inline]
    fn index(&self, n: usize) -> &[u32] {
        &self.classes[self.offsets[n]..self.offsets[n + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(rows: &[&[u32]]) -> Labels {
        let mut labels = Labels::default();
        rows.iter().for_each(|row| labels.push(row));
        labels
    }

    #[test]
    fn a_class_counts_once_per_row() {
        let labels = labels(&[&[3, 1, 3], &[], &[1]]);
        assert_eq!((labels.len(), labels.total()), (3, 3));
        assert_eq!(labels.iter().collect::<Vec<_>>(), [&[3, 1][..], &[], &[1]]);
    }

    #[test]
    fn long_rows_keep_the_first_of_each_class_too() {
        for length in [LONG, LONG + 1, 4000] {
            let row: Vec<u32> = (0..length as u64).map(|n| (n * n * 7919 % 83) as u32).collect();
            let mut expected = Vec::new();
            row.iter().for_each(|class| {
                if !expected.contains(class) {
                    expected.push(*class)
                }
            });
            assert!(expected.len() < row.len());
            assert_eq!(labels(&[&[5], &row, &row[..2]]).iter().collect::<Vec<_>>(), [&[5][..], &expected, &row[..2]]);
        }
    }

    /// A search per label would take about a minute.
    #[test]
    fn a_row_with_a_million_labels_takes_seconds_at_most() {
        let row: Vec<u32> = (0..1_000_000).rev().chain(0..1000).collect();
        let start = std::time::Instant::now();
        let mut labels = labels(&[&row]);
        labels.renumber(|class| Some(class + 1));
        assert_eq!((labels.total(), labels[0][0]), (1_000_000, 1_000_000));
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }

    #[test]
    fn first_labels_alone() {
        let mut labels = labels(&[&[3, 1], &[], &[1]]);
        labels.keep_first();
        assert_eq!(labels.iter().collect::<Vec<_>>(), [&[3][..], &[], &[1]]);
    }

    #[test]
    fn classes_without_a_number_are_counted() {
        let mut labels = labels(&[&[3, 1, 2], &[], &[3]]);
        labels.renumber(|class| (class != 3).then_some(class + 10));
        assert_eq!(labels.iter().collect::<Vec<_>>(), [&[11, 12][..], &[], &[]]);
        assert_eq!([0, 1, 2].map(|n| labels.unseen(n)), [1, 0, 1]);
        labels.renumber(|class| (class != 11).then_some(class));
        assert_eq!([0, 1, 2].map(|n| labels.unseen(n)), [2, 0, 1]);
    }
}
