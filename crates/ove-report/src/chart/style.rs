//! How a series looks: a colour, and marks that distinguish series without it.

/// Colour and marks of one series: lines use the dash (short ones the marker too), points the marker, bars the hatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// An index into the palette, which repeats after its last colour.
    pub colour: usize,
    /// The pattern of a line.
    pub dash: Dash,
    /// The shape of a point.
    pub marker: Marker,
    /// The pattern of a bar.
    pub hatch: Hatch,
}

impl Style {
    /// Number of styles that differ in every mark.
    pub const DISTINCT: usize = 8;

    /// The style of the `index`-th series: the first [`Self::DISTINCT`] differ in dash, marker and hatch.
    pub fn nth(index: usize) -> Self {
        let mark = index % Self::DISTINCT;
        Self { colour: index, dash: Dash::ALL[mark], marker: Marker::ALL[mark], hatch: Hatch::ALL[mark] }
    }

    /// The CSS class that sets the colour.
    pub(super) fn class(self) -> String {
        format!("s{}", self.colour % crate::theme::LIGHT.series.len())
    }
}

/// The pattern of a line: solid, or dashes of various lengths with up to two dots between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// Unbroken.
    #[default]
    Solid,
    /// Medium dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// A dash, then a dot.
    OneDot,
    /// Long dashes.
    Long,
    /// A dash, then two dots.
    TwoDots,
    /// Short dashes.
    Short,
    /// A long dash, then a short one.
    LongShort,
}

impl Dash {
    /// Every dash, in the order in which series take them.
    pub const ALL: [Self; Style::DISTINCT] = [
        Self::Solid,
        Self::Dashed,
        Self::Dotted,
        Self::OneDot,
        Self::Long,
        Self::TwoDots,
        Self::Short,
        Self::LongShort,
    ];

    /// The attribute that draws it.
    pub(super) fn attribute(self) -> &'static str {
        match self {
            Self::Solid => "",
            Self::Dashed => " stroke-dasharray=\"8 4\"",
            Self::Dotted => " stroke-dasharray=\"2 3\"",
            Self::OneDot => " stroke-dasharray=\"9 3 2 3\"",
            Self::Long => " stroke-dasharray=\"16 5\"",
            Self::TwoDots => " stroke-dasharray=\"9 3 2 3 2 3\"",
            Self::Short => " stroke-dasharray=\"4 4\"",
            Self::LongShort => " stroke-dasharray=\"14 3 5 3\"",
        }
    }
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marker {
    /// A filled circle.
    #[default]
    Circle,
    /// A filled square.
    Square,
    /// A filled triangle that points up.
    Triangle,
    /// A filled square on its corner.
    Diamond,
    /// An ×.
    Cross,
    /// An open circle.
    Ring,
    /// A +.
    Plus,
    /// A filled triangle that points down.
    TriangleDown,
}

impl Marker {
    /// Every marker, in the order in which series take them.
    pub const ALL: [Self; Style::DISTINCT] = [
        Self::Circle,
        Self::Square,
        Self::Triangle,
        Self::Diamond,
        Self::Cross,
        Self::Ring,
        Self::Plus,
        Self::TriangleDown,
    ];

    /// The class that paints the outline: strokes for open shapes, a fill for the others.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Cross | Self::Ring | Self::Plus => "open",
            _ => "fill",
        }
    }

    /// The outline around the current point, as relative path commands. One path can thus hold a whole series.
    /// The sizes are such that all shapes look equally large.
    pub(super) fn outline(self, radius: f64) -> String {
        let px = |share: f64| super::text::px(share * radius);
        match self {
            Self::Circle => circle(radius),
            Self::Ring => circle(0.9 * radius),
            Self::Square => format!("m{0} {0}h{1}v{1}h{2}z", px(-0.9), px(1.8), px(-1.8)),
            Self::Triangle => format!("m0 {}l{} {}h{}z", px(-1.2), px(1.15), px(2.1), px(-2.3)),
            Self::TriangleDown => format!("m0 {}l{} {}h{}z", px(1.2), px(1.15), px(-2.1), px(-2.3)),
            Self::Diamond => format!("m0 {0}l{1} {1}l{0} {1}l{0} {0}z", px(-1.25), px(1.25)),
            Self::Cross => format!("m{0} {0}l{1} {1}m0 {2}l{2} {1}", px(-0.9), px(1.8), px(-1.8)),
            Self::Plus => format!("m{0} 0h{1}m{0} {0}v{1}", px(-1.15), px(2.3)),
        }
    }
}

