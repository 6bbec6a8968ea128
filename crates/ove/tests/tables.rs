//! Tables: which columns are read, what their cells mean, and each way in which they can be wrong.

use std::fs;

use ove::Error;
use ove::io::read::{Columns, Input, OnError, Pieces, ReadOptions, Texts, read_bytes, read_texts};
use proptest::prelude::*;
use tempfile::TempDir;

/// Columns from words such as `text=title,body label=kind`.
fn columns(words: &str) -> Columns {
    let mut columns = Columns::default();
    for (name, value) in words.split_whitespace().map(|word| word.split_once('=').unwrap()) {
        let value = value.to_owned();
        match name {
            "text" => columns.text.push(value),
            "label" => columns.label = Some(value),
            "separator" => columns.label_separator = Some(value),
            "weight" => columns.weight = Some(value),
            "id" => columns.id = Some(value),
            other => panic!("{other}"),
        }
    }
    columns
}

fn options(words: &str) -> ReadOptions {
    ReadOptions { columns: columns(words), ..ReadOptions::default() }
}

fn unlabelled(words: &str) -> ReadOptions {
    ReadOptions { labels_required: false, ..options(words) }
}

fn read(name: &str, content: &str, options: &ReadOptions) -> Result<Texts, Error> {
    match read_bytes(name.as_ref(), content.as_bytes().to_vec(), options)? {
        Input::Texts(texts) => Ok(texts),
        Input::Rows(_) => panic!("rows of numbers"),
    }
}

/// Each row as `id|text|label;label|weight`, without what there is none of.
fn show(texts: &Texts) -> Vec<String> {
    let row = |(n, text): (usize, &str)| {
        let labels: Vec<&str> = texts.labels[n].iter().map(|&k| texts.classes[k as usize].as_str()).collect();
        let id = texts.ids.get(n).map_or(String::new(), |id| format!("{id}|"));
        let weight = texts.row_weights.get(n).map_or(String::new(), |weight| format!("|{weight}"));
        format!("{id}{}|{}{weight}", text.replace('\n', "⏎"), labels.join(";"))
    };
    texts.texts().into_iter().enumerate().map(row).collect()
}

#[track_caller]
fn rows(name: &str, content: &str, options: &ReadOptions, expected: &[&str]) {
    assert_eq!(show(&read(name, content, options).unwrap()), expected, "{content:?}");
}

#[track_caller]
fn wrong(name: &str, content: &str, options: &ReadOptions, expected: &str) {
    let error = read(name, content, options).expect_err("a wrong file was read").to_string();
    assert_eq!(error, format!("{name}{expected}"), "{content:?}");
}

const SHOP: &str = "\u{feff}sku,title,description,category,weight\r\n\
    17,Red shoes,\"With laces, \"\"new\"\"\",shoes,2\r\n\
    18,\"A title\r\nover two lines\",,\"art, \"\"modern\"\" and old\",1\r\n\
    \r\n\
    19,5\" disk,x,a; b ;shoes,0.5";

#[test]
fn csv() {
    let disk = "5\" disk⏎x";
    let expected = ["Red shoes⏎With laces, \"new\"|shoes|2", "A title\r⏎over two lines⏎|art, \"modern\" and old|1"];
    for words in [
        "text=title,description label=category weight=weight",
        "text=title text=description label=category weight=weight",
        "text=2,description label=4 weight=5",
    ] {
        let third = format!("{disk}|a; b ;shoes|0.5");
        rows("shop.csv", SHOP, &options(words), &[expected[0], expected[1], &third]);
    }
    let words = "text=title:2,description label=category separator=;";
    let several = ["Red shoes⏎Red shoes⏎With laces, \"new\"|shoes", "5\" disk⏎5\" disk⏎x|a;b;shoes"];
    let found = show(&read("shop.csv", SHOP, &options(words)).unwrap());
    assert_eq!([&found[0], &found[2]], several);
    let first = ReadOptions { first_label: true, ..options(words) };
    assert_eq!(show(&read("shop.csv", SHOP, &first).unwrap())[2], "5\" disk⏎5\" disk⏎x|a");
    let ids = show(&read("shop.csv", SHOP, &unlabelled("text=title id=sku label=nowhere")).unwrap());
    assert_eq!(ids, ["17|Red shoes|", "18|A title\r⏎over two lines|", "19|5\" disk|"]);
}

