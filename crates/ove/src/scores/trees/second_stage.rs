//! The second stage: one linear score per class, without a hierarchy, for the trees' best classes of a row.
//!
//! It is trained by the paper's bound with these classes as the rivals of each label (`train::trees::second_stage`),
//! and corrects the votes v of the trees:
//!
//! ```text
//! s(k | x) = a (ln v(k | x) + κ w_k·x)        for the candidates, the `rivals` classes with the most votes
//! ```
//!
//! If rows have one label, the candidates share their votes anew, in proportion to e^s; if rows have several, the votes
//! of a candidate become v e^{κ w_k·x}. Other classes have no score: w_k was trained against the best classes of a row
//! alone. They keep their order and follow the candidates.
//!
//! The weights of a class are adjacent, as bf16, so that they can be used for many rows while they are in a cache:
//!
//! ```text
//! starts    class 0: 0    class 1: 2    …      first weight of each class, and the end of the last
//! features  3      17     17            …      feature of each weight
//! weights   .7     −.4    1.3           …
//! ```

use half::bf16;
use rayon::prelude::*;

use crate::data::Row;
use crate::io::tensors::Tensor;
use crate::platform::elementary::{exp, ln};
use crate::platform::mapped_slice::MappedSlice;
use crate::platform::math::sparse_dot;
use crate::scores::Prediction;
use crate::scores::sparse::Entry;

/// Votes of 0 count as this in a logarithm.
const LEAST: f64 = 1e-30;

/// Cost of a binary search for a feature, in weights of a class that are copied to a dense vector.
const SEARCH_COST: usize = 8;

/// The second stage of trees.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondStage {
    /// Number of features.
    features: usize,
    weights: ClassWeights,
    mix: Mix,
}

/// How the second stage and the votes are combined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// Number of candidates per row.
    pub rivals: usize,
    /// κ: the weight of w_k·x beside the logarithm of the votes.
    pub kappa: f32,
    /// a: the inverse of a temperature, used if rows have one label.
    pub sharpness: f32,
}

/// The arrays of the weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassWeights {
    /// The first weight of each class, and the end of the last.
    pub starts: MappedSlice<u32>,
    /// The feature of each weight, increasing within a class.
    pub features: MappedSlice<u32>,
    /// The weights, as bf16.
    pub weights: MappedSlice<u16>,
}

/// A dense vector with the weights of a class, zero between two uses.
pub(crate) type Dense = Vec<f32>;

