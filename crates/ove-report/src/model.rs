//! Reports about a model: charts of its training, and sections with its size, settings and metrics.

use ove::Evaluation;
use ove::model::{Card, HeldOutPoint, Model};
use serde_json::Value;

use crate::{Axis, Block, Chart, Layer, Page, Section, Style, Table};

/// Number of frequent classes in the table.
const FREQUENT: usize = 10;

/// Narrow enough to be read on a phone without scrolling.
const WIDTH: f64 = 420.0;

/// Maps the label of a class to its display name.
pub type ClassName<'a> = &'a dyn Fn(&str) -> String;

/// A page about a model and its evaluation on the data set called `data`.
pub fn evaluation_page(model: &Model, evaluation: &Evaluation, data: &str) -> Page {
    let named =
        |label: &str| model.card.find_class(label).map_or_else(|| label.to_owned(), |class| model.card.shown(class));
    let mut sections = vec![evaluation_section(evaluation, &named)];
    sections.extend(model_sections(model, &named));
    let lead = format!("{} classes, measured on {} rows of {data}.", model.classes(), evaluation.rows);
    Page { title: "Evaluation".into(), lead, sections }
}

/// Model card: its data, its training, and its evaluation on held-out rows.
pub fn card(model: &Model, name: ClassName<'_>) -> Vec<Section> {
    let mut sections = model_sections(model, name);
    sections.push(match &model.card.evaluation {
        Some(evaluation) => evaluation_section(evaluation, name),
        None => section("evaluation", "Held-out rows", vec![Block::Text(
            "How reliable its probabilities are, and which classes it confuses, is unknown: it was trained without held-out rows. \
             Train with ove train … --valid DATA to have the figures here, or run ove evaluate MODEL DATA --report page.html."
                .into(),
        )]),
    });
    sections
}

fn section(id: &str, title: &str, blocks: Vec<Block>) -> Section {
    Section { id: id.into(), title: title.into(), blocks }
}

fn model_sections(model: &Model, name: ClassName<'_>) -> Vec<Section> {
    let card = &model.card;
    let mut data = vec![
        ("training rows".into(), grouped(card.rows)),
        ("classes".into(), grouped(model.classes() as u64)),
        ("features".into(), grouped(model.features() as u64)),
    ];
    let text = card.text.as_ref().and_then(|text| serde_json::to_value(text).ok());
    data.extend(settings("text", text.unwrap_or_default()));
    let mut training = settings("", serde_json::to_value(&card.options).unwrap_or_default());
    if !card.finished {
        training.insert(0, ("finished".into(), "no: it was stopped early, or did not reach its tolerance".into()));
    }
    let mut curves = vec![Block::Settings(training)];
    curves.extend(bound_curve(card).map(|chart| figure(chart, "The objective per row along training.")));
    curves.extend(held_out_curves(&card.held_out));
    vec![
        section("data", "Data", vec![Block::Settings(data), Block::Table(frequent(card, name))]),
        section("training", "Training", curves),
    ]
}

fn figure(chart: Chart, caption: &str) -> Block {
    Block::Figure { chart, caption: caption.into() }
}

/// Settings as names and values; settings without a value are left out.
fn settings(prefix: &str, value: Value) -> Vec<(String, String)> {
    let Value::Object(object) = value else { return Vec::new() };
    let pairs = object.into_iter().filter(|(_, value)| !value.is_null()).flat_map(|(name, value)| {
        let name = format!("{prefix} {name}").trim().replace('_', "-");
        let value = match value {
            Value::String(text) => text,
            Value::Bool(is) => (if is { "yes" } else { "no" }).into(),
            Value::Array(list) => format!("{} values", list.len()),
            // A choice with settings of its own: its name, then these.
            Value::Object(mut choice) => {
                let kind = choice.remove("kind").and_then(|kind| kind.as_str().map(str::to_owned));
                let own = settings(if kind.is_some() { "" } else { &name }, Value::Object(choice));
                return kind.map(|kind| (name, kind)).into_iter().chain(own).collect();
            }
            other => other.to_string(),
        };
        vec![(name, value)]
    });
    pairs.collect()
}

fn frequent(card: &Card, name: ClassName<'_>) -> Table {
    let mut order: Vec<usize> = (0..card.classes.len()).collect();
    order.sort_by_key(|&class| (std::cmp::Reverse(card.counts[class]), class));
    let row = |&class: &usize| vec![name(&card.classes[class]), grouped(card.counts[class])];
    Table {
        caption: "The most frequent classes.".into(),
        head: vec!["class".into(), "rows".into()],
        rows: order.iter().take(FREQUENT).map(row).collect(),
    }
}

/// The bound per row along training; trees have none.
fn bound_curve(card: &Card) -> Option<Chart> {
    let rows = card.rows.max(1) as f64;
    let points = card.trace.iter().map(|point| (point.updates as f64, point.bound / rows)).collect();
    bound_chart(points)
}

