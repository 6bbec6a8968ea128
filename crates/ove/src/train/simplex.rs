//! Minimises a function of a few numbers without derivatives (Nelder and Mead 1965).

/// Number of evaluations per dimension.
const EVALUATIONS: usize = 30;

/// The best point found, from a start and the size of the first simplex; the same for the same values of `of`.
pub(super) fn minimise<const N: usize>(of: impl Fn(&[f64; N]) -> f64, start: [f64; N], size: f64) -> [f64; N] {
    let mut points: Vec<(f64, [f64; N])> = vec![(of(&start), start)];
    for i in 0..N {
        let mut point = start;
        point[i] += size;
        points.push((of(&point), point));
    }
    let mut left = (EVALUATIONS * N).saturating_sub(N + 1);
    while left > 0 {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let worst = points[N];
        let centre: [f64; N] =
            std::array::from_fn(|i| points[..N].iter().map(|(_, point)| point[i]).sum::<f64>() / N as f64);
        // 1 is the centre's other side.
        let at = |distance: f64| {
            let point = std::array::from_fn(|i| centre[i] + distance * (centre[i] - worst.1[i]));
            (of(&point), point)
        };
        let reflected = at(1.0);
        left -= 1;
        let next = if reflected.0 < points[0].0 {
            left = left.saturating_sub(1);
            let expanded = at(2.0);
            if expanded.0 < reflected.0 { expanded } else { reflected }
        } else if reflected.0 < points[N - 1].0 {
            reflected
        } else {
            left = left.saturating_sub(1);
            at(if reflected.0 < worst.0 { 0.5 } else { -0.5 })
        };
        if next.0 < worst.0 {
            points[N] = next;
            continue;
        }
        // Towards the best point.
        let best = points[0].1;
        for point in &mut points[1..] {
            let shrunk = std::array::from_fn(|i| 0.5 * (point.1[i] + best[i]));
            *point = (of(&shrunk), shrunk);
        }
        left = left.saturating_sub(N);
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points[0].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_a_narrow_quadratic() {
        let of = |x: &[f64; 3]| (x[0] - 1.0).powi(2) + 30.0 * (x[1] + x[0] - 3.0).powi(2) + (x[2] - 0.5).powi(2);
        let found = minimise(of, [0.0; 3], 0.3);
        assert!(of(&found) < 0.01, "{found:?}");
        // A plateau beyond the range of the parameters.
        let walled = |x: &[f64; 1]| if x[0] > 0.7 { f64::INFINITY } else { (x[0] - 1.0).powi(2) };
        assert!((minimise(walled, [0.0], 0.3)[0] - 0.7).abs() < 0.02);
    }
}
