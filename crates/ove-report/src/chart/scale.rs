//! From values to pixels.

/// The mapping of one axis, linear or logarithmic.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The least and greatest value shown.
    pub range: (f64, f64),
    /// Whether equal ratios, rather than equal differences, are equally far apart.
    pub log: bool,
    /// The pixels of the least and the greatest value.
    pub pixels: (f64, f64),
}

impl Scale {
    /// The pixel of `value`; `None` if it cannot be drawn, such as a value that is not finite.
    pub fn pixel(&self, value: f64) -> Option<f64> {
        let (lo, hi) = (warp(self.range.0, self.log), warp(self.range.1, self.log));
        let share = (warp(value, self.log) - lo) / (hi - lo);
        let pixel = self.pixels.0 + share * (self.pixels.1 - self.pixels.0);
        // far outside the plot only the direction matters, and renderers fail on huge coordinates
        (value.is_finite() && share.is_finite()).then(|| pixel.clamp(-1e6, 1e6))
    }

    /// Whether `value` lies within the range, give or take rounding.
    pub fn shows(&self, value: f64) -> bool {
        let (from, to) = (self.pixels.0.min(self.pixels.1), self.pixels.0.max(self.pixels.1));
        self.pixel(value).is_some_and(|pixel| (from - 0.01..=to + 0.01).contains(&pixel))
    }
}

fn warp(value: f64, log: bool) -> f64 {
    if log { value.log10() } else { value }
}

fn unwarp(value: f64, log: bool) -> f64 {
    if log { 10_f64.powf(value) } else { value }
}

/// Whether a range can be drawn as it is.
pub fn is_usable((lo, hi): (f64, f64), log: bool) -> bool {
    lo < hi && (hi - lo).is_finite() && (!log || lo > 0.0)
}

/// A range for `values`, widened by the share `margin` at both ends, but on a linear axis not beyond zero.
/// Values that the axis cannot show are ignored; without any others it is a default range.
pub fn fit(values: impl Iterator<Item = f64>, log: bool, margin: f64) -> (f64, f64) {
    let shown = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
    let (lo, hi) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)));
    if lo > hi {
        return if log { (1.0, 10.0) } else { (0.0, 1.0) };
    }
    if lo == hi {
        return around(lo, log);
    }
    let (from, to) = (warp(lo, log), warp(hi, log));
    let room = margin * (to - from);
    let widened = (unwarp(from - room, log), unwarp(to + room, log));
    if log || !(widened.0.is_finite() && widened.1.is_finite()) {
        return if is_usable(widened, log) { widened } else { (lo, hi) };
    }
    (if lo >= 0.0 { widened.0.max(0.0) } else { widened.0 }, if hi <= 0.0 { widened.1.min(0.0) } else { widened.1 })
}

/// A range with the single value `value` in its middle.
fn around(value: f64, log: bool) -> (f64, f64) {
    if log {
        return (value / 2.0, value * 2.0);
    }
    let room = if value == 0.0 { 1.0 } else { value.abs() / 10.0 };
    (value - room, value + room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_map_to_pixels() {
        let linear = Scale { range: (0.0, 10.0), log: false, pixels: (100.0, 0.0) };
        assert_eq!([linear.pixel(0.0), linear.pixel(2.5), linear.pixel(f64::NAN)], [Some(100.0), Some(75.0), None]);
        assert!(linear.shows(10.0) && !linear.shows(10.1) && !linear.shows(f64::INFINITY));
        let log = Scale { range: (1.0, 100.0), log: true, pixels: (0.0, 50.0) };
        assert_eq!([log.pixel(10.0), log.pixel(0.0), log.pixel(-1.0)], [Some(25.0), None, None]);
    }

    #[test]
    fn ranges_fit_what_can_be_shown() {
        let fit = |values: &[f64], log| super::fit(values.iter().copied(), log, 0.1);
        assert_eq!(fit(&[10.0, f64::NAN, 20.0, f64::INFINITY], false), (9.0, 21.0));
        assert_eq!(fit(&[0.0, 20.0], false), (0.0, 22.0));
        assert_eq!(fit(&[-20.0, -1.0], false).1, 0.0);
        assert_eq!(fit(&[], false), (0.0, 1.0));
        assert_eq!(fit(&[5.0], false), (4.5, 5.5));
        assert_eq!(fit(&[0.0, -3.0, 4.0], true), (2.0, 8.0));
        assert_eq!(fit(&[-3.0], true), (1.0, 10.0));
    }
}
