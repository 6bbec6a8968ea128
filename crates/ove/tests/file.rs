//! The model file: what is saved comes back bit by bit, and each way a file can be wrong has its message.

use std::fs;
use std::path::Path;

use ove::model::{Card, HeldOutPoint, TracePoint};
use ove::scores::Linear;
use ove::text::{CharRange, Language, Text, TextOptions};
use ove::{Model, Row, Scores};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::file_parts::{joined, parts};
use crate::fitted::options;

fn model(features: usize, table: Vec<f32>) -> Model {
    let classes = table.len() / (features + 1);
    let names = (0..classes).map(|k| format!("class {k}")).collect();
    let options = options(json!({ "scores": "linear" }));
    let card = Card {
        feature_names: (0..features).map(|d| format!("\"word\" {d}")).collect(),
        trace: vec![TracePoint { updates: 10, bound: -0.1 }],
        ..Card::new(options, names, (1..=classes as u64).collect(), 10)
    };
    Model { scores: Scores::Linear(Linear::new(classes, table)), card }
}

/// Two classes, one feature.
fn small() -> Model {
    model(1, vec![1.0, -2.0, 0.5, 0.25])
}

fn saved(model: &Model) -> Vec<u8> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("model");
    model.save(&path).unwrap();
    fs::read(path).unwrap()
}

fn load(bytes: &[u8]) -> ove::Result<Model> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("model");
    fs::write(&path, bytes).unwrap();
    Model::load(&path)
}

/// Why these bytes are not a usable model.
fn reason(bytes: &[u8]) -> String {
    let message = load(bytes).unwrap_err().to_string();
    let (path, reason) = message.split_once(": not a usable model: ").expect("a reason");
    assert!(path.ends_with("model"), "{message}");
    reason.to_owned()
}

/// The small model's file after a change to its header.
fn with_header(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let bytes = saved(&small());
    let (mut header, data) = parts(&bytes);
    change(&mut header);
    joined(&header, data)
}

/// The small model's file after a change to its card.
fn with_card(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    with_header(|header| {
        let entry = &mut header["__metadata__"]["ove"];
        let mut card = serde_json::from_str(entry.as_str().unwrap()).unwrap();
        change(&mut card);
        *entry = card.to_string().into();
    })
}

fn names_in(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

/// Any finite number of 32 bits, also denormal ones and −0.
fn weight() -> impl Strategy<Value = f32> {
    any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |w| w.is_finite())
}

fn number() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite())
}

