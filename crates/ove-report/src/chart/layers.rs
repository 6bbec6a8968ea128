//! The data.

use super::frame::Frame;
use super::scale::Scale;
use super::style::{Hatch, Marker, Rect, Style};
use super::text::{self, Anchor, px};
use super::{Chart, Layer, thin};

/// A line with at most this many points shows them, as they are then measurements rather than a curve.
const SHOWN_POINTS: usize = 30;
/// A line with more points per pixel than this is drawn as a mean with its range.
const DENSE: f64 = 2.0;
/// The mean of such a line is taken over this many pixels, enough for a dash pattern to show.
const MEAN_WIDTH: f64 = 4.0;
/// The share of the room of a category that its bars fill.
const BAR_SHARE: f64 = 0.8;
/// A scatter plot with more points than this has small markers.
const CROWD: usize = 400;
/// The size of a marker.
pub const MARKER_RADIUS: f64 = 4.0;

/// All layers in order, or a note that there are no data.
pub fn draw(chart: &Chart, frame: &Frame) -> String {
    let bars = chart.layers.iter().filter(|layer| matches!(layer, Layer::Bars { .. })).count();
    let mut bars_before = 0;
    let mut out = String::new();
    for layer in &chart.layers {
        let content = match layer {
            Layer::Line { points, style, .. } => line(frame, points, *style),
            Layer::Scatter { points, style, .. } => scatter(frame, points, style.marker),
            Layer::Level { y, style, .. } => level(frame, *y, *style),
            Layer::Segments { segments, style, .. } => clip(frame, &stroke(&pieces(frame, segments), *style)),
            Layer::Bars { values, style, .. } => {
                bars_before += 1;
                clip(frame, &draw_bars(frame, values, style.hatch, (bars_before - 1, bars)))
            }
        };
        if !content.is_empty() {
            out += &format!("<g class=\"{}\">{content}</g>", layer.style().class());
        }
    }
    if out.is_empty() { nothing(frame) } else { out }
}

fn nothing(frame: &Frame) -> String {
    let middle = |scale: &Scale| (scale.pixels.0 + scale.pixels.1) / 2.0;
    text::element((middle(&frame.x), middle(&frame.y)), Anchor::Middle, "tick", "no data")
}

/// Whether a line shows its points.
pub fn shows_points(points: &[(f64, f64)]) -> bool {
    points.len() <= SHOWN_POINTS
}

/// A stroke along `path`; nothing if there is no path.
pub fn stroke(path: &str, style: Style) -> String {
    if path.is_empty() {
        return String::new();
    }
    format!("<path class=\"stroke\" d=\"{path}\"{}/>", style.dash.attribute())
}

/// Markers at some pixels, in one path.
pub fn markers(at: &[(f64, f64)], marker: Marker, radius: f64) -> String {
    if at.is_empty() {
        return String::new();
    }
    let outline = marker.outline(radius);
    let path: String = at.iter().map(|(x, y)| format!("M{} {}{outline}", px(*x), px(*y))).collect();
    format!("<path class=\"{}\" d=\"{path}\"/>", marker.class())
}

/// A bar with its hatch.
pub fn bar(bar: Rect, hatch: Hatch) -> String {
    let class = if hatch == Hatch::Solid { "bar" } else { "bar pale" };
    let stripes = hatch.stripes(bar);
    let (width, height) = (px(bar.right - bar.left), px(bar.bottom - bar.top));
    let outline = format!(
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\"/>",
        px(bar.left),
        px(bar.top)
    );
    if stripes.is_empty() { outline } else { format!("{outline}<path class=\"hatch\" d=\"{stripes}\"/>") }
}

/// Cuts `content` off at the edge of the plot, or rather a pixel beyond so that a line along the edge keeps its
/// width. A nested `svg` clips without an id.
fn clip(frame: &Frame, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    let ((left, right), (bottom, top)) = (frame.x.pixels, frame.y.pixels);
    let (x, y, width, height) = (px(left - 1.0), px(top - 1.0), px(right - left + 2.0), px(bottom - top + 2.0));
    format!(
        "<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"{x} {y} {width} {height}\">{content}</svg>"
    )
}

