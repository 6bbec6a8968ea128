//! The few numerical kernels that everything else stands on.
//!
//! Scalar functions never overflow and need no clamp: each works on an exponential of a number that is not positive.
//! Vector kernels add in eight fixed lanes and without fused multiply-add, so SSE2, AVX2 and NEON give the same bits.

/// log(1 + eˣ) and its derivative σ(x), from one exponential.
///
/// ```text
/// log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|)        σ(x) = 1 / (1 + e⁻ˣ)
/// ```
#[inline]
pub fn softplus_sigmoid(x: f64) -> (f64, f64) {
    let e = (-x.abs()).exp();
    let sigmoid = if x >= 0.0 { 1.0 } else { e } / (1.0 + e);
    (x.max(0.0) + e.ln_1p(), sigmoid)
}

/// log Σ eˣ, shifted by the largest x.
pub fn log_sum_exp(xs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = xs.clone().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return largest;
    }
    largest + xs.map(|x| (x - largest).exp()).sum::<f64>().ln()
}

/// Σ aᵢ bᵢ.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (x, y) in a8.iter().zip(b8) {
        for i in 0..8 {
            lanes[i] += x[i] * y[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f64>() + rest
}

/// y += a x.
#[inline(always)]
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Runs `work` compiled for AVX2 where the processor has it. Call it around a whole batch, never around one product:
/// what is to profit must be inlined into `work`.
#[inline]
#[allow(unsafe_code)]
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the function needs nothing but AVX2, which was just found.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn log_sum_exp_shifts_by_its_own_largest() {
        assert_eq!(log_sum_exp([1000.0, 1000.0].into_iter()), 1000.0 + std::f64::consts::LN_2);
        assert_eq!(log_sum_exp([-1e4, 0.0].into_iter()), 0.0);
        assert_eq!(log_sum_exp(std::iter::empty()), f64::NEG_INFINITY);
    }

    #[test]
    fn vectorised_changes_no_bit() {
        let a: Vec<f64> = (0..1003).map(|i| (i as f64 * 0.37).sin()).collect();
        let b: Vec<f64> = (0..1003).map(|i| (i as f64 * 0.11).cos()).collect();
        assert_eq!(dot(&a, &b).to_bits(), vectorised(|| dot(&a, &b)).to_bits());
    }
}