prop_compose! {
    fn models()(features in 0usize..4, classes in 1usize..5)(
        table in prop::collection::vec(weight(), (features + 1) * classes),
        names in prop::collection::hash_set(any::<String>(), classes),
        counts in prop::collection::vec(any::<u64>(), classes),
        named in any::<bool>(),
        (l2, rate) in (number(), number()),
        bounds in prop::collection::vec(number(), 0..4),
        finished in any::<bool>(),
        features in Just(features),
    ) -> Model {
        let mut model = model(features, table);
        if !named {
            model.card.feature_names.clear();
        }
        model.card.classes = names.into_iter().collect();
        model.card.counts = counts;
        (model.card.options.l2, model.card.options.learning_rate) = (Some(l2), Some(rate));
        model.card.trace = bounds.into_iter().zip(1..).map(|(bound, updates)| TracePoint { updates, bound }).collect();
        model.card.finished = finished;
        model
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_saved_comes_back(model in models()) {
        let bytes = saved(&model);
        let again = load(&bytes).unwrap();
        let bits = |model: &Model| -> Vec<u32> {
            model.scores.linear().unwrap().table().iter().map(|w| w.to_bits()).collect()
        };
        prop_assert_eq!(bits(&again), bits(&model));
        prop_assert_eq!(&again, &model);
        prop_assert_eq!(saved(&again), bytes);
    }
}

/// Seven cells for the weights of a thousand features, and two biases.
#[test]
fn cells_that_weights_share_come_back() {
    let mut model = small();
    model.card.feature_names.clear();
    model.card.options = options(json!({ "cells": 7 }));
    let bytes = saved(&model);
    let (mut header, _) = parts(&bytes);
    header["weights"] = json!({ "dtype": "F32", "shape": [7], "data_offsets": [0, 28] });
    header["bias"]["data_offsets"] = json!([28, 36]);
    header["__metadata__"]["hashed_features"] = "1000".into();
    let table: Vec<u8> = (0..9).flat_map(|i| (i as f32 - 4.0).to_le_bytes()).collect();
    let model = load(&joined(&header, &table)).unwrap();
    assert!(model.features() == 1000 && model.scores.linear().unwrap().is_hashed());
    let again = load(&saved(&model)).unwrap();
    assert_eq!(again, model);
    let of_feature = |model: &Model, feature| {
        let mut scores = [0.0; 2];
        model.scores.linear().unwrap().scores(Row { indices: &[feature], values: &[2.0] }, &mut scores);
        scores
    };
    for feature in [0, 1, 999] {
        let weight = |class| model.scores.linear().unwrap().weight(feature, class);
        // The cells rise by one, and so do the two biases.
        assert_eq!(of_feature(&again, feature), [3.0 + 2.0 * weight(0), 4.0 + 2.0 * weight(1)]);
        assert_eq!(weight(1), weight(0) + 1.0);
    }
    assert_eq!(of_feature(&again, 1000), [3.0, 4.0], "a feature that the model does not know");
}

/// JSON has no infinity, and a file that it came into must still be a model.
#[test]
fn what_held_out_rows_said_comes_back() {
    let mut model = small();
    let mut data = ove::Dataset::new(1, model.card.classes.clone());
    for label in [0, 1, 1] {
        data.push_entry(0, 1.0);
        data.end_row(&[label]);
    }
    let evaluation = ove::evaluate(&model, data.rows(), &data.labels).unwrap();
    assert_eq!((evaluation.confused.len(), evaluation.reliability.len()), (1, 1));
    model.card.evaluation = Some(ove::Evaluation { nlpd: f64::INFINITY, ..evaluation });
    model.card.held_out = [1.0, f64::INFINITY].map(|nlpd| HeldOutPoint { updates: 5, error: 0.5, nlpd }).into();
    assert_eq!(load(&saved(&model)).unwrap(), model);
}

/// What NumPy and Torch see: two tensors, without a look at the metadata.
#[test]
fn the_file_is_safetensors() {
    let bytes = saved(&small());
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let tensor = |name: &str| {
        let tensor = file.tensor(name).unwrap();
        (
            tensor.shape().to_vec(),
            tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect::<Vec<_>>(),
        )
    };
    assert_eq!(file.len(), 2);
    assert_eq!(tensor("weights"), (vec![1, 2], vec![1.0, -2.0]));
    assert_eq!(tensor("bias"), (vec![2], vec![0.5, 0.25]));
    assert_eq!(bytes.len() % 8, 0, "the tensors are aligned");
}

#[test]
fn a_file_that_ends_early_is_an_error_wherever_it_ends() {
    let bytes = saved(&small());
    assert!(load(&bytes).is_ok());
    (0..bytes.len()).for_each(|length| drop(reason(&bytes[..length])));
    assert_eq!(reason(b""), "header too small");
    assert_eq!(reason(&bytes[..bytes.len() - 1]), "incomplete metadata, file not fully covered");
}

#[test]
fn what_follows_the_last_tensor_is_an_error() {
    let bytes = [saved(&small()), vec![0]].concat();
    assert_eq!(reason(&bytes), "incomplete metadata, file not fully covered");
}

#[test]
fn text_is_not_a_model() {
    assert_eq!(reason(b"apple 1:1 4:0.5\npear 2:1\n"), "header too large");
}

#[test]
fn weights_of_another_program_are_not_a_model() {
    let none = with_header(|header| drop(header.as_object_mut().unwrap().remove("__metadata__")));
    assert_eq!(reason(&none), "no metadata, so not written by ove");
    let other = with_header(|header| header["__metadata__"] = json!({ "format": "pt" }));
    assert_eq!(reason(&other), "no layout version, so not written by ove");
    let bare = with_header(|header| header["__metadata__"] = json!({ "checksum": "0".repeat(16), "version": "7" }));
    assert_eq!(reason(&bare), "no entry `ove` in the metadata");
}

#[test]
fn another_layout_is_refused() {
    for version in ["6", "8"] {
        let other = with_header(|header| header["__metadata__"]["version"] = version.into());
        let expected =
            "and this program reads version 7; train the model again, or use the version of ove that wrote it";
        assert_eq!(reason(&other), format!("it has layout version {version}, {expected}"));
    }
}

#[test]
fn a_broken_card_is_an_error() {
    let cut = with_header(|header| header["__metadata__"]["ove"] = "{\"options\":".into());
    assert_eq!(reason(&cut), "metadata `ove`: EOF while parsing a value at line 1 column 11");
    let without = with_card(|card| drop(card.as_object_mut().unwrap().remove("rows")));
    assert!(reason(&without).starts_with("metadata `ove`: missing field `rows`"), "{}", reason(&without));
    let other = with_card(|card| card["options"]["scores"]["objective"] = "hinge".into());
    assert!(reason(&other).starts_with("metadata `ove`: `objective` must be one of"), "{}", reason(&other));
    let kind = with_card(|card| card["options"]["scores"]["kind"] = "quadratic".into());
    assert!(reason(&kind).starts_with("metadata `ove`: unknown variant `quadratic`"), "{}", reason(&kind));
    let none = with_card(|card| card["options"]["scores"] = Value::Null);
    assert_eq!(reason(&none), "no kind of scores in the card");
}

#[test]
fn shapes_that_do_not_fit_are_an_error() {
    let turned = with_header(|header| header["weights"]["shape"] = json!([2, 1]));
    assert_eq!(reason(&turned), "weights [2, 1] for 2 classes");
    let flat = with_header(|header| header["weights"]["shape"] = json!([2]));
    assert_eq!(reason(&flat), "weights that are not a matrix");
    let square = with_header(|header| header["bias"]["shape"] = json!([1, 2]));
    assert_eq!(reason(&square), "bias [1, 2] for 2 classes");
    let huge = with_header(|header| header["weights"]["shape"] = json!([u64::MAX, 2]));
    assert!(!reason(&huge).is_empty());
}

#[test]
fn a_missing_tensor_is_an_error() {
    let renamed = with_header(|header| {
        let weights = header.as_object_mut().unwrap().remove("weights").unwrap();
        header["w"] = weights;
    });
    assert_eq!(reason(&renamed), "tensor `weights` not found");
}

#[test]
fn counts_and_names_of_another_length_are_an_error() {
    let counts = with_card(|card| card["counts"] = json!([1, 2, 3]));
    assert_eq!(reason(&counts), "2 classes with 3 counts");
    let nothing = with_card(|card| (card["classes"], card["counts"]) = (json!([]), json!([])));
    assert_eq!(reason(&nothing), "0 classes with 0 counts");
    let names = with_card(|card| card["feature_names"] = json!(["a", "b"]));
    assert_eq!(reason(&names), "2 feature names for 1 features");
}

#[test]
fn classes_of_the_same_name_are_an_error() {
    let expected = "the classes 0 and 1 have the same name, `class 1`";
    let twice = with_card(|card| card["classes"][0] = "class 1".into());
    assert_eq!(reason(&twice), expected);
    let mut model = small();
    model.card.classes = vec!["class 1".into(); 2];
    let dir = TempDir::new().unwrap();
    let error = model.save(&dir.path().join("model")).unwrap_err().to_string();
    assert!(error.ends_with(expected), "{error}");
    assert!(names_in(dir.path()).is_empty());
}

/// Every byte is covered: the checksum, what follows it, and by the format itself what comes before.
#[test]
fn a_bit_that_changes_anywhere_is_noticed() {
    let bytes = saved(&of_texts(TextOptions { min_df: 1, ..TextOptions::default() }));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        reason(&changed);
        assert!(Model::from_bytes(&changed).is_err(), "byte {at}");
    }
    // The last weight is a number like any other.
    let mut changed = bytes.clone();
    let (header, data) = parts(&bytes);
    let bias = header["bias"]["data_offsets"][0].as_u64().unwrap() as usize;
    changed[bytes.len() - data.len() + bias] ^= 1;
    assert_eq!(reason(&changed), "its checksum is wrong: some of it was changed");
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("model");
    fs::write(&path, &changed).unwrap();
    assert!(Model::verify(&path).unwrap_err().to_string().ends_with("its checksum is wrong: some of it was changed"));
    assert!(Model::map(&path).is_ok(), "a mapped file is not read as a whole");
    fs::write(&path, &bytes).unwrap();
    Model::verify(&path).unwrap();
}

