//! What is wrong with data files as they come: each case ends in what a user would expect, with the place where it is
//! wrong.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ove::Dataset;
use ove::io::read::{Format, Input, OnError, ReadOptions, Texts, read, read_any, read_bytes, read_texts};
use tempfile::TempDir;

fn skipping() -> ReadOptions {
    ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() }
}

fn from(name: &str, content: &[u8], options: &ReadOptions) -> ove::Result<Input> {
    read_bytes(name.as_ref(), content.to_vec(), options)
}

fn rows(name: &str, content: &[u8], options: &ReadOptions) -> Dataset {
    match from(name, content, options).unwrap() {
        Input::Rows(data) => data,
        Input::Texts(_) => panic!("texts"),
    }
}

fn texts(name: &str, content: &[u8], options: &ReadOptions) -> Texts {
    match from(name, content, options).unwrap() {
        Input::Rows(_) => panic!("rows"),
        Input::Texts(texts) => texts,
    }
}

fn error(name: &str, content: &[u8], options: &ReadOptions) -> String {
    from(name, content, options).unwrap_err().to_string()
}

/// Each row as `class,class feature:value …`.
fn show(data: &Dataset) -> Vec<String> {
    let row = |n: usize| {
        let classes: Vec<&str> = data.labels[n].iter().map(|&label| data.classes[label as usize].as_str()).collect();
        let row = data.rows().row(n);
        let entries = row.indices.iter().zip(row.values).map(|(i, v)| format!(" {i}:{v}"));
        classes.join(",") + &entries.collect::<String>()
    };
    (0..data.len()).map(row).collect()
}

fn told(data: &Dataset) -> Vec<&str> {
    data.skipped.first().collect()
}

#[test]
fn libsvm_leaves_out_what_cannot_be_read() {
    let content = b"a 1:1\nrare weight:2 2:1 3:1e400\nb 1:2 1:3\nc\xff 1:1\n\nb weight:3 2:1\n,x 1:1\n5:1\n";
    let data = rows("a.svm", content, &skipping());
    assert_eq!(show(&data), ["a 1:1", "b 2:1"]);
    assert_eq!((data.classes.as_slice(), data.features()), (&["a".to_owned(), "b".to_owned()][..], 3));
    assert_eq!(data.row_weights, [1.0, 3.0]);
    assert_eq!(data.skipped.count(), 5);
    assert_eq!(
        told(&data),
        [
            "a.svm:2:21: expected a finite 32-bit number, found '1e400'",
            "a.svm:3:7: features must increase within a row, found 1 after 1",
            "a.svm:4:2: expected UTF-8, found byte 0xff",
            "a.svm:7:1: expected a label, found an empty one",
            "a.svm:8:1: expected a label, found none",
        ]
    );
}

#[test]
fn ten_places_are_told_and_all_are_counted() {
    let content = format!("a 1:1\n{}", "a 1:x\n".repeat(30));
    let data = rows("a.svm", content.as_bytes(), &skipping());
    assert_eq!((data.len(), data.skipped.count(), told(&data).len()), (1, 30, 10));
    assert!(told(&data)[9].starts_with("a.svm:11:5: "));
    let all = "a 1:x\n".repeat(3);
    assert_eq!(error("a.svm", all.as_bytes(), &skipping()), "a.svm: expected at least one row, found none");
}

#[test]
fn xmc_counts_what_it_leaves_out_as_rows() {
    let content = b"4 5 3\n0 1:1 4:2\n1 1:1 9:1\n2 1:1 1:1\n0,1 2:1\n";
    let data = rows("a.xmc", content, &skipping());
    assert_eq!(show(&data), ["0 1:1 4:2", "0,1 2:1"]);
    assert_eq!(
        told(&data),
        [
            "a.xmc:3:7: expected a feature from 0 to 4, as the header says, found 9",
            "a.xmc:4:7: expected each feature once per row, found 1 again",
        ]
    );
}

/// Nobody knows how much is missing, so this is never left out.
#[test]
fn a_header_that_lies_is_an_error_in_any_case() {
    for options in [ReadOptions::default(), skipping()] {
        let fewer = error("a.xmc", b"3 5 3\n0 1:1\n1 1:1\n", &options);
        assert_eq!(fewer, "a.xmc:3: expected 3 rows, as the header says, found 2");
        let more = error("a.xmc", b"1 5 3\n0 1:1\n1 1:1\n", &options);
        assert_eq!(more, "a.xmc:3:1: expected 1 rows, as the header says, found more");
        let huge = error("a.xmc", b"18446744073709551615 5 3\n0 1:1\n", &options);
        assert!(huge.starts_with("a.xmc:2: expected 18446744073709551615 rows"), "{huge}");
    }
}

#[test]
fn a_truncated_gzip_is_an_error_in_any_case() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all("a 1:1\nb 2:1\n".repeat(1000).as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    assert_eq!(rows("a.svm.gz", &whole, &skipping()).len(), 2000);
    for options in [ReadOptions::default(), skipping()] {
        for length in [3, whole.len() / 2, whole.len() - 1] {
            let found = error("a.svm.gz", &whole[..length], &options);
            assert_eq!(found, "a.svm.gz: the gzip data are cut short", "{length} bytes");
        }
    }
}

