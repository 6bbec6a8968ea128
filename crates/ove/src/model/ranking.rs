//! Ranking metrics: how many of the items that users chose later are among their top-k recommendations.
//!
//! For a user with the test items T and the list i₁ … i_k, with h_r = 1 if i_r is in T:
//!
//! ```text
//! recall     Σ_r h_r / |T|                    ndcg   Σ_r h_r / log₂(r + 1)  over its value for min(k, |T|) hits in front
//! precision  Σ_r h_r / k                      map    Σ_r h_r (h_1 + … + h_r) / r  /  min(k, |T|)
//! coverage   the share of all items that are recommended to somebody
//! ```
//!
//! Each but the last is a mean over the users with test items, given with its standard error.

use serde_json::{Map, Value};

use crate::platform::elementary::ln;

/// The metrics of the first k recommendations.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RankingAt {
    /// Length of the lists.
    pub k: usize,
    /// The share of a user's test items that are in the list.
    pub recall: Mean,
    /// Hits, weighted by rank, relative to the best possible list.
    pub ndcg: Mean,
    /// The share of the list that are test items.
    pub precision: Mean,
    /// Average precision.
    pub map: Mean,
    /// The share of all items that are in some list.
    pub coverage: f64,
}

/// A mean over users and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
}

/// The metrics of lists of several lengths.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Ranking {
    /// Number of users with test items.
    pub users: usize,
    /// The metrics by length.
    pub at: Vec<RankingAt>,
}

impl Ranking {
    /// Measures lists (best first) against the test items (in increasing order) of the same users.
    ///
    /// Users without test items do not count.
    pub fn measure<'a>(
        lists: impl Iterator<Item = (&'a [u32], &'a [u32])> + Clone,
        items: usize,
        lengths: &[usize],
    ) -> Ranking {
        let with_items = lists.filter(|(_, test)| !test.is_empty());
        let users = with_items.clone().count();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let discounts: Vec<f64> = (0..longest).map(|rank| std::f64::consts::LN_2 / ln(rank as f64 + 2.0)).collect();
        let at = lengths.iter().map(|&k| {
            let (mut sums, mut squares) = ([0.0; 4], [0.0; 4]);
            let mut seen = vec![false; items];
            for (list, test) in with_items.clone() {
                let mut hits = 0.0;
                let (mut gain, mut average) = (0.0, 0.0);
                for (rank, item) in list.iter().take(k).enumerate() {
                    seen[*item as usize] = true;
                    if test.binary_search(item).is_ok() {
                        hits += 1.0;
                        gain += discounts[rank];
                        average += hits / (rank + 1) as f64;
                    }
                }
                let possible = k.min(test.len());
                let best: f64 = discounts[..possible].iter().sum();
                let of_user = [hits / test.len() as f64, gain / best, hits / k as f64, average / possible as f64];
                for (n, value) in of_user.into_iter().enumerate() {
                    sums[n] += value;
                    squares[n] += value * value;
                }
            }
            let count = users as f64;
            let [recall, ndcg, precision, map] = [0, 1, 2, 3].map(|n| {
                let value = sums[n] / count.max(1.0);
                let variance = (squares[n] / count.max(1.0) - value * value).max(0.0) / (count - 1.0).max(1.0);
                Mean { value, se: variance.sqrt() }
            });
            let coverage = seen.iter().filter(|&&seen| seen).count() as f64 / items.max(1) as f64;
            RankingAt { k, recall, ndcg, precision, map, coverage }
        });
        Ranking { users, at: at.collect() }
    }

    /// The metrics by name, such as `recall_at_20` and `recall_at_20_se`.
    pub fn by_name(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("users".into(), self.users.into());
        for RankingAt { k, recall, ndcg, precision, map: average, coverage } in &self.at {
            for (name, mean) in [("recall", recall), ("ndcg", ndcg), ("precision", precision), ("map", average)] {
                map.insert(format!("{name}_at_{k}"), mean.value.into());
                map.insert(format!("{name}_at_{k}_se"), mean.se.into());
            }
            map.insert(format!("coverage_at_{k}"), (*coverage).into());
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two users by hand: hits at ranks 1 and 3 of three test items, and at rank 2 of one.
    #[test]
    fn metrics_are_those_computed_by_hand() {
        let lists: [(&[u32], &[u32]); 3] = [(&[4, 0, 2, 9], &[1, 2, 4]), (&[3, 5], &[5]), (&[0, 1, 2], &[])];
        let ranking = Ranking::measure(lists.into_iter(), 10, &[3, 1]);
        assert_eq!(ranking.users, 2);
        let at = ranking.at[0];
        let log = |x: f64| 1.0 / x.log2();
        let first = (log(2.0) + log(4.0)) / (log(2.0) + log(3.0) + log(4.0));
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        close(at.recall.value, (2.0 / 3.0 + 1.0) / 2.0);
        close(at.ndcg.value, (first + log(3.0)) / 2.0);
        close(at.precision.value, (2.0 / 3.0 + 1.0 / 3.0) / 2.0);
        close(at.map.value, ((1.0 + 2.0 / 3.0) / 3.0 + 0.5) / 2.0);
        close(at.coverage, 0.5);
        // The standard error of two numbers is half their difference.
        close(at.recall.se, (1.0 - 2.0 / 3.0) / 2.0);
        close(ranking.at[1].recall.value, (1.0 / 3.0) / 2.0);
        assert_eq!(ranking.by_name()["recall_at_1"], ranking.at[1].recall.value);
    }
}
