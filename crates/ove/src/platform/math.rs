//! Numerical kernels.
//!
//! Scalar functions never overflow and need no clamp, because they only take exponentials of non-positive numbers.
//! Vector kernels add in a fixed order and without fused multiply-add, so SSE2, AVX2 and NEON give the same bits.

use crate::platform::elementary::{exp, ln, ln_1p};
use std::iter::Sum;
use std::ops::{Add, AddAssign};

pub(crate) use crate::platform::simd::vectorised;

/// log(1 + eˣ) and its derivative σ(x), from one exponential.
///
/// ```text
/// log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|)        σ(x) = 1 / (1 + e⁻ˣ)
/// ```
#[inline]
pub fn softplus_sigmoid(x: f64) -> (f64, f64) {
    let e = exp(-x.abs());
    let sigmoid = if x >= 0.0 { 1.0 } else { e } / (1.0 + e);
    (x.max(0.0) + ln_1p(e), sigmoid)
}

/// log Σ eˣ, shifted by the maximum of x.
pub fn log_sum_exp(xs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = xs.clone().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return largest;
    }
    largest + ln(xs.map(|x| exp(x - largest)).sum::<f64>())
}

vectorised! {
    /// Replaces non-positive numbers by their exponentials, with a relative error below 3·10⁻⁷.
    ///
    /// eˣ = 2ⁿ e^r with |r| ≤ ½ log 2, and a polynomial for e^r. Numbers below −87, the range of 32-bit floats, become
    /// e⁻⁸⁷.
    pub fn exp_all(xs: &mut [f32]) {
        /// log 2 in two parts: n times the first is exact.
        const LOG_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
        /// Adding this rounds to an integer, which then occupies the lowest bits.
        const ROUND: f32 = 12_582_912.0;
        for x in xs {
            let clamped = x.max(-87.0);
            let rounded = clamped * std::f32::consts::LOG2_E + ROUND;
            let n = rounded - ROUND;
            let r = clamped - n * LOG_2[0] - n * LOG_2[1];
            let power = ((((r * (1.0 / 720.0) + 1.0 / 120.0) * r + 1.0 / 24.0) * r + 1.0 / 6.0) * r + 0.5) * r * r + r + 1.0;
            *x = power * f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
        }
    }
}

vectorised! {
    /// Replaces numbers x ≤ 0 by −a |x|^b, with a relative error below 10⁻⁵.
    ///
    /// ln |x| = e log 2 + ln m with m from √½ to √2, and a polynomial for ln m; then the exponential as in [`exp_all`].
    pub fn scaled_powers(xs: &mut [f32], a: f32, b: f32) {
        const LOG_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
        const ROUND: f32 = 12_582_912.0;
        for x in xs {
            let bits = x.abs().max(f32::MIN_POSITIVE).to_bits();
            // Relative to √½, so that m is near 1.
            let shifted = bits.wrapping_sub(0x3f35_04f3);
            let e = (shifted as i32 >> 23) as f32;
            let m = f32::from_bits((shifted & 0x007f_ffff) + 0x3f35_04f3) - 1.0;
            let p = (((0.070_376_84 * m - 0.115_146_1) * m + 0.116_769_99) * m - 0.124_201_41) * m + 0.142_493_23;
            let p = (((p * m - 0.166_680_58) * m + 0.200_007_14) * m - 0.249_999_94) * m + 0.333_333_3;
            let log = p * m * m * m - 0.5 * m * m + m + e * LOG_2[1] + e * LOG_2[0];
            let clamped = (b * log).clamp(-80.0, 80.0);
            let rounded = clamped * std::f32::consts::LOG2_E + ROUND;
            let n = rounded - ROUND;
            let r = clamped - n * LOG_2[0] - n * LOG_2[1];
            let exp = ((((r * (1.0 / 720.0) + 1.0 / 120.0) * r + 1.0 / 24.0) * r + 1.0 / 6.0) * r + 0.5) * r * r + r + 1.0;
            let power = exp * f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
            *x = if *x == 0.0 { 0.0 } else { -a * power };
        }
    }
}

vectorised! {
    /// Returns the maximum, −∞ for an empty slice.
    pub fn max_all(xs: &[f32]) -> f32 {
        let (lanes, rest) = xs.as_chunks::<8>();
        let mut largest = [f32::NEG_INFINITY; 8];
        for lane in lanes {
            for (largest, &x) in largest.iter_mut().zip(lane) {
                *largest = largest.max(x);
            }
        }
        rest.iter().chain(&largest).copied().fold(f32::NEG_INFINITY, f32::max)
    }
}

