//! The preconditioner of L-BFGS: an estimate B of the Hessian that is cheap to invert.
//!
//! The diagonal block of class k in the Hessian is H_k = M_k + λI with M_k = Xᵀdiag(h_k)X, where h_nk is the negative
//! second derivative of row n with respect to the score of class k. The blocks between classes remove what these have
//! in common: adding a constant to all scores changes nothing. With S = Σ M_k and M the M_k stacked, B is
//!
//! ```text
//! B = diag(H_1, …, H_K) − θ·M S⁻¹ Mᵀ
//! ```
//!
//! and each M_k is approximated in one of two ways:
//!
//! - **Many features** (words): the diagonal. With c_k = Σ_n x² h_nk for each feature,
//!
//!   ```text
//!   z_k = r_k/(c_k + λ)            (B⁻¹r)_k = z_k + θ·c_k/(c_k + λ) · Σ c z / (Σ c − θ·Σ c²/(c + λ))
//!   ```
//!
//!   On 20 newsgroups, conjugate gradients at the maximum take 230 steps with this B and 390 with θ = 0.
//! - **Few features** (pixels): the full matrix, by Cholesky factors. Adjacent pixels are strongly correlated, which a
//!   diagonal cannot represent. From M_k = H_k − λI,
//!
//!   ```text
//!   z_k = H_k⁻¹r_k     u = T⁻¹ Σ (r_k − λz_k)     (B⁻¹r)_k = z_k + u − λH_k⁻¹u     T = (1/θ − 1)·S + λK·I
//!   ```
//!
//!   where T omits −λ²·Σ H_k⁻¹, which is small if the curvature is large, so that B stays positive definite. A sample
//!   of the rows is enough for this estimate. It is used if the factors have at most about [`FACTORS`] numbers and cost
//!   no more than [`PASSES`] evaluations, which excludes very many classes.
//!
//! This takes one number per weight, and the factors if there are any, twice while they are computed.

use rayon::prelude::*;

use super::cholesky::{at, factorise, solve};
use super::{Block, FEATURES_PER_TASK, FullSum, terms};
use crate::platform::math::vectorised;

/// Maximum size of the factors of all classes (128 MB, and one more class for T).
const FACTORS: usize = 1 << 24;

/// Maximum cost of the factors, in evaluations of the objective.
const PASSES: usize = 25;

/// Number of sampled rows per feature for a factor.
const ROWS_PER_FEATURE: usize = 8;

/// θ, the share of the common part that is removed. Below 1, B stays positive definite without a penalty.
const JOINED: f64 = 0.9;

/// Number of steps between two updates of the diagonal.
const REFRESH: usize = 20;

