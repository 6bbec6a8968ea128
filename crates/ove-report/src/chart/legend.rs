//! The legend: below the plot, so that it never covers the data.

use super::layers::{MARKER_RADIUS, bar, markers, shows_points, stroke};
use super::style::Rect;
use super::text::{self, Anchor, LINE, SIZE, px};
use super::{Chart, Layer};

const LEFT: f64 = 8.0;
/// From the end of one entry to the next.
const GAP: f64 = 22.0;
/// From one row of entries to the next.
const ROW: f64 = LINE + 4.0;

/// The height of the legend that starts at `top`, and its picture.
pub fn draw(chart: &Chart, top: f64) -> (f64, String) {
    let mut out = String::new();
    let (mut x, mut y) = (LEFT, top + LINE);
    let mut named = chart.layers.iter().filter(|layer| !layer.name().is_empty()).peekable();
    if named.peek().is_none() {
        return (0.0, out);
    }
    for layer in named {
        let start = sample_width(layer) + 8.0;
        let lines = text::wrap(layer.name(), SIZE, chart.width - LEFT - start);
        let width = start + lines.iter().map(|line| text::width(line, SIZE)).fold(0.0, f64::max);
        if x > LEFT && x + width > chart.width {
            (x, y) = (LEFT, y + ROW);
        }
        out += &format!("<g class=\"{}\">{}</g>", layer.style().class(), sample(layer, x, y - 0.35 * SIZE));
        for (i, line) in lines.iter().enumerate() {
            out += &text::element((x + start, y + LINE * i as f64), Anchor::Start, "", line);
        }
        y += LINE * lines.len().saturating_sub(1) as f64;
        x += width + GAP;
    }
    (y + 10.0 - top, out)
}

/// The width of a sample, enough to show the dashes of a line.
fn sample_width(layer: &Layer) -> f64 {
    match layer {
        Layer::Line { .. } | Layer::Level { .. } | Layer::Segments { .. } => 44.0,
        Layer::Bars { .. } => 32.0,
        Layer::Scatter { .. } => 12.0,
    }
}

/// A sample of how `layer` is drawn, from `x` on and around the height `y`.
fn sample(layer: &Layer, x: f64, y: f64) -> String {
    let (style, width) = (layer.style(), sample_width(layer));
    let line = || stroke(&format!("M{} {}h{width}", px(x), px(y)), style);
    let mark = || markers(&[(x + width / 2.0, y)], style.marker, MARKER_RADIUS);
    match layer {
        Layer::Line { points, .. } if shows_points(points) => line() + &mark(),
        Layer::Line { .. } | Layer::Level { .. } | Layer::Segments { .. } => line(),
        Layer::Scatter { .. } => mark(),
        Layer::Bars { .. } => bar(Rect { left: x, right: x + width, top: y - 7.0, bottom: y + 7.0 }, style.hatch),
    }
}
