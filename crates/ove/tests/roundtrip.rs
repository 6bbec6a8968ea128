//! What is written comes back: rows in every format that a file may have, and predictions of every kind of model, to
//! the bit.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ove::io::read::{Format, Input, ReadOptions, read, read_bytes};
use ove::io::write;
use ove::{Dataset, Model};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::fitted::{self, with};

/// A row: its labels, its weight and its entries.
#[derive(Debug, Clone)]
struct Row {
    labels: Vec<u32>,
    weight: f64,
    entries: Vec<(u32, f32)>,
}

const FEATURES: u32 = 20;
const CLASSES: u32 = 5;

/// Any finite number but zero, which no format keeps.
fn value() -> impl Strategy<Value = f32> {
    any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |x| x.is_finite() && *x != 0.0)
}

prop_compose! {
    fn row()(
        labels in prop::collection::btree_set(0..CLASSES, 1..4),
        weight in prop_oneof![Just(1.0), 0.0..1e9f64],
        entries in prop::collection::btree_map(0..FEATURES, value(), 0..8),
    ) -> Row {
        Row { labels: labels.into_iter().collect(), weight, entries: entries.into_iter().collect() }
    }
}

/// Some rows; each class has one.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec(row(), 1..12).prop_map(|mut rows| {
        rows[0].labels = (0..CLASSES).collect();
        rows
    })
}

fn dataset(rows: &[Row]) -> Dataset {
    let mut data = Dataset::new(FEATURES as usize, (0..CLASSES).map(|class| class.to_string()).collect());
    for row in rows {
        row.entries.iter().for_each(|&(feature, value)| data.push_entry(feature, value));
        if row.weight != 1.0 {
            data.weigh_row(row.weight);
        }
        data.end_row(&row.labels);
    }
    data
}

/// What two data sets have to have in common; a format without weights has none.
fn assert_same(found: &Dataset, rows: &[Row], weighs: bool) {
    assert_eq!(found.classes, (0..CLASSES).map(|class| class.to_string()).collect::<Vec<_>>());
    assert_eq!(found.len(), rows.len());
    for (n, row) in rows.iter().enumerate() {
        assert_eq!(found.labels[n], row.labels);
        let bits =
            |entries: &mut dyn Iterator<Item = (u32, f32)>| entries.map(|(d, x)| (d, x.to_bits())).collect::<Vec<_>>();
        let entries = found.rows().row(n);
        let found_bits = bits(&mut entries.indices.iter().copied().zip(entries.values.iter().copied()));
        assert_eq!(found_bits, bits(&mut row.entries.iter().copied()), "row {n}");
        if weighs {
            assert_eq!(found.row_weights.get(n).copied().unwrap_or(1.0).to_bits(), row.weight.to_bits());
        }
    }
}

fn joined<T>(items: impl IntoIterator<Item = T>, between: &str, show: impl Fn(T) -> String) -> String {
    items.into_iter().map(show).collect::<Vec<_>>().join(between)
}

fn libsvm(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let labels = joined(&row.labels, ",", u32::to_string);
        let entries = joined(&row.entries, "", |(d, x)| format!(" {d}:{x}"));
        format!("{labels} weight:{}{entries}\n", row.weight)
    };
    rows.iter().map(line).collect()
}

/// Dense and sparse rows in turn, with a label an attribute.
fn arff(rows: &[Row]) -> String {
    let mut text = format!("@relation 'rows: -c -{CLASSES}'\n");
    (0..FEATURES).for_each(|d| text += &format!("@attribute f{d} numeric\n"));
    (0..CLASSES).for_each(|k| text += &format!("@attribute '{k}' {{0,1}}\n"));
    text += "@data\n";
    for (n, row) in rows.iter().enumerate() {
        let label = |k: u32| u32::from(row.labels.contains(&k));
        if n % 2 == 0 {
            let entries = row.entries.iter().map(|(d, x)| format!("{d} {x}"));
            let labels = row.labels.iter().map(|k| format!("{} 1", FEATURES + k));
            text += &format!("{{{}}}\n", joined(entries.chain(labels), ", ", |entry| entry));
        } else {
            let value =
                |d: u32| row.entries.iter().find(|entry| entry.0 == d).map_or("0".into(), |entry| entry.1.to_string());
            let labels = joined(0..CLASSES, ",", |k| label(k).to_string());
            text += &format!("{},{labels}\n", joined(0..FEATURES, ",", value));
        }
    }
    text
}