/// Chart of (updates, bound per row); `None` for fewer than two points.
pub fn bound_chart(points: Vec<(f64, f64)>) -> Option<Chart> {
    (points.len() > 1).then(|| Chart {
        title: "Bound".into(),
        x: axis("updates"),
        y: axis("bound per row"),
        layers: vec![Layer::Line { name: String::new(), points, style: Style::nth(0) }],
        width: WIDTH,
        height: 200.0,
    })
}

fn held_out_curves(points: &[HeldOutPoint]) -> Vec<Block> {
    let [error, nlpd] = held_out_charts(points);
    let error = error.map(|chart| figure(chart, "The share of held-out rows whose best class is none of theirs."));
    let nlpd = nlpd.map(|chart| figure(chart, "−log p of their labels, averaged."));
    error.into_iter().chain(nlpd).collect()
}

/// Charts of error and nlpd on held-out rows along training; `None` for fewer than two points.
pub fn held_out_charts(points: &[HeldOutPoint]) -> [Option<Chart>; 2] {
    let chart = |title: &str, name: &str, colour: usize, of: fn(&HeldOutPoint) -> f64| {
        (points.len() > 1).then(|| Chart {
            title: title.into(),
            x: axis("updates"),
            y: axis(name),
            layers: vec![Layer::Line {
                name: String::new(),
                points: points.iter().map(|point| (point.updates as f64, of(point))).collect(),
                style: Style { colour, ..Style::nth(0) },
            }],
            width: WIDTH,
            height: 200.0,
        })
    };
    [
        chart("Error on held-out rows", "error", 1, |point| point.error),
        chart("nlpd on held-out rows", "nlpd", 2, |point| point.nlpd),
    ]
}

fn axis(label: &str) -> Axis {
    Axis { label: label.into(), ..Axis::default() }
}

fn evaluation_section(e: &Evaluation, name: ClassName<'_>) -> Section {
    let ece = e.ece_uncalibrated.map_or(String::new(), |before| format!(" ({before:.4} before calibration)"));
    let mut figures = vec![
        ("rows".into(), grouped(e.rows as u64)),
        ("error".into(), format!("{:.4}", e.error)),
        ("nlpd".into(), format!("{:.4}", e.nlpd)),
        ("precision@1, 3, 5".into(), three(e.precision_at_1, e.precision_at_3, e.precision_at_5)),
        ("nDCG@3, 5".into(), format!("{:.4}  {:.4}", e.ndcg_at_3, e.ndcg_at_5)),
        ("PSP@1, 3, 5".into(), three(e.psp_at_1, e.psp_at_3, e.psp_at_5)),
        ("ECE".into(), format!("{:.4}{ece}", e.ece)),
    ];
    if let (Some(bound), Some(gap)) = (e.bound, e.gap) {
        let rows = (e.rows - e.unknown_rows).max(1) as f64;
        figures.push(("bound per row".into(), format!("{:.4}, {:.4} below the exact value", bound / rows, gap / rows)));
    }
    if e.unknown_rows > 0 {
        figures.push(("rows of unknown class".into(), grouped(e.unknown_rows as u64)));
    }
    let mut blocks = vec![
        Block::Settings(figures),
        figure(
            reliability(e),
            "The share of correct rows by the probability of their best class; on the diagonal, probabilities are calibrated. \
             Bars show how the rows are distributed.",
        ),
    ];
    if !e.confused.is_empty() {
        blocks.push(Block::Table(Table {
            caption: "The most confused pairs.".into(),
            head: ["class", "predicted as", "rows"].map(String::from).into(),
            rows: e.confused.iter().map(|c| vec![name(&c.label), name(&c.best), grouped(c.rows as u64)]).collect(),
        }));
    }
    section("evaluation", "Held-out rows", blocks)
}

fn three(one: f64, three: f64, five: f64) -> String {
    format!("{one:.4}  {three:.4}  {five:.4}")
}

/// The reliability diagram: confidence against accuracy, and the share of rows at each.
fn reliability(e: &Evaluation) -> Chart {
    let range = Some((0.0, 1.0));
    let rows = e.rows.max(1) as f64;
    let spread = |bin: &ove::model::Bin| [(bin.confidence, 0.0), (bin.confidence, bin.rows as f64 / rows)];
    Chart {
        title: "Reliability".into(),
        x: Axis { range, ..axis("probability of the best class") },
        y: Axis { range, ..axis("share of rows that are correct") },
        layers: vec![
            Layer::Segments {
                name: "share of rows".into(),
                segments: e.reliability.iter().map(spread).collect(),
                style: Style { colour: 5, ..Style::nth(0) },
            },
            Layer::Segments {
                name: "calibrated".into(),
                segments: vec![[(0.0, 0.0), (1.0, 1.0)]],
                style: Style::nth(4),
            },
            Layer::Line {
                name: "measured".into(),
                points: e.reliability.iter().map(|bin| (bin.confidence, bin.accuracy)).collect(),
                style: Style::nth(0),
            },
        ],
        width: WIDTH,
        height: 300.0,
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), text);
        }
    }
}