impl FullSum<'_> {
    /// Whether each class has a factor, by its cost relative to an evaluation: (D + 1)³/3 products, and one per pair of
    /// entries of each sampled row, compared with two per entry of X.
    fn has_factors(&self) -> bool {
        let (rows, features) = (self.examples.len(), self.features() + 1);
        if self.classes().saturating_mul(features).saturating_mul(features) / 2 > FACTORS {
            return false;
        }
        let entries = self.entries() + rows;
        let pairs = (entries / rows).pow(2) / 2 * (rows / self.stride());
        features.pow(3) / 3 + pairs <= PASSES * 2 * entries
    }

    /// The factors are computed from one row in this many.
    fn stride(&self) -> usize {
        (self.examples.len() / (ROWS_PER_FEATURE * (self.features() + 1))).max(1)
    }

    /// Number of curvature values: c for each weight, then the factors class by class, then that of T.
    pub(super) fn numbers_of_curvature(&self) -> usize {
        let (features, classes) = (self.features() + 1, self.classes());
        classes * features + if self.has_factors() { (classes + 1) * at(features) } else { 0 }
    }

    /// Whether the curvature is updated before a step: a diagonal every few steps, factors before the steps 0, 5, 15,
    /// 35, 75 and so on, since they cost more and change less and less.
    pub(super) fn curvature_is_due(&self, step: usize) -> bool {
        match self.has_factors() {
            true => step.is_multiple_of(5) && (step / 5 + 1).is_power_of_two(),
            false => step.is_multiple_of(REFRESH),
        }
    }

    /// Computes c, and the factors if there are any.
    pub(super) fn curvature(&self, weights: &[f64], curvature: &mut [f64]) {
        let (diagonal, factors) = curvature.split_at_mut(weights.len());
        let features = weights.len() / self.classes();
        let mut products = vec![0.0; if factors.is_empty() { 0 } else { self.classes() * at(features) }];
        for (b, block) in self.blocks.iter().enumerate() {
            let second = self.second_derivatives(block, weights);
            self.add_products(block, &second, diagonal, b == 0, |x| x * x);
            if !products.is_empty() {
                self.add_pairs(block, &second, &mut products);
            }
        }
        if !products.is_empty() {
            self.factorise(diagonal, &products, factors);
        }
    }

    /// Overwrites r with B⁻¹r.
    pub(super) fn divide_by_curvature(&self, curvature: &[f64], r: &mut [f64]) {
        let (diagonal, factors) = curvature.split_at(r.len());
        match factors {
            [] => self.divide_by_feature(diagonal, r),
            factors => self.divide_by_class(factors, r),
        }
    }

    fn divide_by_feature(&self, diagonal: &[f64], r: &mut [f64]) {
        let classes = self.classes();
        let task = FEATURES_PER_TASK * 8 * classes;
        let tasks = r.par_chunks_mut(task).zip(diagonal.par_chunks(task)).enumerate();
        tasks.for_each(|(number, (r, c))| {
            for (i, (r, c)) in r.chunks_mut(classes).zip(c.chunks(classes)).enumerate() {
                divide_joined(c, self.penalty_of(number * FEATURES_PER_TASK * 8 + i), r);
            }
        });
    }

    fn divide_by_class(&self, factors: &[f64], r: &mut [f64]) {
        let classes = self.classes();
        let features = r.len() / classes;
        let (factors, joined) = factors.split_at(classes * at(features));
        let penalty: Vec<f64> = (0..features).map(|i| self.penalty_of(i)).collect();
        let z: Vec<Vec<f64>> = (factors.par_chunks(at(features)).enumerate())
            .map(|(class, factor)| solution(factor, r[class..].iter().step_by(classes).copied()))
            .collect();
        let v = (0..features).map(|i| (0..classes).map(|k| r[i * classes + k] - penalty[i] * z[k][i]).sum());
        let u = solution(joined, v);
        let penalised = || u.iter().zip(&penalty).map(|(u, penalty)| u * penalty);
        let back: Vec<Vec<f64>> =
            factors.par_chunks(at(features)).map(|factor| solution(factor, penalised())).collect();
        for (i, r) in r.iter_mut().enumerate() {
            let (feature, class) = (i / classes, i % classes);
            *r = z[class][feature] + u[feature] - back[class][feature];
        }
    }

    /// λ, or a tiny number without a penalty, so that a weight without curvature has a finite inverse.
    fn penalty_of(&self, feature: usize) -> f64 {
        let penalised = feature < self.features() || self.penalty_on_bias;
        if penalised { self.l2.max(1e-12) } else { 1e-12 }
    }

    /// h of a block's rows. A negative with derivative −p has h = p(1 − p), for a probability as well as a sigmoid. The
    /// label gets the sum of these, which is exact for one-vs-each and close for the others; several labels share it by
    /// their weights.
    fn second_derivatives(&self, block: &Block, weights: &[f64]) -> Vec<f64> {
        let classes = self.classes();
        let (mut second, _) = self.derivatives(block, weights);
        second.par_chunks_mut(classes).enumerate().for_each_init(Vec::new, |weights, (n, derivatives)| {
            let labels = &self.examples.labels[self.examples.id(block.first + n)];
            self.label_weights.of_row(block.first + n, labels, weights);
            let weight = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            labels.iter().for_each(|&label| derivatives[label as usize] = 0.0);
            for derivative in &mut *derivatives {
                *derivative = -*derivative * (1.0 + *derivative / weight);
            }
            let sum: f64 = derivatives.iter().sum();
            for (&label, label_weight) in labels.iter().zip(weights) {
                derivatives[label as usize] = sum * (*label_weight / weight);
            }
        });
        second
    }

    /// Adds Σ_n xᵢ xⱼ h_nk over the sampled rows, for each pair j ≤ i and, adjacent, each class.
    fn add_pairs(&self, block: &Block, second: &[f64], products: &mut [f64]) {
        let stride = self.stride();
        let (classes, bias) = (self.classes(), self.features());
        rows_of_triangle(products, classes).into_par_iter().enumerate().with_max_len(1).for_each(|(i, products)| {
            let sampled =
                block.entries_of(i).iter().filter(|(n, _)| (block.first + *n as usize).is_multiple_of(stride));
            for &(n, x) in sampled {
                let second = &second[n as usize * classes..][..classes];
                let row = terms(self.row(block.first + n as usize)).chain([(bias, 1.0)]);
                let others = row.take_while(|&(j, _)| j <= i).map(|(j, other)| (j, f64::from(x) * f64::from(other)));
                add_to_rows(second, others, products);
            }
        });
    }

    /// Computes the factor of each class from the products of the sampled rows, and that of T. The diagonal is known
    /// from all rows.
    fn factorise(&self, diagonal: &[f64], products: &[f64], factors: &mut [f64]) {
        let stride = self.stride() as f64;
        let classes = self.classes();
        let features = diagonal.len() / classes;
        factors.fill(0.0);
        let (of_classes, joined) = factors.split_at_mut(classes * at(features));
        of_classes.par_chunks_mut(at(features)).enumerate().for_each(|(class, triangle)| {
            for (number, products) in triangle.iter_mut().zip(products[class..].iter().step_by(classes)) {
                *number = stride * products;
            }
            for i in 0..features {
                let own = &mut triangle[at(i) + i];
                *own = own.max(diagonal[i * classes + class]);
            }
        });
        for triangle in of_classes.chunks(at(features)) {
            joined.iter_mut().zip(triangle).for_each(|(joined, number)| *joined += (1.0 / JOINED - 1.0) * number);
        }
        factors.par_chunks_mut(at(features)).enumerate().with_max_len(1).for_each(|(class, triangle)| {
            let times = if class < classes { 1.0 } else { classes as f64 };
            (0..features).for_each(|i| triangle[at(i) + i] += times * self.penalty_of(i));
            factorise(triangle, features);
        });
    }
}