impl SecondStage {
    /// From its weights, after a check that they are consistent.
    pub fn new(features: usize, weights: ClassWeights, mix: Mix) -> Result<Self, &'static str> {
        let ClassWeights { starts, features: of_weights, weights: numbers } = &weights;
        let end = starts.last().map_or(0, |&end| end as usize);
        if starts.first() != Some(&0) || !starts.is_sorted() || end != of_weights.len() || end != numbers.len() {
            return Err("a second stage whose classes, features and weights do not match");
        }
        if mix.rivals == 0 || !(mix.kappa.is_finite() && mix.kappa >= 0.0) {
            return Err("a second stage without rivals or with a wrong κ");
        }
        if !(mix.sharpness.is_finite() && mix.sharpness > 0.0) {
            return Err("a second stage with a wrong sharpness");
        }
        let of_class = |range: &[u32]| &of_weights[range[0] as usize..range[1] as usize];
        let are_in_order = |range: &[u32]| {
            let own = of_class(range);
            own.is_sorted_by(|a, b| a < b) && own.last().is_none_or(|&last| (last as usize) < features)
        };
        if !starts.par_windows(2).all(are_in_order) {
            return Err("a second stage whose features do not rise or are not there");
        }
        if !numbers.par_iter().all(|&bits| bf16::from_bits(bits).is_finite()) {
            return Err("a weight that is not finite");
        }
        Ok(SecondStage { features, weights, mix })
    }

    /// From the weights of each class, with increasing features; `None` if there are too many.
    pub fn of_classes(features: usize, classes: &[Vec<(u32, f32)>], mix: Mix) -> Option<Self> {
        let mut starts = vec![0];
        for class in classes {
            starts.push(u32::try_from(starts[starts.len() - 1] as usize + class.len()).ok()?);
        }
        let of_weights: Vec<u32> = classes.iter().flatten().map(|&(feature, _)| feature).collect();
        let weights: Vec<u16> = classes.iter().flatten().map(|&(_, weight)| rounded(weight)).collect();
        let weights = ClassWeights { starts: starts.into(), features: of_weights.into(), weights: weights.into() };
        Some(SecondStage { features, weights, mix })
    }

    /// For more features and classes, which have no weights yet.
    pub(crate) fn grown(&self, features: usize, classes: usize) -> Self {
        let mut starts = self.weights.starts.to_vec();
        starts.resize(classes + 1, starts[starts.len() - 1]);
        SecondStage { features, weights: ClassWeights { starts: starts.into(), ..self.weights.clone() }, mix: self.mix }
    }

    /// The features of a class, each with its weight.
    pub(crate) fn weights_of(&self, class: u32) -> impl Iterator<Item = (u32, f32)> {
        let (features, weights) = self.of_class(class);
        features.iter().zip(weights).map(|(&feature, &bits)| (feature, widen(bits)))
    }

    /// How it is combined with the votes.
    pub fn mix(&self) -> Mix {
        self.mix
    }

    /// The same weights, combined in another way.
    pub fn with_mix(self, mix: Mix) -> Self {
        SecondStage { mix, ..self }
    }

    /// Number of weights.
    pub fn weight_count(&self) -> usize {
        self.weights.weights.len()
    }

    /// Whether all weights are finite.
    pub fn is_finite(&self) -> bool {
        self.weights.weights.iter().all(|&bits| bf16::from_bits(bits).is_finite())
    }

    /// The features of a class, and their weights.
    fn of_class(&self, class: u32) -> (&[u32], &[u16]) {
        let ClassWeights { starts, features, weights } = &self.weights;
        let range = starts[class as usize] as usize..starts[class as usize + 1] as usize;
        (&features[range.clone()], &weights[range])
    }

    /// The weights of a class times κ, which add to those of the trees.
    pub fn each_weight(&self, class: u32, mut visit: impl FnMut(u32, f32)) {
        let (features, weights) = self.of_class(class);
        features.iter().zip(weights).for_each(|(&feature, &bits)| visit(feature, self.mix.kappa * widen(bits)));
    }

    /// The weight of a feature for a class, times κ.
    pub fn weight(&self, feature: u32, class: u32) -> f32 {
        self.mix.kappa * self.plain_weight(feature, class)
    }

    fn plain_weight(&self, feature: u32, class: u32) -> f32 {
        let (features, weights) = self.of_class(class);
        features.binary_search(&feature).map_or(0.0, |at| widen(weights[at]))
    }

    /// Drops the weights below a threshold.
    pub fn pruned(&self, threshold: f32) -> Self {
        let classes = self.weights.starts.len() - 1;
        let of_class = |class: u32| {
            let (features, weights) = self.of_class(class);
            let all = features.iter().zip(weights).map(|(&feature, &bits)| (feature, widen(bits)));
            all.filter(|(_, weight)| weight.abs() >= threshold).collect()
        };
        let kept: Vec<Vec<(u32, f32)>> = (0..classes as u32).into_par_iter().map(of_class).collect();
        SecondStage::of_classes(self.features, &kept, self.mix).expect("no more weights than there were")
    }

    /// w_k·x of some classes of each row, row by row. All features of the rows must be in range.
    ///
    /// Classes are visited one after the other, so that the weights of one are fetched once for all rows.
    pub(crate) fn scores(&self, rows: &[Row<'_>], classes: &[Vec<u32>], dense: &mut Dense) -> Vec<Vec<f32>> {
        let mut order: Vec<(u32, u32, u32)> = Vec::with_capacity(classes.iter().map(Vec::len).sum());
        for (n, classes) in (0..).zip(classes) {
            order.extend((0..).zip(classes).map(|(at, &class)| (class, n, at)));
        }
        order.sort_unstable();
        let mut scores: Vec<Vec<f32>> = classes.iter().map(|classes| vec![0.0; classes.len()]).collect();
        for of_class in order.chunk_by(|a, b| a.0 == b.0) {
            let class = of_class[0].0;
            let of_rows = of_class.iter().map(|&(_, n, _)| rows[n as usize]);
            let mut places = of_class.iter().map(|&(_, n, at)| (n as usize, at as usize));
            self.scores_of_class(class, of_rows, dense, |score| {
                let (n, at) = places.next().expect("a place per row");
                scores[n][at] = score;
            });
        }
        scores
    }

    /// Calls `take` with w_k·x of one class for each row. All features of the rows must be in range.
    pub(crate) fn scores_of_class<'r>(
        &self,
        class: u32,
        rows: impl Iterator<Item = Row<'r>> + Clone,
        dense: &mut Dense,
        mut take: impl FnMut(f32),
    ) {
        let (features, weights) = self.of_class(class);
        let entries: usize = rows.clone().map(|row| row.indices.len()).sum();
        if entries * SEARCH_COST < features.len() {
            for row in rows {
                take(sparse_dot(row.indices, row.values, |feature| self.plain_weight(feature, class)));
            }
            return;
        }
        dense.resize(self.features, 0.0);
        features.iter().zip(weights).for_each(|(&feature, &bits)| dense[feature as usize] = widen(bits));
        for row in rows {
            take(sparse_dot(row.indices, row.values, |feature| dense[feature as usize]));
        }
        features.iter().for_each(|&feature| dense[feature as usize] = 0.0);
    }

    /// Corrects the votes of each row, which are sorted, and sorts them again. `several`: whether rows have several
    /// labels.
    pub(crate) fn correct(&self, rows: &[Row<'_>], votes: &mut [Vec<Prediction>], several: bool, dense: &mut Dense) {
        let rows: Vec<Row<'_>> = rows.iter().map(|row| row.below(self.features)).collect();
        let candidates = |votes: &Vec<Prediction>| votes.iter().take(self.mix.rivals).map(|vote| vote.class).collect();
        let classes: Vec<Vec<u32>> = votes.iter().map(candidates).collect();
        let scores = self.scores(&rows, &classes, dense);
        for (votes, scores) in votes.iter_mut().zip(&scores) {
            self.correct_row(votes, scores, several);
        }
    }

    fn correct_row(&self, votes: &mut [Prediction], scores: &[f32], several: bool) {
        let Mix { kappa, sharpness, .. } = self.mix;
        let (candidates, others) = votes.split_at_mut(scores.len());
        let corrections = || scores.iter().map(|&score| f64::from(kappa) * f64::from(score));
        if several {
            let least = corrections().fold(f64::INFINITY, f64::min);
            let add = |vote: &mut Prediction, correction: f64| {
                vote.probability = exp(ln(vote.probability.max(LEAST)) + correction);
            };
            candidates.iter_mut().zip(corrections()).for_each(|(vote, correction)| add(vote, correction));
            others.iter_mut().for_each(|vote| add(vote, least));
        } else {
            let total: f64 = candidates.iter().map(|vote| vote.probability).sum();
            let score = |(vote, correction): (&Prediction, f64)| {
                f64::from(sharpness) * (ln(vote.probability.max(LEAST)) + correction)
            };
            let sums: Vec<f64> = candidates.iter().zip(corrections()).map(score).collect();
            let largest = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shares: Vec<f64> = sums.iter().map(|sum| exp(sum - largest)).collect();
            let all: f64 = shares.iter().sum();
            candidates.iter_mut().zip(shares).for_each(|(vote, share)| vote.probability = total * (share / all));
        }
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(a.class.cmp(&b.class)));
    }

    /// Its tensors in a model file:
    ///
    /// ```text
    /// second_stage     3            number of rivals, κ and a
    /// class_starts     K + 1        first weight of each class, and the end of the last
    /// class_features   weights      feature of each weight
    /// class_weights    weights      as bf16
    /// ```
    pub(crate) fn tensors(&self) -> Vec<Tensor<'_>> {
        let Mix { rivals, kappa, sharpness } = self.mix;
        let ClassWeights { starts, features, weights } = &self.weights;
        vec![
            Tensor::owned("second_stage", "F32", &[rivals as f32, kappa, sharpness]),
            Tensor::list("class_starts", "U32", starts),
            Tensor::list("class_features", "U32", features),
            Tensor::list("class_weights", "BF16", weights),
        ]
    }
}

