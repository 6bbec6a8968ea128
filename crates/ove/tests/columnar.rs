//! Parquet and Arrow files: the same tables as CSV and JSON lines, and each way in which they can be wrong.

use std::fs;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int8Type;
use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use ove::io::read::{Columns, Input, OnError, Pieces, ReadOptions, Texts, read_any, read_bytes};
use ove::io::write::predictions::{PredictedRow, PredictionFormat, Predictions};
use ove::{Dataset, Error};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

fn array(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

/// As Parquet, with row groups of three rows.
fn parquet_file(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties =
        WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(3)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// As an Arrow file, with record batches of three rows.
fn arrow_file(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    for first in (0..batch.num_rows()).step_by(3) {
        writer.write(&batch.slice(first, 3.min(batch.num_rows() - first))).unwrap();
    }
    writer.into_inner().unwrap()
}

/// The same table in every way in which it can be written.
fn files(batch: &RecordBatch) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.parquet", parquet_file(batch, Compression::UNCOMPRESSED)),
        ("a.pq", parquet_file(batch, Compression::SNAPPY)),
        ("zstd", parquet_file(batch, Compression::ZSTD(Default::default()))),
        ("gzip", parquet_file(batch, Compression::GZIP(Default::default()))),
        ("lz4", parquet_file(batch, Compression::LZ4_RAW)),
        ("a.arrow", arrow_file(batch, None)),
        ("a.feather", arrow_file(batch, Some(CompressionType::LZ4_FRAME))),
        ("b", arrow_file(batch, Some(CompressionType::ZSTD))),
    ]
}

fn columns(text: &str, label: &str) -> Columns {
    Columns { text: vec![text.into()], label: Some(label.into()), ..Columns::default() }
}

fn options(columns: Columns) -> ReadOptions {
    ReadOptions { columns, ..ReadOptions::default() }
}

fn unlabelled(columns: Columns) -> ReadOptions {
    ReadOptions { labels_required: false, ..options(columns) }
}

/// Each row as `id|text|labels|weight`.
fn show(texts: &Texts) -> Vec<String> {
    let row = |(n, text): (usize, &str)| {
        let labels: Vec<&str> = texts.labels[n].iter().map(|&k| texts.classes[k as usize].as_str()).collect();
        let id = texts.ids.get(n).map_or("-", String::as_str);
        let weight = texts.row_weights.get(n).unwrap_or(&1.0);
        format!("{id}|{}|{}|{weight}", text.replace('\n', "⏎"), labels.join(";"))
    };
    texts.texts().into_iter().enumerate().map(row).collect()
}

fn texts(name: &str, content: &[u8], options: &ReadOptions) -> Result<Texts, Error> {
    match read_bytes(name.as_ref(), content.to_vec(), options)? {
        Input::Texts(texts) => Ok(texts),
        Input::Rows(_) => panic!("rows of numbers"),
    }
}

fn numbers(name: &str, content: &[u8], options: &ReadOptions) -> Result<Dataset, Error> {
    match read_bytes(name.as_ref(), content.to_vec(), options)? {
        Input::Rows(rows) => Ok(rows),
        Input::Texts(_) => panic!("texts"),
    }
}

/// The first lines hold what JSON lines and a table of columns hold alike.
fn shop() -> (RecordBatch, String) {
    let mut kinds = ListBuilder::new(StringBuilder::new());
    let mut lines = String::new();
    for n in 0..8 {
        kinds.append_value((0..n % 3 + 1).map(|kind| Some(format!("kind {kind}, \"{n}\""))));
        let list: Vec<String> = (0..n % 3 + 1).map(|kind| format!("kind {kind}, \"{n}\"")).collect();
        let (title, weight) =
            if n == 5 { ("null".into(), "null".into()) } else { (format!("\"title {n}\""), format!("{n}.5")) };
        let list = serde_json::to_string(&list).unwrap();
        lines += &format!(
            "{{\"sku\": {}, \"title\": {title}, \"body\": \"é {n}\", \"kinds\": {list}, \"w\": {weight}}}\n",
            n + 100
        );
    }
    let title = |n: usize| (n != 5).then(|| format!("title {n}"));
    let batch = table(vec![
        ("unused", array(Date32Array::from(vec![1; 8]))),
        ("sku", array(Int16Array::from_iter_values(100..108))),
        ("title", array(StringArray::from_iter((0..8).map(title)))),
        ("body", array(LargeStringArray::from_iter_values((0..8).map(|n| format!("é {n}"))))),
        ("kinds", array(kinds.finish())),
        ("w", array(Float32Array::from_iter((0..8).map(|n| (n != 5).then_some(n as f32 + 0.5))))),
    ]);
    (batch, lines)
}