#[test]
fn other_separators() {
    for (name, separator) in [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t"), ("a.txt", "\t"), ("a", "|")] {
        let content = "kind,title\nx,\"one, two; three\tfour | \"\ny,five\n".replace(',', separator);
        let first = "one, two; three\tfour | ".replace(',', separator);
        rows(name, &content, &options("text=title label=kind"), &[&format!("{first}|x"), "five|y"]);
    }
    // Given by number: the separator of most fields, and no header.
    rows("a.csv", "x;one, two;1\ny;three, four;2\n", &options("text=2 label=1"), &["one, two|x", "three, four|y"]);
}

#[test]
fn columns_by_name_and_number() {
    let content = "2,title:3,a,\"b,c\",a\n1,2,3,4,5\n";
    for (words, expected) in [
        ("text=2 label=title:3", "1|2"), // the column named 2
        ("text=title:3 label=1", "2|1"), // the column of that name, once
        ("text=b,c label=4", "4|4"),     // one column, whose name has a comma
        ("text=4:2,5 label=title:3", "4⏎4⏎5|2"),
    ] {
        rows("a.csv", content, &options(words), &[expected]);
    }
    let twice = ":1: columns 3 and 5 are both named `a`; give the number of one";
    wrong("a.csv", content, &options("text=a label=1"), twice);
}

