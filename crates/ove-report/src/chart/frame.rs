//! The layout of a chart.

use super::scale::{self, Scale};
use super::text::{self, LINE, SIZE, TITLE_SIZE};
use super::{Axis, Chart, Layer, number, ticks};

const RIGHT_MARGIN: f64 = 20.0;
/// Maximum width of the name of a category, in pixels.
const CATEGORY_LIMIT: f64 = 190.0;
/// Names of categories that do not fit side by side are turned by this angle.
pub const TILT_DEGREES: f64 = 40.0;

/// A value with its label.
pub struct Tick {
    /// The value, in the units of the axis.
    pub value: f64,
    /// The label.
    pub label: String,
}

/// The layout of a chart: the plot spans the pixels of the two scales.
pub struct Frame {
    pub x: Scale,
    pub y: Scale,
    pub x_ticks: Vec<Tick>,
    pub y_ticks: Vec<Tick>,
    /// Whether the x axis has names instead of numbers, as under bars.
    pub named_x: bool,
    /// Whether the labels under the x axis are turned to fit.
    pub tilted: bool,
    /// The title, broken into lines.
    pub title: Vec<String>,
    /// The baseline of the name of the x axis.
    pub x_name: f64,
    /// The bottom of everything but the legend.
    pub below: f64,
}

impl Frame {
    /// Lays out `chart`.
    pub fn new(chart: &Chart) -> Self {
        let title = text::wrap(&chart.title, text::BOLD * TITLE_SIZE, chart.width - 8.0);
        let y_name = if chart.y.label.is_empty() { 8.0 } else { LINE + 4.0 };
        let top = 10.0 + title.len() as f64 * 20.0 + y_name;
        let bottom = top + chart.height;

        let (x_axis, y_axis) = (with_bar_names(chart), &chart.y);
        let x_range = range(&x_axis, xs(chart), if has_scatter(chart) { 0.04 } else { 0.0 });
        let y_range = range(y_axis, ys(chart, &x_axis, x_range).into_iter(), 0.05);
        let y = Scale { range: y_range, log: is_log(y_axis), pixels: (bottom, top) };
        let y_ticks = find_ticks(y_axis, &y, |_| SIZE + 8.0);

        let left = 14.0 + y_ticks.iter().map(|tick| label_width(&tick.label)).fold(0.0, f64::max);
        let right = (chart.width - RIGHT_MARGIN).max(left + 1.0);
        let x = Scale { range: x_range, log: is_log(&x_axis), pixels: (left, right) };
        let named_x = !x_axis.categories.is_empty();
        let mut frame = Self { x, y, x_ticks: vec![], y_ticks, named_x, tilted: false, title, x_name: 0.0, below: 0.0 };
        frame.place_x_labels(&x_axis);
        frame
    }

    /// Chooses the labels under the x axis, and the layout below them.
    fn place_x_labels(&mut self, axis: &Axis) {
        self.x_ticks = find_ticks(axis, &self.x, |label| label_width(label) + 18.0);
        let mut depth = SIZE;
        if self.named_x && !fit(&self.x_ticks, &self.x, |label| label_width(label) + 8.0) {
            self.tilted = true;
            depth = self.tilt_x_labels();
        }
        self.x_name = self.y.pixels.0 + 8.0 + depth + if axis.label.is_empty() { 0.0 } else { LINE + 4.0 };
        self.below = self.x_name + 10.0;
    }

    /// Makes room for turned labels: fewer of them if they would touch, and more space on the left for the first.
    /// Returns their height.
    fn tilt_x_labels(&mut self) -> f64 {
        let (sin, cos) = TILT_DEGREES.to_radians().sin_cos();
        let reach = self.x_ticks.first().map_or(0.0, |tick| cos * label_width(&tick.label) + 4.0);
        let first = self.x_ticks.first().and_then(|tick| self.x.pixel(tick.value)).unwrap_or(reach);
        self.x.pixels.0 += (reach - first).max(0.0);
        let slot = (self.x.pixels.1 - self.x.pixels.0) / self.x_ticks.len() as f64;
        let stride = (LINE / sin / slot).ceil().max(1.0) as usize;
        self.x_ticks = std::mem::take(&mut self.x_ticks).into_iter().step_by(stride).collect();
        sin * self.x_ticks.iter().map(|tick| label_width(&tick.label)).fold(0.0, f64::max) + SIZE
    }
}

/// The width of a label.
fn label_width(label: &str) -> f64 {
    text::width(label, SIZE)
}

/// The x axis of `chart`; bars without names are named by their index, since nothing lies between them.
fn with_bar_names(chart: &Chart) -> Axis {
    let count = |layer: &Layer| if let Layer::Bars { values, .. } = layer { values.len() } else { 0 };
    let bars = chart.layers.iter().map(count).max().unwrap_or(0);
    let mut axis = chart.x.clone();
    axis.categories.extend((axis.categories.len()..bars).map(|i| i.to_string()));
    axis
}

fn is_log(axis: &Axis) -> bool {
    axis.log && axis.categories.is_empty()
}

fn has_scatter(chart: &Chart) -> bool {
    chart.layers.iter().any(|layer| matches!(layer, Layer::Scatter { .. }))
}

