//! The ticks of an axis: at 1, 2 or 5 times a power of ten.

/// At most `most` multiples of a round step within `lo..=hi`, with a step as small as that allows.
pub fn even(lo: f64, hi: f64, most: usize) -> Vec<f64> {
    let rough = (hi - lo) / most as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return vec![];
    }
    let lowest = rough.log10().floor() as i32;
    // a step of `rough` gives up to most + 1 ticks when both ends are ticks, so the first that fits is taken
    (lowest..=lowest + 1)
        .flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| multiples(lo, hi, digit, exponent)))
        .find(|ticks| ticks.len() <= most)
        .unwrap_or_default()
}

/// The multiples of `digit`·10^`exponent` within `lo..=hi`.
fn multiples(lo: f64, hi: f64, digit: f64, exponent: i32) -> Vec<f64> {
    // dividing by a whole power is exact where multiplying by 0.1 would give 0.30000000000000004
    let scaled = |k: f64| {
        let product = k * digit;
        if exponent < 0 { product / 10_f64.powi(-exponent) } else { product * 10_f64.powi(exponent) }
    };
    let (step, slack) = (scaled(1.0), 1e-9);
    let (first, last) = ((lo / step - slack).ceil(), (hi / step + slack).floor());
    let mut ticks: Vec<f64> =
        (0..1000).map(|i| first + f64::from(i)).take_while(|&k| k <= last).map(|k| scaled(k) + 0.0).collect();
    ticks.dedup();
    ticks
}

/// Ticks of a logarithmic axis: 1, 2 and 5 in every decade, or every n-th power of ten, whichever is the densest
/// with at most `most`. `None` when fewer than two remain, as within one decade: [`even`] ticks serve better there.
pub fn log(lo: f64, hi: f64, most: usize) -> Option<Vec<f64>> {
    let decades = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let inside = |value: &f64| (lo * (1.0 - 1e-9)..=hi * (1.0 + 1e-9)).contains(value);
    let powers = |stride: i32| (decades.0..=decades.1).filter(move |exponent| exponent % stride == 0).map(power_of_ten);
    let dense = powers(1).flat_map(|power| [power, 2.0 * power, 5.0 * power]).filter(inside).collect();
    let sparse = (1..=decades.1 - decades.0 + 1).map(|stride| powers(stride).filter(inside).collect());
    std::iter::once(dense).chain(sparse).find(|ticks: &Vec<f64>| ticks.len() <= most).filter(|ticks| ticks.len() >= 2)
}

/// Through the parser, which rounds correctly, so that 10⁻³ is the same number as the literal 0.001.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_ticks_are_round() {
        assert_eq!(even(0.0, 1.0, 6), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(even(0.0, 1.0, 5), [0.0, 0.5, 1.0]);
        assert_eq!(even(0.05, 0.35, 4), [0.1, 0.2, 0.3]);
        assert_eq!(even(-130.0, 990.0, 7), [0.0, 200.0, 400.0, 600.0, 800.0]);
        assert_eq!(even(-3.0, -1.0, 3), [-3.0, -2.0, -1.0]);
        assert_eq!(even(0.0, 4.2e7, 5), [0.0, 1e7, 2e7, 3e7, 4e7]);
        assert_eq!(even(1e-9, 3e-9, 3), [1e-9, 2e-9, 3e-9]);
    }

    #[test]
    fn even_ticks_never_exceed_their_number() {
        for most in 1..12 {
            for hi in [0.3, 0.99, 1.0, 7.0, 12.0, 1234.5] {
                assert!(even(0.0, hi, most).len() <= most, "{most} up to {hi}");
            }
        }
        assert!(even(-f64::MAX, f64::MAX, 5).is_empty());
        assert!(even(1.0, 1.0, 5).is_empty());
        assert!(even(1e16, 1e16 + 4.0, 5).len() <= 5);
    }

    #[test]
    fn log_ticks_thin_out_with_the_range() {
        assert_eq!(log(1.0, 100.0, 8).unwrap(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log(0.5, 3e3, 5).unwrap(), [1.0, 10.0, 100.0, 1e3]);
        assert_eq!(log(1e-4, 1e8, 5).unwrap(), [1e-3, 1.0, 1e3, 1e6]);
        assert_eq!(log(0.001, 0.1, 3).unwrap(), [0.001, 0.01, 0.1]);
        assert_eq!(log(3.0, 4.0, 5), None);
    }
}