#[test]
fn tables_are_those_of_json_lines() {
    let (batch, lines) = shop();
    let of = Columns {
        text: vec!["title:2,body".into()],
        weight: Some("w".into()),
        id: Some("sku".into()),
        ..columns("", "kinds")
    };
    for options in
        [options(of.clone()), unlabelled(of.clone()), ReadOptions { first_label: true, ..options(of.clone()) }]
    {
        let expected = texts("a.jsonl", lines.as_bytes(), &options).unwrap();
        assert_eq!(show(&expected).len(), 8);
        for (name, content) in files(&batch) {
            let found = texts(name, &content, &options).unwrap();
            assert_eq!(show(&found), show(&expected), "{name}");
            assert_eq!((found.classes, &found.columns), (expected.classes.clone(), &expected.columns), "{name}");
        }
    }
    // By number, where JSON lines have none.
    let by_number = texts("a.parquet", &files(&batch)[0].1, &options(columns("3", "2"))).unwrap();
    assert_eq!(show(&by_number)[..2], ["-|title 0|100|1", "-|title 1|101|1"]);
}

#[test]
fn files_are_read_piece_by_piece() {
    let (batch, _) = shop();
    let options = options(Columns { weight: Some("w".into()), ..columns("title,body", "kinds") });
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files(&batch) {
        let path = folder.path().join(name);
        fs::write(&path, &content).unwrap();
        let Input::Texts(whole) = read_any(&path, &options).unwrap() else { panic!() };
        for bytes in [1, 300, 1 << 20] {
            let (mut pieces, mut rows, mut count) = (Pieces::open(&path, &options, bytes).unwrap(), Vec::new(), 0);
            while let Some(Input::Texts(texts)) = pieces.next_piece().unwrap() {
                rows.extend(show(&texts));
                count += 1;
            }
            // The row groups of a Parquet file that are small come together.
            let is_cut = bytes < 1 << 20 && ["a.arrow", "a.feather", "b"].contains(&name);
            assert_eq!((rows, count > 1), (show(&whole), is_cut), "{name}");
        }
    }
}

/// A batch that is larger than a piece comes in slices, with all of its rows once.
#[test]
fn large_batches_are_cut() {
    let rows = 30_000;
    let batch = table(vec![
        ("text", array(StringArray::from_iter_values((0..rows).map(|n| format!("text {n}"))))),
        ("label", array(Int32Array::from_iter_values((0..rows).map(|n| n % 7)))),
    ]);
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.feather");
    fs::write(&path, writer.into_inner().unwrap()).unwrap();
    let mut pieces = Pieces::open(&path, &ReadOptions::default(), 100_000).unwrap();
    let (mut count, mut first) = (0, 0);
    while let Some(Input::Texts(texts)) = pieces.next_piece().unwrap() {
        assert!(texts.len() < 10_000);
        for (n, text) in texts.texts().into_iter().enumerate() {
            assert_eq!(
                (text, &texts.classes[texts.labels[n][0] as usize]),
                (&*format!("text {}", first + n), &((first + n) % 7).to_string())
            );
        }
        (count, first) = (count + 1, first + texts.len());
    }
    assert!(count > 3 && first == rows as usize, "{count} pieces of {first} rows");
}