/// What is not given is read from columns with the usual names, if there is one of each.
#[test]
fn usual_names() {
    let content = "id,Title,Category\n7,one,x\n";
    rows("a.csv", content, &ReadOptions::default(), &["one|x"]);
    assert_eq!(read("a.csv", content, &ReadOptions::default()).unwrap().columns, columns("text=Title label=Category"));
    rows("a.jsonl", r#"{"text": "one", "labels": ["x", "y"]}"#, &ReadOptions::default(), &["one|x;y"]);
    for (content, options, expected) in [
        (
            "a,b\n1,2\n",
            options(""),
            "which columns are texts and labels among `a`, `b`, for example: --text a --label b",
        ),
        (
            "a,my text,class\n",
            options(""),
            "which columns are texts among `a`, `my text`, `class`, for example: \
            --text a --label class",
        ),
        (
            "title,text,class\n",
            options(""),
            "which columns are texts among `title`, `text`, `class`, for example: \
            --text title --label class",
        ),
        (
            "a,it's\n",
            options("text=a"),
            "which column is the label among `a`, `it's`, for example: --text a --label \
            'it'\\''s'",
        ),
        ("1,2\n", options("text=1"), "which column is the label among 2 columns, for example: --text 1 --label 2"),
        ("a,b\n", unlabelled(""), "which columns are texts among `a`, `b`, for example: --text a"),
    ] {
        wrong("a.csv", content, &options, &format!(":1: say {expected}"));
    }
}

#[test]
fn csv_errors() {
    let shop = |rest: &str| format!("sku,title,category,w\n1,one,x,1\n{rest}");
    let words = "text=title label=category weight=w";
    for (rest, expected) in [
        ("2,two,,1\n", ":3:7: expected a label in `category`, found none"),
        ("2,two,\" \",1\n", ":3:8: expected a label in `category`, found none"),
        ("2,two,x,-1\n", ":3:9: expected a weight, finite and at least 0, in `w`, found '-1'"),
        ("2,two,x,\n", ":3:9: expected a weight, finite and at least 0, in `w`, found ''"),
        ("2,two,x\n", ":3: expected 4 fields, as in the first record, found 3"),
        ("2,two,x,1,\n", ":3: expected 4 fields, as in the first record, found 5"),
        ("2,\"a\nb\",,1\n", ":4:4: expected a label in `category`, found none"),
        ("2,\"two\"s,x,1\n", ":3:8: expected a separator or the end of the line after the closing quote, found 's'"),
        ("2,\"two,x,1\n3,four,x,1\n", ":3:3: expected a quote that ends the field, found the end of the file"),
    ] {
        wrong("shop.csv", &shop(rest), &options(words), expected);
    }
    let latin = b"title,category\none,x\nc\xe9,x\n".to_vec();
    let error = read_bytes("a.csv".as_ref(), latin.clone(), &options("text=title label=category")).unwrap_err();
    assert_eq!(error.to_string(), "a.csv:3:2: expected UTF-8, found byte 0xe9");
    // What is not read may be anything.
    assert!(read_bytes("a.csv".as_ref(), latin, &options("text=category label=category")).is_ok());
    let found = "`sku`, `title`, `category`, `w`";
    let missing = |name| format!(":1: expected the column `{name}`, found {found}");
    for (words, name) in
        [("text=titel label=w", "titel"), ("text=title label=5", "5"), ("text=1 label=w weight=x", "x")]
    {
        wrong("shop.csv", &shop(""), &options(words), &missing(name));
    }
    wrong("shop.csv", &shop(""), &unlabelled("text=title id=no"), &missing("no"));
    for content in ["", "title,label", "title,label\n\n"] {
        wrong("a.csv", content, &options("text=title label=label"), ": expected at least one row, found none");
    }
}

#[test]
fn skipped_rows() {
    let skip = ReadOptions { on_error: OnError::Skip, ..options("text=title label=kind weight=w") };
    let content = b"title,kind,w\none,x,1\ntwo,,1\nthree\nc\xe9,x,1\n\"f\"s,x,1\nfive,y,-1\nsix,y,2\n";
    let Ok(Input::Texts(texts)) = read_bytes("a.csv".as_ref(), content.to_vec(), &skip) else { panic!() };
    assert_eq!((show(&texts), texts.skipped.count()), (vec!["one|x|1".into(), "six|y|2".into()], 5));
    assert_eq!(texts.classes, ["x", "y"]);
    let lines = "{\"title\": \"one\", \"kind\": \"x\"}\n{\"title\": 2}\n{\n{\"kind\": \"x\"}\n";
    let texts = read("a.jsonl", lines, &skip).unwrap();
    assert_eq!((show(&texts), texts.skipped.count()), (vec!["one|x".into()], 3));
    // How much is missing is unknown.
    let skip = ReadOptions { on_error: OnError::Skip, ..options("text=title label=kind") };
    let unclosed = ":3:1: expected a quote that ends the field, found the end of the file";
    wrong("a.csv", "title,kind\none,x\n\"two,x\nthree,x\n", &skip, unclosed);
}

const LINES: &str = concat!(
    "{\"sku\": 17, \"title\": \"Red \\\"shoes\\\"\", \"kinds\": [\"shoes\", \"red, not brown\"], \"more\": {\"a\": [1]}}\r\n",
    "\n",
    "{\"kinds\": 2.5, \"title\": null, \"sku\": \"x\", \"body\": [\"a\", \"b\"], \"weight\": 2}\n",
    "{\"kinds\": true, \"title\": \"last\", \"sku\": null}",
);

#[test]
fn json_lines() {
    let words = "text=title:2,body label=kinds weight=weight";
    let expected = ["Red \"shoes\"⏎Red \"shoes\"|shoes;red, not brown|1", "a⏎b|2.5|2", "last⏎last|true|1"];
    for name in ["a.jsonl", "a.ndjson", "a"] {
        rows(name, LINES, &options(words), &expected);
    }
    rows("a.jsonl", LINES, &unlabelled("text=title id=sku"), &["17|Red \"shoes\"|", "x||", "|last|"]);
    let separated = "{\"t\": \"\", \"l\": \"a b; c ;\"}";
    rows("a.jsonl", separated, &options("text=t label=l separator=;"), &["|a b;c"]);
}

#[test]
fn json_lines_errors() {
    let object = "expected a JSON object per line:";
    for (line, expected) in [
        ("{\"t\": \"x\"}", ":2:1: expected a label in `l`, found none".to_owned()),
        ("{\"t\": \"x\", \"l\": []}", ":2:1: expected a label in `l`, found none".to_owned()),
        ("{\"t\": \"x\", \"l\": null}", ":2:1: expected a label in `l`, found none".to_owned()),
        ("{\"l\": \"x\", \"m\": 1}", ":2:1: expected the key `t`, found `l`, `m`".to_owned()),
        ("{}", ":2:1: expected the key `t`, found no key".to_owned()),
        ("{\"t\": 1, \"t\": 2}", format!(":2:12: {object} the key `t` twice")),
        ("[1]", format!(":2:1: {object} invalid type: sequence, expected an object")),
        ("{\"t\": 1", format!(":2:7: {object} EOF while parsing an object")),
        ("{\"t\": 1} 2", format!(":2:10: {object} trailing characters")),
        ("{\"t\": {}}", format!(":2:8: {object} invalid type: map, expected a text, a number or a list of them")),
        ("{\"t\": [[]]}", format!(":2:9: {object} a list within a list")),
        (
            "{\"t\": 1, \"l\": 1, \"w\": \"x\"}",
            ":2:1: expected a weight, finite and at least 0, in `w`, found 'x'".into(),
        ),
    ] {
        let content = format!("{{\"t\": \"one\", \"l\": \"x\"}}\n{line}\n");
        wrong("a.jsonl", &content, &options("text=t label=l weight=w"), &expected);
    }
    wrong("a.jsonl", "{\"t\": 1}\n", &unlabelled("text=t id=sku"), ":1:1: expected the key `sku`, found `t`");
    wrong("a.jsonl", "\n", &options("text=t label=l"), ": expected at least one row, found none");
}

/// The columns of a model, given rows that may have another format.
#[test]
fn columns_of_a_model() {
    let folder = TempDir::new().unwrap();
    let texts = |name: &str, content: &str, labels_required: bool| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let own = ReadOptions { labels_required, or_lines: true, ..options("text=title label=kind id=sku") };
        show(&read_texts(&path, &own).unwrap())
    };
    assert_eq!(texts("a.txt", "one, two\nthree\n", false), ["one, two|", "three|"]);
    assert_eq!(texts("a.txt", "kind,title\nx,one\n", false), ["one|"]);
    assert_eq!(texts("a.tsv", "sku\ttitle\n7\tone\n", false), ["7|one|"]);
    assert_eq!(texts("a", "{\"title\": \"one\"}\n", false), ["one|"]);
    assert_eq!(texts("a.tsv", "one\tx y\n", true), ["one|x;y"]);
}

