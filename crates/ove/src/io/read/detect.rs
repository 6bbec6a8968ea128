//! Detects the format of a file by its name, else by its first bytes.
//!
//! ```text
//! *.arff, *idx3-ubyte, *.svm, *.libsvm, *.svmlight, *.tsv, *.csv, *.jsonl, *.data with *.label beside it,
//! *.parquet, *.arrow, *.feather, *.npy, *.npz
//! 00 00 08 …          idx
//! PAR1, ARROW1        parquet, arrow
//! 93 NUMPY, PK 03 04  npy, npz
//! @relation or %      arff
//! 3 5 2, then 1 4 1   triples
//! 3 5 2, then others  xmc
//! 1 2:0.5 …           libsvm
//! __label__…          fasttext
//! {"…                 jsonl
//! a tab               tsv
//! ```
//!
//! If columns are given, a file is a table, also one named *.tsv: JSON lines if it starts with `{`, csv if no other
//! table.

use super::source::{HEAD, Source};
use super::{Format, ReadOptions, csv, fasttext, table, wrong_file};
use crate::error::Result;

/// The format of an open file of which nothing was read yet.
pub(super) fn format(source: &Source, options: &ReadOptions) -> Result<Format> {
    let found = of_columns(source, options).or_else(|| by_name(source)).or_else(|| by_content(source.head()));
    found.ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        let message = format!("the format cannot be detected; give one of {}", names.join(", "));
        wrong_file(source.path(), message)
    })
}

/// The format of a file that must be raw text. Any lines are texts, unless all of them look like rows of numbers, which
/// is not tested on standard input.
pub(super) fn text_format(source: &Source, options: &ReadOptions) -> Result<Format> {
    let numbers = !source.is_stdin() && all_numbers(source.head());
    let by_content = || {
        let found = by_content(source.head()).filter(|format| format.is_text() || numbers);
        // Any text may start with a brace.
        found.filter(|format| *format != Format::Jsonl)
    };
    match of_columns(source, options).or_else(|| by_name(source)).or_else(by_content) {
        Some(format) if !format.is_text() => {
            let hint = "the format tsv reads any lines as texts";
            Err(wrong_file(source.path(), format!("expected texts, found rows of numbers ({format}); {hint}")))
        }
        found => Ok(found.unwrap_or(Format::Tsv)),
    }
}

/// The format of a table with the given columns.
fn of_columns(source: &Source, options: &ReadOptions) -> Option<Format> {
    let named = by_name(source);
    if options.columns.is_empty() || named.is_some_and(|format| format != Format::Tsv) {
        return None;
    }
    let binary = of_binary(source.head());
    if binary.is_some() {
        return binary;
    }
    if source.head().trim_ascii_start().starts_with(b"{") {
        return Some(Format::Jsonl);
    }
    // Columns without names fit any lines.
    let fits = |columns| {
        let header = csv::header(source.path(), source.head(), columns);
        !table::has_no_header(columns) && header.is_some_and(|names| table::has_content(&names, columns))
    };
    (!options.or_lines || fits(&options.columns)).then_some(Format::Csv)
}

fn by_name(source: &Source) -> Option<Format> {
    let name = source.name();
    let ends = |ends: &[&str]| ends.iter().any(|end| name.to_ascii_lowercase().ends_with(end));
    if ends(&[".arff"]) {
        Some(Format::Arff)
    } else if ends(&["idx3-ubyte", "idx1-ubyte"]) {
        Some(Format::Idx)
    } else if ends(&[".svm", ".libsvm", ".svmlight"]) {
        Some(Format::Libsvm)
    } else if ends(&[".tsv"]) {
        Some(Format::Tsv)
    } else if ends(&[".csv"]) {
        Some(Format::Csv)
    } else if ends(&[".jsonl", ".ndjson"]) {
        Some(Format::Jsonl)
    } else if ends(&[".parquet", ".pq"]) {
        Some(Format::Parquet)
    } else if ends(&[".npy"]) {
        Some(Format::Npy)
    } else if ends(&[".npz"]) {
        Some(Format::Npz)
    } else if ends(&[".arrow", ".feather", ".ipc"]) {
        Some(Format::Arrow)
    } else if name.strip_suffix(".data").is_some_and(|stem| source.beside(&format!("{stem}.label")).is_some()) {
        Some(Format::Triples)
    } else {
        None
    }
}

/// The format of a table or a matrix whose first bytes say it. A text may start with these letters, but not go on with
/// a control character.
fn of_binary(head: &[u8]) -> Option<Format> {
    let starts = |magic: &[u8]| {
        head.strip_prefix(magic)
            .is_some_and(|rest| rest.first().is_some_and(|next| next.is_ascii_control() && !next.is_ascii_whitespace()))
    };
    if head.starts_with(b"\x93NUMPY") {
        Some(Format::Npy)
    } else if starts(b"PK\x03") {
        Some(Format::Npz)
    } else if starts(b"PAR1") {
        Some(Format::Parquet)
    } else if starts(b"ARROW1") || starts(b"FEA1") {
        Some(Format::Arrow)
    } else {
        None
    }
}

fn by_content(head: &[u8]) -> Option<Format> {
    if head.starts_with(&[0, 0, 8]) {
        return Some(Format::Idx);
    }
    let binary = of_binary(head);
    if binary.is_some() {
        return binary;
    }
    let text = String::from_utf8_lossy(whole_words(head));
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty());
    // A file of comments only: its reader reports that there are no rows.
    let Some(first) = lines.next() else { return Some(Format::Libsvm) };
    if first.trim_start().starts_with(['@', '%']) {
        Some(Format::Arff)
    } else if first.trim_start().starts_with(fasttext::LABEL) {
        Some(Format::Fasttext)
    } else if first.trim_start().starts_with("{\"") {
        Some(Format::Jsonl)
    } else if is_triple(first) {
        Some(if lines.next().is_some_and(is_triple) { Format::Triples } else { Format::Xmc })
    } else if text.contains(':') && is_libsvm(first) {
        Some(Format::Libsvm)
    } else if first.contains('\t') {
        Some(Format::Tsv)
    } else {
        None
    }
}

/// Whether all lines consist of a first word and entries `feature:value`.
fn all_numbers(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(whole_words(head));
    text.lines().skip_while(|line| is_triple(line)).all(|line| line.contains(':') && is_libsvm(line))
}

/// The head without its last word, which may be cut.
fn whole_words(head: &[u8]) -> &[u8] {
    let end = head.iter().rposition(u8::is_ascii_whitespace).filter(|_| head.len() == HEAD).unwrap_or(head.len());
    &head[..end]
}

fn is_triple(line: &str) -> bool {
    line.split_whitespace().count() == 3 && line.split_whitespace().all(|word| word.bytes().all(|b| b.is_ascii_digit()))
}

fn is_libsvm(line: &str) -> bool {
    line.split_whitespace().skip(1).take_while(|word| !word.starts_with('#')).all(|word| word.contains(':'))
}