#[test]
fn a_file_without_a_checksum_is_refused() {
    let none = with_header(|header| drop(header["__metadata__"].as_object_mut().unwrap().remove("checksum")));
    assert_eq!(reason(&none), "no checksum at the start of the metadata");
}

#[test]
fn label_names_are_kept_and_counted() {
    let mut named = small();
    named.card.label_names = vec![vec!["Eins".into(), "One".into()], vec![]];
    let again = load(&saved(&named)).unwrap();
    assert_eq!((again.card.label_name(0), again.card.label_name(1)), (Some("Eins"), None));
    let of = |name| again.card.find_class(name);
    let (first, second) = (again.card.classes[0].clone(), again.card.classes[1].clone());
    assert_eq!((of("One"), of(&second), of("zwei")), (Some(0), Some(1), None));
    assert_eq!((again.card.shown(0), again.card.shown(1)), (format!("{first} Eins"), second));
    named.card.label_names.push(vec![]);
    assert_eq!(reason(&named.to_bytes()), "3 lists of label names for 2 classes");
}

fn of_texts(options: TextOptions) -> Model {
    let (text, data) = Text::fit(&options, &["the cat", "the döner", "cat"]).unwrap();
    let mut model = model(data.features(), vec![0.5; 2 * (data.features() + 1)]);
    model.card.feature_names.clear();
    model.card.text = Some(text);
    model
}

