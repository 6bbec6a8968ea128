//! Parquet and Arrow files, as pyarrow, pandas and polars wrote them: those of the fuzz corpus.

use std::fs;
use std::path::{Path, PathBuf};

use ove::io::read::{Columns, Format, Input, OnError, Pieces, ReadOptions, Texts, read_any, read_bytes};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name)
}

fn options(format: Format, text: &str, label: &str) -> ReadOptions {
    let columns = Columns { text: vec![text.into()], label: Some(label.into()), ..Columns::default() };
    ReadOptions { format: Some(format), columns, ..ReadOptions::default() }
}

fn texts(input: Input) -> Texts {
    let Input::Texts(texts) = input else { panic!("rows of numbers") };
    texts
}

/// Each row as `text|label;label|weight`.
fn show(texts: &Texts) -> Vec<String> {
    let labels = |n: usize| texts.labels[n].iter().map(|&k| texts.classes[k as usize].as_str()).collect::<Vec<_>>();
    let weight = |n: usize| texts.row_weights.get(n).map_or(String::new(), |weight| format!("|{weight}"));
    let row = |(n, text)| format!("{text}|{}{}", labels(n).join(";"), weight(n));
    texts.texts().into_iter().enumerate().map(row).collect()
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_the_feature_the_error_says_so() {
    for (name, format) in [("parquet/pyarrow", Format::Parquet), ("arrow/lz4", Format::Arrow)] {
        let error = read_any(&file(name), &options(format, "title", "kinds")).unwrap_err().to_string();
        assert!(error.ends_with("needs the feature `parquet`, without which this was built"), "{error}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn files_of_others() {
    let expected = ["Red shoes|shoes;red, not brown|2", "Été|a|1", "|b c;a|0.5"];
    let files = ["parquet/pyarrow", "parquet/groups", "parquet/polars", "arrow/lz4", "arrow/polars", "arrow/stream"];
    for name in files {
        let format = if name.starts_with("parquet") { Format::Parquet } else { Format::Arrow };
        let mut options = options(format, "title", "kinds");
        options.columns.weight = Some("weight".into());
        assert_eq!(show(&texts(read_any(&file(name), &options).unwrap())), expected, "{name}");
        // As from standard input, and found by its first bytes.
        let content = fs::read(file(name)).unwrap();
        if name != "arrow/stream" {
            options.format = None;
        }
        assert_eq!(show(&texts(read_bytes("-".as_ref(), content, &options).unwrap())), expected, "{name}");
        let mut pieces = Pieces::open(&file(name), &options, 1).unwrap();
        let piece = texts(pieces.next_piece().unwrap().unwrap());
        assert_eq!((show(&piece).len(), pieces.next_piece().unwrap().is_none()), (3, true));
        assert_eq!(piece.columns.label.as_deref(), Some("kinds"));
        // Numbers are ids as they are.
        options.labels_required = false;
        options.columns.id = Some("sku".into());
        assert_eq!(texts(read_any(&file(name), &options).unwrap()).ids, ["17", "18", "19"]);
    }
    for (name, format) in [("parquet/pandas", Format::Parquet), ("arrow/categories", Format::Arrow)] {
        let found = texts(read_any(&file(name), &options(format, "title", "label")).unwrap());
        assert_eq!(show(&found), ["one|x", "two|y", "three|x"], "{name}");
        let found = texts(read_any(&file(name), &options(format, "title", "n")).unwrap());
        assert_eq!(found.classes, ["1", "2", "3"]);
    }
    let found = texts(read_any(&file("arrow/types"), &options(Format::Arrow, "text,w", "label")).unwrap());
    assert_eq!(show(&found), ["one\n1.5|true", "two\n2|false"]);
}

#[cfg(feature = "parquet")]
#[test]
fn errors() {
    let error = |name: &str, text: &str, label: &str| {
        let format = if name.starts_with("parquet") { Format::Parquet } else { Format::Arrow };
        let error = read_any(&file(name), &options(format, text, label)).unwrap_err().to_string();
        error.split_once(&format!("{name}:")).unwrap().1.to_owned()
    };
    let columns = "`sku`, `title`, `kinds`, `weight`";
    assert_eq!(error("parquet/pyarrow", "titel", "kinds"), format!(" expected the column `titel`, found {columns}"));
    assert_eq!(error("parquet/pyarrow", "kinds", "title"), "3: expected a label in `title`, found none");
    assert_eq!(error("arrow/stream", "kinds", "title"), "3: expected a label in `title`, found none");
    let kinds = "expected texts, numbers or lists of them in";
    assert_eq!(error("arrow/types", "text", "when"), format!(" {kinds} `when`, found Timestamp(s)"));
    let mut skip = options(Format::Parquet, "kinds", "title");
    skip.on_error = OnError::Skip;
    let found = texts(read_any(&file("parquet/polars"), &skip).unwrap());
    assert_eq!((found.len(), found.skipped.count()), (2, 1));
    assert_eq!(found.classes, ["Red shoes", "Été"]);
}

/// Files that are cut anywhere are errors, and nothing panics.
#[cfg(feature = "parquet")]
#[test]
fn cut_files() {
    for name in ["parquet/pyarrow", "parquet/pandas", "arrow/lz4", "arrow/categories"] {
        let format = if name.starts_with("parquet") { Format::Parquet } else { Format::Arrow };
        let content = fs::read(file(name)).unwrap();
        for length in 1..content.len() {
            let cut = content[..length].to_vec();
            let text = if name.ends_with('s') { "title" } else { "kinds" };
            let found = read_bytes("a".as_ref(), cut, &options(format, text, text));
            assert!(found.is_err(), "{name} at {length} of {}", content.len());
        }
    }
}
