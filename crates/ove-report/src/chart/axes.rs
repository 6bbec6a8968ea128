//! The title, the grid, and the axes with their labels and names.

use super::Chart;
use super::frame::{Frame, TILT_DEGREES, Tick};
use super::text::{self, Anchor, SIZE, px};

/// Everything that lies behind the data.
pub fn draw(chart: &Chart, frame: &Frame) -> String {
    [title(frame), grid(frame), y_labels(frame), x_labels(frame), names(chart, frame)].concat()
}

fn title(frame: &Frame) -> String {
    let line = |(i, line): (usize, &String)| text::element((4.0, 20.0 + 20.0 * i as f64), Anchor::Start, "title", line);
    frame.title.iter().enumerate().map(line).collect()
}

/// A faint line at each tick, and the two axes. Names need no lines, but bars need the zero that they stand on.
fn grid(frame: &Frame) -> String {
    let ((left, right), (bottom, top)) = (frame.x.pixels, frame.y.pixels);
    let across = |y: f64| format!("M{} {}H{}", px(left), px(y), px(right));
    let along = |x: f64| format!("M{} {}V{}", px(x), px(top), px(bottom));
    let mut lines: String = frame.y_ticks.iter().filter_map(|tick| frame.y.pixel(tick.value)).map(across).collect();
    let mut axes = across(bottom) + &along(left);
    if !frame.named_x {
        lines.extend(frame.x_ticks.iter().filter_map(|tick| frame.x.pixel(tick.value)).map(along));
    } else if frame.y.shows(0.0) {
        axes.extend(frame.y.pixel(0.0).map(across));
    }
    format!("<path class=\"grid\" d=\"{lines}\"/><path class=\"axis\" d=\"{axes}\"/>")
}

fn y_labels(frame: &Frame) -> String {
    let label = |tick: &Tick| {
        let y = frame.y.pixel(tick.value)?;
        Some(text::element((frame.x.pixels.0 - 8.0, y + 0.35 * SIZE), Anchor::End, "tick", &tick.label))
    };
    frame.y_ticks.iter().filter_map(label).collect()
}

fn x_labels(frame: &Frame) -> String {
    let baseline = frame.y.pixels.0 + 8.0 + SIZE;
    let label = |tick: &Tick| {
        let x = frame.x.pixel(tick.value)?;
        if !frame.tilted {
            return Some(text::element((x, baseline), Anchor::Middle, "tick", &tick.label));
        }
        let text = text::element((0.0, 0.0), Anchor::End, "tick", &tick.label);
        let (x, y) = (px(x + 4.0), px(baseline - 2.0));
        Some(format!("<g transform=\"translate({x} {y}) rotate(-{TILT_DEGREES})\">{text}</g>"))
    };
    frame.x_ticks.iter().filter_map(label).collect()
}

/// The name of the y axis is above the plot, where it can be horizontal.
fn names(chart: &Chart, frame: &Frame) -> String {
    let (left, right) = frame.x.pixels;
    let name = |name: &str, room: f64, at: (f64, f64), anchor: Anchor| match name {
        "" => String::new(),
        name => text::element(at, anchor, "", &text::shorten(name, SIZE, room)),
    };
    let y_name = name(&chart.y.label, right - 4.0, (4.0, frame.y.pixels.1 - 10.0), Anchor::Start);
    let x_name = name(&chart.x.label, right - left, ((left + right) / 2.0, frame.x_name), Anchor::Middle);
    y_name + &x_name
}