/// The nearest bf16; a finite weight stays finite.
fn rounded(weight: f32) -> u16 {
    Entry::new(0, weight).bits()
}

/// The number that 16 bits stand for.
#[inline]
fn widen(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(kappa: f32, sharpness: f32) -> SecondStage {
        let classes = [vec![(0, 1.0), (3, -2.0)], vec![], vec![(1, 0.5)], (0..5).map(|d| (d, 0.25)).collect()];
        SecondStage::of_classes(5, &classes, Mix { rivals: 3, kappa, sharpness }).unwrap()
    }

    fn votes(of: &[(u32, f64)]) -> Vec<Prediction> {
        of.iter().map(|&(class, probability)| Prediction { class, probability }).collect()
    }

    const ROW: Row<'_> = Row { indices: &[0, 1, 3, 9], values: &[1.0, 2.0, 0.5, 7.0] };

    fn corrected(stage: &SecondStage, of: &[(u32, f64)], several: bool) -> Vec<(u32, f64)> {
        let mut rows = [votes(of)];
        stage.correct(&[ROW], &mut rows, several, &mut Vec::new());
        rows[0].iter().map(|vote| (vote.class, vote.probability)).collect()
    }

    fn assert_near(found: &[(u32, f64)], expected: &[(u32, f64)]) {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12, "{found:?}, not {expected:?}");
        }
    }

    /// The scores of the classes 0 to 3 are 0, 0, 1 and .875.
    #[test]
    fn votes_of_several_labels_are_multiplied() {
        let found = corrected(&stage(2.0, 9.0), &[(0, 0.4), (2, 0.3), (3, 0.2), (1, 0.1)], true);
        let (e, f) = (2.0f64.exp(), 1.75f64.exp());
        // The class that is not a candidate has the smallest correction, that of class 0.
        assert_near(&found, &[(2, 0.3 * e), (3, 0.2 * f), (0, 0.4), (1, 0.1)]);
    }

    #[test]
    fn candidates_of_one_label_share_what_they_have() {
        let found = corrected(&stage(2.0, 0.5), &[(0, 0.4), (2, 0.3), (3, 0.2), (1, 0.1)], false);
        let shares = [(2, 0.3f64.sqrt() * 1.0f64.exp()), (3, 0.2f64.sqrt() * 0.875f64.exp()), (0, 0.4f64.sqrt())];
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        let mut expected: Vec<(u32, f64)> = shares.iter().map(|&(class, share)| (class, 0.9 * share / sum)).collect();
        expected.push((1, 0.1));
        assert_near(&found, &expected);
        assert_eq!(corrected(&stage(2.0, 0.5), &[], false), []);
        // Votes of 0 are votes.
        let none = corrected(&stage(2.0, 0.5), &[(0, 0.0), (2, 0.0)], false);
        assert!(none.iter().all(|(_, votes)| *votes == 0.0));
    }

    /// Few rows are scored by searches, many from a dense vector.
    #[test]
    fn scores_are_the_same_for_few_and_many_rows() {
        let weights: Vec<(u32, f32)> = (0..2000).map(|d| (3 * d, (d as f32).sin())).collect();
        let stage = SecondStage::of_classes(6000, &[weights], Mix { rivals: 1, kappa: 1.0, sharpness: 1.0 }).unwrap();
        let indices: Vec<u32> = (0..150).map(|d| 37 * d).collect();
        let values: Vec<f32> = (0..150).map(|d| 1.0 + d as f32).collect();
        let row = Row { indices: &indices, values: &values };
        let mut dense = Vec::new();
        let alone = stage.scores(&[row], &[vec![0]], &mut dense);
        assert!(dense.is_empty(), "one row is searched for");
        let together = stage.scores(&[row; 9], &vec![vec![0]; 9], &mut dense);
        assert!(dense.len() == 6000 && dense.iter().all(|&weight| weight == 0.0));
        assert!(together.iter().all(|scores| *scores == alone[0]));
        let slow: f64 = row.indices.iter().zip(row.values).map(|(&d, &x)| f64::from(stage.weight(d, 0) * x)).sum();
        assert!((slow - f64::from(alone[0][0])).abs() < 1e-3 * slow.abs().max(1.0));
    }

    #[test]
    fn weights_that_do_not_match_are_refused() {
        let good = stage(1.0, 1.0);
        type Change = dyn Fn(&mut Vec<u32>, &mut Vec<u32>, &mut Vec<u16>, &mut Mix);
        let check = |change: &Change| {
            let ClassWeights { starts, features, weights } = &good.weights;
            let (mut starts, mut features, mut weights, mut mix) =
                (starts.to_vec(), features.to_vec(), weights.to_vec(), good.mix);
            change(&mut starts, &mut features, &mut weights, &mut mix);
            let weights = ClassWeights { starts: starts.into(), features: features.into(), weights: weights.into() };
            SecondStage::new(5, weights, mix)
        };
        assert_eq!(check(&|_, _, _, _| {}), Ok(good.clone()));
        let changes: [&Change; 14] = [
            &|s, _, _, _| s[0] = 1,
            &|s, _, _, _| s.swap(1, 3),
            &|s, _, _, _| *s.last_mut().unwrap() += 1,
            &|s, _, _, _| s.clear(),
            &|_, f, _, _| f[1] = 0,
            &|_, f, _, _| *f.last_mut().unwrap() = 5,
            &|_, f, _, _| f.push(4),
            &|_, _, w, _| w[0] = 0x7f80,
            &|_, _, w, _| w.truncate(3),
            &|_, _, _, m| m.rivals = 0,
            &|_, _, _, m| m.kappa = -1.0,
            &|_, _, _, m| m.kappa = f32::NAN,
            &|_, _, _, m| m.sharpness = 0.0,
            &|_, _, _, m| m.sharpness = f32::INFINITY,
        ];
        for (n, change) in changes.into_iter().enumerate() {
            assert!(check(change).is_err(), "change {n}");
        }
    }
}
