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
                if $crate::platform::simd::has_avx2() {
                    // SAFETY: the function needs only AVX2 and POPCNT, which were just detected.
                    return unsafe { with_avx2($($arg),*) };
                }
            }
            plain($($arg),*)
        }
    };
}
pub(crate) use vectorised;

/// Whether the processor has AVX2 and POPCNT.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_avx2() -> bool {
    #[cfg(test)]
    if tests::IS_PLAIN.get() {
        return false;
    }
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt")
}

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod tests {
    use std::cell::Cell;
    use std::fmt::Debug;

    use serde_json::json;

    use crate::data::Examples;
    use crate::options::TrainOptions;
    use crate::platform::math::{add_rows, exp_all, max_all, sum_log_1p};
    use crate::platform::random::Stream;
    use crate::platform::top_k::top_k;
    use crate::scores::Scores;
    use crate::synthetic::{Sparse, sparse};
    use crate::train::{Start, Training};
    use crate::{evaluate, with_threads};

    thread_local! {
        /// Whether this thread runs plain code.
        pub(crate) static IS_PLAIN: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `work` on this thread with plain code alone.
    pub(crate) fn plainly<R>(work: impl FnOnce() -> R) -> R {
        IS_PLAIN.set(true);
        let result = work();
        IS_PLAIN.set(false);
        result
    }

    /// Fails if `work` gives other bits with wider vectors than with plain code, where the processor has both.
    #[track_caller]
    pub(crate) fn same_plainly<R: PartialEq + Debug>(work: impl Fn() -> R) {
        assert!(work() == plainly(&work), "{:?}\n{:?}", work(), plainly(&work));
    }

    #[test]
    fn plain_code_is_asked_for_by_thread() {
        let found = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt");
        let of_another = || std::thread::spawn(super::has_avx2).join().unwrap();
        assert_eq!((plainly(super::has_avx2), plainly(of_another), super::has_avx2()), (false, found, found));
    }

    /// Lengths around whole vectors, with numbers of all sizes.
    fn numbers(length: usize, seed: u64) -> Vec<f64> {
        let mut random = Stream::of(&[seed, length as u64]);
        (0..length).map(|_| random.normal() * 10f64.powf(6.0 * random.uniform() - 3.0)).collect()
    }

    #[test]
    fn mathematical_kernels_give_the_bits_of_plain_code() {
        for length in (0..70).chain([128, 1000, 4097]) {
            let wide = numbers(length, 1);
            let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
            let shares: Vec<f64> = wide.iter().map(|x| (-x.abs()).exp()).collect();
            same_plainly(|| {
                let mut exps: Vec<f32> = narrow.iter().map(|x| -x.abs()).collect();
                exp_all(&mut exps);
                exps.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            });
            same_plainly(|| max_all(&narrow).to_bits());
            same_plainly(|| [1e-9, 0.3, 1.0, 50.0, 1e100].map(|r| sum_log_1p(r, &shares).to_bits()));
            same_plainly(|| top_k(&narrow, 7));
            let table = numbers(5 * length, 2);
            let terms = [(3, 0.1), (0, -2.3), (4, 1e-7), (3, 1e3)];
            same_plainly(|| {
                let mut sums = wide.clone();
                add_rows(&table, terms.into_iter(), &mut sums);
                sums.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            });
        }
    }

    /// Every kernel of training, prediction and evaluation: what is learnt, found and measured is the same to the bit.
    #[test]
    fn training_and_prediction_give_the_bits_of_plain_code() {
        let data = sparse(Sparse { rows: 700, features: 90, classes: 37, entries: 9, signal: 0.5 }, 1, 0);
        for settings in [
            json!({ "epochs": 2, "l2": 0.5, "scores": "linear" }),
            json!({ "epochs": 2, "l2": 0.5, "step": "sgd", "cells": 301 }),
            json!({ "solver": "batch", "objective": "softmax", "iterations": 12, "l2": 0.1 }),
            json!({ "solver": "batch", "objective": "one-vs-each", "iterations": 12, "l2": 0.1 }),
            json!({ "rank": 19, "epochs": 2, "l2": 0.5 }),
            json!({ "rank": 8, "epochs": 2, "step": "sgd", "objective": "softmax" }),
            json!({ "trees": 2, "epochs": 3 }),
        ] {
            let options = TrainOptions::from_settings(&settings).unwrap();
            let work = || {
                let examples = Examples::of(&data);
                let mut training = Training::new(examples, &options, Start::default()).unwrap();
                while training.step().unwrap().is_some() {}
                let mut model = training.finish().unwrap().into_model(&data, &examples);
                let whole = (model.to_bytes(), model.log_probabilities(data.rows()), model.top_k(data.rows(), 5));
                let found = evaluate(&model, data.rows(), &data.labels).unwrap();
                // Without its small weights it has other kernels.
                let pruned = model.prune(1e-3).ok().map(|()| model.log_probabilities(data.rows()));
                assert!(pruned.is_some() || matches!(model.scores, Scores::Factored(_)) || settings["cells"] == 301);
                (whole, found, pruned, model.weights_of(3))
            };
            // One thread, so that all of it runs on the thread that asks for plain code.
            let (wide, plain) = with_threads(1, || (work(), plainly(work))).unwrap();
            assert!(wide == plain, "{settings}");
        }
    }
}