#[test]
fn a_model_of_texts_keeps_its_vocabulary() {
    let words = TextOptions { min_df: 1, ngrams: 2, ..TextOptions::default() };
    for options in [words, TextOptions { idf: false, ..words }, TextOptions { hash: Some(8), ..words }]
        .into_iter()
        .chain([TextOptions { chars: Some(CharRange { shortest: 2, longest: 3 }), ..words }])
        .chain([TextOptions { stem: Some(Language::German), tokens: true, ..words }])
    {
        let model = of_texts(options);
        assert!(load(&saved(&model)).unwrap() == model);
    }
    let model = of_texts(words);
    assert_eq!((model.card.feature_name(0), model.card.feature_name(2)), (Some("cat"), Some("döner")));
    let bytes = saved(&model);
    let (header, data) = parts(&bytes);
    assert_eq!(header["terms"]["dtype"], "U8");
    let start = header["terms"]["data_offsets"][0].as_u64().unwrap() as usize;
    assert_eq!(&data[start..], "cat\nthe\ndöner\nthe cat\nthe döner\n".as_bytes());
}

/// Prediction where the file lies is prediction from memory; 70,000 classes are two blocks of a pruned model.
#[test]
fn a_mapped_or_pruned_model_predicts_the_same() {
    const CLASSES: usize = 70_000;
    let weights = |n: usize| (n * 2_654_435_761 % 1_000_003) as f32 / 1e6 - 0.5;
    let mut model = model(3, (0..4 * CLASSES).map(weights).collect());
    let row = Row { indices: &[0, 2, 9], values: &[1.0, -2.0, 5.0] };
    let scores = |model: &Model| {
        let mut scores = vec![0.0; CLASSES];
        model.scores.linear().unwrap().scores(row, &mut scores);
        scores
    };
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("model");
    model.save(&path).unwrap();
    let full = fs::metadata(&path).unwrap().len();
    let mapped = Model::map(&path).unwrap();
    assert_eq!(mapped, model);
    assert_eq!(scores(&mapped), scores(&model));

    let exact = scores(&model);
    model.prune(0.4).unwrap();
    let kept = model.weight_count() as f64 / (3 * CLASSES) as f64;
    assert!((kept - 0.2).abs() < 0.01, "{kept}");
    for (class, (score, exact)) in scores(&model).into_iter().zip(exact).enumerate() {
        assert!((score - exact).abs() < 3.0 * 0.4 + 0.01, "class {class}: {score} {exact}");
    }
    let linear = model.scores.linear().unwrap();
    for class in [0, 1, 65_535, 65_536, 69_999u32] {
        let of_row = linear.bias()[class as usize] + linear.weight(0, class) - 2.0 * linear.weight(2, class);
        assert!((scores(&model)[class as usize] - of_row).abs() < 1e-6, "class {class}");
        let whole = weights(class as usize);
        let kept = if whole.abs() < 0.4 { 0.0 } else { whole };
        assert!((linear.weight(0, class) - kept).abs() <= kept.abs() / 256.0, "class {class}");
        assert_eq!(linear.weight(0, class), linear.table()[class as usize]);
    }
    model.save(&path).unwrap();
    // Four bytes for a fifth of the weights in place of four for each.
    let saved = full - fs::metadata(&path).unwrap().len();
    assert!(saved > 4 * 3 * CLASSES as u64 * 7 / 10, "{saved}");
    for again in [Model::load(&path).unwrap(), Model::map(&path).unwrap()] {
        assert_eq!(again, model);
        assert_eq!(scores(&again), scores(&model));
    }
}

