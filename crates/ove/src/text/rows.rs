//! Sparse rows from the features of texts: counted, weighted and scaled to unit length.

use crate::data::{Dataset, Kind};
use crate::platform::elementary::ln;
use crate::platform::memory::reserve;

use super::Weights;

/// Consecutive rows.
pub(super) struct Piece {
    /// The end of each row.
    ends: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl Piece {
    /// No rows, with room for `rows`.
    pub fn with_capacity(rows: usize) -> Self {
        Piece { ends: Vec::with_capacity(rows), indices: Vec::new(), values: Vec::new() }
    }

    /// Adds a row with the count of each feature in the list, and clears the list.
    pub fn push(&mut self, features: &mut Vec<u32>) {
        features.sort_unstable();
        for same in features.chunk_by(|a, b| a == b) {
            self.indices.push(same[0]);
            self.values.push(same.len() as f32);
        }
        self.ends.push(self.indices.len());
        features.clear();
    }

    /// The features of all rows.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Converts counts to weights.
    pub fn weigh(&mut self, weights: Weights<'_>) {
        let mut start = 0;
        for &end in &self.ends {
            let (indices, values) = (&self.indices[start..end], &mut self.values[start..end]);
            weigh(indices, values, weights);
            match weights.kinds {
                [] => scale(values),
                kinds => scale_kinds(indices, values, kinds, weights.share),
            }
            start = end;
        }
    }
}

/// Converts the counts of one row to weights.
fn weigh(indices: &[u32], values: &mut [f32], weights: Weights<'_>) {
    for (&feature, value) in indices.iter().zip(values.iter_mut()) {
        if weights.sublinear_tf && *value > 1.0 {
            *value = 1.0 + ln(f64::from(*value)) as f32;
        }
        if let Some(idf) = weights.idf.get(feature as usize) {
            *value *= idf;
        }
    }
}

/// Scales a row to unit length.
fn scale(values: &mut [f32]) {
    let square: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    let scale = 1.0 / square.sqrt();
    values.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
}

/// Scales the terms of each kind to the same length, so that a row with all kinds has unit length.
fn scale_kinds(indices: &[u32], values: &mut [f32], kinds: &[Kind], share: f64) {
    let mut squares = [0.0; Kind::ALL.len()];
    for (&feature, &value) in indices.iter().zip(&*values) {
        squares[kinds[feature as usize] as usize] += f64::from(value) * f64::from(value);
    }
    let scales = squares.map(|square| (share / square).sqrt());
    for (&feature, value) in indices.iter().zip(values) {
        *value = (f64::from(*value) * scales[kinds[feature as usize] as usize]) as f32;
    }
}

/// Joins all pieces into one data set.
pub(super) fn join(pieces: &[Piece], features: usize) -> Dataset {
    let mut offsets = vec![0];
    for piece in pieces {
        let start = offsets[offsets.len() - 1];
        offsets.extend(piece.ends.iter().map(|end| start + end));
    }
    let (indices, values) =
        rayon::join(|| gather(pieces, |piece| &piece.indices), || gather(pieces, |piece| &piece.values));
    Dataset::without_labels(features, offsets, indices, values)
}

/// Concatenates a part of each piece.
fn gather<T: Copy>(pieces: &[Piece], of: impl Fn(&Piece) -> &[T]) -> Vec<T> {
    let mut all = Vec::new();
    reserve(&mut all, pieces.iter().map(|piece| of(piece).len()).sum());
    pieces.iter().for_each(|piece| all.extend_from_slice(of(piece)));
    all
}
