//! The frame of a report: one HTML document that needs nothing else, neither files nor scripts nor the network.

use crate::chart::{self, Chart};
use crate::markup::escape;
use crate::theme;

/// A document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The heading, and the name of the browser's tab.
    pub title: String,
    /// What the page is about, in a sentence or two.
    pub lead: String,
    /// The parts; three or more get a table of contents.
    pub sections: Vec<Section>,
}

/// A part of a page under a heading of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// What a link to the section names after the `#`; unique within the page and without spaces.
    pub id: String,
    /// The heading.
    pub title: String,
    /// The content, from top to bottom.
    pub blocks: Vec<Block>,
}

/// A piece of content. All text is taken literally, never as markup.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A chart with what it shows; numbered by the page.
    Figure { chart: Chart, caption: String },
    /// A table; numbered by the page.
    Table(Table),
    /// Names with their values, such as the settings of a run.
    Settings(Vec<(String, String)>),
}

/// A table. Columns of numbers are aligned on the right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What the table shows.
    pub caption: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// A small bar chart. Given here since browsers otherwise ask the server for one, and complain when there is none.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
%3Cpath fill='%230072b2' d='M1 9h4v6H1zM6 5h4v10H6zM11 1h4v14h-4z'/%3E%3C/svg%3E";

impl Page {
    /// The whole document.
    pub fn html(&self) -> String {
        let sections: String = self.sections.iter().map(Section::html).collect();
        let (title, css, contents, lead) = (escape(&self.title), css(), self.contents(), lead(&self.lead));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <link rel=\"icon\" href=\"{ICON}\">\n<style>\n{css}\n</style>\n</head>\n\
             <body>\n<main>\n<header>\n<h1>{title}</h1>\n{lead}{contents}</header>\n\
             {sections}</main>\n</body>\n</html>\n"
        )
    }

    /// Links to the sections, once there are enough of them to get lost in.
    fn contents(&self) -> String {
        if self.sections.len() <= 2 {
            return String::new();
        }
        let link = |section: &Section| {
            format!("<li><a href=\"#{}\">{}</a></li>\n", escape(&section.id), escape(&section.title))
        };
        let links: String = self.sections.iter().map(link).collect();
        format!("<nav aria-labelledby=\"contents\">\n<h2 id=\"contents\">Contents</h2>\n<ol>\n{links}</ol>\n</nav>\n")
    }
}

fn lead(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class=\"lead\">{}</p>\n", escape(text)) }
}

/// The rules of the page and of the charts in it.
pub fn css() -> String {
    let variables = |scheme: &theme::Scheme| {
        format!(
            ":root{{--paper:{};--tint:{};--ink:{};--muted:{};--rule:{};--link:{};--for:{};--against:{}}}",
            scheme.paper,
            scheme.tint,
            scheme.ink,
            scheme.muted,
            scheme.rule,
            scheme.link,
            scheme.series[0],
            scheme.series[1]
        )
    };
    format!("{}\n{}\n{}", theme::for_both(variables), chart::css(), include_str!("page/page.css"))
}

impl Section {
    /// As a part of a page that carries [`css`].
    pub fn html(&self) -> String {
        let (id, title) = (escape(&self.id), escape(&self.title));
        let blocks: String = self.blocks.iter().map(Block::html).collect();
        format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{blocks}</section>\n")
    }
}

impl Block {
    fn html(&self) -> String {
        match self {
            Self::Text(text) => format!("<p>{}</p>\n", escape(text)),
            Self::Figure { chart, caption } => figure(chart, caption),
            Self::Table(table) => table.html(),
            Self::Settings(pairs) => settings(pairs),
        }
    }
}

fn figure(chart: &Chart, caption: &str) -> String {
    let (width, plot) = (chart.width, scroll_box(&chart.title, &chart.svg()));
    let caption = escape(caption);
    format!("<figure style=\"--width:{width}px\">\n{plot}\n<figcaption>{caption}</figcaption>\n</figure>\n")
}

fn settings(pairs: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value));
    format!("<dl>\n{}</dl>\n", pairs.iter().map(pair).collect::<String>())
}

/// A box that scrolls sideways; it takes the focus so that the arrow keys can scroll it too.
fn scroll_box(name: &str, content: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">{content}</div>", escape(name))
}

impl Table {
    fn html(&self) -> String {
        let class = |column: usize| if self.is_numeric(column) { " class=\"number\"" } else { "" };
        let classes: Vec<&str> = (0..self.columns()).map(class).collect();
        let cells = |tag: &str, cells: &[String]| -> String {
            let cell = |(text, class): (&String, &&str)| {
                let name = tag.split(' ').next().unwrap_or(tag);
                format!("<{tag}{class}>{}</{name}>", escape(text))
            };
            cells.iter().zip(&classes).map(cell).collect()
        };
        let head = cells("th scope=\"col\"", &self.head);
        let rows: String = self.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells("td", row))).collect();
        let caption = escape(&self.caption);
        let table = format!("<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>");
        let table = scroll_box(&self.caption, &table);
        // not a `caption`, which would be as narrow as the table and scroll away with it
        format!("<figure class=\"table\">\n<figcaption>{caption}</figcaption>\n{table}\n</figure>\n")
    }

    fn columns(&self) -> usize {
        self.rows.iter().chain([&self.head]).map(Vec::len).max().unwrap_or(0)
    }

    /// Whether most of the cells of a column are numbers. Decided by column, so that a data set named `20news` stays
    /// among the names, and a dash for a missing value among the numbers.
    fn is_numeric(&self, column: usize) -> bool {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !is_missing(cell));
        let (numbers, others): (Vec<_>, Vec<_>) = cells.partition(|cell| starts_like_a_number(cell));
        numbers.len() > others.len()
    }
}

fn is_missing(cell: &str) -> bool {
    matches!(cell.trim(), "" | "-" | "–" | "—")
}

/// Such as `3`, `−0.5`, `.5`, `1,000`, `12 s`, `0.31 ± 0.02` or `< 0.01`.
fn starts_like_a_number(cell: &str) -> bool {
    let digits = cell.trim_start_matches(['+', '-', '−', '<', '>', '≤', '≥', '≈', '~', '±', '$', ' ']);
    digits.strip_prefix('.').unwrap_or(digits).starts_with(|c: char| c.is_ascii_digit())
        || matches!(digits, "NaN" | "inf" | "∞")
}

#[cfg(test)]
mod tests;