#[test]
fn a_damaged_vocabulary_is_an_error() {
    let bytes = saved(&of_texts(TextOptions { min_df: 1, ..TextOptions::default() }));
    let (mut header, data) = parts(&bytes);
    let mut changed = data.to_vec();
    *changed.last_mut().unwrap() = b' ';
    assert_eq!(reason(&joined(&header, &changed)), "the list of terms is cut short");
    *changed.last_mut().unwrap() = 0xff;
    assert!(reason(&joined(&header, &changed)).starts_with("terms: invalid utf-8"));
    let terms = header.as_object_mut().unwrap().remove("terms").unwrap();
    header["words"] = terms;
    assert_eq!(reason(&joined(&header, data)), "tensor `terms` not found");
}

#[test]
fn weights_of_another_type_are_an_error() {
    let whole = with_header(|header| header["bias"]["dtype"] = "I32".into());
    assert_eq!(reason(&whole), "weights of type I32 instead of F32");
}

#[test]
fn weights_that_are_not_finite_are_an_error() {
    for (value, word) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf")] {
        // Not as a model that was saved: none is that has such a weight.
        let bytes = saved(&small());
        let (header, data) = parts(&bytes);
        let mut data = data.to_vec();
        data[4..8].copy_from_slice(&value.to_le_bytes());
        assert_eq!(reason(&joined(&header, &data)), format!("the weight {word} at 1, which is not finite"));
    }
}

/// In the message for whoever prints that alone, and as its source for whoever looks at the chain.
#[test]
fn a_missing_file_is_named_with_what_the_system_says() {
    let error = Model::load("no/such/model".as_ref()).unwrap_err();
    assert_eq!(error.to_string(), "no/such/model: No such file or directory (os error 2)");
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
}

#[test]
fn saving_again_replaces_the_model() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("model");
    small().save(&path).unwrap();
    let other = model(0, vec![3.0, 4.0, 5.0]);
    other.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap(), other);
    assert_eq!(names_in(dir.path()), ["model"]);
}

#[test]
fn a_failed_save_leaves_nothing_behind() {
    let dir = TempDir::new().unwrap();
    let missing = dir.path().join("gone/model");
    let message = small().save(&missing).unwrap_err().to_string();
    assert_eq!(message, format!("{}: No such file or directory (os error 2)", missing.display()));

    let folder = dir.path().join("folder");
    fs::create_dir_all(folder.join("inside")).unwrap();
    let message = small().save(&folder).unwrap_err().to_string();
    assert!(message.starts_with(&format!("{}: ", folder.display())), "{message}");
    assert_eq!(names_in(dir.path()), ["folder"]);
}

#[test]
fn the_old_file_survives_a_write_that_fails_half_way() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("model");
    small().save(&path).unwrap();
    let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
    let result = ove::io::atomic::write_beside(&path, |beside| {
        assert_ne!(beside, path);
        fs::write(beside, "half a mod").unwrap();
        Err(ove::Error::file(&path, full()))
    });
    assert!(result.is_err());
    assert_eq!(Model::load(&path).unwrap(), small());
    assert_eq!(names_in(dir.path()), ["model"]);
}

/// A model is made to be shared: it has the permissions of any other new file.
#[cfg(unix)]
#[test]
fn others_may_read_the_file_as_any_other() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new().unwrap();
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
    fs::write(dir.path().join("any"), "").unwrap();
    small().save(&dir.path().join("model")).unwrap();
    assert_eq!(mode("model"), mode("any"));
}

/// A link stays a link, whether or not there is a file behind it.
#[cfg(unix)]
#[test]
fn links_are_followed() {
    use std::os::unix::fs::symlink;
    let dir = TempDir::new().unwrap();
    let (link, inside) = (dir.path().join("link"), dir.path().join("inside"));
    fs::create_dir(&inside).unwrap();
    symlink("inside/model", &link).unwrap();
    for _ in 0..2 {
        small().save(&link).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            (names_in(&inside), names_in(dir.path())),
            (vec!["model".into()], vec!["inside".into(), "link".into()])
        );
        assert_eq!(Model::load(&inside.join("model")).unwrap(), small());
    }
}

/// What is not a regular file is not replaced by one.
#[cfg(unix)]
#[test]
fn a_pipe_is_written_through() {
    let dir = TempDir::new().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    small().save(&pipe).unwrap();
    assert!(reader.join().unwrap() == small().to_bytes());
    assert_eq!(names_in(dir.path()), ["pipe"]);
    assert!(!fs::metadata(&pipe).unwrap().is_file());
}