/// Σ log(1 + r·x) for x from 0 to 1 and r up to e³⁰⁰.
///
/// Factors are multiplied in eight lanes, as many at a time as cannot overflow, and one logarithm is taken per product.
pub fn sum_log_1p(r: f64, xs: &[f64]) -> f64 {
    let run = (700.0 / ln_1p(r)).clamp(1.0, 64.0) as usize;
    sum_log_of_runs(r, xs, run)
}

vectorised! {
    fn sum_log_of_runs(r: f64, xs: &[f64], run: usize) -> f64 {
        let mut sum = 0.0;
        for xs in xs.chunks(8 * run) {
            let mut products = [1.0; 8];
            let (lanes, rest) = xs.as_chunks::<8>();
            for xs in lanes.iter().map(|lane| lane.as_slice()).chain([rest]) {
                for (product, x) in products.iter_mut().zip(xs) {
                    *product *= 1.0 + r * x;
                }
            }
            sum += products.iter().map(|product| ln(*product)).sum::<f64>();
        }
        sum
    }
}

vectorised! {
    /// Adds a·(row r of the table) to `out` for each term (r, a). The table's rows are as long as `out`.
    ///
    /// Sixteen sums at a time stay in registers for all terms: iterating over the terms again is cheaper than a load
    /// and a store of each sum per term.
    pub fn add_rows(table: &[f64], terms: impl Iterator<Item = (usize, f64)> + Clone, out: &mut [f64]) {
        let width = out.len();
        // Blocks of 16 columns, and a last one of at most 31.
        let last = if width < 32 { 0 } else { width / 16 * 16 - 16 };
        let (wide, rest) = out.split_at_mut(last);
        for (i, sums) in wide.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            add_columns(table, width, i * 16, terms.clone(), sums);
        }
        /// One copy of the loop per possible width of the last block, so that its sums stay in registers.
        macro_rules! last {
            ($($n:literal)*) => {
                match rest.len() {
                    $($n => add_columns::<$n>(table, width, last, terms, rest.try_into().expect("of this length")),)*
                    _ => {}
                }
            };
        }
        last!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    }
}

