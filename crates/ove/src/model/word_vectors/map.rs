//! A map of words in the plane: the two principal components of their vectors.
//!
//! ```text
//! X      the vectors at length one, minus their mean, a row per word
//! XXᵀ = Σ_i λ_i q_i q_iᵀ        places of the words: (√λ₁ q₁, √λ₂ q₂)
//! ```
//!
//! No other map onto the plane by inner products keeps more of the squared distances. XXᵀ has as many rows as there are
//! words, of which a map has few; Jacobi's rotations find its eigenvectors.

use super::WordVectors;
use crate::error::Result;

/// Sweeps of rotations at most; some ten reach the precision of the numbers.
const SWEEPS: usize = 60;

impl WordVectors {
    /// The places of words on a map of them, the larger differences along the first axis.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if one of them has no vector.
    pub fn map(&self, words: &[&str]) -> Result<Vec<[f64; 2]>> {
        let units: Vec<Vec<f32>> = words.iter().map(|word| self.unit(word)).collect::<Result<_>>()?;
        Ok(principal(&units))
    }
}

/// The first two principal components of some vectors.
fn principal(vectors: &[Vec<f32>]) -> Vec<[f64; 2]> {
    let count = vectors.len();
    let rank = vectors.first().map_or(0, Vec::len);
    let mean: Vec<f64> =
        (0..rank).map(|i| vectors.iter().map(|vector| f64::from(vector[i])).sum::<f64>() / count as f64).collect();
    let centred: Vec<Vec<f64>> =
        vectors.iter().map(|vector| vector.iter().zip(&mean).map(|(&x, mean)| f64::from(x) - mean).collect()).collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let gram: Vec<Vec<f64>> = centred.iter().map(|a| centred.iter().map(|b| product(a, b)).collect()).collect();
    let (values, vectors) = eigen(gram);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let mut places = vec![[0.0; 2]; count];
    for (axis, &at) in order.iter().take(2).enumerate() {
        let length = values[at].max(0.0).sqrt();
        // The sign of an eigenvector is free: the largest number is positive.
        let largest =
            (0..count).fold(0.0, |most: f64, n| if vectors[n][at].abs() > most.abs() { vectors[n][at] } else { most });
        for (n, place) in places.iter_mut().enumerate() {
            place[axis] = vectors[n][at] * length * largest.signum();
        }
    }
    places
}

/// The eigenvalues of a symmetric matrix, and its eigenvectors as columns.
fn eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut q: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let trace: f64 = (0..n).map(|i| a[i][i].abs()).sum();
    for _ in 0..SWEEPS {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        if off.sqrt() <= 1e-14 * trace {
            break;
        }
        for i in 0..n {
            for j in i + 1..n {
                if a[i][j] == 0.0 {
                    continue;
                }
                // The rotation that makes a_ij zero.
                let theta = (a[j][j] - a[i][i]) / (2.0 * a[i][j]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                let turn = |x: &mut f64, y: &mut f64| (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                for row in a.iter_mut().chain(&mut q) {
                    let (left, right) = row.split_at_mut(j);
                    turn(&mut left[i], &mut right[0]);
                }
                let (above, below) = a.split_at_mut(j);
                above[i].iter_mut().zip(&mut below[0]).for_each(|(x, y)| turn(x, y));
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), q)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Stream;

    fn some(count: usize, rank: usize) -> Vec<Vec<f32>> {
        let mut random = Stream::of(&[12]);
        (0..count).map(|_| (0..rank).map(|i| random.normal() as f32 / (1.0 + i as f32)).collect()).collect()
    }

    #[test]
    fn eigenvectors_make_the_matrix_again() {
        let vectors = some(13, 13);
        let matrix: Vec<Vec<f64>> =
            (0..13).map(|i| (0..13).map(|j| f64::from(vectors[i][j] + vectors[j][i])).collect()).collect();
        let (values, q) = eigen(matrix.clone());
        for i in 0..13 {
            for j in 0..13 {
                let again: f64 = (0..13).map(|k| values[k] * q[i][k] * q[j][k]).sum();
                let unit: f64 = (0..13).map(|k| q[k][i] * q[k][j]).sum();
                assert!((again - matrix[i][j]).abs() < 1e-12 && (unit - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    /// What lies in a plane keeps all its distances; otherwise no direction has more variance than the first axis.
    #[test]
    fn a_map_keeps_what_a_plane_can() {
        let flat: Vec<Vec<f32>> = some(9, 2).iter().map(|v| vec![v[0], v[1], v[0] + v[1], 2.0, v[0] - v[1]]).collect();
        let places = principal(&flat);
        let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let wide = |vector: &[f32]| vector.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        for i in 0..9 {
            for j in 0..9 {
                let expected = squared(&wide(&flat[i]), &wide(&flat[j]));
                assert!((squared(&places[i], &places[j]) - expected).abs() < 1e-5);
            }
        }
        let vectors = some(20, 6);
        let of_axis = |axis: usize| principal(&vectors).iter().map(|place| place[axis] * place[axis]).sum::<f64>();
        assert!(of_axis(0) >= of_axis(1));
        let mut random = Stream::of(&[13]);
        for _ in 0..200 {
            let direction: Vec<f64> = (0..6).map(|_| random.normal()).collect();
            let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
            let along: Vec<f64> = vectors
                .iter()
                .map(|v| v.iter().zip(&direction).map(|(&x, d)| f64::from(x) * d).sum::<f64>() / length)
                .collect();
            let mean = along.iter().sum::<f64>() / 20.0;
            assert!(along.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() <= of_axis(0) + 1e-9);
        }
    }

    #[test]
    fn few_or_equal_words_have_places() {
        assert!(principal(&[]).is_empty());
        assert_eq!(principal(&some(1, 3)), [[0.0; 2]]);
        assert!(principal(&vec![vec![0.5f32; 4]; 3]).iter().flatten().all(|x| x.abs() < 1e-6));
    }
}