/// A⁻¹r from the factor of A.
fn solution(factor: &[f64], r: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut r: Vec<f64> = r.collect();
    solve(factor, &mut r);
    r
}

/// The rows of a packed triangle with several numbers per element.
fn rows_of_triangle(mut triangle: &mut [f64], numbers: usize) -> Vec<&mut [f64]> {
    let mut rows = Vec::new();
    while !triangle.is_empty() {
        let row;
        (row, triangle) = triangle.split_at_mut((rows.len() + 1) * numbers);
        rows.push(row);
    }
    rows
}

vectorised! {
    /// Adds a·x to row j of the table for each term (j, a).
    fn add_to_rows(x: &[f64], terms: impl Iterator<Item = (usize, f64)>, table: &mut [f64]) {
        let (x4, x_rest) = x.as_chunks::<4>();
        for (j, a) in terms {
            let (sums4, sums_rest) = table[j * x.len()..][..x.len()].as_chunks_mut::<4>();
            for (sums, x) in sums4.iter_mut().zip(x4) {
                for lane in 0..4 {
                    sums[lane] += a * x[lane];
                }
            }
            sums_rest.iter_mut().zip(x_rest).for_each(|(sum, x)| *sum += a * x);
        }
    }
}

vectorised! {
    /// Overwrites r with B_d⁻¹r for one feature.
    fn divide_joined(c: &[f64], penalty: f64, r: &mut [f64]) {
        let (mut total, mut own, mut c_z) = (0.0, 0.0, 0.0);
        for (r, &c) in r.iter_mut().zip(c) {
            let inverse = 1.0 / (c + penalty);
            *r *= inverse;
            total += c;
            own += c * c * inverse;
            c_z += c * *r;
        }
        let joined = JOINED * c_z / (total - JOINED * own).max(f64::MIN_POSITIVE);
        for (r, &c) in r.iter_mut().zip(c) {
            *r += joined * c / (c + penalty);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Examples, Labels, Rows};
    use crate::options::TrainOptions;

    /// B_d written out, times B_d⁻¹r, is r: with a penalty, without one, and for a feature that no row has.
    #[test]
    fn a_feature_times_its_inverse_gives_the_vector_back() {
        let r = [1.0, -2.0, 0.5];
        for (c, penalty) in [([3.0, 1.0, 2.0], 1.0), ([3.0, 1.0, 2.0], 1e-12), ([0.0; 3], 1.0), ([5.0, 5.0, 0.0], 1.0)]
        {
            let mut divided = r;
            divide_joined(&c, penalty, &mut divided);
            let total: f64 = c.iter().sum();
            let joined: f64 = c.iter().zip(divided).map(|(c, z)| c * z).sum::<f64>();
            for k in 0..3 {
                let share = if total > 0.0 { JOINED * c[k] * joined / total } else { 0.0 };
                let back = (c[k] + penalty) * divided[k] - share;
                assert!((back - r[k]).abs() < 1e-9, "{c:?} {penalty}: {back} is not {}", r[k]);
            }
        }
    }

    /// Two classes and weights of zero have h = ¼, so that M = ¼·XᵀX for both; with one feature and the bias, all
    /// matrices are 2 × 2.
    #[test]
    fn factors_divide_as_the_formula_written_out() {
        let (offsets, indices, values) = ([0, 1, 2, 3, 4], [0; 4], [1.0, 2.0, -1.0, 3.0]);
        let labels = Labels::single(vec![0, 1, 0, 1]);
        let rows = Rows::new(1, &offsets, &indices, &values).unwrap();
        let settings = serde_json::json!({ "solver": "batch", "objective": "softmax", "l2": 0.5 });
        let options = TrainOptions::from_settings(&settings).unwrap();
        let full = FullSum::new(Examples::new(rows, &labels, &[], 2), &options);
        let mut curvature = vec![f64::NAN; full.numbers_of_curvature()];
        full.curvature(&[0.0; 4], &mut curvature);
        assert_eq!(curvature.len(), 4 + 3 * 3, "a number per weight and three triangles");

        let (m, penalty) = ([15.0 / 4.0, 5.0 / 4.0, 4.0 / 4.0], 0.5);
        let plus = |scale: f64, add: f64| [scale * m[0] + add, scale * m[1], scale * m[2] + add];
        let times = |a: [f64; 3], x: [f64; 2]| [a[0] * x[0] + a[1] * x[1], a[1] * x[0] + a[2] * x[1]];
        let over = |x: [f64; 2], a: [f64; 3]| {
            let determinant = a[0] * a[2] - a[1] * a[1];
            times([a[2] / determinant, -a[1] / determinant, a[0] / determinant], x)
        };
        let (h, t) = (plus(1.0, penalty), plus(2.0 * (1.0 / JOINED - 1.0), 2.0 * penalty));
        let r = [[1.0, -2.0], [0.5, 3.0]];
        let z = r.map(|r| over(r, h));
        let v = std::array::from_fn(|i| (0..2).map(|k| r[k][i] - penalty * z[k][i]).sum());
        let common = over(times(plus(1.0, 0.0), over(v, t)), h);

        let mut divided = [r[0][0], r[1][0], r[0][1], r[1][1]];
        full.divide_by_curvature(&curvature, &mut divided);
        for (at, found) in divided.iter().enumerate() {
            let expected = z[at % 2][at / 2] + common[at / 2];
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }
}
