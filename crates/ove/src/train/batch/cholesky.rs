//! Cholesky decomposition A = LLᵀ of a symmetric positive definite matrix, and A⁻¹r.
//!
//! Triangles are packed: row i is `at(i)..at(i + 1)` and ends with the diagonal. Both substitutions run along rows.

use crate::platform::math::{lanes, vectorised};

/// The start of row i of a packed triangle; the size of a triangle of i rows.
pub(super) fn at(i: usize) -> usize {
    i * (i + 1) / 2
}

vectorised! {
    /// Overwrites the lower triangle of A with L: Lᵢⱼ = (Aᵢⱼ − Σ_{m < j} Lᵢₘ Lⱼₘ)/Lⱼⱼ.
    pub(super) fn factorise(triangle: &mut [f64], n: usize) {
        for i in 0..n {
            let (above, row) = triangle.split_at_mut(at(i));
            for j in 0..i {
                let other = &above[at(j)..at(j + 1)];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            // After rounding, a pivot may not be positive if the row is nearly a linear combination of others; then a
            // small one is used.
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            row[i] = pivot.max(1e-12 * row[i]).sqrt();
        }
    }
}

vectorised! {
    /// Overwrites r with (LLᵀ)⁻¹r.
    pub(super) fn solve(triangle: &[f64], r: &mut [f64]) {
        let n = r.len();
        for i in 0..n {
            let row = &triangle[at(i)..at(i + 1)];
            r[i] = (r[i] - dot(&row[..i], &r[..i])) / row[i];
        }
        for i in (0..n).rev() {
            let row = &triangle[at(i)..at(i + 1)];
            let (before, rest) = r.split_at_mut(i);
            rest[0] /= row[i];
            for (r, l) in before.iter_mut().zip(row) {
                *r -= rest[0] * l;
            }
        }
    }
}

/// Σ aᵢ bᵢ.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    lanes(a, b, |a, b| a * b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A = MMᵀ + I times A⁻¹r is r.
    #[test]
    fn a_times_its_inverse_gives_the_vector_back() {
        let mut random = crate::platform::random::Stream::of(&[3]);
        for n in [1, 2, 9, 40] {
            let m: Vec<f64> = (0..n * n).map(|_| random.normal()).collect();
            let a = |i: usize, j: usize| {
                (0..n).map(|l| m[i * n + l] * m[j * n + l]).sum::<f64>() + if i == j { 1.0 } else { 0.0 }
            };
            let mut triangle: Vec<f64> =
                (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| a(i, j)).collect();
            let r: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let mut divided = r.clone();
            factorise(&mut triangle, n);
            solve(&triangle, &mut divided);
            for (i, r) in r.iter().enumerate() {
                let back: f64 = (0..n).map(|j| a(i, j) * divided[j]).sum();
                assert!((back - r).abs() < 1e-9, "{n}: {back} is not {r}");
            }
        }
    }

    /// The second feature equals the first, so that the matrix is singular.
    #[test]
    fn a_singular_matrix_has_a_factor() {
        let mut triangle = [1.0, 1.0, 1.0];
        factorise(&mut triangle, 2);
        let mut r = [1.0, 1.0];
        solve(&triangle, &mut r);
        assert!(r.iter().all(|r| r.is_finite()) && (r[0] + r[1] - 1.0).abs() < 1e-6, "{r:?}");
    }
}