fn cell() -> impl Strategy<Value = String> {
    "[a-cé,;\t\"'\r\n |]{0,6}"
}

proptest! {
    /// What the `csv` crate writes comes back, whatever is in it, also cut in pieces.
    #[test]
    fn csv_round_trip(rows in prop::collection::vec((cell(), "[a-c,\"\n]{0,3}[a-c]"), 1..12), size in 1usize..60) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["the text", "the label"]).unwrap();
        rows.iter().for_each(|(text, label)| writer.write_record([text, label]).unwrap());
        let content = writer.into_inner().unwrap();
        let words = Columns { text: vec!["the text".into()], label: Some("the label".into()), ..Columns::default() };
        let options = ReadOptions { columns: words, ..ReadOptions::default() };
        let Input::Texts(texts) = read_bytes("a.csv".as_ref(), content.clone(), &options).unwrap() else { panic!() };
        let expected: Vec<(&str, &str)> = rows.iter().map(|(text, label)| (text.as_str(), label.trim())).collect();
        let label = |texts: &Texts, n: usize| texts.classes[texts.labels[n][0] as usize].clone();
        let found: Vec<String> = (0..texts.len()).map(|n| label(&texts, n)).collect();
        prop_assert_eq!(texts.texts(), expected.iter().map(|(text, _)| *text).collect::<Vec<_>>());
        prop_assert_eq!(&found, &expected.iter().map(|(_, label)| label.to_string()).collect::<Vec<_>>());

        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, &content).unwrap();
        let mut pieces = Pieces::open(&path, &options, size).unwrap();
        let mut cut = Vec::new();
        while let Some(Input::Texts(texts)) = pieces.next_piece().unwrap() {
            cut.extend(texts.texts().iter().enumerate().map(|(n, text)| (text.to_string(), label(&texts, n))));
        }
        let whole: Vec<_> = texts.texts().into_iter().map(str::to_owned).zip(found).collect();
        prop_assert_eq!(cut, whole);
    }

    /// Fields as the `csv` crate finds them, in anything that has no error.
    #[test]
    fn csv_as_others_read_it(content in "[ab,\"\n]{0,30}") {
        let content = format!("x,y\n{content}");
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(content.as_bytes());
        let theirs: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let Ok(ours) = read("a.csv", &content, &unlabelled("text=x id=y")) else { return Ok(()) };
        let theirs: Vec<String> = theirs.iter().map(|record| format!("{}|{}|", &record[1], &record[0])).collect();
        let ours: Vec<String> = show(&ours).iter().map(|row| row.replace('⏎', "\n")).collect();
        prop_assert_eq!(ours, theirs);
    }
}