/// The x values of the data.
fn xs(chart: &Chart) -> impl Iterator<Item = f64> {
    chart.layers.iter().flat_map(Layer::points).map(|point| point.0)
}

/// The y values of the data within `x_range`, and zero if there are bars.
fn ys(chart: &Chart, x_axis: &Axis, x_range: (f64, f64)) -> Vec<f64> {
    let in_view = |x: f64| (!is_log(x_axis) || x > 0.0) && x_range.0 <= x && x <= x_range.1;
    let extra = chart.layers.iter().filter_map(|layer| match layer {
        Layer::Level { y, .. } => Some(*y),
        Layer::Bars { .. } => Some(0.0),
        _ => None,
    });
    let data = chart.layers.iter().flat_map(Layer::points).filter(|point| in_view(point.0)).map(|point| point.1);
    data.chain(extra).collect()
}

/// The range of an axis: its categories, else the given range, else one that fits `values`.
fn range(axis: &Axis, values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    if !axis.categories.is_empty() {
        return (-0.5, axis.categories.len() as f64 - 0.5);
    }
    axis.range
        .filter(|&range| scale::is_usable(range, axis.log))
        .unwrap_or_else(|| scale::fit(values, axis.log, margin))
}

/// The densest ticks whose labels, each taking `extent` pixels along the axis, do not touch.
fn find_ticks(axis: &Axis, scale: &Scale, extent: impl Fn(&str) -> f64) -> Vec<Tick> {
    if !axis.categories.is_empty() {
        let tick =
            |(i, name): (usize, &String)| Tick { value: i as f64, label: text::shorten(name, SIZE, CATEGORY_LIMIT) };
        return axis.categories.iter().enumerate().map(tick).collect();
    }
    let most = ((scale.pixels.1 - scale.pixels.0).abs() / 45.0).ceil() as usize;
    let choices = (1..=most.max(2)).rev().map(|most| number_ticks(scale, most));
    choices.filter(|ticks| fit(ticks, scale, &extent)).find(|ticks| !ticks.is_empty()).unwrap_or_default()
}

fn number_ticks(scale: &Scale, most: usize) -> Vec<Tick> {
    let (lo, hi) = scale.range;
    let (values, labels) = match scale.log.then(|| ticks::log(lo, hi, most)).flatten() {
        Some(values) => (values.clone(), number::log_labels(&values)),
        None => {
            let values = ticks::even(lo, hi, most);
            (values.clone(), number::even_labels(&values))
        }
    };
    values.into_iter().zip(labels).map(|(value, label)| Tick { value, label }).collect()
}

/// Whether neighbouring labels stay apart.
fn fit(ticks: &[Tick], scale: &Scale, extent: impl Fn(&str) -> f64) -> bool {
    ticks.windows(2).all(|pair| match (scale.pixel(pair[0].value), scale.pixel(pair[1].value)) {
        (Some(a), Some(b)) => (a - b).abs() >= (extent(&pair[0].label) + extent(&pair[1].label)) / 2.0,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn x_labels_never_touch() {
        for (hi, log) in [(1.0, false), (12_345_678.0, false), (1e-7, false), (1e9, true), (30.0, true)] {
            for width in [120.0, 320.0, 640.0, 1200.0] {
                let x = Axis { log, range: Some((hi * 1e-8, hi)), ..Axis::default() };
                let frame = Frame::new(&Chart { x, width, ..Chart::default() });
                assert!(fit(&frame.x_ticks, &frame.x, |label| label_width(label) + 17.9));
                assert!(!frame.x_ticks.is_empty(), "no label up to {hi} in {width}");
            }
        }
    }

    #[test]
    fn long_names_are_turned_and_stay_in_the_picture() {
        let names = |count: usize| (0..count).map(|i| format!("a rather long name {i}")).collect();
        let chart = |count| Chart { x: Axis { categories: names(count), ..Axis::default() }, ..Chart::default() };
        assert!(!Frame::new(&chart(2)).tilted);
        let many = Frame::new(&chart(12));
        let first = many.x.pixel(0.0).unwrap();
        assert!(many.tilted && first >= label_width(&many.x_ticks[0].label) * 0.76, "{first}");
        assert_eq!(many.x_ticks.len(), 12);
        assert!(Frame::new(&chart(300)).x_ticks.len() < 30);
    }

    #[test]
    fn bars_stand_on_zero_and_are_named_by_their_index() {
        let bars = Layer::Bars { name: String::new(), values: vec![3.0, 5.0], style: Default::default() };
        let frame = Frame::new(&Chart { layers: vec![bars], ..Chart::default() });
        assert_eq!(labels(&frame.x_ticks), ["0", "1"]);
        assert_eq!(frame.y.range.0, 0.0);
    }

    #[test]
    fn the_y_axis_fits_what_the_x_range_shows() {
        let points = vec![(0.0, 900.0), (5.0, 1.0), (6.0, 2.0)];
        let line = Layer::Line { name: String::new(), points, style: Default::default() };
        let x = Axis { range: Some((4.0, 7.0)), ..Axis::default() };
        assert!(Frame::new(&Chart { x, layers: vec![line], ..Chart::default() }).y.range.1 < 3.0);
    }
}