/// Values of every readable type, as labels and as numbers.
#[test]
fn types() {
    let mut dictionary = StringDictionaryBuilder::<Int8Type>::new();
    dictionary.append_value("7");
    dictionary.append_value("2.5");
    let decimals = Decimal128Array::from(vec![700, 250]).with_precision_and_scale(5, 2).unwrap();
    let whole = DictionaryArray::new(Int8Array::from(vec![1, 0]), array(Int64Array::from(vec![2, 7])));
    let list = FixedSizeListArray::new(
        Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::Float64, true)),
        1,
        array(Float64Array::from(vec![7.0, 2.5])),
        None,
    );
    for (column, labels, values) in [
        (array(StringArray::from(vec!["7", "2.5"])), ["7", "2.5"], None),
        (array(StringViewArray::from(vec!["7", "2.5"])), ["7", "2.5"], None),
        (array(BinaryArray::from(vec![&b"7"[..], b"2.5"])), ["7", "2.5"], None),
        (array(dictionary.finish()), ["7", "2.5"], None),
        (array(list), ["7", "2.5"], None),
        (array(Float64Array::from(vec![7.0, 2.5])), ["7", "2.5"], Some([7.0, 2.5])),
        (array(Float32Array::from(vec![7.0, 0.1])), ["7", "0.1"], Some([7.0, 0.1])),
        (array(decimals), ["7", "2.5"], Some([7.0, 2.5])),
        (array(UInt64Array::from(vec![u64::MAX, 2])), ["18446744073709551615", "2"], Some([u64::MAX as f32, 2.0])),
        (array(Int8Array::from(vec![-7, 2])), ["-7", "2"], Some([-7.0, 2.0])),
        (array(whole), ["7", "2"], Some([7.0, 2.0])),
        (array(BooleanArray::from(vec![true, false])), ["true", "false"], Some([1.0, 0.0])),
    ] {
        let kind = column.data_type().to_string();
        let batch = table(vec![("v", column), ("text", array(StringArray::from(vec!["a", "b"])))]);
        let content = arrow_file(&batch, None);
        let found = texts("a.arrow", &content, &options(columns("text", "v"))).unwrap();
        let label = |n: usize| found.classes[found.labels[n][0] as usize].as_str();
        assert_eq!([label(0), label(1)], labels, "{kind}");
        let of = Columns { features: vec!["v".into()], label: Some("text".into()), ..Columns::default() };
        match (numbers("a.arrow", &content, &options(of)), values) {
            (Ok(rows), Some(values)) => {
                let dense = |n| rows.rows().row(n).values.first().copied().unwrap_or(0.0);
                assert_eq!([dense(0), dense(1)], values, "{kind}");
            }
            (Err(error), None) => {
                assert!(error.to_string().starts_with("a.arrow:1: expected a finite number in `v`"), "{error}")
            }
            (found, _) => panic!("{kind}: {found:?}"),
        }
    }
}

#[test]
fn errors_name_rows_and_columns() {
    let labels = StringArray::from(vec![Some("x"), Some("y"), None, Some("x"), Some(" ")]);
    let batch = table(vec![
        ("text", array(StringArray::from(vec!["a", "b", "c", "d", "e"]))),
        ("label", array(labels)),
        ("w", array(Float64Array::from(vec![1.0, -2.0, 1.0, 1.0, 1.0]))),
        ("day", array(Date32Array::from(vec![1; 5]))),
        ("none", array(NullArray::new(5))),
    ]);
    let weighted = Columns { weight: Some("w".into()), ..columns("text", "label") };
    for (columns, expected) in [
        (columns("text", "label"), ":3: expected a label in `label`, found none"),
        (weighted.clone(), ":2: expected a weight, finite and at least 0, in `w`, found '-2'"),
        (columns("titel", "label"), ": expected the column `titel`, found `text`, `label`, `w`, `day`, `none`"),
    ] {
        for (name, content) in files(&batch) {
            let error = texts(name, &content, &options(columns.clone())).unwrap_err();
            assert_eq!(error.to_string(), format!("{name}{expected}"));
        }
    }
    for (column, found) in [("day", "Date32"), ("none", "nothing but nulls")] {
        let error = texts("a.arrow", &arrow_file(&batch, None), &options(columns("text", column))).unwrap_err();
        let expected = format!("in `{column}`, found {found}; convert this column");
        assert!(error.to_string().contains(&expected), "{error}");
    }
    let skip = ReadOptions { on_error: OnError::Skip, ..options(weighted) };
    for (name, content) in files(&batch) {
        let found = texts(name, &content, &skip).unwrap();
        assert_eq!((show(&found), found.skipped.count()), (vec!["-|a|x|1".into(), "-|d|x|1".into()], 3), "{name}");
        assert_eq!(found.classes, ["x"]);
    }
}

#[test]
fn other_files_of_these_names() {
    let read =
        |name: &str, content: &[u8]| texts(name, content, &options(columns("text", "label"))).unwrap_err().to_string();
    assert_eq!(
        read("a.feather", b"FEA1\0\0\0\0 and more"),
        "a.feather: expected version 2 of the Feather format, found version 1; write it again with version=2"
    );
    for name in ["a.parquet", "a.arrow"] {
        for content in [&b"text,label\na,b\n"[..], b"PAR1", b"ARROW1\0\0", b"PAR1\x15PAR1", b"ARROW1\0\0\0\0\0\0ARROW1"]
        {
            let error = read(name, content);
            let damaged = format!("{name}: the {} data are damaged: ", &name[2..]);
            assert!(error.starts_with(&damaged), "{error}");
        }
    }
    // Texts may start with the same letters.
    assert_eq!(show(&texts("a", b"PAR1 x\tlabel\nPAR1\tb\n", &ReadOptions::default()).unwrap()).len(), 2);
}