fn bytes_of(name: &str, content: Vec<u8>, options: &ReadOptions) -> Dataset {
    match read_bytes(name.as_ref(), content, options).unwrap() {
        Input::Rows(data) => data,
        Input::Texts(_) => panic!("rows are not texts"),
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_come_back_from_every_format(rows in rows()) {
        let folder = TempDir::new().unwrap();
        let options = ReadOptions::default();
        let path = folder.path().join("rows.xmc");
        write::xmc(&path, &dataset(&rows), FEATURES as usize, CLASSES as usize).unwrap();
        assert_same(&read(&path, &options).unwrap(), &rows, true);
        assert_same(&bytes_of("rows.svm", libsvm(&rows).into(), &options), &rows, true);
        assert_same(&bytes_of("rows.svm", gzip(libsvm(&rows).as_bytes()), &options), &rows, true);
        let labels = ReadOptions { labels: Some(CLASSES as usize), format: Some(Format::Arff), ..options.clone() };
        assert_same(&bytes_of("rows", arff(&rows).into(), &labels), &rows, false);
    }

    /// One class a row, numbered from 1 as the words are.
    #[test]
    fn triples_come_back(mut rows in prop::collection::vec(row(), 5..12)) {
        for (n, row) in rows.iter_mut().enumerate() {
            row.labels = vec![n as u32 % CLASSES];
        }
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("rows.data");
        let entries = rows.iter().zip(1..).map(|(row, n): (&Row, u32)| {
            joined(&row.entries, "", |(d, x)| format!("{n} {} {x}\n", d + 1))
        });
        fs::write(&path, entries.collect::<String>()).unwrap();
        fs::write(folder.path().join("rows.label"), joined(&rows, "", |row| format!("{}\n", row.labels[0]))).unwrap();
        // A file without any entry is no file of triples.
        prop_assume!(rows.iter().any(|row| !row.entries.is_empty()));
        assert_same(&read(&path, &ReadOptions::default()).unwrap(), &rows, false);
    }

    #[test]
    fn images_come_back(images in prop::collection::vec((0u8..3, prop::collection::vec(any::<u8>(), 6)), 1..8)) {
        let folder = TempDir::new().unwrap();
        let count = (images.len() as u32).to_be_bytes();
        let path = folder.path().join("train-images-idx3-ubyte");
        let header = [&[0, 0, 8, 3][..], &count, &2u32.to_be_bytes(), &3u32.to_be_bytes()].concat();
        fs::write(&path, [header, images.iter().flat_map(|image| image.1.clone()).collect()].concat()).unwrap();
        let labels: Vec<u8> = images.iter().map(|image| image.0).collect();
        let labels = [&[0, 0, 8, 1][..], &count, &labels].concat();
        fs::write(folder.path().join("train-labels-idx1-ubyte"), labels).unwrap();
        let data = read(&path, &ReadOptions::default()).unwrap();
        for (n, (label, pixels)) in images.iter().enumerate() {
            prop_assert_eq!(&data.classes[data.labels[n][0] as usize], &label.to_string());
            let row = data.rows().row(n);
            let mut found = [0u8; 6];
            row.indices.iter().zip(row.values).for_each(|(&d, &x)| found[d as usize] = (x * 255.0).round() as u8);
            prop_assert_eq!(&found[..], &pixels[..]);
        }
    }

    #[test]
    fn texts_come_back(texts in prop::collection::vec(
        ("[^\t\r\n\u{feff}]{0,20}x", prop::collection::btree_set("[a-z,:#]{1,5}", 1..4)), 1..8,
    )) {
        let line = |(text, labels): &(String, BTreeSet<String>)| format!("{text}\t{}\n", joined(labels, " ", String::clone));
        let tsv: String = texts.iter().map(line).collect();
        let fasttext: String = texts
            .iter()
            .map(|(text, labels)| {
                format!("{} {}\n", joined(labels, " ", |label| format!("__label__{label}")), text.trim_ascii())
            })
            .collect();
        for (format, content) in [(Format::Tsv, tsv), (Format::Fasttext, fasttext)] {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            let input = read_bytes("texts".as_ref(), content.into_bytes(), &options).unwrap();
            let Input::Texts(found) = input else { panic!("rows") };
            for (n, (text, labels)) in texts.iter().enumerate() {
                prop_assert_eq!(found.texts()[n].trim_ascii(), text.trim_ascii());
                let name = |&label: &u32| found.classes[label as usize].as_str();
                let names: Vec<&str> = found.labels[n].iter().map(name).collect();
                prop_assert_eq!(names, labels.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }
}

/// Models of all forms, trained on these rows.
fn models(data: &Dataset, seed: u64) -> Vec<Model> {
    let model = |settings| fitted::model(data, with(&json!({ "seed": seed, "epochs": 2 }), settings));
    let mut pruned = model(json!({ "scores": "linear" }));
    pruned.prune(1e-3).unwrap();
    let rest = [json!({ "scores": "linear" }), json!({ "cells": 40 }), json!({ "rank": 3 }), json!({ "trees": 2 })];
    std::iter::once(pruned).chain(rest.map(model)).collect()
}

fn predictions(model: &Model, data: &Dataset) -> Vec<Vec<(u32, u64)>> {
    let top = model.top_k(data.rows(), 4);
    top.iter().map(|row| row.iter().map(|p| (p.class, p.probability.to_bits())).collect()).collect()
}

fn check_loaded(model: &Model, data: &Dataset, path: &Path) {
    let before = predictions(model, data);
    model.save(path).unwrap();
    for loaded in [Model::load(path).unwrap(), Model::map(path).unwrap()] {
        assert_eq!(predictions(&loaded, data), before);
        // And what is saved again is the same file.
        let again = path.with_extension("again");
        loaded.save(&again).unwrap();
        assert!(fs::read(again).unwrap() == fs::read(path).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn predictions_are_the_same_to_the_bit_after_loading(mut rows in rows(), seed: u64) {
        // Values of any size make scores of any size; these are about predictions that differ.
        rows.iter_mut().for_each(|row| {
            row.entries.iter_mut().for_each(|(_, x)| *x = x.to_bits() as f32 / u32::MAX as f32 - 0.5);
            row.weight = row.weight.min(3.0);
        });
        let (folder, data) = (TempDir::new().unwrap(), dataset(&rows));
        for (i, model) in models(&data, seed).iter().enumerate() {
            check_loaded(model, &data, &folder.path().join(format!("model-{i}")));
        }
    }
}
