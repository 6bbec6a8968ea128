//! The bound of the second stage over all classes, beside the exact softmax of its flat scores.
//!
//! In training a label is compared with its rivals R alone. Here the other classes count too, each in a factor of its
//! own, which makes it a bound on the exact log probability:
//!
//! ```text
//! merged        − log(1 + Σ_{m ∈ R} e^{f_m − f_y}) − Σ_{m ∉ R} log(1 + e^{f_m − f_y})        eq. 6
//! one-vs-each   − Σ_m log(1 + e^{f_m − f_y})                                                 eq. 4
//! ```

use rayon::prelude::*;

use super::{Search, Trees};
use crate::bound::Objective;
use crate::bound::negatives::Negatives;
use crate::bound::values::Values;
use crate::data::Row;
use crate::scores::Bound;

/// Maximum number of rows, at equal distances, and of their scores.
const ROWS: usize = 500;
const SCORES: usize = 1 << 24;

impl Trees {
    /// The bound and the exact value, summed over the labels of all rows and estimated from some of them; `None`
    /// without a second stage.
    pub(super) fn flat_bound(
        &self,
        rows: &[Row<'_>],
        labels: &(dyn Fn(usize) -> Vec<u32> + Sync),
        objective: Objective,
    ) -> Option<Bound> {
        let second = self.second_stage.as_ref()?;
        let most = ROWS.min(SCORES / self.classes).max(1);
        let chosen: Vec<usize> = (0..rows.len()).step_by(rows.len().div_ceil(most).max(1)).collect();
        let known: Vec<Row<'_>> = chosen.iter().map(|&n| rows[n].below(self.features)).collect();
        let candidates = self.search_batches(&known, Search::Nearest, |_, found, scratch| {
            found.iter().map(|found| self.votes(found, second.mix().rivals, scratch)).collect()
        });
        let of_class = |dense: &mut Vec<f32>, class: u32| {
            let mut scores = Vec::with_capacity(known.len());
            second.scores_of_class(class, known.iter().copied(), dense, |score| scores.push(score));
            scores
        };
        let by_class: Vec<Vec<f32>> = (0..self.classes as u32).into_par_iter().map_init(Vec::new, of_class).collect();
        let of_row = |at: usize| {
            let own = labels(chosen[at]);
            let mut scores: Vec<f32> = by_class.iter().map(|scores| scores[at]).collect();
            let of_labels: Vec<f64> = own.iter().map(|&label| f64::from(scores[label as usize])).collect();
            own.iter().for_each(|&label| scores[label as usize] = f32::NEG_INFINITY);
            let rivals = candidates[at].iter().map(|vote| vote.class).filter(|class| !own.contains(class));
            let mut merged: Vec<u32> = if objective == Objective::Merged { rivals.collect() } else { Vec::new() };
            merged.sort_unstable();
            let mut negatives = Negatives::default();
            negatives.fill(&scores);
            let exact: f64 = of_labels.iter().map(|&label| negatives.log_probability(label)).sum();
            (Values::new(objective, merged).of_labels(&of_labels, &scores, &mut negatives), exact)
        };
        // Collected first, so that the order of the sums does not depend on the threads.
        let values: Vec<(f64, f64)> = (0..chosen.len()).into_par_iter().map(of_row).collect();
        let all = rows.len() as f64 / chosen.len().max(1) as f64;
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| all * values.iter().map(of).sum::<f64>();
        Some(Bound { value: sum(&|row| row.0), exact: sum(&|row| row.1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::platform::random::Stream;
    use crate::scores::trees::second_stage::{Mix, SecondStage};
    use crate::scores::trees::tests::trees_of;

    const CLASSES: usize = 30;

    fn log_1p_exp(x: f64) -> f64 {
        (1.0 + x.exp()).ln()
    }

    /// By the equations, class by class, with random weights.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a reference for our own")]
    fn bound_and_exact_value_by_their_equations() {
        let mut random = Stream::of(&[4]);
        let mut data = Dataset::new(CLASSES, (0..CLASSES).map(|k| k.to_string()).collect());
        for n in 0..300 {
            let mut labels = vec![n as u32 % CLASSES as u32, random.below(CLASSES as u64) as u32];
            labels.sort_unstable();
            labels.dedup();
            labels.iter().for_each(|&label| data.push_entry(label, 1.0));
            data.end_row(&labels);
        }
        let mut trees = trees_of(&data);
        let weights = |_| (0..CLASSES as u32).map(|feature| (feature, random.normal() as f32)).collect();
        let classes: Vec<Vec<(u32, f32)>> = (0..CLASSES).map(weights).collect();
        let mix = Mix { rivals: 4, kappa: 1.0, sharpness: 1.0 };
        assert!(trees.flat_bound(&[], &|_| Vec::new(), Objective::Merged).is_none());
        trees.second_stage = SecondStage::of_classes(CLASSES, &classes, mix);
        let second = trees.second_stage.clone().unwrap();

        let rows: Vec<Row<'_>> = (0..data.len()).map(|n| data.rows().row(n)).collect();
        let found = trees.search(&rows, Search::Nearest);
        for objective in [Objective::Merged, Objective::OneVsEach] {
            let (mut value, mut exact) = (0.0, 0.0);
            for (n, row) in rows.iter().enumerate() {
                let best: Vec<u32> =
                    trees.votes(&found[n], 4, &mut Default::default()).iter().map(|vote| vote.class).collect();
                let score = |class: u32| {
                    let entries = row.indices.iter().zip(row.values);
                    entries.map(|(&feature, &x)| f64::from(second.weight(feature, class) * x)).sum::<f64>()
                };
                let labels = &data.labels[n];
                let rest: Vec<u32> = (0..CLASSES as u32).filter(|class| !labels.contains(class)).collect();
                for &label in labels {
                    let d = |class: &u32| score(*class) - score(label);
                    exact -= (1.0 + rest.iter().map(|class| d(class).exp()).sum::<f64>()).ln();
                    let (rivals, others): (Vec<u32>, Vec<u32>) =
                        rest.iter().partition(|class| objective == Objective::Merged && best.contains(class));
                    value -= (1.0 + rivals.iter().map(|class| d(class).exp()).sum::<f64>()).ln();
                    value -= others.iter().map(|class| log_1p_exp(d(class))).sum::<f64>();
                }
            }
            let found = trees.flat_bound(&rows, &|n| data.labels[n].to_vec(), objective).unwrap();
            assert!((found.value - value).abs() < 1e-5 * value.abs(), "{objective}: {found:?} {value}");
            assert!((found.exact - exact).abs() < 1e-5 * exact.abs(), "{objective}: {found:?} {exact}");
            assert!(found.value < found.exact);
        }
    }
}