/// A damaged file is an error or has other values, but neither panics nor takes much more memory than it has bytes.
#[test]
fn damaged_files() {
    let (batch, _) = shop();
    let options = options(Columns { weight: Some("w".into()), ..columns("title,body", "kinds") });
    for (name, content) in [
        ("a.parquet", parquet_file(&batch, Compression::SNAPPY)),
        ("a.arrow", arrow_file(&batch, Some(CompressionType::LZ4_FRAME))),
    ] {
        for end in (0..content.len()).step_by(7) {
            assert!(texts(name, &content[..end], &options).is_err(), "{name}: its first {end} bytes");
        }
        let mut changed = content.clone();
        for at in 0..content.len() {
            for value in [0, 0x7f, 0x80, 0xff] {
                changed[at] = value;
                if let Ok(found) = texts(name, &changed, &options) {
                    assert!(found.labels.all().iter().all(|&label| (label as usize) < found.classes.len()));
                }
            }
            changed[at] = content[at];
        }
    }
}

/// A buffer that claims to be as large as memory goes.
#[test]
fn lengths_beyond_the_file() {
    let columns = columns("text", "label");
    let batch = table(vec![
        ("text", array(StringArray::from(vec!["the same text again and again"; 9]))),
        ("label", array(Int64Array::from(vec![1; 9]))),
        ("unused", array(Int64Array::from(vec![1; 9]))),
    ]);
    let content = arrow_file(&batch, Some(CompressionType::LZ4_FRAME));
    // The lengths of buffers are those before the magic number of the compression.
    let magic = 0x184d2204u32.to_le_bytes();
    let frames: Vec<usize> = (8..content.len() - 4).filter(|&at| content[at..at + 4] == magic).collect();
    assert!(frames.len() >= 3, "one of each record batch");
    for at in frames {
        for length in [i64::MAX, 1 << 50, -2] {
            let mut changed = content.clone();
            changed[at - 8..at].copy_from_slice(&length.to_le_bytes());
            match texts("a.arrow", &changed, &options(columns.clone())) {
                Ok(_) => assert_eq!(length, -2, "a column that is not read"),
                Err(error) => assert!(error.to_string().contains("the arrow data are damaged"), "{error}"),
            }
        }
    }
}

