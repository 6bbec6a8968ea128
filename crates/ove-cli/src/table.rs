//! Tables for a terminal.

/// Lines with columns of equal width: the first two aligned on the left, numbers on the right.
pub fn print(head: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(column, (cell, &width))| {
                    if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        println!("{}", padded.join("  ").trim_end());
    };
    line(head);
    line(
        &widths
            .iter()
            .map(|&width| "─".repeat(width))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
    for row in rows {
        line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
