//! Elementary functions in our own arithmetic.
//!
//! The C library chooses its code by the processor, with or without fused multiply-add, and the results differ in the
//! last bit. Here every operation is an IEEE 754 addition, multiplication or division, so that the same seed gives the
//! same bits on every processor. `clippy.toml` refuses the functions of the standard library.

use std::f64::consts::{LN_2, LOG2_E, SQRT_2, TAU};

/// log 2 in two parts: an integer below 2²⁰ times the first is exact.
const LN_2_HIGH: f64 = f64::from_bits(LN_2.to_bits() & (!0 << 20));
const LN_2_LOW: f64 = 7.440_617_110_012_397e-11;

/// Adding this rounds to an integer, which then occupies the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// eˣ, within one unit in the last place.
///
/// eˣ = 2ⁿ e^r with |r| ≤ ½ log 2, and the series of e^r up to r¹³.
#[inline]
pub fn exp(x: f64) -> f64 {
    if x.abs() < 708.0 {
        let (power, n) = exp_reduced(x);
        power * f64::from_bits(n.wrapping_add(1023) << 52)
    } else {
        exp_of_extremes(x)
    }
}

/// e^r and n with x = n log 2 + r.
#[inline(always)]
fn exp_reduced(x: f64) -> (f64, u64) {
    let rounded = x * LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let low = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
    let middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40_320.0 + r * (1.0 / 362_880.0));
    let high =
        (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0)) + r2 * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0));
    (1.0 + (r + r2 * (low + r4 * (middle + r4 * high))), rounded.to_bits().wrapping_sub(ROUND.to_bits()))
}

/// Results that are not normal numbers, or close to it.
#[cold]
fn exp_of_extremes(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let (power, n) = exp_reduced(x.clamp(-746.0, 710.0));
    // 2ⁿ in two factors, each a normal number.
    let n = n as i64;
    let two_to = |n: i64| f64::from_bits(((n + 1023) as u64) << 52);
    power * two_to(n / 2) * two_to(n - n / 2)
}

/// log x, within one unit in the last place.
///
/// x = 2ᵏ (1 + f) with √½ ≤ 1 + f < √2, and with s = f / (2 + f):
///
/// ```text
/// log(1 + f) = 2 artanh s = f − (f²/2 − s (f²/2 + R))        R = 2 (s²/3 + s⁴/5 + …), up to s²⁰
/// ```
#[inline]
pub fn ln(x: f64) -> f64 {
    if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&x) {
        return ln_of_extremes(x);
    }
    // The exponent is that of x / √½, so that the rest is within √½ and √2.
    const OFFSET: u64 = 1023 << 52;
    const ROOT: u64 = (SQRT_2 / 2.0).to_bits();
    let bits = x.to_bits().wrapping_add(OFFSET - ROOT);
    let k = (bits >> 52) as i64 - 1023;
    let f = f64::from_bits((bits & ((1 << 52) - 1)) + ROOT) - 1.0;
    let k = k as f64;
    let s = f / (2.0 + f);
    let (z, half) = (s * s, 0.5 * f * f);
    let (z2, z4) = (z * z, (z * z) * (z * z));
    let low = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
    let middle = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
    let high = 2.0 / 19.0 + z * (2.0 / 21.0);
    let r = z * (low + z4 * (middle + z4 * high));
    k * LN_2_HIGH - ((half - (s * (half + r) + k * LN_2_LOW)) - f)
}

/// The logarithm of numbers that are not positive, finite and normal.
#[cold]
fn ln_of_extremes(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x > 0.0 && x < f64::INFINITY {
        ln(x * (1u64 << 54) as f64) - 54.0 * LN_2
    } else if x > 0.0 {
        x
    } else {
        f64::NAN
    }
}

/// log(1 + x) for x ≥ 0, without the rounding of 1 + x.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    if sum == f64::INFINITY {
        return sum;
    }
    let lost = if x < 1.0 { x - (sum - 1.0) } else { 1.0 - (sum - x) };
    ln(sum) + lost / sum
}

