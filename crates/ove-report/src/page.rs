//! A report as one HTML document that loads nothing else: no files, no scripts, no network.

use crate::chart::{self, Chart};
use crate::markup::{escape, scroll_box};
use crate::table::Table;
use crate::theme;

/// An HTML document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The heading, and the name of the browser's tab.
    pub title: String,
    /// What the page is about, in a sentence or two.
    pub lead: String,
    /// The sections; three or more get a table of contents.
    pub sections: Vec<Section>,
}

/// A part of a page with its own heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The fragment of a link to the section, after the `#`; unique within the page and without spaces.
    pub id: String,
    /// The heading.
    pub title: String,
    /// The content, from top to bottom.
    pub blocks: Vec<Block>,
}

/// A piece of content; all text is taken literally, never as markup.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A chart with a caption; numbered by the page.
    Figure {
        /// The chart.
        chart: Chart,
        /// What it shows.
        caption: String,
    },
    /// A table; numbered by the page.
    Table(Table),
    /// Names with their values, such as the settings of a run.
    Settings(Vec<(String, String)>),
}

/// A small bar chart. Without an icon in the page, browsers request one from the server and log an error if there is
/// none.
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

    /// Links to the sections, if there are more than two.
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

/// Style sheet of a page and of the charts in it.
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
    /// The section as HTML, for a page that includes the rules of [`css`].
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

#[cfg(test)]
mod tests;