fn circle(radius: f64) -> String {
    let (left, radius, width) = (super::text::px(-radius), super::text::px(radius), super::text::px(2.0 * radius));
    format!("m{left} 0a{radius} {radius} 0 1 0 {width} 0a{radius} {radius} 0 1 0 -{width} 0z")
}

/// The pattern of a bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hatch {
    /// Filled.
    #[default]
    Solid,
    /// Stripes that rise to the right.
    Rising,
    /// An outline.
    Empty,
    /// Horizontal stripes.
    Horizontal,
    /// Stripes that fall to the right.
    Falling,
    /// Horizontal and vertical stripes.
    Grid,
    /// Vertical stripes.
    Vertical,
    /// Rising and falling stripes.
    Crossed,
}

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Hatch {
    /// Every hatch, in the order in which series take them.
    pub const ALL: [Self; Style::DISTINCT] = [
        Self::Solid,
        Self::Rising,
        Self::Empty,
        Self::Horizontal,
        Self::Falling,
        Self::Grid,
        Self::Vertical,
        Self::Crossed,
    ];

    /// Path commands for the stripes inside a bar. Drawn rather than a `pattern`, which would need an id.
    pub(super) fn stripes(self, bar: Rect) -> String {
        match self {
            Self::Solid | Self::Empty => String::new(),
            Self::Rising => rising(bar),
            Self::Falling => falling(bar),
            Self::Crossed => rising(bar) + &falling(bar),
            Self::Horizontal => horizontal(bar),
            Self::Vertical => vertical(bar),
            Self::Grid => horizontal(bar) + &vertical(bar),
        }
    }
}

/// The lines x + y = c.
fn rising(bar: Rect) -> String {
    let line = |c: f64| {
        let (x0, x1) = (bar.left.max(c - bar.bottom), bar.right.min(c - bar.top));
        segment((x0, c - x0), (x1, c - x1))
    };
    multiples(8.0, bar.left + bar.top, bar.right + bar.bottom).map(line).collect()
}

/// The lines y - x = c.
fn falling(bar: Rect) -> String {
    let line = |c: f64| {
        let (x0, x1) = (bar.left.max(bar.top - c), bar.right.min(bar.bottom - c));
        segment((x0, x0 + c), (x1, x1 + c))
    };
    multiples(8.0, bar.top - bar.right, bar.bottom - bar.left).map(line).collect()
}

fn horizontal(bar: Rect) -> String {
    multiples(6.0, bar.top, bar.bottom).map(|y| segment((bar.left, y), (bar.right, y))).collect()
}

fn vertical(bar: Rect) -> String {
    multiples(6.0, bar.left, bar.right).map(|x| segment((x, bar.top), (x, bar.bottom))).collect()
}

/// The multiples of `gap` strictly between two bounds.
fn multiples(gap: f64, from: f64, to: f64) -> impl Iterator<Item = f64> {
    let first = (from / gap).floor() + 1.0;
    (0..).map(move |i| (first + f64::from(i)) * gap).take_while(move |&c| c < to)
}

fn segment(from: (f64, f64), to: (f64, f64)) -> String {
    use super::text::px;
    format!("M{} {} {} {}", px(from.0), px(from.1), px(to.0), px(to.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_styles_differ_in_every_mark() {
        let bar = Rect { left: 0.0, top: 0.0, right: 40.0, bottom: 40.0 };
        let styles: Vec<Style> = (0..Style::DISTINCT).map(Style::nth).collect();
        let dashes: HashSet<_> = styles.iter().map(|style| style.dash.attribute()).collect();
        let markers: HashSet<_> = styles.iter().map(|style| style.marker.outline(4.0)).collect();
        // solid and empty both lack stripes, and differ in their fill
        let hatches: HashSet<_> =
            styles.iter().map(|style| (style.hatch.stripes(bar), style.hatch == Hatch::Solid)).collect();
        assert_eq!((dashes.len(), markers.len(), hatches.len()), (8, 8, 8));
    }

    #[test]
    fn stripes_stay_inside_their_bar() {
        let bar = Rect { left: 101.0, top: 53.0, right: 119.0, bottom: 190.0 };
        for hatch in Hatch::ALL {
            let path = hatch.stripes(bar);
            let numbers: Vec<f64> =
                path.split(['M', ' ']).filter(|part| !part.is_empty()).map(|part| part.parse().unwrap()).collect();
            for point in numbers.chunks(2) {
                assert!(
                    (101.0..=119.0).contains(&point[0]) && (53.0..=190.0).contains(&point[1]),
                    "{hatch:?} {point:?}"
                );
            }
            assert_eq!(numbers.is_empty(), matches!(hatch, Hatch::Solid | Hatch::Empty), "{hatch:?}");
        }
    }
}
