//! Every class of many rows at once: N × K numbers, row after row. For a few of very many classes, [`Model::top`] needs far less memory.

use rayon::prelude::*;

use crate::data::{Row, Rows};
use crate::error::Result;
use crate::forest::Search;
use crate::math::log_sum_exp;
use crate::model::{Model, Weights};
use crate::solve::in_pool;

impl Model {
    /// The scores f_k = w_k·x + b_k of all classes; a forest, which has none, gives log probabilities.
    pub fn scores(&self, rows: Rows<'_>, threads: usize) -> Result<Vec<f64>> {
        let Weights::Linear(linear) = &self.weights else { return self.log_probabilities(rows, threads) };
        let classes = self.classes();
        let mut out = vec![0.0; rows.len() * classes];
        in_pool(threads, || {
            let of_row = |scores: &mut Vec<f32>, (n, out): (usize, &mut [f64])| {
                linear.scores(rows.row(n), scores);
                out.iter_mut().zip(&*scores).for_each(|(out, &score)| *out = score.into());
            };
            out.par_chunks_mut(classes).enumerate().for_each_init(|| vec![0.0; classes], of_row);
            Ok(())
        })?;
        Ok(out)
    }

    /// log p(k | x) of all classes. Of a forest whose rows had several classes, the logarithm of the probability to be one of them.
    pub fn log_probabilities(&self, rows: Rows<'_>, threads: usize) -> Result<Vec<f64>> {
        match &self.weights {
            Weights::Linear(_) => {
                let mut out = self.scores(rows, threads)?;
                in_pool(threads, || {
                    out.par_chunks_mut(self.classes()).for_each(|scores| {
                        let total = log_sum_exp(scores.iter().copied());
                        scores.iter_mut().for_each(|score| *score -= total);
                    });
                    Ok(())
                })?;
                Ok(out)
            }
            Weights::Forest(forest) => {
                let classes = self.classes();
                let mut out = vec![0.0; rows.len() * classes];
                let rows: Vec<Row<'_>> = rows.iter(0..rows.len()).collect();
                in_pool(threads, || {
                    let together = forest.together(rows.len(), Search::All);
                    let pieces = rows.par_chunks(together).zip(out.par_chunks_mut(together * classes));
                    pieces.for_each(|(rows, out)| {
                        let sights = forest.look(rows, Search::All);
                        let logs = sights.iter().zip(out.chunks_mut(classes));
                        logs.for_each(|(sight, out)| forest.log_probabilities(sight, out));
                    });
                    Ok(())
                })?;
                Ok(out)
            }
        }
    }
}
