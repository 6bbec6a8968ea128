//! Figures of a comparison: decision boundaries in the plane, and bounds along training.

use ove::Dataset;

use super::boundaries::boundaries;
use super::{Method, Outcome, smooth};
use crate::{Axis, Chart, Layer, Style};

/// Points in the plane with the decision boundaries of the methods that use all rows and classes (figure 1b).
///
/// # Panics
///
/// If a model does not have two features.
pub fn plane(data: &Dataset, outcomes: &[Outcome]) -> Chart {
    let classes = (0..data.classes.len()).map(|class| Layer::Scatter {
        name: format!("class {}", data.classes[class]),
        points: (0..data.len()).filter(|&n| data.labels[n].contains(&(class as u32))).map(|n| point(data, n)).collect(),
        style: Style { colour: 4 + class, ..Style::nth(class) },
    });
    let full = outcomes.iter().filter(|outcome| outcome.method != Method::OneVsEachStochastic);
    let lines = full.map(|outcome| Layer::Segments {
        name: outcome.method.name().into(),
        segments: boundaries(outcome.linear(), 20.0),
        style: outcome.method.style(),
    });
    let axis = |label: &str| Axis { label: label.into(), range: Some((-6.0, 6.0)), ..Axis::default() };
    Chart {
        title: "Five classes and their decision boundaries".into(),
        x: axis("first feature"),
        y: axis("second feature"),
        layers: classes.chain(lines).collect(),
        height: 420.0,
        ..Chart::default()
    }
}

/// Position of a row in the plane; a coordinate that is 0 has no entry.
fn point(data: &Dataset, n: usize) -> (f64, f64) {
    let row = data.rows().row(n);
    let at = |d: u32| row.indices.iter().position(|&i| i == d).map_or(0.0, |i| f64::from(row.values[i]));
    (at(0), at(1))
}

/// The sampled bound along its run, averaged over an epoch, with the maxima of the other methods (figure 1c).
pub fn bounds(title: &str, outcomes: &[Outcome]) -> Chart {
    let layers = outcomes.iter().map(|outcome| match outcome.method {
        Method::OneVsEachStochastic => {
            let an_epoch = outcome.curve.partition_point(|point| point.epochs <= 1.0);
            let smoothed = smooth(&outcome.curve, an_epoch.max(1));
            Layer::Line {
                name: "one-vs-each, sampled".into(),
                points: smoothed.iter().map(|point| (point.epochs, point.bound)).collect(),
                style: outcome.method.style(),
            }
        }
        method => {
            Layer::Level { name: format!("{}, maximised", method.name()), y: outcome.maximum, style: method.style() }
        }
    });
    Chart {
        title: title.into(),
        x: Axis { label: "epochs".into(), ..Axis::default() },
        y: Axis { label: "log likelihood or bound, minus the penalty".into(), ..Axis::default() },
        layers: layers.collect(),
        ..Chart::default()
    }
}