#[test]
fn arff_leaves_out_rows_not_its_header() {
    let header = "@relation r\n@attribute x numeric\n@attribute y numeric\n@attribute kind {'a,b',c}\n@data\n";
    let content = format!("{header}1,2,'a,b'\r\n1,1e400,c\n3,c\n{{0 7, 2 c}}\n");
    let data = rows("a.arff", content.as_bytes(), &skipping());
    // A label with a comma is one label.
    assert_eq!(
        (show(&data), data.classes),
        (vec!["a,b 0:1 1:2".to_owned(), "c 0:7".to_owned()], vec!["a,b".into(), "c".into()])
    );
    assert_eq!(data.skipped.count(), 2);
    let broken = "@relation r\n@attribute x what\n@data\n1\n";
    assert!(error("a.arff", broken.as_bytes(), &skipping()).starts_with("a.arff:2:"));
}

#[test]
fn triples_leave_out_the_whole_document() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("train.data");
    fs::write(&path, "1 1 2\n2 1 1\n2 2 x\n2 3 1\n3 1 1\n3 1 4\n4 2 1\nnonsense\n5 3 1\n").unwrap();
    fs::write(folder.path().join("train.label"), "1\n2\n2\n3\n1\n").unwrap();
    let data = read(&path, &skipping()).unwrap();
    assert_eq!(show(&data), ["1 0:2", "1 2:1"]);
    let told: Vec<&str> = data.skipped.first().map(|message| message.rsplit_once("train.data:").unwrap().1).collect();
    assert_eq!(
        told,
        [
            "3:5: expected a finite 32-bit number, found 'x'",
            "6:3: expected each word once per document, found 1 again",
            "8:1: expected 'document word count', found 'nonsense'",
        ]
    );
    assert_eq!(data.skipped.count(), 3);
}

#[test]
fn texts_leave_out_lines() {
    let content = b"oak\ttree\nno tab\npi\xffne\ttree\nhouse\thome,house x\nhut\thome\theavy\n";
    let texts = texts("a.tsv", content, &skipping());
    assert_eq!(texts.texts(), ["oak", "house"]);
    // A label of raw text may have a comma: spaces separate labels here.
    assert_eq!(texts.classes, ["home,house", "tree", "x"]);
    let told: Vec<&str> = texts.skipped.first().collect();
    assert_eq!(told.len(), 3);
    assert!(told[0].starts_with("a.tsv:2:7: expected "), "{}", told[0]);
    assert_eq!(told[1], "a.tsv:3:3: expected UTF-8, found byte 0xff");
    assert!(told[2].starts_with("a.tsv:5:10: "), "{}", told[2]);
}

/// The lines that are printed stay in step with the lines of the file.
#[test]
fn texts_to_predict_stay_in_their_lines() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("texts");
    fs::write(&path, b"one\nt\xffwo\nthree\n").unwrap();
    let options = ReadOptions { labels_required: false, ..skipping() };
    let texts = read_texts(&path, &options).unwrap();
    assert_eq!((texts.len(), texts.skipped.count(), texts.texts()[2]), (3, 1, "three"));
    assert_eq!(texts.texts()[1].trim(), "");
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    for (name, content) in [
        ("a.svm", "x 1:1 2:2\ny 1:3\n"),
        ("a.xmc", "2 3 2\n0 1:1 2:2\n1 1:3\n"),
        ("a.arff", "@relation r\n@attribute f numeric\n@attribute c {x,y}\n@data\n1,x\n3,y\n"),
    ] {
        let windows = format!("\u{feff}{}", content.replace('\n', "\r\n"));
        let (plain, other) = (rows(name, content.as_bytes(), &skipping()), rows(name, windows.as_bytes(), &skipping()));
        assert_eq!((show(&plain), &plain.classes), (show(&other), &other.classes), "{name}");
        assert_eq!(other.skipped.count(), 0);
    }
    for (name, content) in [("a.tsv", "one two\tx y\nthree\ty\n"), ("a.txt", "__label__x one two\n__label__y three\n")]
    {
        let windows = format!("\u{feff}{}", content.replace('\n', "\r\n"));
        let (plain, other) =
            (texts(name, content.as_bytes(), &skipping()), texts(name, windows.as_bytes(), &skipping()));
        assert_eq!((plain.texts(), &plain.classes), (other.texts(), &other.classes), "{name}");
    }
}

/// A line of 100 MB is read in time that grows with it alone, and an error about it is short.
#[test]
fn a_line_of_100_mb() {
    let entries: String = (0..10_200_000).map(|feature| format!(" {feature}:1")).collect();
    assert!(entries.len() > 100_000_000);
    let data = rows("a.svm", format!("x{entries}\n").as_bytes(), &skipping());
    assert_eq!((data.len(), data.features()), (1, 10_200_000));
    let found =
        error("a.svm", format!("x{entries} 1:{}\n", "9".repeat(10_000_000)).as_bytes(), &ReadOptions::default());
    assert!(found.starts_with("a.svm:1:") && found.len() < 200, "{found}");
    let word = "x".repeat(100_000_000);
    let data = texts("a.tsv", format!("{word}\tlong\nshort one\tshort\n").as_bytes(), &skipping());
    assert_eq!((data.len(), data.texts()[0].len()), (2, 100_000_000));
    let format = ReadOptions { format: Some(Format::Fasttext), ..skipping() };
    assert_eq!(texts("a", format!("__label__{word} a\n__label__b b\n").as_bytes(), &format).classes.len(), 2);
}

/// Files that are something else altogether.
#[test]
fn other_files_are_named_as_such() {
    let folder = TempDir::new().unwrap();
    let message = read_any(folder.path(), &skipping()).unwrap_err().to_string();
    assert!(message.contains("directory"), "{message}");
    for content in [&b"\x7fELF\x02\x01\x01\0\0"[..], b"PK\x03\x04 zip", b"\x89PNG\r\n\x1a\n"] {
        assert!(from("a", content, &ReadOptions::default()).is_err());
    }
}
