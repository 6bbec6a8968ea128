//! Reduces long series to what is visible, so that a report stays small and a noisy line legible.

use std::collections::HashSet;

/// Of consecutive points in one pixel column only the highest and the lowest.
pub fn range(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.chunk_by(|a, b| a.0.floor() == b.0.floor()).flat_map(extremes).collect()
}

/// A line without its noise: the mean of consecutive points in one column of `width` pixels.
pub fn means(points: &[(f64, f64)], width: f64) -> Vec<(f64, f64)> {
    let column = |point: &(f64, f64)| (point.0 / width).floor();
    points.chunk_by(|a, b| column(a) == column(b)).map(mean).collect()
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    (points.iter().map(|point| point.0).sum::<f64>() / count, points.iter().map(|point| point.1).sum::<f64>() / count)
}

/// The highest and the lowest of some points, in their original order.
fn extremes(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 2 {
        return points.to_vec();
    }
    let by_y = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
    let lowest = (0..points.len()).min_by(by_y).unwrap_or(0);
    let highest = (0..points.len()).max_by(by_y).unwrap_or(0);
    vec![points[lowest.min(highest)], points[lowest.max(highest)]]
}

/// Without the points whose neighbours lie beyond the same end of the plot as they do.
pub fn near(points: &[(f64, f64)], left: f64, right: f64) -> Vec<(f64, f64)> {
    let side = |i: usize| (points[i].0 >= left) as u8 + (points[i].0 > right) as u8;
    let neighbours = |i: usize| [i.saturating_sub(1), (i + 1).min(points.len() - 1)];
    let matters = |i: &usize| side(*i) == 1 || neighbours(*i).into_iter().any(|j| side(j) != side(*i));
    (0..points.len()).filter(matters).map(|i| points[i]).collect()
}

/// Without the points that would cover an earlier one, on a grid of two pixels.
pub fn scatter(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut seen = HashSet::new();
    let cell = |(x, y): &(f64, f64)| ((x / 2.0).floor() as i64, (y / 2.0).floor() as i64);
    points.into_iter().filter(|point| seen.insert(cell(point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_extremes_and_two_points_a_pixel() {
        let mut points: Vec<(f64, f64)> =
            (0..100_000).map(|i| (f64::from(i) / 1000.0, f64::from(i * 7919 % 1000) / 10.0)).collect();
        points[31_415].1 = 500.0;
        points[77_777].1 = -500.0;
        let thinned = range(&points);
        assert!(thinned.len() <= 200, "{}", thinned.len());
        assert!(thinned.contains(&points[31_415]) && thinned.contains(&points[77_777]));
        assert!(thinned.is_sorted_by_key(|point| point.0));
    }

    #[test]
    fn a_short_line_is_kept_whole() {
        let points = [(0.0, 1.0), (3.0, 2.0), (1.0, 4.0), (9.0, 0.0)];
        assert_eq!(range(&points), points);
        assert_eq!(means(&points, 1.0), points);
    }

    #[test]
    fn beyond_the_plot_only_the_ends_of_visible_pieces_stay() {
        let points: Vec<(f64, f64)> = (-50..50).map(|i| (f64::from(i) * 10.0, 0.0)).collect();
        let xs: Vec<f64> = near(&points, 0.0, 25.0).iter().map(|point| point.0).collect();
        assert_eq!(xs, [-10.0, 0.0, 10.0, 20.0, 30.0]);
        // a piece that crosses the whole plot is visible although neither end is
        assert_eq!(near(&[(-9.0, 0.0), (-5.0, 0.0), (40.0, 0.0)], 0.0, 25.0), [(-5.0, 0.0), (40.0, 0.0)]);
    }

    #[test]
    fn means_follow_the_course() {
        let zigzag = [(0.0, 1.0), (1.0, 3.0), (2.0, 1.0), (3.0, 3.0), (4.0, 7.0)];
        assert_eq!(means(&zigzag, 4.0), [(1.5, 2.0), (4.0, 7.0)]);
    }

    #[test]
    fn covered_markers_are_dropped() {
        assert_eq!(scatter(vec![(1.0, 1.0), (1.5, 1.2), (5.0, 1.0)]), [(1.0, 1.0), (5.0, 1.0)]);
    }
}
