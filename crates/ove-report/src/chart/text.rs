//! Text in a picture: SVG neither measures nor wraps it, so both are estimated here.

use crate::markup::escape;

/// The size of ordinary text, in pixels; the `font` rule of [`super::css`] says the same.
pub const SIZE: f64 = 13.0;
/// The size of a title.
pub const TITLE_SIZE: f64 = 15.0;
/// The width of bold text relative to normal text.
pub const BOLD: f64 = 1.15;
/// From one line of text to the next.
pub const LINE: f64 = 18.0;

/// The part of a text that is at its x coordinate.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A coordinate with one decimal at most: a report with a dozen long series stays small.
pub fn px(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    format!("{}", rounded + 0.0) // + 0.0 turns -0 into 0
}

/// The approximate width of `text`; a generous estimate, since the reader's fonts are unknown.
pub fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '(' | ')' => 0.4,
        'm' | 'w' | 'M' | 'W' => 0.95,
        c if c >= '\u{2e80}' => 1.05,
        c if c.is_uppercase() => 0.72,
        _ => 0.62,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// `text` in lines of at most `limit` pixels, broken at spaces. A single word that is wider is cut short.
pub fn wrap(text: &str, size: f64, limit: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = shorten(word, size, limit);
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= limit => *line = format!("{line} {word}"),
            _ => lines.push(word),
        }
    }
    lines
}

/// `text`, or as much of it as fits `limit` pixels with an ellipsis.
pub fn shorten(text: &str, size: f64, limit: f64) -> String {
    if width(text, size) <= limit {
        return text.to_string();
    }
    let mut kept: String = text.to_string();
    while kept.pop().is_some() && width(&kept, size) + size > limit {}
    format!("{}…", kept.trim_end())
}

/// A `text` element, its baseline at `y`.
pub fn element(at: (f64, f64), anchor: Anchor, class: &str, text: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text{class} x=\"{}\" y=\"{}\"{anchor}>{}</text>", px(at.0), px(at.1), escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!([px(12.0), px(12.345), px(-0.01)], ["12", "12.3", "0"]);
    }

    #[test]
    fn long_text_is_wrapped_and_long_words_are_cut() {
        assert_eq!(wrap("one two three", 10.0, 50.0), ["one two", "three"]);
        let cut = wrap("incomprehensibilities", 10.0, 50.0);
        assert!(cut.len() == 1 && cut[0].ends_with('…') && width(&cut[0], 10.0) <= 52.0, "{cut:?}");
        assert!(wrap("  ", 10.0, 50.0).is_empty());
    }
}
