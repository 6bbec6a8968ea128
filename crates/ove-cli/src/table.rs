//! Tables for a terminal.

/// Columns of equal width: the first two aligned on the left, numbers on the right.
pub fn text(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let pad = |(column, cell): (usize, &String)| match widths[column] {
            width if column < 2 => format!("{cell:<width$}"),
            width => format!("{cell:>width$}"),
        };
        let padded: Vec<String> = cells.iter().enumerate().map(pad).collect();
        padded.join("  ").trim_end().to_owned() + "\n"
    };
    let head: Vec<String> = head.iter().map(|name| name.to_string()).collect();
    let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
    [&head, &rule].into_iter().chain(rows).map(|cells| line(cells)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["plane".into(), "softmax".into(), "0.1".into()], vec!["x".into(), "y".into(), "12.25".into()]];
        assert_eq!(
            text(&["set", "method", "error"], &rows),
            "set    method   error\n─────  ───────  ─────\nplane  softmax    0.1\nx      y        12.25\n"
        );
    }
}
