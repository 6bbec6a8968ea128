//! Dense rows without their zeros: for images such as MNIST, an evaluation then visits a fifth of the entries.

use crate::data::{Row, Rows};

/// The non-zero entries of rows.
pub(super) struct Nonzero {
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl Nonzero {
    /// Copies the rows if at least half of their entries are zeros; the copy takes no more memory than the rows.
    pub fn of(rows: Rows<'_>) -> Option<Self> {
        if rows.mapped().is_some() {
            return None;
        }
        let mut entries = 0;
        rows.each(|row| entries += row.values.iter().filter(|&&value| value != 0.0).count());
        if 2 * entries > rows.entries() {
            return None;
        }
        let (mut indices, mut values) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        let mut offsets = vec![0];
        rows.each(|row| {
            for (&feature, &value) in row.indices.iter().zip(row.values).filter(|&(_, &value)| value != 0.0) {
                indices.push(feature);
                values.push(value);
            }
            offsets.push(indices.len());
        });
        Some(Nonzero { offsets, indices, values })
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Row `n`.
    pub fn row(&self, n: usize) -> Row<'_> {
        let range = self.offsets[n]..self.offsets[n + 1];
        Row { indices: &self.indices[range.clone()], values: &self.values[range] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_left_out_if_they_are_at_least_half() {
        let indices = [0, 1, 2];
        let values = [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 0.0];
        let nonzero = Nonzero::of(Rows::dense(&indices, &values).unwrap()).unwrap();
        let rows: Vec<_> =
            (0..3).map(|n| nonzero.row(n)).map(|row| (row.indices.to_vec(), row.values.to_vec())).collect();
        assert_eq!(rows, [(vec![1], vec![2.0]), (vec![], vec![]), (vec![0, 1], vec![1.0, 3.0])]);
        assert!(Nonzero::of(Rows::dense(&indices, &[1.0, 0.0, 1.0]).unwrap()).is_none());
    }
}
