use super::*;
use crate::markup::check_balance;
use std::collections::HashSet;

const KINDS: usize = 5;

/// One layer of each kind.
fn layer(kind: usize, name: &str, style: Style) -> Layer {
    let name = name.to_string();
    let points = vec![(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)];
    match kind {
        0 => Layer::Line { name, points, style },
        1 => Layer::Scatter { name, points, style },
        2 => Layer::Bars { name, values: vec![1.0, -2.0, 3.0], style },
        3 => Layer::Level { name, y: 2.5, style },
        _ => Layer::Segments { name, segments: vec![[(0.0, 0.0), (2.0, 3.0)]], style },
    }
}

fn chart(layers: Vec<Layer>) -> Chart {
    Chart { title: "Title".into(), layers, ..Chart::default() }
}

fn line(points: Vec<(f64, f64)>) -> Chart {
    chart(vec![Layer::Line { name: String::new(), points, style: Style::default() }])
}

/// The contents of the attribute `d` of the paths of class `class`.
fn paths<'a>(svg: &'a str, class: &str) -> Vec<&'a str> {
    let start = format!("<path class=\"{class}\" d=\"");
    svg.split(&start as &str).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn both_forms_are_well_formed() {
    let layers = (0..KINDS).map(|kind| layer(kind, "a", Style::nth(kind))).collect();
    let chart = chart(layers);
    assert_eq!(check_balance(&chart.svg()), Ok(()));
    let file = chart.standalone_svg();
    assert_eq!(check_balance(&file), Ok(()));
    assert!(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(file.contains("prefers-color-scheme:dark") && file.contains("<rect class=\"paper\""));
    assert!(!chart.svg().contains(" id="), "an id would clash with that of another chart in the page");
}

#[test]
fn all_text_is_escaped() {
    let nasty = "<b>&\"";
    let mut chart = chart((0..KINDS).map(|kind| layer(kind, nasty, Style::default())).collect());
    chart.title = nasty.into();
    chart.x = Axis { label: nasty.into(), categories: vec![nasty.into()], ..Axis::default() };
    chart.y.label = nasty.into();
    let svg = chart.standalone_svg();
    assert!(!svg.contains("<b>"));
    assert_eq!(check_balance(&svg), Ok(()));
    // the title twice, each name twice, both axis names twice, one category
    assert_eq!(svg.matches("&lt;b&gt;&amp;&quot;").count(), 2 + 2 * KINDS + 4 + 1);
}

#[test]
fn the_legend_lists_every_named_layer() {
    let layers = (0..KINDS).map(|kind| layer(kind, &format!("layer number {kind}"), Style::nth(kind)));
    let svg = chart(layers.chain([layer(0, "", Style::nth(7))]).collect()).svg();
    for kind in 0..KINDS {
        assert!(svg.contains(&format!(">layer number {kind}</text>")), "{kind}");
    }
    assert_eq!(svg.matches("<g class=\"s").count(), 2 * KINDS + 1);
}

#[test]
fn the_legend_stands_below_the_plot_and_inside_the_picture() {
    let names: Vec<String> = (0..9).map(|i| format!("a long name of a method, with settings {i}")).collect();
    let chart = chart(names.iter().map(|name| layer(0, name, Style::default())).collect());
    let frame = Frame::new(&chart);
    let (height, _) = chart.draw();
    let svg = chart.svg();
    for name in names {
        let (before, _) = svg.split_once(&format!(">{name}</text>")).unwrap();
        let place =
            |key: &str| -> f64 { before.rsplit(key).next().unwrap().split('"').next().unwrap().parse().unwrap() };
        assert!(place(" y=\"") > frame.y.pixels.0 + 20.0 && place(" y=\"") < height);
        assert!(place(" x=\"") + text::width(&name, text::SIZE) <= chart.width);
    }
}

#[test]
fn series_differ_without_their_colours() {
    for kind in 0..KINDS {
        let pictures: HashSet<String> = (0..Style::DISTINCT)
            .map(|i| chart(vec![layer(kind, "a", Style { colour: 0, ..Style::nth(i) })]).svg())
            .collect();
        assert_eq!(pictures.len(), Style::DISTINCT, "kind {kind}");
    }
}

#[test]
fn points_that_are_not_finite_are_left_out() {
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let points = [(0.0, 1.0), (1.0, 2.0), (bad[0], 1.0), (2.0, bad[1]), (3.0, bad[2]), (4.0, 5.0), (5.0, 4.0)];
    let mut layers: Vec<Layer> = vec![Layer::Line { name: "l".into(), points: points.into(), style: Style::nth(0) }];
    layers.push(Layer::Scatter { name: "s".into(), points: points.into(), style: Style::nth(1) });
    layers.push(Layer::Level { name: "v".into(), y: f64::NAN, style: Style::nth(2) });
    layers.push(Layer::Segments { name: "g".into(), segments: vec![[points[0], points[2]]], style: Style::nth(3) });
    let svg = chart(layers).svg();
    let (_, picture) = svg.split_once("</desc>").unwrap();
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
    // two pieces of the line, with a gap where points are missing, then the samples of the legend
    assert_eq!(paths(&svg, "stroke").len(), 2 + 3);
    // four points of each kind, then the samples
    assert_eq!(paths(&svg, "fill").iter().map(|path| path.matches('M').count()).collect::<Vec<_>>(), [4, 4, 1, 1]);

    let bars = Layer::Bars { name: String::new(), values: vec![1.0, f64::NAN, 2.0], style: Style::default() };
    assert_eq!(chart(vec![bars]).svg().matches("class=\"bar\"").count(), 2);
}

#[test]
fn values_without_a_logarithm_are_left_out() {
    let mut chart = line(vec![(1.0, 0.0), (2.0, -1.0), (3.0, 10.0), (4.0, 100.0)]);
    chart.y.log = true;
    assert_eq!(paths(&chart.svg(), "fill")[0].matches('M').count(), 2);
}

#[test]
fn nothing_to_draw_does_not_panic() {
    let empty = |kind: usize| match kind {
        0 => Layer::Line { name: "a".into(), points: vec![], style: Style::default() },
        1 => Layer::Scatter { name: "a".into(), points: vec![(f64::NAN, 1.0)], style: Style::default() },
        2 => Layer::Bars { name: "a".into(), values: vec![], style: Style::default() },
        3 => Layer::Level { name: "a".into(), y: f64::NAN, style: Style::default() },
        _ => Layer::Segments { name: "a".into(), segments: vec![], style: Style::default() },
    };
    for kind in 0..KINDS {
        for log in [false, true] {
            let axis = Axis { log, range: Some((3.0, 3.0)), ..Axis::default() };
            let chart = Chart { x: axis.clone(), y: axis, width: 1.0, height: 0.0, ..chart(vec![empty(kind)]) };
            let svg = chart.svg();
            assert_eq!(check_balance(&svg), Ok(()));
            assert!(svg.contains(">no data</text>"), "{kind}");
        }
    }
    assert!(Chart::default().svg().contains(">no data</text>"));
}

#[test]
fn a_long_series_makes_a_small_picture() {
    let points = (0..200_000).map(|i| (f64::from(i), f64::from(i * 37 % 1001))).collect();
    let svg = line(points).svg();
    assert!(svg.len() < 25_000, "{}", svg.len());
}

#[test]
fn extreme_values_keep_coordinates_drawable() {
    for chart in [
        line(vec![(0.0, 0.0), (1.0, 1e300)]),
        line(vec![(0.0, -f64::MAX), (1.0, f64::MAX)]),
        Chart { y: Axis { range: Some((0.0, 1e-300)), ..Axis::default() }, ..line(vec![(0.0, 0.0), (1.0, 1.0)]) },
    ] {
        for number in paths(&chart.svg(), "stroke").concat().split(['M', ' ']).filter(|part| !part.is_empty()) {
            assert!(number.parse::<f64>().unwrap().abs() <= 1e6, "{number}");
        }
    }
}

#[test]
fn grouped_bars_stand_side_by_side() {
    let svg = chart(vec![layer(2, "", Style::nth(0)), layer(2, "", Style::nth(0))]).svg();
    let lefts: HashSet<&str> =
        svg.split("class=\"bar\" x=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(lefts.len(), 6);
}