/// Σ x_d w_d over the entries of a sparse row, in four sums, so that an addition need not wait for the one before it.
#[inline]
pub fn sparse_dot(indices: &[u32], values: &[f32], weight: impl Fn(u32) -> f32) -> f32 {
    let ((four_indices, indices), (four_values, values)) = (indices.as_chunks::<4>(), values.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (indices, values) in four_indices.iter().zip(four_values) {
        for lane in 0..4 {
            sums[lane] += values[lane] * weight(indices[lane]);
        }
    }
    let rest: f32 = indices.iter().zip(values).map(|(&d, &x)| x * weight(d)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

vectorised! {
    /// The inner product of two vectors.
    pub fn product(a: &[f32], b: &[f32]) -> f32 {
        lanes(a, b, |a, b| a * b)
    }
}

vectorised! {
    /// The inner products of a vector with the rows of a table.
    pub fn products(table: &[f32], vector: &[f32], out: &mut [f32]) {
        for (out, row) in out.iter_mut().zip(table.chunks_exact(vector.len())) {
            *out = lanes(vector, row, |a, b| a * b);
        }
    }
}

vectorised! {
    /// Adds a multiple of a vector to `out`.
    pub fn add_scaled(out: &mut [f32], factor: f32, vector: &[f32]) {
        for (out, number) in out.iter_mut().zip(vector) {
            *out += factor * number;
        }
    }
}

/// Σ term(aᵢ, bᵢ) in eight lanes, for use within `vectorised` functions.
#[inline(always)]
pub fn lanes<A: Copy, B: Copy, S>(a: &[A], b: &[B], term: impl Fn(A, B) -> S) -> S
where
    S: Copy + Default + AddAssign + Add<Output = S> + Sum,
{
    let ((a8, a_rest), (b8, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [S::default(); 8];
    for (a, b) in a8.iter().zip(b8) {
        for lane in 0..8 {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    let rest: S = a_rest.iter().zip(b_rest).map(|(&a, &b)| term(a, b)).sum();
    sums.into_iter().sum::<S>() + rest
}

/// [`add_rows`] for the `N` columns that start at `from`.
#[inline(always)]
fn add_columns<const N: usize>(
    table: &[f64],
    width: usize,
    from: usize,
    terms: impl Iterator<Item = (usize, f64)>,
    out: &mut [f64; N],
) {
    let mut sums = *out;
    for (row, a) in terms {
        let start = row * width + from;
        let columns: &[f64; N] = table[start..start + N].try_into().expect("N columns");
        for (sum, x) in sums.iter_mut().zip(columns) {
            *sum += a * x;
        }
    }
    *out = sums;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_of_many_are_those_of_each() {
        let mut xs: Vec<f32> =
            (0..=87_000).map(|n| -n as f32 / 1000.0).chain([-1e-9, -90.0, f32::NEG_INFINITY]).collect();
        let exact: Vec<f64> = xs.iter().map(|&x| f64::from(x.max(-87.0)).exp()).collect();
        exp_all(&mut xs);
        for (found, exact) in xs.into_iter().zip(exact) {
            assert!((f64::from(found) / exact - 1.0).abs() < 3e-7, "{found} {exact}");
        }
    }

    /// log(1 + eˣ) and σ(x) to 17 digits, from 50-digit arithmetic.
    #[test]
    fn softplus_and_sigmoid_match_high_precision_values() {
        for (x, softplus, sigmoid) in [
            (-1e4, 0.0, 0.0),
            (-700.0, 9.859_676_543_759_77e-305, 9.859_676_543_759_77e-305),
            (-40.0, 4.248_354_255_291_589e-18, 4.248_354_255_291_589e-18),
            (-1.0, 0.313_261_687_518_222_8, 0.268_941_421_369_995_1),
            (0.0, std::f64::consts::LN_2, 0.5),
            (1e-9, 0.693_147_181_059_945_3, 0.500_000_000_25),
            (1.0, 1.313_261_687_518_222_8, 0.731_058_578_630_004_9),
            (20.0, 20.000_000_002_061_153, 0.999_999_997_938_846_3),
            (1e4, 1e4, 1.0),
        ] {
            let (p, s) = softplus_sigmoid(x);
            assert!((p - softplus).abs() <= 4e-16 * softplus, "softplus({x}) = {p:e}, not {softplus:e}");
            assert!((s - sigmoid).abs() <= 4e-16 * sigmoid, "sigmoid({x}) = {s:e}, not {sigmoid:e}");
        }
    }

    #[test]
    fn the_largest_is_found_in_any_lane() {
        assert_eq!(max_all(&[]), f32::NEG_INFINITY);
        for count in 1..40 {
            for at in 0..count {
                let xs: Vec<f32> = (0..count).map(|n| if n == at { 2.0 } else { -(n as f32) }).collect();
                assert_eq!(max_all(&xs), 2.0, "{at} of {count}");
            }
        }
    }

    #[test]
    fn log_sum_exp_shifts_by_its_own_largest() {
        assert_eq!(log_sum_exp([1000.0, 1000.0].into_iter()), 1000.0 + std::f64::consts::LN_2);
        assert_eq!(log_sum_exp([-1e4, 0.0].into_iter()), 0.0);
        assert_eq!(log_sum_exp(std::iter::empty()), f64::NEG_INFINITY);
    }

    #[test]
    fn many_logarithms_at_once_match_one_by_one() {
        for count in [0, 1, 7, 8, 9, 130, 1000] {
            let xs: Vec<f64> = (0..count).map(|i| (-f64::from(i % 50)).exp()).collect();
            for log_r in [-800.0, -3.0, 0.0, 5.0, 40.0, 300.0] {
                let sum = sum_log_1p(f64::exp(log_r), &xs);
                let expected: f64 = xs.iter().map(|x| softplus_sigmoid(log_r + x.ln()).0).sum();
                assert!(
                    (sum - expected).abs() <= 1e-13 * (1.0 + expected),
                    "{count} at {log_r}: {sum}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn rows_add_up_whatever_their_width() {
        for width in [1, 3, 15, 16, 20, 31, 32, 33, 53, 64] {
            let table: Vec<f64> = (0..5 * width).map(|i| (i as f64 * 0.37).sin()).collect();
            let terms = [(3, 0.5), (0, -2.0), (3, 1.25), (4, 1e-3)];
            let mut out = vec![1.0; width];
            add_rows(&table, terms.into_iter(), &mut out);
            for (column, sum) in out.into_iter().enumerate() {
                let expected = terms.iter().fold(1.0, |sum, (row, a)| sum + a * table[row * width + column]);
                assert_eq!(sum, expected, "column {column} of {width}");
            }
        }
    }
}