/// Lines that are skipped before the first row are counted, also where they are a piece of their own.
#[test]
fn pieces_of_json_lines_count_what_is_skipped_before_the_first_row() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, b"not \xff UTF-8\n\n{\"text\": \"one\", \"label\": \"a\"}\nnot \xff either\n").unwrap();
    let options = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let whole = read_texts(&path, &options).unwrap();
    assert_eq!((whole.len(), whole.skipped.count()), (1, 2));
    for size in [1, 20, 1000] {
        let mut pieces = Pieces::open(&path, &options, size).unwrap();
        let (mut rows, mut skipped) = (0, 0);
        while let Some(Input::Texts(texts)) = pieces.next_piece().unwrap() {
            (rows, skipped) = (rows + texts.len(), skipped + texts.skipped.count());
        }
        assert_eq!((rows, skipped), (1, 2), "pieces of {size} bytes");
    }
}

/// Parts that are read in parallel, with quoted line ends where they are cut.
#[test]
fn long_tables_are_read_as_short_ones() {
    let row =
        |n: usize| format!("{n},\"text\n\"\"{n}\"\", and more of it, until the row is long enough\",k{}\n", n % 7);
    let content: String = std::iter::once("id,text,label\n".into()).chain((0..200_000).map(row)).collect();
    let texts = read("a.csv", &content, &options("")).unwrap();
    assert_eq!((texts.len(), texts.classes.len()), (200_000, 7));
    for (n, text) in texts.texts().into_iter().enumerate() {
        assert_eq!(text, format!("text\n\"{n}\", and more of it, until the row is long enough"));
        assert_eq!(texts.classes[texts.labels[n][0] as usize], format!("k{}", n % 7));
    }
    let place = content.len();
    let wrong_at_end = content + "1,\"x\n\",\n";
    assert!(place > 3 * (4 << 20), "several parts");
    wrong("a.csv", &wrong_at_end, &options(""), ":400003:3: expected a label in `label`, found none");
}
