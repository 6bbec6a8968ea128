//! Charts as SVG, without scripts: lines, points, bars, levels and segments over two axes.
//!
//! A [`Chart`] is plain data. [`Chart::svg`] draws it for a page, which must include the rules of [`crate::css`];
//! [`Chart::standalone_svg`] draws it as a file of its own. No element has an id, so any number of charts fit into
//! one document.

mod axes;
mod frame;
mod layers;
mod legend;
mod number;
mod scale;
pub mod style;
mod text;
mod thin;
mod ticks;

use crate::markup::escape;
use crate::theme;
use frame::Frame;
use style::Style;

/// A picture: a title, two axes, and layers drawn in order, the last on top.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Shown above the plot, and read out by screen readers.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn.
    pub layers: Vec<Layer>,
    /// Width of the whole picture, in pixels at its natural size.
    pub width: f64,
    /// Height of the plot alone, in pixels: title, axis names and legend add to it and never squeeze the plot.
    pub height: f64,
}

impl Default for Chart {
    fn default() -> Self {
        Self {
            title: String::new(),
            x: Axis::default(),
            y: Axis::default(),
            layers: Vec::new(),
            width: 640.0,
            height: 300.0,
        }
    }
}

/// One axis of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit.
    pub label: String,
    /// Logarithmic; leaves out values that are not positive.
    pub log: bool,
    /// Least and greatest value shown; `None` fits the axis to the data.
    pub range: Option<(f64, f64)>,
    /// Names instead of numbers, the i-th at the value i. Takes precedence over `log` and `range`.
    pub categories: Vec<String>,
}

/// One series of a chart.
///
/// A layer with an empty name is drawn but not listed in the legend; values that are not finite are left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// Points joined in the order given, with a gap where a point is left out.
    ///
    /// A short line also shows its points; one with more points than pixels shows their mean, and faintly their range.
    Line {
        /// Name in the legend.
        name: String,
        /// The points, as (x, y).
        points: Vec<(f64, f64)>,
        /// Colour, dash and marker.
        style: Style,
    },
    /// A marker at each point.
    Scatter {
        /// Name in the legend.
        name: String,
        /// The points, as (x, y).
        points: Vec<(f64, f64)>,
        /// Colour and marker.
        style: Style,
    },
    /// Bars, the i-th at x = i; several such layers are drawn side by side.
    Bars {
        /// Name in the legend.
        name: String,
        /// Heights of the bars.
        values: Vec<f64>,
        /// Colour and hatch.
        style: Style,
    },
    /// A horizontal line across the plot, such as a maximised likelihood.
    Level {
        /// Name in the legend.
        name: String,
        /// Height of the line.
        y: f64,
        /// Colour and dash.
        style: Style,
    },
    /// Separate straight pieces, such as decision boundaries.
    Segments {
        /// Name in the legend.
        name: String,
        /// Both ends of each piece, as (x, y).
        segments: Vec<[(f64, f64); 2]>,
        /// Colour and dash.
        style: Style,
    },
}

impl Layer {
    /// The name in the legend.
    pub fn name(&self) -> &str {
        match self {
            Self::Line { name, .. }
            | Self::Scatter { name, .. }
            | Self::Bars { name, .. }
            | Self::Level { name, .. }
            | Self::Segments { name, .. } => name,
        }
    }

    fn style(&self) -> Style {
        match self {
            Self::Line { style, .. }
            | Self::Scatter { style, .. }
            | Self::Bars { style, .. }
            | Self::Level { style, .. }
            | Self::Segments { style, .. } => *style,
        }
    }

    /// Every point of the layer. A level has none: it extends over every x.
    fn points(&self) -> Box<dyn Iterator<Item = (f64, f64)> + '_> {
        match self {
            Self::Line { points, .. } | Self::Scatter { points, .. } => Box::new(points.iter().copied()),
            Self::Bars { values, .. } => Box::new(values.iter().enumerate().map(|(i, &value)| (i as f64, value))),
            Self::Level { .. } => Box::new(std::iter::empty()),
            Self::Segments { segments, .. } => Box::new(segments.iter().flatten().copied()),
        }
    }

    /// One clause of the description for screen readers.
    fn description(&self) -> String {
        match self {
            Self::Line { name, points, .. } => format!("{name} (line through {} points)", points.len()),
            Self::Scatter { name, points, .. } => format!("{name} ({} points)", points.len()),
            Self::Bars { name, values, .. } => format!("{name} ({} bars)", values.len()),
            Self::Level { name, y, .. } => format!("{name} (level at {y})"),
            Self::Segments { name, segments, .. } => format!("{name} ({} segments)", segments.len()),
        }
    }
}

impl Chart {
    /// The chart as an SVG element, as wide as its container, for a page that includes the rules of [`crate::css`].
    pub fn svg(&self) -> String {
        let (height, picture) = self.draw();
        let (width, names) = (self.width, self.names());
        format!("<svg class=\"chart\" viewBox=\"0 0 {width} {height}\" role=\"img\">{names}{picture}</svg>")
    }

    /// The chart as an SVG file, with its own background and colours for light and dark screens.
    pub fn standalone_svg(&self) -> String {
        let (height, picture) = self.draw();
        let (width, names, css) = (self.width, self.names(), css());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">{names}<style>{css}</style>\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>{picture}</svg>\n"
        )
    }

    /// The height of the whole picture, and the picture.
    fn draw(&self) -> (f64, String) {
        let frame = Frame::new(self);
        let (legend_height, legend) = legend::draw(self, frame.below);
        let height = (frame.below + legend_height).ceil();
        (height, [axes::draw(self, &frame), layers::draw(self, &frame), legend].concat())
    }

    /// The accessible name and description.
    fn names(&self) -> String {
        let named: Vec<String> =
            self.layers.iter().filter(|layer| !layer.name().is_empty()).map(Layer::description).collect();
        let description = format!("{} against {}. {}", self.y.label, self.x.label, named.join("; "));
        format!("<title>{}</title><desc>{}</desc>", escape(&self.title), escape(&description))
    }
}

/// The rules that [`Chart::svg`] needs. Plain colours instead of CSS variables, which some SVG renderers do not
/// support.
pub(crate) fn css() -> String {
    const SHAPES: &str = "\
.chart{display:block;font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\
.chart text{fill:currentColor}\
.chart .title{font-size:15px;font-weight:600}\
.chart .tick{font-variant-numeric:tabular-nums}\
.chart .stroke,.chart .open{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}\
.chart .fill{fill:currentColor;stroke-width:.75}\
.chart .range{fill:none;stroke:currentColor;stroke-opacity:.3}\
.chart .bar{fill:currentColor;stroke:currentColor}\
.chart .crowd .open{stroke-width:1}\
.chart .crowd .fill{stroke-width:0}\
.chart .pale{fill-opacity:.12}\
.chart .hatch{stroke:currentColor;stroke-width:1.25}";
    let colours = |scheme: &theme::Scheme| {
        let series: String =
            scheme.series.iter().enumerate().map(|(i, colour)| format!(".chart .s{i}{{color:{colour}}}")).collect();
        format!(
            ".chart{{color:{ink}}}.chart .tick{{fill:{muted}}}.chart .paper{{fill:{paper}}}\
             .chart .fill{{stroke:{paper}}}\
             .chart .grid{{stroke:{rule}}}.chart .axis{{stroke:{muted}}}{series}",
            ink = scheme.ink,
            muted = scheme.muted,
            paper = scheme.paper,
            rule = scheme.rule,
        )
    };
    format!("{SHAPES}{}", theme::for_both(colours))
}

#[cfg(test)]
mod tests;
