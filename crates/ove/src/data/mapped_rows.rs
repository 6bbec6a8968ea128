//! Rows that stay on disk: memory-mapped, visited a few chunks at a time, and evicted afterwards.
//!
//! Shuffling all rows would read the disk at random positions. An epoch visits the chunks in random order instead, in
//! windows of a few chunks, and shuffles the rows within a window:
//!
//! ```text
//! chunks  0 1 2 3 4 5 6 7 …   →   5 0 7 2 | 6 3 …        windows of four chunks
//! rows of a window, shuffled  →   one batch after the other
//! ```
//!
//! Rows that fit in one window (64 MB) are visited in the same order as rows in memory, and give the same model.

use std::ops::Range;

use crate::platform::digest::Digest;
use crate::platform::mapped_slice::MappedSlice;
use crate::platform::random::Stream;

/// The approximate size of a chunk: large enough for sequential reads.
const CHUNK_BYTES: usize = 16 << 20;

/// Number of chunks per window.
const WINDOW: usize = 4;

/// Bytes per entry: a feature and its value.
const ENTRY_BYTES: usize = 8;

/// Rows in compressed sparse row (CSR) form, in mapped files.
#[derive(Debug, Clone)]
pub struct MappedRows {
    /// Where the entries of each row start, and where the last ones end.
    pub(crate) offsets: MappedSlice<usize>,
    /// Features.
    pub(crate) indices: MappedSlice<u32>,
    /// Their values.
    pub(crate) values: MappedSlice<f32>,
}

impl MappedRows {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of bytes of all rows.
    pub(crate) fn bytes(&self) -> u64 {
        (self.offsets.len() * size_of::<usize>() + self.indices.len() * ENTRY_BYTES) as u64
    }

    /// The rows of each chunk.
    pub(crate) fn chunks(&self) -> Vec<Range<usize>> {
        let rows = self.len();
        let chunks = (self.indices.len() * ENTRY_BYTES).div_ceil(CHUNK_BYTES).clamp(1, rows.max(1));
        (0..chunks).map(|i| rows * i / chunks..rows * (i + 1) / chunks).collect()
    }

    /// The checksum of all feature indices, if they increase within each row and are below `features`.
    pub(crate) fn check_features(&self, features: usize) -> Result<u64, String> {
        let mut digest = Digest::default();
        for chunk in self.chunks() {
            let entries = self.entries(&chunk);
            digest.update(bytemuck::cast_slice(&self.indices[entries.clone()]));
            for n in chunk {
                let row = &self.indices[self.entries(&(n..n + 1))];
                if !row.is_sorted_by(|a, b| a < b) {
                    return Err(format!("row {n}: features must increase within a row"));
                }
                if let Some(last) = row.last().filter(|&&last| last as usize >= features) {
                    return Err(format!("row {n}: expected a feature below {features}, found {last}"));
                }
            }
            self.indices.evict(entries);
        }
        Ok(digest.finish())
    }

    /// The checksum of all values, if each is finite.
    pub(crate) fn check_values(&self) -> Result<u64, String> {
        let mut digest = Digest::default();
        for chunk in self.chunks() {
            let entries = self.entries(&chunk);
            let values = &self.values[entries.clone()];
            digest.update(bytemuck::cast_slice(values));
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(format!("expected finite values, found {value}"));
            }
            self.values.evict(entries);
        }
        Ok(digest.finish())
    }

    /// The range of the entries of some rows.
    fn entries(&self, rows: &Range<usize>) -> Range<usize> {
        self.offsets[rows.start]..self.offsets[rows.end]
    }

    /// Evicts some rows from memory; the next access reads them from disk again.
    pub(crate) fn evict(&self, rows: Range<usize>) {
        let entries = self.entries(&rows);
        self.indices.evict(entries.clone());
        self.values.evict(entries);
    }
}

/// The order in which an epoch visits the rows.
pub(crate) struct Windows {
    /// The chunks of each window, and where its rows end in the order.
    windows: Vec<(Vec<Range<usize>>, usize)>,
    /// Number of windows that were evicted.
    left: usize,
}

impl Windows {
    /// Whether these chunks need windows: the rows of a single window are shuffled as rows in memory are.
    pub fn are_needed(chunks: &[Range<usize>]) -> bool {
        chunks.len() > WINDOW
    }

    /// Fills `order` with the rows of an epoch, shuffled by `key`.
    pub fn shuffle<I: Iterator<Item = u32>>(
        mut chunks: Vec<Range<usize>>,
        key: &[u64],
        order: &mut Vec<u32>,
        rows_of: impl Fn(Range<usize>) -> I,
    ) -> Self {
        let mut random = Stream::of(key);
        random.shuffle(&mut chunks);
        order.clear();
        let mut windows = Vec::new();
        for window in chunks.chunks(WINDOW) {
            let start = order.len();
            window.iter().for_each(|rows| order.extend(rows_of(rows.clone())));
            random.shuffle(&mut order[start..]);
            windows.push((window.to_vec(), order.len()));
        }
        Windows { windows, left: 0 }
    }

    /// Evicts the windows whose rows are all among the first `rows` of the order.
    pub fn passed(&mut self, mapped: &MappedRows, rows: usize) {
        while let Some((chunks, _)) = self.windows.get(self.left).filter(|(_, end)| *end <= rows) {
            chunks.iter().for_each(|rows| mapped.evict(rows.clone()));
            self.left += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_has_every_row_once_and_few_chunks_at_a_time() {
        let chunks: Vec<_> = (0..10).map(|i| 7 * i..7 * (i + 1)).collect();
        let (mut order, mut other) = (Vec::new(), Vec::new());
        let rows = |rows: Range<usize>| rows.start as u32..rows.end as u32;
        let windows = Windows::shuffle(chunks.clone(), &[1, 2], &mut order, rows);
        Windows::shuffle(chunks, &[1, 3], &mut other, rows);
        assert_ne!(order, other);
        let mut start = 0;
        for (chunks, end) in &windows.windows {
            let window = &order[start..*end];
            assert!(window.iter().all(|&row| chunks.iter().any(|chunk| chunk.contains(&(row as usize)))));
            assert!(!window.is_sorted());
            start = *end;
        }
        order.sort_unstable();
        assert_eq!(order, (0..70).collect::<Vec<u32>>());
    }
}