/// Rows of numbers by the names of their columns, from every kind of table.
#[test]
fn columns_of_numbers() {
    let header = "sku,price,kind,size,new\n";
    let csv = format!("{header}a,1.5,x,0,true\nb,-2,y,7,FALSE\nc,0,x,1e3,1\n");
    let jsonl = "{\"sku\": \"a\", \"price\": 1.5, \"kind\": \"x\", \"size\": 0, \"new\": true}\n\
        {\"sku\": \"b\", \"price\": -2, \"kind\": \"y\", \"size\": 7, \"new\": false}\n\
        {\"kind\": \"x\", \"sku\": \"c\", \"price\": 0.0, \"size\": 1e3, \"new\": 1}\n";
    let batch = table(vec![
        ("sku", array(StringArray::from(vec!["a", "b", "c"]))),
        ("price", array(Float32Array::from(vec![1.5, -2.0, 0.0]))),
        ("kind", array(StringArray::from(vec!["x", "y", "x"]))),
        ("size", array(Int64Array::from(vec![0, 7, 1000]))),
        ("new", array(BooleanArray::from(vec![true, false, true]))),
    ]);
    let mut files = files(&batch);
    files.extend([("a.csv", csv.clone().into_bytes()), ("a.jsonl", jsonl.into()), ("c", csv.clone().into_bytes())]);
    let of = |features: &str, id: Option<&str>| Columns {
        features: vec![features.into()],
        label: Some("kind".into()),
        id: id.map(str::to_owned),
        ..Columns::default()
    };
    for (name, content) in &files {
        for features in ["price,size,new", "all"] {
            let rows = numbers(name, content, &options(of(features, Some("sku")))).unwrap();
            let row = |n: usize| {
                rows.rows().row(n).indices.iter().copied().zip(rows.rows().row(n).values.to_vec()).collect::<Vec<_>>()
            };
            assert_eq!(
                [row(0), row(1), row(2)],
                [vec![(0, 1.5), (2, 1.0)], vec![(0, -2.0), (1, 7.0)], vec![(1, 1000.0), (2, 1.0)]]
            );
            assert_eq!(
                (rows.features(), &rows.feature_names[..]),
                (3, &["price", "size", "new"].map(str::to_owned)[..])
            );
            assert_eq!(rows.columns.features, rows.feature_names, "what `all` stands for");
            assert_eq!((rows.labels.all(), &rows.classes[..]), (&[0, 1, 0][..], &["x", "y"].map(str::to_owned)[..]));
        }
        let ids = numbers(name, content, &unlabelled(of("size,price", Some("sku")))).unwrap();
        assert_eq!(
            (ids.ids, ids.feature_names),
            (vec!["a".to_owned(), "b".into(), "c".into()], vec!["size".to_owned(), "price".into()])
        );
        let error = numbers(name, content, &options(of("price,sku", None))).unwrap_err().to_string();
        assert!(error.contains("expected a finite number in `sku`, found 'a'"), "{error}");
    }
    for (cell, found) in [("", "nothing"), ("nan", "'nan'"), ("1e99", "'1e99'"), ("1,5", "'1,5'")] {
        let csv = format!("{header}a,1,x,2,3\nb,\"{cell}\",y,1,1\nc,4,y,5,6\n");
        let error = numbers("a.csv", csv.as_bytes(), &options(of("all", Some("sku")))).unwrap_err();
        assert_eq!(error.to_string(), format!("a.csv:3:4: expected a finite number in `price`, found {found}"));
        let skip = ReadOptions { on_error: OnError::Skip, ..options(of("all", Some("sku"))) };
        let rows = numbers("a.csv", csv.as_bytes(), &skip).unwrap();
        assert_eq!((rows.len(), rows.rows().row(1).values, rows.skipped.count()), (2, &[4.0, 5.0, 6.0][..], 1));
    }
    let missing = table(vec![
        ("price", array(Float64Array::from(vec![Some(1.0), None]))),
        ("kind", array(StringArray::from(vec!["x", "y"]))),
    ]);
    let error =
        numbers("a.parquet", &parquet_file(&missing, Compression::SNAPPY), &options(of("price", None))).unwrap_err();
    assert_eq!(error.to_string(), "a.parquet:2: expected a finite number in `price`, found nothing");
    // Without a header, by number.
    let plain = Columns { features: vec!["all".into()], label: Some("3".into()), ..Columns::default() };
    let rows = numbers("a.csv", b"1,2,x\n0,5,y\n", &options(plain)).unwrap();
    assert_eq!((rows.len(), rows.rows().row(1).indices, rows.feature_names.len()), (2, &[1][..], 2));
    let both = Columns { text: vec!["kind".into()], ..of("price", None) };
    let error = read_bytes("a.csv".as_ref(), csv.into_bytes(), &options(both)).unwrap_err();
    assert_eq!(error.to_string(), "rows consist of a text or of numbers, so give `text` or `features`, not both");
    let twice = numbers("a.jsonl", jsonl.as_bytes(), &options(of("price,price", None))).unwrap_err();
    assert!(twice.to_string().contains("expected each of `features` once, found `price` twice"), "{twice}");
}

/// What is written as a table is read as one.
#[test]
fn predictions_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let row =
        |id, top, names: &[Option<&'static str>], is_known| PredictedRow { id, top, names: names.to_vec(), is_known };
    let rows = [
        row(Some("17"), vec![("a", 0.75), ("b, c", 0.25)], &[Some("A name"), None], true),
        row(Some("18"), vec![], &[], false),
    ];
    for format in [PredictionFormat::Parquet, PredictionFormat::Feather, PredictionFormat::Arrow] {
        let path = folder.path().join(format!("p.{format}"));
        assert_eq!(PredictionFormat::of(&path).unwrap(), format);
        let mut table = Predictions::create(&path, &path, format, 2, true).unwrap();
        table.write(&rows[..1]).unwrap();
        table.write(&rows[1..]).unwrap();
        table.finish().unwrap();
        let of = |text: &str| {
            let columns = Columns { text: vec![text.into()], id: Some("id".into()), ..Columns::default() };
            let Input::Texts(texts) = read_any(&path, &unlabelled(columns)).unwrap() else { panic!() };
            assert_eq!(texts.ids, ["17", "18"]);
            texts.texts().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of("labels"), ["a\nb, c", ""]);
        assert_eq!(of("probabilities"), ["0.75\n0.25", ""]);
        assert_eq!(of("names"), ["A name\nb, c", ""]);
        assert_eq!(of("known"), ["true", "false"]);
    }
}