/// Where a point is drawn; `None` if it is to be left out.
fn place(frame: &Frame, point: (f64, f64)) -> Option<(f64, f64)> {
    Some((frame.x.pixel(point.0)?, frame.y.pixel(point.1)?))
}

/// The pixels of the points within the plot.
fn in_plot(frame: &Frame, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let shown = points.iter().filter(|point| frame.x.shows(point.0) && frame.y.shows(point.1));
    shown.filter_map(|&point| place(frame, point)).collect()
}

fn line(frame: &Frame, points: &[(f64, f64)], style: Style) -> String {
    let placed: Vec<Option<(f64, f64)>> = points.iter().map(|&point| place(frame, point)).collect();
    // an omitted point is a gap in the line
    let runs = placed.split(Option::is_none).map(|run| run.iter().flatten().copied().collect::<Vec<_>>());
    let curve: String = runs.map(|run| curve(frame, &run, style)).collect();
    let dots = if shows_points(points) { in_plot(frame, points) } else { vec![] };
    clip(frame, &curve) + &markers(&dots, style.marker, MARKER_RADIUS)
}

/// A piece of a line without gaps. If it has more points than the plot has pixels, a stroke through noisy points would
/// hide its dash pattern: their range is drawn faintly, and their mean as the line.
fn curve(frame: &Frame, points: &[(f64, f64)], style: Style) -> String {
    let (left, right) = frame.x.pixels;
    let points = thin::near(points, left, right);
    if (points.len() as f64) < DENSE * (right - left) {
        return stroke(&polyline(&thin::range(&points)), style);
    }
    let range = format!("<path class=\"range\" d=\"{}\"/>", polyline(&thin::range(&points)));
    range + &stroke(&polyline(&thin::means(&points, MEAN_WIDTH)), style)
}

fn polyline(points: &[(f64, f64)]) -> String {
    let coordinates: Vec<String> = points.iter().map(|(x, y)| format!("{} {}", px(*x), px(*y))).collect();
    if coordinates.is_empty() { String::new() } else { format!("M{}", coordinates.join(" ")) }
}

fn scatter(frame: &Frame, points: &[(f64, f64)], marker: Marker) -> String {
    let at = thin::scatter(in_plot(frame, points));
    if at.len() <= CROWD {
        return markers(&at, marker, MARKER_RADIUS);
    }
    // small, to be visible as separate points, and without outlines, which would hide dense regions
    format!("<g class=\"crowd\">{}</g>", markers(&at, marker, 0.6 * MARKER_RADIUS))
}

fn level(frame: &Frame, y: f64, style: Style) -> String {
    let path = frame.y.pixel(y).map(|y| polyline(&[(frame.x.pixels.0, y), (frame.x.pixels.1, y)]));
    clip(frame, &stroke(&path.unwrap_or_default(), style))
}

fn pieces(frame: &Frame, segments: &[[(f64, f64); 2]]) -> String {
    let piece = |[from, to]: &[(f64, f64); 2]| Some(polyline(&[place(frame, *from)?, place(frame, *to)?]));
    segments.iter().filter_map(piece).collect()
}

/// The bars of the layer `index` out of `count` that share each category.
fn draw_bars(frame: &Frame, values: &[f64], hatch: Hatch, (index, count): (usize, usize)) -> String {
    let (bottom, top) = frame.y.pixels;
    let ground = frame.y.pixel(0.0).unwrap_or(bottom);
    let within = |y: f64| y.clamp(top - 2.0, bottom + 2.0); // the hatch of a bar beyond the plot would be wasted
    let one = |(i, value): (usize, &f64)| {
        let (middle, end) = (frame.x.pixel(i as f64)?, frame.y.pixel(*value)?);
        let room = BAR_SHARE * (frame.x.pixel(i as f64 + 0.5)? - frame.x.pixel(i as f64 - 0.5)?);
        let left = middle - room / 2.0 + room * index as f64 / count as f64;
        let gap = if count > 1 { 1.0_f64.min(room / count as f64 / 4.0) } else { 0.0 };
        let right = left + room / count as f64;
        let (top, bottom) = (within(end.min(ground)), within(end.max(ground)));
        Some(bar(Rect { left: left + gap, right: right - gap, top, bottom }, hatch))
    };
    values.iter().enumerate().filter_map(one).collect()
}
