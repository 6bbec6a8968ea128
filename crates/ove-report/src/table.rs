//! A table, as HTML for a page and as text for a terminal.

use crate::markup::{escape, scroll_box};

/// A table; columns of numbers are aligned on the right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What the table shows.
    pub caption: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The table without its caption, as text for a terminal: numbers are aligned on the right.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&self.head]).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns()).map(width).collect();
        let numeric: Vec<bool> = (0..self.columns()).map(|column| self.is_numeric(column)).collect();
        let line = |cells: &[String]| {
            let pad = |(column, cell): (usize, &String)| match widths[column] {
                width if numeric[column] => format!("{cell:>width$}"),
                width => format!("{cell:<width$}"),
            };
            let padded: Vec<String> = cells.iter().enumerate().map(pad).collect();
            padded.join("  ").trim_end().to_owned() + "\n"
        };
        let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        [&self.head, &rule].into_iter().chain(&self.rows).map(|cells| line(cells)).collect()
    }

    /// The table as HTML, numbered by the page.
    pub(crate) fn html(&self) -> String {
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
mod tests {
    use super::*;
    use crate::markup::check_balance;

    #[test]
    fn numbers_are_recognised() {
        for (cell, number) in
            [("−0.5", true), (".5", true), ("< 0.01", true), ("1,000", true), ("a1", false), ("-", false)]
        {
            assert_eq!(starts_like_a_number(cell), number, "{cell}");
        }
    }

    #[test]
    fn ragged_and_empty_tables_do_not_panic() {
        let strings = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let ragged = Table { rows: vec![strings(&["1"]), strings(&["1", "2", "3"]), vec![]], ..Table::default() };
        assert!(ragged.html().contains("<td class=\"number\">3</td>"));
        assert_eq!(ragged.text().lines().nth(3), Some("1  2  3"));
        assert_eq!(check_balance(&Table::default().html()), Ok(()));
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["plane".into(), "softmax".into(), "0.1".into()], vec!["x".into(), "y".into(), "12.25".into()]];
        let head = ["set", "method", "error"].map(String::from).into();
        let table = Table { head, rows: rows.into(), ..Table::default() };
        assert_eq!(
            table.text(),
            "set    method   error\n─────  ───────  ─────\nplane  softmax    0.1\nx      y        12.25\n"
        );
    }
}
