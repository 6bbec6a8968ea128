//! Reading: what each format means, and each way in which a file can be wrong.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use ove::io::read::label_names;
use ove::io::read::{Format, Input, ReadOptions, Texts, read, read_any, read_texts};
use ove::text::TextOptions;
use ove::{Dataset, Error};
use proptest::prelude::*;
use tempfile::TempDir;

/// Files in a folder of their own; the first is the one to read.
struct Files(TempDir, PathBuf);

impl Files {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let first = folder.path().join(files[0].0);
        Files(folder, first)
    }

    fn read(&self, options: &ReadOptions) -> Result<Dataset, Error> {
        read(&self.1, options)
    }

    /// The error, without the folder.
    fn error(&self, options: &ReadOptions) -> String {
        let error = self.read(options).expect_err("a wrong file was read").to_string();
        error.replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn data(files: &[(&str, &[u8])]) -> Dataset {
    Files::new(files).read(&ReadOptions::default()).unwrap()
}

fn error(files: &[(&str, &[u8])]) -> String {
    Files::new(files).error(&ReadOptions::default())
}

/// Each content of a file `name`, with the error that it gives.
fn errors(name: &str, cases: &[(&str, &str)]) {
    for (content, expected) in cases {
        assert_eq!(error(&[(name, content.as_bytes())]), format!("{name}{expected}"), "{content:?}");
    }
}

fn unlabelled() -> ReadOptions {
    ReadOptions { labels_required: false, ..ReadOptions::default() }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Each row as `class,class feature:value …`, with `-` for no class.
fn show(data: &Dataset) -> Vec<String> {
    let rows = data.rows();
    let row = |n: usize| {
        let classes: Vec<&str> = data.labels[n].iter().map(|&label| data.classes[label as usize].as_str()).collect();
        let row = rows.row(n);
        let entries = row.indices.iter().zip(row.values).map(|(i, v)| format!(" {i}:{v}"));
        let classes = if classes.is_empty() { "-".into() } else { classes.join(",") };
        classes + &entries.collect::<String>()
    };
    (0..data.len()).map(row).collect()
}

#[test]
fn libsvm() {
    let text = "\u{feff}# first\r\n10 1:0.5 3:-2e1 # last\r\n\r\n2 qid:7 0:1 4294967294:3\r\n2,10\t5:0 6:.25";
    let data = data(&[("a.svm", text.as_bytes())]);
    assert_eq!(show(&data), ["10 1:0.5 3:-20", "2 0:1 4294967294:3", "2,10 6:0.25"]);
    assert_eq!(data.classes, ["2", "10"]);
    assert_eq!(data.features(), 4294967295);
}

#[test]
fn libsvm_classes_do_not_depend_on_the_order_of_rows() {
    assert_eq!(data(&[("a", b"b 1:1\n10 1:1\n9 1:1\n")]).classes, ["10", "9", "b"]);
    assert_eq!(data(&[("a", b"1 1:1\n10 1:1\n-1 1:1\n1.0 1:1\n")]).classes, ["-1", "1", "1.0", "10"]);
}

#[test]
fn libsvm_without_labels() {
    let data = Files::new(&[("a.svm", b" 1:2\n3:4\nx\n")]).read(&unlabelled()).unwrap();
    assert_eq!(show(&data), ["- 1:2", "- 3:4", "x"]);
    assert_eq!(data.labels.all(), [0]);
}

#[test]
fn libsvm_errors() {
    let long = format!("1 1:{}", "9x".repeat(1000));
    let number = |place: &str, found: &str| format!(":{place}: expected a finite 32-bit number, found '{found}'");
    errors(
        "a.svm",
        &[
            ("", ": expected at least one row, found none"),
            ("\n# nothing\n", ": expected at least one row, found none"),
            ("1 1:1\n2 1:1 3:nan", &number("2:9", "nan")),
            ("1 1:-inf", &number("1:5", "-inf")),
            ("1 1:1e400 2:1", &number("1:5", "1e400")),
            ("1 1:x", &number("1:5", "x")),
            ("1 1:", &number("1:5", "")),
            ("1 1:2:3", &number("1:5", "2:3")),
            ("1 1:\u{1b}[2J", &number("1:5", "\\u{1b}[2J")),
            (&long, &number("1:5", &format!("{}…", "9x".repeat(20)))),
            ("1 \t5:1 3:1", ":1:8: features must increase within a row, found 3 after 5"),
            ("1 5:0 5:1", ":1:7: features must increase within a row, found 5 after 5"),
            ("1 4294967295:1", ":1:3: expected a feature up to 4294967294, found 4294967295"),
            ("1 99999999999999999999:1", ":1:3: expected a feature up to 4294967294, found 99999999999999999999"),
            ("1 -1:1", ":1:3: expected a feature, a whole number from 0, found '-1'"),
            ("1 :1", ":1:3: expected a feature, a whole number from 0, found ''"),
            ("1 2:1 x", ":1:7: expected feature:value, found 'x'"),
            ("1 1:1\n 1:1", ":2:1: expected a label, found none"),
            ("1:1", ":1:1: expected a label, found none"),
            (",2 1:1", ":1:1: expected a label, found an empty one"),
            ("2,,3 1:1", ":1:3: expected a label, found an empty one"),
            ("2, 1:1", ":1:3: expected a label, found an empty one"),
            ("1 weight:-2 1:1", ":1:10: expected a weight, finite and at least 0, found '-2'"),
            ("1 weight:inf 1:1", ":1:10: expected a weight, finite and at least 0, found 'inf'"),
            ("1 1:1 weight:2", ":1:7: expected a feature, a whole number from 0, found 'weight'"),
            ("1 weight:1 weight:2", ":1:12: expected a feature, a whole number from 0, found 'weight'"),
        ],
    );
}

#[test]
fn row_weights() {
    let svm = "1 1:1\n2,3 weight:2.5 1:1\n2 qid:3 weight:0\n3 1:1\n";
    let xmc = "4 9 9\n1 1:1\n2,3 weight:2.5 5:1 1:1\n2 weight:0\n3 1:1\n";
    for text in [svm, xmc] {
        assert_eq!(data(&[("a", text.as_bytes())]).row_weights, [1.0, 2.5, 0.0, 1.0]);
    }
    assert!(data(&[("a", b"1 1:1\n2 1:1\n")]).row_weights.is_empty());
    let unlabelled = Files::new(&[("a.svm", b"weight:2 1:2\n")]).read(&unlabelled()).unwrap();
    assert_eq!((show(&unlabelled).concat(), unlabelled.row_weights), ("- 1:2".into(), vec![2.0]));
}

#[test]
fn class_weights() {
    let classes = ["sport", "sour cherry", "10"].map(String::from);
    let with = |text: &str| {
        let files = Files::new(&[("w.txt", text.as_bytes())]);
        let error = |e: Error| e.to_string().replace(&format!("{}/", files.0.path().display()), "");
        ove::io::read::class_weights::read(&files.1, &classes).map_err(error)
    };
    assert_eq!(with("10\t0.5\n\nsour cherry 3\r\n"), Ok(vec![1.0, 3.0, 0.5]));
    assert_eq!(with(""), Ok(vec![1.0; 3]));
    for (text, expected) in [
        ("10 1\nmusic 2\n", "w.txt:2:1: expected a class, found 'music', which no row has"),
        ("10 1\n10 1\n", "w.txt:2:1: expected each class once, found '10' again"),
        ("10\n", "w.txt:1:1: expected 'class weight', found '10'"),
        ("10 NaN\n", "w.txt:1:4: expected a weight, finite and at least 0, found 'NaN'"),
        ("10 -1\n", "w.txt:1:4: expected a weight, finite and at least 0, found '-1'"),
    ] {
        assert_eq!(with(text), Err(expected.into()));
    }
}

#[test]
fn first_label_alone() {
    let options = ReadOptions { first_label: true, ..ReadOptions::default() };
    let first = |name, text: &str| {
        let data = Files::new(&[(name, text.as_bytes())]).read(&options).unwrap();
        (show(&data).join("; "), data.classes.join(" "))
    };
    assert_eq!(first("a.svm", "9,10 1:1\n2,9 2:1\n"), ("9 1:1; 2 2:1".into(), "2 9".into()));
    assert_eq!(first("a", "2 9 9\n8,1 1:1\n3,8 2:1\n"), ("8 1:1; 3 2:1".into(), "3 8".into()));
    let tags = four("r", ["a", "b", "TAG_c", "TAG_d"]);
    assert_eq!(first("a.arff", &tags), ("TAG_c 0:1; TAG_d 1:1".into(), "TAG_c TAG_d".into()));
}

#[test]
fn xmc() {
    let text = "3 6 5\r\n3,0 4:0.5 1:1\r\n 2:1\r\n0\r\n\r\n";
    let data = Files::new(&[("train.txt", text.as_bytes())]).read(&unlabelled()).unwrap();
    assert_eq!(show(&data), ["3,0 1:1 4:0.5", "- 2:1", "0"]);
    assert_eq!((data.features(), data.classes.join(" ")), (6, "0 3".into()));
}

#[test]
fn xmc_errors() {
    errors(
        "a.txt",
        &[
            ("2 6 5\n0 1:1\n", ":2: expected 2 rows, as the header says, found 1"),
            ("1 6 5\n0 1:1\n0 2:1\n", ":3:1: expected 1 rows, as the header says, found more"),
            ("1 6 5\n0 1:1 6:1\n", ":2:7: expected a feature from 0 to 5, as the header says, found 6"),
            ("1 6 5\n0,5 1:1\n", ":2:3: expected a label from 0 to 4, as the header says, found 5"),
            ("1 6 0\n0 1:1\n", ":2:1: expected no label, as the header says, found 0"),
            ("1 6 5\n0,x 1:1\n", ":2:3: expected a label, a whole number from 0, found 'x'"),
            ("1 6 5\n0 3:1 1:1 3:0\n", ":2:11: expected each feature once per row, found 3 again"),
            ("1 6 5\n0 3:nan\n", ":2:5: expected a finite 32-bit number, found 'nan'"),
            ("1 6 5\n0 weight:x 3:1\n", ":2:10: expected a weight, finite and at least 0, found 'x'"),
            ("1 6 5\n 1:1\n", ":2:1: expected a label, found none"),
            ("1 6 5\n\n", ":2:1: expected a label, found none"),
            ("0 6 5\n", ": expected at least one row, found none"),
            ("1 4294967296 5\n", ":1:3: expected at most 4294967295, found 4294967296"),
        ],
    );
    let options = ReadOptions { format: Some(Format::Xmc), ..ReadOptions::default() };
    for (text, place, found) in [("1 6\n", "a:1:1", "1 6"), ("1 -6 5\n", "a:1:3", "-6"), ("\n1 6 5\n", "a:1:1", "")] {
        let error = Files::new(&[("a", text.as_bytes())]).error(&options);
        assert_eq!(error, format!("{place}: expected 'rows features labels', found '{found}'"));
    }
}

const IMAGES: &[u8] = &[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 0, 255, 0, 51, 0, 0];
const LABELS: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 2, 7, 4];

#[test]
fn idx() {
    let (images, labels) = (gzip(IMAGES), gzip(LABELS));
    for files in [
        [("t-images-idx3-ubyte", IMAGES), ("t-labels-idx1-ubyte", LABELS)],
        [("t-images-idx3-ubyte.gz", &images), ("t-labels-idx1-ubyte.gz", &labels)],
        [("t-images.idx3-ubyte", IMAGES), ("t-labels.idx1-ubyte.gz", &labels)],
        [("images", IMAGES), ("labels", LABELS)],
    ] {
        let data = data(&files);
        assert_eq!(show(&data), ["7 1:1", "4 0:0.2"]);
        assert_eq!((data.features(), data.classes.join(" ")), (3, "4 7".into()));
    }
    let data = Files::new(&[("images", IMAGES)]).read(&unlabelled()).unwrap();
    assert_eq!(show(&data), ["- 1:1", "- 0:0.2"]);
}

#[test]
fn idx_errors() {
    let with = |bytes: &[u8], at: usize, value: u8| [&bytes[..at], &[value], &bytes[at + 1..]].concat();
    let longer = |bytes: &[u8]| [bytes, &[0]].concat();
    let promise = "expected 2 images of 3 bytes, found";
    let pixels = "expected images of 1 to 4294967295 pixels, found";
    for (images, expected) in [
        (IMAGES[..18].into(), format!("{promise} the end of the file within image 1")),
        (IMAGES[..10].into(), "expected a header of 16 bytes, found fewer".into()),
        (longer(IMAGES), format!("{promise} more data")),
        (with(IMAGES, 3, 1), "expected the magic number 0x00000803 of images, found 0x00000801".into()),
        (with(IMAGES, 10, 1), "expected 2 images of 771 bytes, found the end of the file within image 1".into()),
        (with(IMAGES, 8, 255), format!("{pixels} 4278190081 x 3")),
        (with(IMAGES, 15, 0), format!("{pixels} 1 x 0")),
    ] {
        assert_eq!(error(&[("images", &images), ("labels", LABELS)]), format!("images: {expected}"));
    }
    for (labels, expected) in [
        (with(LABELS, 7, 3), "expected 2 labels, one per image, found 3"),
        (LABELS[..9].into(), "expected 2 labels, found 1"),
        (LABELS[..6].into(), "expected a header of 8 bytes, found fewer"),
        (longer(LABELS), "expected 2 labels, found more data"),
        (IMAGES.into(), "expected the magic number 0x00000801 of labels, found 0x00000803"),
    ] {
        assert_eq!(error(&[("images", IMAGES), ("labels", &labels)]), format!("labels: {expected}"));
    }
    let missing = "expected the labels beside it, found no labels-idx1-ubyte, compressed or not";
    assert_eq!(error(&[("images-idx3-ubyte", IMAGES)]), format!("images-idx3-ubyte: {missing}"));
}

const FRUIT: &str = "% fruit\n@RELATION fruit\n@attribute 'net weight' Real\n@attribute round {0,1}\n\
    @attribute kind {apple, 'sour cherry', \"it\\\"s\"}\n\n@Data\n";

#[test]
fn arff_with_one_class() {
    let text = format!("{FRUIT}8.5, 1, 'sour cherry'\n% no\n{{0 -2, 2 \"it\\\"s\"}}\n{{1 1}} % an apple\n0,0,apple\n");
    let data = data(&[("a.arff.gz", &gzip(text.as_bytes()))]);
    assert_eq!(show(&data), ["sour cherry 0:8.5 1:1", "it\"s 0:-2", "apple 1:1", "apple"]);
    assert_eq!(data.feature_names, ["net weight", "round"]);
    assert_eq!(data.classes, ["apple", "sour cherry", "it\"s"]);
}

/// Four attributes and two rows; which of them are labels differs.
fn four(relation: &str, names: [&str; 4]) -> String {
    let attributes = names.map(|name| format!("@attribute {name} {{0,1}}\n")).concat();
    format!("@relation {relation}\n{attributes}@data\n{{0 1,2 1,3 1}}\n{{1 1,3 1}}\n")
}

#[test]
fn arff_with_labels() {
    let plain = four("r", ["a", "b", "c", "d"]);
    let options = ReadOptions { labels: Some(2), ..ReadOptions::default() };
    let given = Files::new(&[("a.arff", plain.as_bytes())]).read(&options).unwrap();
    assert_eq!(show(&given), ["c,d 0:1", "d 1:1"]);

    let meka = |relation| show(&data(&[("a.arff", four(relation, ["a", "b", "c", "d"]).as_bytes())]));
    assert_eq!(meka("'x: -C -2'"), ["c,d 0:1", "d 1:1"]);
    assert_eq!(meka("'x: -C 2 -split 5'"), ["a 0:1 1:1", "b 1:1"]);

    let xml = br#"<labels xmlns="x"><label name="d&amp;"></label><label name="b"/></labels>"#;
    let named = four("r", ["a", "b", "c", "d&"]);
    for name in ["s.arff", "s-train.arff", "s-test.arff"] {
        let data = data(&[(name, named.as_bytes()), ("s.xml", xml)]);
        assert_eq!(show(&data), ["d& 0:1 1:1", "b,d&"]);
        assert_eq!(data.feature_names, ["a", "c"]);
    }

    let tags = data(&[("a.arff", four("r", ["a", "b", "TAG_c", "TAG_d"]).as_bytes())]);
    assert_eq!(show(&tags), ["TAG_c,TAG_d 0:1", "TAG_d 1:1"]);
}

#[test]
fn arff_without_labels() {
    let read = |text: &str| show(&Files::new(&[("a.arff", text.as_bytes())]).read(&unlabelled()).unwrap());
    assert_eq!(read(&format!("{FRUIT}1,1,?\n")), ["- 0:1 1:1"]);
    assert_eq!(read("@attribute a real\n@data\n3\n"), ["- 0:3"]);
    assert_eq!(read("@attribute a real\n@attribute TAG_b {0,1}\n@attribute TAG_c {0,1}\n@data\n3,0,0\n"), ["- 0:3"]);
}

#[test]
fn arff_row_errors() {
    for (row, expected) in [
        ("{3 1}", ":8:2: expected an attribute from 0 to 2, found '3'"),
        ("{x 1}", ":8:2: expected an attribute from 0 to 2, found 'x'"),
        ("{1 1,0 1}", ":8:6: attributes must increase within a row, found 0 after 1"),
        ("{2 apple,2 apple}", ":8:10: attributes must increase within a row, found 2 after 2"),
        ("{0 1,2 plum}", ":8:8: expected a value of attribute kind, found 'plum'"),
        ("1,2,apple", ":8:3: expected 0 or 1 for attribute round, found '2'"),
        ("1,x,apple", ":8:3: expected a finite 32-bit number, found 'x'"),
        ("NaN,1,apple", ":8:1: expected a finite 32-bit number, found 'NaN'"),
        ("{0 1", ":8:5: expected '{attribute value,…}', found the end of the line"),
        ("{0 1,", ":8:6: expected a name or a value, found the end of the line"),
        ("{0 1} x", ":8:7: expected the end of the line, found 'x'"),
        ("{0 ?}", ":8:4: expected a value, found a missing one"),
        ("1,1,?", ":8:5: expected a value, found a missing one"),
        ("1,1", ":8:4: expected 3 values, one per attribute, found 2"),
        ("1,1,apple,2", ":8:11: expected 3 values, one per attribute, found value 4"),
        ("1,,apple", ":8:3: expected a name or a value, found ',apple'"),
        ("1,1,'apple", ":8:5: expected a closing quote, found the end of the line"),
        ("", ": expected at least one row, found none"),
    ] {
        errors("a.arff", &[(&format!("{FRUIT}{row}\n"), expected)]);
    }
}

#[test]
fn arff_header_errors() {
    let unmarked = ": expected label attributes, found none; give the number of labels if they are the last attributes";
    errors(
        "a.arff",
        &[
            ("@relation r\n", ": expected a line @data above the rows, found none"),
            ("@relation r\n1,2\n", ":2:1: expected @relation, @attribute or @data, found '1,2'"),
            ("@attribute a string", ":1:14: expected the type numeric, real, integer or {value,…}, found 'string'"),
            ("@attribute a {b,b}", ":1:17: expected each value once, found 'b' again"),
            ("@attribute a {b", ":1:16: expected '{value,…}', found the end of the line"),
            ("@attribute a {}", ":1:15: expected a name or a value, found '}'"),
            (
                "@attribute a {b}\n@attribute d {e}\n@data\n",
                ":1: expected features that are numeric or {0,1}, found the nominal attribute a",
            ),
            (
                "@attribute TAG_a {0}\n@attribute TAG_b real\n@data\n",
                ":1: expected several labels that are numeric or {0,1}, found the nominal attribute TAG_a",
            ),
            ("@attribute a real\n@data\n1", unmarked),
            (
                "@relation 'r: -C 2'\n@data\n",
                ": expected at most 0 labels, the number of attributes, found -C 2 in @relation",
            ),
            (
                "@attribute TAG_a real\n@attribute TAG_a real\n@data\n",
                ":2: expected each label once, found TAG_a again",
            ),
            ("@attribute TAG_a real\n@attribute TAG_b real\n@data\n0,0", ":4:1: expected a label, found none"),
        ],
    );
    let xml: (&str, &[u8]) = ("s.xml", b"<label name=\"z\"/>");
    let expected = "s.xml: expected names of attributes, found the label 'z'";
    assert_eq!(error(&[("s.arff", FRUIT.as_bytes()), xml]), expected);
}

/// The files beside a file of triples: three documents, the second without words.
const BESIDE: [(&str, &[u8]); 3] =
    [("t.label", b"2\n9\n2\n"), ("train.map", b"sport 9\nthe arts 2\n"), ("vocabulary.txt", b"goal\nfilm\nplay\n")];

#[test]
fn triples() {
    let plain = data(&[&[("t.data", b"1 3 1\n1 1 2\n3 2 5\n".as_slice())], &BESIDE[..]].concat());
    assert_eq!(show(&plain), ["the arts 0:2 2:1", "sport", "the arts 1:5"]);
    assert_eq!((plain.features(), plain.feature_names.join(" ")), (3, "goal film play".into()));

    let packed = BESIDE.map(|(name, content)| (format!("{name}.gz"), gzip(content)));
    let content = gzip(b"1 1 2\n");
    let mut files: Vec<(&str, &[u8])> = vec![("t.data.gz", &content)];
    files.extend(packed.iter().map(|(name, content)| (name.as_str(), content.as_slice())));
    assert_eq!(show(&data(&files)), ["the arts 0:2", "sport", "the arts"]);

    let alone = Files::new(&[("t.data", b"1 1 2\n3 7 1\n")]).read(&unlabelled()).unwrap();
    assert_eq!(show(&alone), ["- 0:2", "-", "- 6:1"]);
    let numbers = data(&[("t.data", b"1 1 2\n2 7 1\n"), ("t.label", b"10\n9\n")]);
    assert_eq!(show(&numbers), ["10 0:2", "9 6:1"]);
    assert_eq!(numbers.classes, ["9", "10"]);
}

#[test]
fn triples_errors() {
    for (content, expected) in [
        ("1 4 1\n", ":1:3: expected a word from 1 to 3, the size of the vocabulary, found 4"),
        ("1 0 1\n", ":1:3: expected a word, a number from 1 to 4294967295, found '0'"),
        ("4 1 1\n", ":1:1: expected a document from 1 to 3, the number of labels in t.label, found 4"),
        ("2 1 1\n1 1 1\n", ":2:1: documents must not decrease, found 1 after 2"),
        ("1 2 1\n1 1 1\n1 2 1\n2 1 1\n", ":3:3: expected each word once per document, found 2 again"),
        ("1 2 inf\n", ":1:5: expected a finite 32-bit number, found 'inf'"),
        ("1 2\n", ":1:1: expected 'document word count', found '1 2'"),
        ("", ": expected at least one row, found none"),
    ] {
        let files = [&[("t.data", content.as_bytes())], &BESIDE[..]].concat();
        assert_eq!(error(&files), format!("t.data{expected}"));
    }
    let rows: (&str, &[u8]) = ("t.data", b"1 1 1\n2 1 1\n");
    assert_eq!(error(&[rows]), "t.data: expected the labels beside it, found no t.label, compressed or not");
    for (labels, map, expected) in [
        ("1\nx\n", "a 1\n", "t.label:2:1: expected a class, a number from 0 to 4294967295, found 'x'"),
        ("1\n\n1\n", "a 1\n", "t.label:2:1: expected the number of a class, found ''"),
        ("1\n2\n", "a 2\n", "t.label:1:1: expected a class that the map file names, found 1"),
        ("1\n2\n", "a 2\na 1\n", "t.map:2:1: expected each name and number once, found 'a 1' again"),
        ("1\n2\n", "a 2\nb x\n", "t.map:2:3: expected a class, a number from 0 to 4294967295, found 'x'"),
        ("1\n2\n", "a\n", "t.map:1:1: expected 'name number', found 'a'"),
    ] {
        assert_eq!(error(&[rows, ("t.label", labels.as_bytes()), ("t.map", map.as_bytes())]), expected);
    }
    let gap = Files::new(&[("t.data", b"1 1 1\n4000000000 1 1\n")]).error(&unlabelled());
    assert_eq!(gap, "t.data:2:1: expected at most 1000 documents without words after 1, found document 4000000000");
}

fn texts(name: &str, content: &[u8], options: &ReadOptions) -> Texts {
    read_texts(&Files::new(&[(name, content)]).1, options).unwrap()
}

/// Each text as `text|label label|weight`.
fn show_texts(texts: &Texts) -> Vec<String> {
    let labels = |n: usize| texts.labels[n].iter().map(|&k| texts.classes[k as usize].as_str()).collect::<Vec<_>>();
    let weight = |n: usize| texts.row_weights.get(n).map_or(String::new(), |weight| format!("|{weight}"));
    let line = |(n, text)| format!("{text}|{}{}", labels(n).join(" "), weight(n));
    texts.texts().into_iter().enumerate().map(line).collect()
}

fn as_format(format: Format, labels_required: bool) -> ReadOptions {
    ReadOptions { format: Some(format), labels_required, ..ReadOptions::default() }
}

#[test]
fn tsv() {
    let text =
        "\u{feff}Timber in the city\twood  house\r\n\r\n \n\ttree\nÉté 12:30\thouse wood house\t2.5\r\nlast\ttree";
    let expected = ["Timber in the city|wood house|1", "|tree|1", "Été 12:30|house wood|2.5", "last|tree|1"];
    for (name, content) in
        [("a.tsv", text.as_bytes().to_vec()), ("a.tsv.gz", gzip(text.as_bytes())), ("a", text.into())]
    {
        let texts = texts(name, &content, &ReadOptions::default());
        assert_eq!(show_texts(&texts), expected);
        assert_eq!(texts.classes, ["house", "tree", "wood"]);
    }
    let first = ReadOptions { first_label: true, ..ReadOptions::default() };
    let first = texts("a.tsv", text.as_bytes(), &first);
    assert_eq!((first.labels.all(), first.classes.join(" ")), (&[2, 1, 0, 1][..], "house tree wood".into()));
    let numbers = texts("a.tsv", b"a\t10 9\nb\t-1", &ReadOptions::default());
    assert_eq!(numbers.classes, ["-1", "9", "10"]);
}

#[test]
fn tsv_label_first() {
    let options = as_format(Format::TsvLabelFirst, true);
    let found = texts("a.tsv", b"wood house\tTimber in the city\t0.5\ntree\t\n", &options);
    assert_eq!(show_texts(&found), ["Timber in the city|wood house|0.5", "|tree|1"]);
    let options = as_format(Format::TsvLabelFirst, false);
    let found = texts("a.tsv", b"wood\tTimber\tx\ty\nplain text\n\n", &options);
    assert_eq!(show_texts(&found), ["Timber|", "plain text|", "|"]);
}

/// A line is a text, blank ones too, so that predictions stay in step; what follows a tab is not looked at.
#[test]
fn texts_without_labels() {
    let found = texts("a.txt", "\u{feff}one text\r\n\ntwo\tx\ty\tz\nlast".as_bytes(), &unlabelled());
    assert_eq!(show_texts(&found), ["one text|", "|", "two|", "last|"]);
}

#[test]
fn fasttext() {
    let text = "__label__wood __label__house Timber __label__x city \n\n  __label__tree\n__label__wood\ta b\n";
    let found = texts("a.txt", text.as_bytes(), &ReadOptions::default());
    assert_eq!(show_texts(&found), ["Timber __label__x city |wood house", "|tree", "a b|wood"]);
    let found = texts("a.txt", text.as_bytes(), &unlabelled());
    assert_eq!(show_texts(&found), ["Timber __label__x city |", "|", "|", "a b|"]);
}

#[test]
fn text_errors() {
    let long = format!("{}b\n", "text\tlabel\n".repeat(400_000));
    for (name, content, format, expected) in [
        ("a.tsv", "a\tb\nc\n".as_bytes(), None, ":2:2: expected 'text<TAB>label label …', found no tab"),
        ("a.tsv", long.as_bytes(), None, ":400001:2: expected 'text<TAB>label label …', found no tab"),
        ("a.tsv", b"a\tb\nc\t \n", None, ":2:1: expected a label, found none"),
        ("a.tsv", b"a\tb\tx\n", None, ":1:5: expected a weight, finite and at least 0, found 'x'"),
        ("a.tsv", b"a\tb\t1\t\n", None, ":1:7: expected a text, labels and a weight, found a fourth column"),
        ("a.tsv", b"\n \n", None, ": expected at least one row, found none"),
        ("a.tsv", b"", None, ": expected at least one row, found none"),
        ("a.tsv", b"a\tb\n\xc3\xa9\xff\tb\n", None, ":2:3: expected UTF-8, found byte 0xff"),
        ("a.tsv", b"\xef\xbb\xbfab\xff", None, ":1:3: expected UTF-8, found byte 0xff"),
        ("a", b"tree", Some(Format::TsvLabelFirst), ":1:5: expected 'label label …<TAB>text', found no tab"),
        ("a", b"__label__a x\ny\n", None, ":2:1: expected a label, found none"),
        ("a", b"__label__a __label__ x\n", None, ":1:12: expected a label, found an empty one"),
        (
            "a.svm",
            b"1 1:1\n",
            None,
            ": expected texts, found rows of numbers (libsvm); the format tsv reads any lines as texts",
        ),
        ("a", b"1 1:1\n", Some(Format::Libsvm), ": expected texts, found rows of numbers"),
    ] {
        let files = Files::new(&[(name, content)]);
        let error = read_texts(&files.1, &ReadOptions { format, ..ReadOptions::default() }).unwrap_err().to_string();
        assert_eq!(error.replace(&format!("{}/", files.0.path().display()), ""), format!("{name}{expected}"));
    }
    assert_eq!(error(&[("a.tsv", b"a\tb\n")]), "a.tsv: expected rows of numbers, found raw text");
}

/// Several pieces, each with numbers of its own for its labels.
#[test]
fn long_files_are_read_as_short_ones() {
    let line = |n: usize| format!("text {n}\tk{} k{}{}\n", n % 7, n % 1000, if n == 150_000 { "\t2" } else { "" });
    let text: String = (0..200_000).map(line).collect();
    let found = texts("a.tsv", text.as_bytes(), &ReadOptions::default());
    assert_eq!((found.len(), found.classes.len(), found.row_weights.len()), (200_000, 1000, 200_000));
    for (n, shown) in show_texts(&found).into_iter().enumerate() {
        let (seven, thousand) = (n % 7, n % 1000);
        let labels = if seven == thousand { format!("k{seven}") } else { format!("k{seven} k{thousand}") };
        assert_eq!(shown, format!("text {n}|{labels}|{}", if n == 150_000 { 2 } else { 1 }));
    }
}

#[test]
fn gzip_is_recognised_by_its_bytes() {
    let two = [gzip(b"a 1:1\n"), gzip(b"b 2:1\n")].concat();
    for name in ["a.svm", "a.svm.gz", "a"] {
        assert_eq!(show(&data(&[(name, &two)])), ["a 1:1", "b 2:1"]);
    }
    assert_eq!(show(&data(&[("plain.svm.gz", b"a 1:1\n")])), ["a 1:1"]);
}

#[test]
fn damaged_gzip() {
    let text: String = (0..2000).map(|n| format!("{} {}:0.{n}\n", n % 7, n + 1)).collect();
    let packed = gzip(text.as_bytes());
    for end in [5, packed.len() / 2, packed.len() - 1] {
        let expected = "a.gz: the gzip data are cut short";
        assert_eq!(error(&[("a.gz", &packed[..end])]), expected);
    }
    let mut changed = packed.clone();
    changed[packed.len() - 8] ^= 1; // the checksum
    assert_eq!(error(&[("a.gz", &changed)]), "a.gz: the gzip data are damaged");
}

/// Rows in each compression, by whom they were compressed, with the ending of the name.
fn compressed(content: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip2.write_all(content).unwrap();
    let mut zstd = zstd::Encoder::new(Vec::new(), 3).unwrap();
    zstd.include_checksum(true).unwrap();
    zstd.write_all(content).unwrap();
    vec![("gz", gzip(content)), ("bz2", bzip2.finish().unwrap()), ("zst", zstd.finish().unwrap())]
}

/// "a 1:1\nb 2:0.5\n", compressed by xz-utils: the crate that decompresses it is built without its encoder.
const XZ: &str = "fd377a585a0000016922de360200210116000000742fe5a301000d6120313a310a6220323a302e350a0000003e760d5b0001220e\
    0cde8c609042990d010000000001595a";

fn xz() -> Vec<u8> {
    (0..XZ.len()).step_by(2).map(|at| u8::from_str_radix(&XZ[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn other_compressions_are_like_gzip() {
    let mut files = compressed(b"a 1:1\nb 2:0.5\n");
    files.push(("xz", xz()));
    for (ending, packed) in files {
        let two = [packed.clone(), packed.clone()].concat();
        for name in [&format!("a.svm.{ending}"), "a.svm", "a"] {
            assert_eq!(show(&data(&[(name, &packed)])), ["a 1:1", "b 2:0.5"], "{name}");
            assert_eq!(show(&data(&[(name, &two)])).len(), 4, "{name}: two members");
        }
        let name = format!("a.{ending}");
        let format = if ending == "gz" {
            "gzip"
        } else if ending == "zst" {
            "zstd"
        } else {
            ending
        };
        for end in 11..packed.len() {
            let found = error(&[(&name, &packed[..end])]);
            assert_eq!(found, format!("{name}: the {format} data are cut short"), "the first {end} bytes");
        }
        let mut damaged = 0;
        for at in 4..packed.len() {
            let mut changed = packed.clone();
            changed[at] ^= 0x55;
            let found = Files::new(&[(&name, &changed)]).read(&ReadOptions::default());
            damaged += usize::from(found.is_err_and(|error| error.to_string().contains(&format!("the {format} data"))));
        }
        assert!(damaged > packed.len() / 3, "{format}: {damaged} of {} changes are seen", packed.len());
    }
    // Not bzip2, whatever its first letters.
    assert_eq!(show(&data(&[("a.svm", b"BZh9 1:1 2:1\n")])), ["BZh9 1:1 2:1"]);
    // A name may end in the compression of a table, which then tells the separator.
    let table = compressed("text\tlabel\na, b\tx\n".as_bytes());
    for (ending, packed) in table {
        let Ok(Input::Texts(texts)) = read_any(&Files::new(&[(&format!("a.tsv.{ending}"), &packed)]).1, &unlabelled())
        else {
            panic!("{ending}")
        };
        assert_eq!(texts.len(), 2);
    }
}

#[test]
fn text_is_utf8() {
    assert_eq!(error(&[("a.svm", b"1 1:1\n2 1:\xff\n")]), "a.svm:2:5: expected UTF-8, found byte 0xff");
    assert_eq!(error(&[("a.arff", b"@relation \xc3\n")]), "a.arff:1:11: expected UTF-8, found byte 0xc3");
    assert_eq!(show(&data(&[("a.svm", "naïve 1:1".as_bytes())])), ["naïve 1:1"]);
}

#[test]
fn formats_are_told_apart() {
    for (name, text) in [
        ("a", "% x\n@relation r\n@attribute c {x}\n@data\nx\n"),
        ("a", "\n@relation r\n@attribute c {x}\n@data\nx\n"),
        ("a", "1 3 2\n0 1:1\n"),
        ("a", "# x\nlabel 1:1\n"),
        ("a.data", "1 1:1\n"),
        ("a.libsvm", "1\n"),
        ("a.svmlight", "1\n"),
    ] {
        assert_eq!(data(&[(name, text.as_bytes())]).len(), 1, "{text}");
    }
    let known = Format::ALL.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    let unknown = format!("a.txt: the format cannot be detected; give one of {known}");
    for text in ["1,2,3\n", "a text with words: two\n", "5\n"] {
        assert_eq!(error(&[("a.txt", text.as_bytes())]), unknown);
    }
    // What is looked at ends within a word of the first line.
    let long: String = (0..3000).map(|n| format!(" {n}:1")).collect();
    assert_eq!(data(&[("a", format!("1{long}").as_bytes())]).rows().entries(), 3000);
}

#[test]
fn options() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), *format);
    }
    let error = "xls".parse::<Format>().unwrap_err().to_string();
    let known = "libsvm, xmc, idx, arff, triples, tsv, tsv-label-first, fasttext, csv, jsonl, npy, npz, parquet, arrow";
    assert_eq!(error, format!("`format` must be one of {known}, got `xls`"));
    let options = ReadOptions { labels: Some(9), ..ReadOptions::default() };
    let error = Files::new(&[("a.arff", FRUIT.as_bytes())]).error(&options);
    assert_eq!(error, "`labels` must be at most 3, the number of attributes of a.arff, got 9");
    let error = read(Path::new("/no/such/file"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}

type Entries = std::collections::BTreeMap<u32, f32>;

fn rows() -> impl Strategy<Value = Vec<(String, Entries)>> {
    let short = (-1000i32..1000).prop_map(|n| n as f32 / 100.0);
    let value = prop_oneof![any::<f32>(), short].prop_filter("an entry", |v| v.is_finite() && *v != 0.0);
    let entries = prop::collection::btree_map(0..u32::MAX, value, 0..12);
    prop::collection::vec(("[a-z0-9é.+-]{1,6}", entries), 1..20)
}

proptest! {
    #[test]
    fn libsvm_round_trip(rows in rows()) {
        let text = |(label, entries): &(String, Entries)| {
            label.clone() + &entries.iter().map(|(i, v)| format!(" {i}:{v}")).collect::<String>()
        };
        let lines: Vec<String> = rows.iter().map(text).collect();
        let data = data(&[("a.svm", lines.join("\n").as_bytes())]);
        prop_assert_eq!(show(&data), lines);
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, text in "[-0-9:, .{}'\"%?@#a\n]{0,80}", start in 0..6usize) {
        let start = [IMAGES, b"", b"2 9 9\n", FRUIT.as_bytes(), b"1 1 1\n", &[0x1f, 0x8b, 8]][start];
        for end in [bytes.as_slice(), text.as_bytes()] {
            let files = Files::new(&[("images", &[start, end].concat()), ("labels", end), ("images.label", end)]);
            for &format in Format::ALL {
                let options = ReadOptions { format: Some(format), ..unlabelled() };
                let data = match read_any(&files.1, &options) {
                    Ok(Input::Rows(data)) => data,
                    Ok(Input::Texts(texts)) => {
                        prop_assert!(texts.len() == texts.labels.len() && texts.texts().len() == texts.len());
                        continue;
                    }
                    Err(_) => continue,
                };
                let rows = data.rows();
                prop_assert!(data.labels.all().iter().all(|&l| (l as usize) < data.classes.len()));
                prop_assert!(data.labels.len() == rows.len());
                prop_assert!([0, rows.len()].contains(&data.row_weights.len()));
                prop_assert!(rows.iter(0..rows.len()).all(|row| row.indices.is_sorted_by(|a, b| a < b)));
            }
        }
    }
}

/// Rows, features and classes of the real data, with one label a row, where it is at hand.
#[test]
fn real_data() {
    let folder = std::env::var_os("OVE_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    for (file, rows, features, classes) in [
        ("20news/train.data.gz", 11269, 61188, 20),
        ("20news/test.data.gz", 7505, 61188, 20),
        ("bibtex/bibtex-train.arff.gz", 4880, 1836, 146),
        ("bibtex/bibtex-test.arff.gz", 2515, 1836, 145),
        ("mnist/train-images-idx3-ubyte.gz", 60000, 784, 10),
        ("mnist/t10k-images-idx3-ubyte.gz", 10000, 784, 10),
    ] {
        let path = folder.join(file);
        if !path.exists() {
            eprintln!("skipped: {} is not there", path.display());
            continue;
        }
        let data = read(&path, &ReadOptions { first_label: true, ..ReadOptions::default() }).unwrap();
        assert_eq!((data.len(), data.features(), data.classes.len()), (rows, features, classes), "{file}");
    }
}

/// Label names: what a file means, and each way in which it can be wrong.
#[test]
fn label_names() {
    let named = |content: &str| {
        let files = Files::new(&[("names.tsv", content.as_bytes())]);
        let read = label_names::read(&files.1);
        read.map_err(|error| error.to_string().replace(&format!("{}/", files.0.path().display()), ""))
    };
    let names = named("\u{feff}p1\twood\ttimber \n\np2\t the sea\r\n").unwrap();
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(names.iter().collect::<Vec<_>>(), [("p1", &list(&["wood", "timber"])), ("p2", &list(&["the sea"]))]);
    let classes = list(&["p0", "p2"]);
    assert_eq!(names.of(&classes).unwrap(), [list(&[]), list(&["the sea"])]);
    assert_eq!(
        names.of(&classes[..1]).unwrap_err().to_string(),
        "`label-names` must name classes of the data, such as `p0`, got only others, such as `p1`"
    );
    let gzipped = Files::new(&[("names.tsv.gz", &gzip(b"p1\twood\n"))]);
    assert_eq!(label_names::read(&gzipped.1).unwrap().iter().count(), 1);
    let line = "expected 'class<TAB>name', with or without other names after more tabs, found";
    for (content, error) in [
        ("p1 wood\n", format!("names.tsv:1:1: {line} 'p1 wood'")),
        ("p1\twood\n\twood\n", format!("names.tsv:2:1: {line} '\\twood'")),
        ("p1\t\n", format!("names.tsv:1:1: {line} 'p1\\t'")),
        ("p1\twood\t \ttree\n", format!("names.tsv:1:1: {line} 'p1\\twood\\t \\ttree'")),
        ("p1\ta\np2\tb\np1\tc\n", "names.tsv:3:1: expected each class once, found 'p1' again".into()),
        ("\n", "names.tsv: expected lines 'class<TAB>name', found none".into()),
    ] {
        assert_eq!(named(content), Err(error));
    }
}

/// Names follow the texts, with their own weight; a class without a text follows the classes.
#[test]
fn names_are_texts_of_their_classes() {
    let files = Files::new(&[("titles.tsv", b"Old oak\ttree\nStone\thouse wall\n"), ("names.tsv", b"")]);
    fs::write(files.0.path().join("names.tsv"), "tree\tTrees\tWoods\nboat\tA boat\n").unwrap();
    let names = label_names::read(&files.0.path().join("names.tsv")).unwrap();
    let mut texts = read_texts(&files.1, &ReadOptions::default()).unwrap();
    texts.learn_names(&names, 0.25);
    assert_eq!(texts.texts(), ["Old oak", "Stone", "Trees", "Woods", "A boat"]);
    assert_eq!(texts.classes, ["house", "tree", "wall", "boat"]);
    assert_eq!((texts.name_rows, &texts.row_weights[..]), (3, &[1.0, 1.0, 0.25, 0.25, 0.25][..]));
    let labels: Vec<&[u32]> = (0..5).map(|row| &texts.labels[row]).collect();
    assert_eq!(labels, [&[1][..], &[0, 2], &[1], &[1], &[3]]);
    let (_, data) = texts.fit(&TextOptions { min_df: 1, ..TextOptions::default() }).unwrap();
    assert_eq!((data.name_rows, data.len()), (3, 5));
}
