//! Dispatch to AVX2 at run time, with the same bits as portable code.

/// Compiles a function twice, portably and for AVX2 with POPCNT, and calls the second if the processor has both.
///
/// The check costs a load and a branch, so wrap the loop over a row or a chunk, never a single product.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $kind:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        $vis fn $name($($arg: $kind),*) $(-> $out)? {
            #[inline(always)]
            fn plain($($arg: $kind),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,popcnt")]
                fn with_avx2($($arg: $kind),*) $(-> $out)? {
                    plain($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt") {
                    // SAFETY: the function needs only AVX2 and POPCNT, which were just detected.
                    return unsafe { with_avx2($($arg),*) };
                }
            }
            plain($($arg),*)
        }
    };
}
pub(crate) use vectorised;

#[cfg(test)]
mod tests {
    vectorised! {
        fn weighed(a: &[f32], b: &[f32], out: &mut [f32]) -> f32 {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = a * b;
            }
            out.last().copied().unwrap_or(0.0)
        }
    }

    #[test]
    fn wider_vectors_give_the_same_numbers() {
        for length in [0, 1, 7, 8, 9, 100] {
            let a: Vec<f32> = (0..length).map(|n| n as f32 * 0.1).collect();
            let mut out = vec![0.0; a.len()];
            let last = weighed(&a, &a, &mut out);
            assert!(out.iter().zip(&a).all(|(out, a)| *out == a * a));
            assert_eq!(last, a.last().map_or(0.0, |a| a * a));
        }
    }
}
