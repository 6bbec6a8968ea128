//! Decision boundaries of a linear model in the plane.
//!
//! Between classes j and k the boundary is the part of the line f_j = f_k on which no other class scores higher: along
//! the line every score is linear, so that part is an interval with a closed form.

use ove::scores::Linear;

/// The segments of all boundaries, each at most `reach` from the projection of the origin onto its line.
pub fn boundaries(model: &Linear, reach: f64) -> Vec<[(f64, f64); 2]> {
    assert_eq!(model.features(), 2, "a model in the plane");
    let classes = model.classes();
    let pairs = (0..classes).flat_map(|j| (0..j).map(move |k| (j, k)));
    pairs.filter_map(|(j, k)| boundary(model, j, k, reach)).collect()
}

/// Weights and bias of f_j − f_k.
fn difference(model: &Linear, j: usize, k: usize) -> [f64; 3] {
    let of_feature = |d| f64::from(model.weight(d, j as u32)) - f64::from(model.weight(d, k as u32));
    [of_feature(0), of_feature(1), f64::from(model.bias()[j]) - f64::from(model.bias()[k])]
}

fn boundary(model: &Linear, j: usize, k: usize, reach: f64) -> Option<[(f64, f64); 2]> {
    let [a, b, c] = difference(model, j, k);
    let square = a * a + b * b;
    if square == 0.0 {
        return None;
    }
    // The points foot + t·along satisfy f_j = f_k.
    let foot = (-c * a / square, -c * b / square);
    let along = (-b / square.sqrt(), a / square.sqrt());
    let (mut from, mut to) = (-reach, reach);
    for m in (0..model.classes()).filter(|&m| m != j && m != k) {
        let [a, b, c] = difference(model, j, m);
        let (start, slope) = (a * foot.0 + b * foot.1 + c, a * along.0 + b * along.1);
        if slope > 0.0 {
            from = from.max(-start / slope);
        } else if slope < 0.0 {
            to = to.min(-start / slope);
        } else if start < 0.0 {
            return None;
        }
    }
    let at = |t: f64| (foot.0 + t * along.0, foot.1 + t * along.1);
    (from < to).then(|| [at(from), at(to)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The boundaries of three classes at angles of 120° are half-lines that meet in the origin.
    #[test]
    fn three_sectors() {
        let (x, y) = ([0.0, 0.866_025_4, -0.866_025_4], [1.0, -0.5, -0.5]);
        let model = Linear::new(3, [x, y, [0.0; 3]].concat());
        let pieces = boundaries(&model, 10.0);
        assert_eq!(pieces.len(), 3);
        for [from, to] in pieces {
            let lengths = [from.0.hypot(from.1), to.0.hypot(to.1)];
            let (near, far) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
            assert!(near < 1e-6 && (far - 10.0).abs() < 1e-5, "{from:?} {to:?}");
        }
    }

    /// A class that never wins has no boundary.
    #[test]
    fn a_beaten_class() {
        let model = Linear::new(3, vec![1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]);
        let pieces = boundaries(&model, 5.0);
        assert_eq!(pieces, [[(0.0, 5.0), (0.0, -5.0)]]);
    }
}
