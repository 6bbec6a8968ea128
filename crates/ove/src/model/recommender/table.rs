//! The largest inner products of some vectors with all rows of a table.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::Recommendation;
use super::co_occurrence::Addends;
use crate::platform::math::products;
use crate::platform::matrix::{PANEL, multiply, pack_rows_as_columns};
use crate::platform::pool;
use crate::platform::top_k::Largest;

/// Vectors whose products a task computes at a time.
const VECTORS: usize = 16;

/// Rows whose products a task computes at a time, so that they stay in the second-level cache.
const ROWS: usize = 2048;

/// The rows of a table as columns, made when several vectors are asked for.
pub(super) type Columns = OnceLock<Vec<f32>>;

/// What is added to the products of a vector, by its number, with some rows.
pub(super) type Added<'a> = dyn Fn(usize) -> Vec<Addends<'a>> + Sync + 'a;

/// Some vectors, and the rows that are left out for each.
type Part<'a> = (&'a [&'a [f32]], &'a [&'a [u32]]);

/// A table of rows that are as long as the vectors.
pub(super) struct Table<'a> {
    pub rows: &'a [f32],
    pub columns: &'a Columns,
}

impl Table<'_> {
    /// The rows with the largest products per vector, the largest first; `excluded` are lists of rows in increasing
    /// order that are left out; `added` is added to the products.
    pub fn top(
        &self,
        vectors: &[&[f32]],
        excluded: &[&[u32]],
        count: usize,
        added: &Added<'_>,
    ) -> Vec<Vec<Recommendation>> {
        let Some(rank) = vectors.first().map(|vector| vector.len()) else { return Vec::new() };
        let all = self.rows.len() / rank;
        assert!(vectors.len() == excluded.len() && vectors.iter().all(|vector| vector.len() == rank));
        assert_eq!(all * rank, self.rows.len());
        if vectors.len() < PANEL / 4 {
            let tops = vectors.iter().zip(excluded).enumerate().map(|(number, (vector, excluded))| {
                let mut scores = vec![0.0; all];
                products(self.rows, vector, &mut scores);
                added(number).iter_mut().for_each(|addends| addends.add(0, &mut scores));
                let mut largest = Largest::new(count);
                exclude(&mut scores, 0, excluded);
                largest.offer(&scores, 0);
                listed(largest)
            });
            return tops.collect();
        }
        let columns = self.columns.get_or_init(|| {
            let mut columns = vec![0.0; all.div_ceil(PANEL) * PANEL * rank];
            pack_rows_as_columns(self.rows, rank, &mut columns);
            columns
        });
        let of_vectors = |(task, (vectors, excluded)): (usize, Part<'_>)| -> Vec<Vec<Recommendation>> {
            let hidden: Vec<f32> = vectors.concat();
            let mut addends: Vec<Vec<Addends<'_>>> = (0..vectors.len()).map(|n| added(task * VECTORS + n)).collect();
            let mut largest = vec![Largest::new(count); vectors.len()];
            let mut scores = vec![0.0; vectors.len() * ROWS];
            for (block, columns) in columns.chunks(ROWS * rank).enumerate() {
                let (first, width) = (block * ROWS, columns.len() / rank);
                let own = width.min(all - first);
                let scores = &mut scores[..vectors.len() * width];
                multiply(&hidden, rank, rank, columns, scores);
                for (scores, addends) in scores.chunks_mut(width).zip(&mut addends) {
                    addends.iter_mut().for_each(|addends| addends.add(first as u32, &mut scores[..own]));
                }
                for ((scores, largest), excluded) in scores.chunks_mut(width).zip(&mut largest).zip(excluded) {
                    exclude(&mut scores[..own], first as u32, excluded);
                    largest.offer(&scores[..own], first as u32);
                }
            }
            largest.into_iter().map(listed).collect()
        };
        let tasks = vectors.par_chunks(VECTORS).zip(excluded.par_chunks(VECTORS)).enumerate();
        pool::run(|| tasks.flat_map_iter(of_vectors).collect())
    }
}

pub(super) fn listed(largest: Largest) -> Vec<Recommendation> {
    largest.finish().into_iter().map(|(score, item)| Recommendation { item, score }).collect()
}

/// Sets the scores of rows to −∞; `first` is the row of the first score.
fn exclude(scores: &mut [f32], first: u32, excluded: &[u32]) {
    let from = excluded.partition_point(|&row| row < first);
    for &row in &excluded[from..] {
        match scores.get_mut((row - first) as usize) {
            Some(score) => *score = f32::NEG_INFINITY,
            None => return,
        }
    }
}
