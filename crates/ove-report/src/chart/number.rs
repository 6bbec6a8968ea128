//! Tick labels: short, and in one unit along an axis.

/// Labels for evenly spaced values: `1,000`, `200k`, `1.5M`, `2×10⁻⁵`.
pub fn even_labels(values: &[f64]) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let step = if let [first, second, ..] = values { second - first } else { largest };
    let (unit, suffix) = unit(largest);
    let decimals = decimals(step / unit);
    let label = |&value: &f64| if value == 0.0 { "0".to_string() } else { fixed(value / unit, decimals) + &suffix };
    values.iter().map(label).collect()
}

/// Labels for the ticks of a logarithmic axis, each 1, 2 or 5 times a power of ten: all plain, or all as powers.
pub fn log_labels(values: &[f64]) -> Vec<String> {
    let plain = values.iter().all(|value| (1e-3..1e6).contains(value));
    let label = |&value: &f64| if plain { fixed(value, decimals(value)) } else { power(value) };
    values.iter().map(label).collect()
}

/// The unit of the labels of an axis up to `largest`, and its suffix.
fn unit(largest: f64) -> (f64, String) {
    match largest {
        0.0 => (1.0, String::new()),
        x if !(1e-3..1e9).contains(&x) => {
            let exponent = exponent(x);
            (10_f64.powi(exponent), format!("×10{}", superscript(exponent)))
        }
        x if x >= 1e6 => (1e6, "M".to_string()),
        x if x >= 1e5 => (1e3, "k".to_string()),
        _ => (1.0, String::new()),
    }
}

/// The decimals that show a step of `step` exactly, if it is 1, 2 or 5 times a power of ten.
fn decimals(step: f64) -> usize {
    exponent(step).clamp(-12, 0).unsigned_abs() as usize
}

/// The power of ten at or just below `value`; the tolerance is for values such as 0.001, whose logarithm rounds down.
fn exponent(value: f64) -> i32 {
    (value.abs().log10() + 1e-9).floor() as i32
}

fn power(value: f64) -> String {
    let exponent = exponent(value);
    let mantissa = (value / 10_f64.powi(exponent)).round();
    let power = format!("10{}", superscript(exponent));
    if mantissa == 1.0 { power } else { format!("{mantissa}×{power}") }
}

fn superscript(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    exponent.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize])).collect()
}

/// With a true minus sign and commas between thousands.
fn fixed(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::from(if value < 0.0 { "−" } else { "" });
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_labels_share_a_unit_and_their_decimals() {
        assert_eq!(even_labels(&[0.0, 500.0, 1000.0]), ["0", "500", "1,000"]);
        assert_eq!(even_labels(&[-0.05, 0.0, 0.05]), ["−0.05", "0", "0.05"]);
        assert_eq!(even_labels(&[0.5, 1.0, 1.5]), ["0.5", "1.0", "1.5"]);
        assert_eq!(even_labels(&[0.0, 100e3, 200e3]), ["0", "100k", "200k"]);
        assert_eq!(even_labels(&[500e3, 1e6, 1.5e6]), ["0.5M", "1.0M", "1.5M"]);
        assert_eq!(even_labels(&[0.0, 2e-5, 4e-5]), ["0", "2×10⁻⁵", "4×10⁻⁵"]);
        assert_eq!(even_labels(&[1e12]), ["1×10¹²"]);
        assert!(even_labels(&[]).is_empty());
    }

    #[test]
    fn log_labels_are_plain_or_powers() {
        assert_eq!(log_labels(&[0.001, 0.05, 1.0, 200.0, 1e5]), ["0.001", "0.05", "1", "200", "100,000"]);
        assert_eq!(log_labels(&[1e-4, 2e-3, 1e6]), ["10⁻⁴", "2×10⁻³", "10⁶"]);
    }
}