/// xʸ for x ≥ 0, with a relative error of a few units in the last place times |y log x|.
#[inline]
pub fn powf(x: f64, y: f64) -> f64 {
    if y == 0.0 { 1.0 } else { exp(y * ln(x)) }
}

/// log₂ x.
pub fn log2(x: f64) -> f64 {
    ln(x) * LOG2_E
}

/// cos 2πu for u from 0 to 1.
pub fn cos_of_turns(u: f64) -> f64 {
    // Quarter turns are taken off exactly; the rest is within an eighth of a turn.
    let quarter = (4.0 * u).round();
    let r = (u - 0.25 * quarter) * TAU;
    let z = r * r;
    // Series of sine and cosine up to r¹⁷ and r¹⁶.
    let series = |first: i32| {
        (0..8).rev().fold(0.0, |sum, n| {
            let (a, b) = (f64::from(2 * n + first), f64::from(2 * n + first + 1));
            (1.0 + sum) * -z / (a * b)
        })
    };
    match quarter as i64 & 3 {
        0 => 1.0 + series(1),
        1 => -r * (1.0 + series(2)),
        2 => -(1.0 + series(1)),
        _ => r * (1.0 + series(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::random::Stream;

    /// How many numbers lie between two of the same sign.
    fn units(a: f64, b: f64) -> u64 {
        if a == b || (a.is_nan() && b.is_nan()) { 0 } else { a.to_bits().abs_diff(b.to_bits()) }
    }

    /// Numbers of every size, a few of them special.
    fn numbers() -> impl Iterator<Item = f64> {
        let mut random = Stream::of(&[1]);
        let special =
            [0.0, 1.0, f64::MIN_POSITIVE, 5e-324, 1e-310, f64::MAX, f64::INFINITY, f64::NAN, 0.5, 2.0, SQRT_2];
        let sizes = (0..200_000).map(move |n| random.uniform() * 2f64.powi(n % 40 - 30));
        special.into_iter().chain(sizes)
    }

    #[test]
    fn exponentials_are_within_a_unit() {
        let all = numbers().flat_map(|x| [x, -x]).chain([709.78, 709.79, -708.5, -740.0, -745.13, -745.14, -746.0]);
        for x in all {
            assert!(units(exp(x), x.exp()) <= 1, "{x}: {} {}", exp(x), x.exp());
        }
        assert_eq!((exp(0.0), exp(f64::NEG_INFINITY), exp(1e308)), (1.0, 0.0, f64::INFINITY));
    }

    #[test]
    fn logarithms_are_within_a_unit() {
        let mut random = Stream::of(&[2]);
        let near_one: Vec<f64> = (0..100_000).map(|_| 0.5 + random.uniform() * 1.5).collect();
        for x in numbers().chain(near_one) {
            assert!(units(ln(x), x.ln()) <= 1, "{x}: {} {}", ln(x), x.ln());
            assert!(units(ln_1p(x), x.ln_1p()) <= 2, "{x}: {} {}", ln_1p(x), x.ln_1p());
        }
        assert!(ln(-1.0).is_nan() && ln(1.0) == 0.0);
    }

    #[test]
    fn powers_and_cosines() {
        for (x, y) in [(0.0, 0.75), (0.0, 0.0), (3.5, 0.0), (1e-9, 0.5), (123.4, -1.5), (7.0, 0.75), (1.0, 99.0)] {
            assert!((powf(x, y) - x.powf(y)).abs() <= 1e-14 * x.powf(y), "{x} {y}");
        }
        for n in 0..=10_000 {
            let u = f64::from(n) / 10_000.0;
            assert!((cos_of_turns(u) - (TAU * u).cos()).abs() < 1e-15, "{u}");
        }
        assert_eq!((cos_of_turns(0.0), cos_of_turns(0.25).abs(), cos_of_turns(0.5)), (1.0, 0.0, -1.0));
        assert!((log2(8.0) - 3.0).abs() < 1e-15);
    }
}
