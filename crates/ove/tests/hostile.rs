//! Model files from strangers: whatever they hold, loading ends in a model or an error, without a panic and without
//! more memory than the file is large.

#![allow(unsafe_code)] // to count what is allocated

mod file_parts;
#[allow(dead_code)] // what other tests use of it
mod fitted;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use file_parts::{joined, parts, signed, with_second_stage};
use ove::options::RecommenderOptions;
use ove::platform::random::Stream;
use ove::scores::{Factored, Linear};
use ove::synthetic::{Sparse, interactions, sparse};
use ove::text::{Text, TextOptions};
use ove::train::RecommenderTraining;
use ove::{Dataset, Model, Scores};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// One test at a time, so that what is counted is its own.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: every request goes to the system's allocator as it is; only the sizes are added up.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that was held at a time while `work` ran, beyond what was held before.
fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

fn data() -> Dataset {
    sparse(Sparse { rows: 60, features: 12, classes: 6, entries: 4, signal: 0.5 }, 1, 0)
}

/// One model of each kind.
fn models() -> Vec<(&'static str, Model)> {
    let data = data();
    let model = |settings| fitted::model(&data, settings);
    let mut pruned = model(json!({ "scores": "linear" }));
    pruned.prune(0.01).unwrap();
    let mut of_text = model(json!({ "scores": "linear" }));
    let words: Vec<String> = (0..12).map(|n| format!("word{n} word{n}")).collect();
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let text_options = TextOptions { min_df: 1, ..TextOptions::default() };
    of_text.card.text = Some(Text::fit(&text_options, &texts).unwrap().0);
    let trees = model(json!({ "trees": 2, "epochs": 3 }));
    let second_stage = Model::from_bytes(&with_second_stage(&trees)).unwrap();
    vec![
        ("linear", model(json!({ "scores": "linear" }))),
        ("hashed", model(json!({ "cells": 30 }))),
        ("pruned", pruned),
        ("text", of_text),
        ("factored", model(json!({ "rank": 3 }))),
        ("trees", trees),
        ("second stage", second_stage),
        ("recommender", recommender()),
    ]
}

/// A recommender of six items for twelve users, who are its features.
fn recommender() -> Model {
    let data = interactions(12, 6, 2, 0);
    let settings = json!({ "rank": 3, "epochs": 2, "batch": 4, "negatives": 3 });
    let options = RecommenderOptions::from_settings(&settings).unwrap();
    let mut training = RecommenderTraining::new(&data, &options).unwrap();
    while training.step().unwrap().is_some() {}
    training.finish().unwrap()
}

fn saved(model: &Model, folder: &Path) -> Vec<u8> {
    let path = folder.join("good");
    model.save(&path).unwrap();
    fs::read(path).unwrap()
}

/// Loads these bytes both ways, and uses what comes of them as a program would.
fn try_out(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).unwrap();
    let ((), peak) = peak_of(|| drop(Model::load(path)));
    // The card is JSON inside JSON, and names have a header each.
    assert!(peak <= (1 << 20) + 16 * bytes.len(), "{peak} bytes for a file of {}", bytes.len());
    let mapped = Model::map(path);
    let model = Model::load(path);
    if let Ok(mapped) = &mapped {
        use_model(mapped);
    }
    let model = model.map_err(|error| error.to_string())?;
    use_model(&model);
    Ok(())
}

fn use_model(model: &Model) {
    let data = data();
    let _ = model.top_k_within(data.rows(), 0..3, 4);
    if model.features() < 1000 && model.classes() == 6 {
        let _ = (model.weights_of(1), model.largest_weights(1, 3));
        let _ = ove::evaluate(model, data.rows(), &data.labels);
    }
    if let Some(text) = &model.card.text {
        let _ = text.rows(&["word1 word2 word3"]);
    }
    if let Ok(recommender) = model.recommender()
        && model.features() == 12
    {
        let _ = (recommender.recommend(&[2], 3), recommender.recommend(&[0, 1, 2, 3, 4, 5], 3));
        let _ = (recommender.similar_items(1, 3), recommender.similar_users(1, 3));
        let _ = (recommender.fold_in(&[(0, 1.0), (3, 2.0)]), recommender.explain(&[(0, 1.0)], 2));
        let _ = recommender.measure(recommender.seen(), recommender.seen(), &[3]);
    }
}

#[test]
fn files_cut_anywhere() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = TempDir::new().unwrap();
    for (kind, model) in models() {
        let bytes = saved(&model, folder.path());
        for length in (0..bytes.len()).step_by(7) {
            let found = try_out(&folder.path().join("cut"), &bytes[..length]);
            assert!(found.is_err_and(|m| m.contains("not a usable model")), "{kind} cut at {length}");
        }
    }
}

#[test]
fn files_with_bytes_changed() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = TempDir::new().unwrap();
    let mut random = Stream::of(&[6]);
    for (_, model) in models() {
        let bytes = saved(&model, folder.path());
        for _ in 0..400 {
            let mut changed = bytes.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                changed[at] = [0, 0xff, b'9', b'[', random.next() as u8][random.below(5) as usize];
            }
            let path = folder.path().join("changed");
            assert!(try_out(&path, &changed).is_err() || changed == bytes, "a change that is not noticed");
            let _ = try_out(&path, &signed(changed));
        }
    }
}

#[test]
fn headers_that_claim_too_much() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model");
    let lengths = [1 << 30, u64::MAX, u64::MAX - 7, 1 << 62];
    for length in lengths {
        let found = try_out(&path, &length.to_le_bytes()).unwrap_err();
        assert!(found.contains("not a usable model"), "{found}");
    }
    for (kind, model) in models() {
        let bytes = saved(&model, folder.path());
        let (header, data) = parts(&bytes);
        let names: Vec<String> = header.as_object().unwrap().keys().filter(|k| *k != "__metadata__").cloned().collect();
        for name in &names {
            let end = header[name]["data_offsets"][1].as_u64().unwrap();
            for (key, value) in [
                ("data_offsets", json!([0, u64::MAX])),
                ("data_offsets", json!([u64::MAX, u64::MAX])),
                ("data_offsets", json!([end, 0])),
                ("data_offsets", json!([0, end + (1 << 40)])),
                ("shape", json!([u64::MAX, u64::MAX])),
                ("shape", json!([u64::MAX])),
                ("shape", json!([1u64 << 62, 4])),
                ("shape", json!([0])),
                ("shape", json!([])),
                ("dtype", json!("F64")),
                ("dtype", json!("I8")),
            ] {
                let mut changed = header.clone();
                changed[name][key] = value.clone();
                let found = try_out(&path, &joined(&changed, data));
                assert!(found.is_err(), "{kind}: {name} with {key} {value}");
            }
        }
    }
}

#[test]
fn numbers_that_no_model_has() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model");
    for (kind, model) in models() {
        let bytes = saved(&model, folder.path());
        let (header, data) = parts(&bytes);
        for (name, tensor) in header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__") {
            let place = |i: usize| tensor["data_offsets"][i].as_u64().unwrap() as usize;
            for fill in [0xffu8, 0x7f] {
                let mut changed = data.to_vec();
                changed[place(0)..place(1)].fill(fill);
                // 0x7f7f7f7f is a finite number, and a letter; 0xffffffff is neither.
                let found = try_out(&path, &joined(&header, &changed));
                assert!(found.is_err() || fill == 0x7f, "{kind}: {name} full of {fill:#x}");
            }
        }
        let mut hashed = header.clone();
        hashed["__metadata__"]["hashed_features"] = u64::MAX.to_string().into();
        assert!(try_out(&path, &joined(&hashed, data)).is_err() || !["linear", "hashed", "text"].contains(&kind));
    }
}

/// Counts that the bytes of the file do not support, for each kind of model.
#[test]
fn counts_out_of_proportion_to_the_file() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model");
    let most = u32::MAX;
    for (kind, model) in models() {
        let bytes = saved(&model, folder.path());
        let (header, data) = parts(&bytes);
        let refused = |what: &str, header: &Value, data: &[u8]| {
            let found = try_out(&path, &joined(header, data));
            assert!(found.is_err(), "{kind}: {what}");
            found.unwrap_err()
        };
        let with_card = |change: &dyn Fn(&mut Value)| {
            let mut changed = header.clone();
            let entry = &mut changed["__metadata__"]["ove"];
            let mut card = serde_json::from_str(entry.as_str().unwrap()).unwrap();
            change(&mut card);
            *entry = card.to_string().into();
            changed
        };
        // Features that no tensor has.
        if kind == "hashed" {
            for features in [most, (1 << 26) + 1] {
                let mut changed = header.clone();
                changed["__metadata__"]["hashed_features"] = features.to_string().into();
                let reason = refused("hashed features", &changed, data);
                let expected = format!("hashed_features `{features}`: expected a number up to 67108864 for 30 cells");
                assert!(reason.ends_with(&expected), "{reason}");
            }
        }
        // Hashed features of texts.
        let text = json!({ "ngrams": 1, "min_df": 1, "hash": most, "sublinear_tf": false, "idf": false });
        let mut hashed = with_card(&|card| card["text"] = text.clone());
        let end = data.len();
        for name in ["terms", "idf"] {
            let dtype = if name == "idf" { "F32" } else { "U8" };
            hashed[name] = json!({ "dtype": dtype, "shape": [0], "data_offsets": [end, end] });
        }
        if kind != "text" {
            refused("hashed terms", &hashed, data);
        }
        // Terms that take a byte each.
        let terms = vec![b'\n'; 1 << 20];
        let mut many = hashed.clone();
        let entry = &mut many["__metadata__"]["ove"];
        *entry = entry.as_str().unwrap().replace(&format!("\"hash\":{most}"), "\"hash\":null").into();
        many["terms"] = json!({ "dtype": "U8", "shape": [1 << 20], "data_offsets": [end, end + (1 << 20)] });
        if kind != "text" {
            let reason = refused("terms", &many, &[data, &terms].concat());
            assert!(reason.ends_with("expected 12 terms, one per feature, found 1048576"), "{kind}: {reason}");
        }
        // Classes without weights.
        let classes: Vec<String> = (0..100_000).map(|k| k.to_string()).collect();
        let claimed = with_card(&|card| {
            (card["classes"], card["counts"]) = (json!(classes), json!(vec![1; classes.len()]));
        });
        refused("classes", &claimed, data);
        // Calibrations of other numbers.
        if kind == "trees" {
            let at = |i: usize| header["calibration"]["data_offsets"][i].as_u64().unwrap() as usize;
            for (place, number) in [(0, 0.0), (1, f32::NAN), (2, f32::INFINITY), (3, -1.0), (3, 1.5)] {
                let mut changed = data.to_vec();
                let start = at(0) + 4 * place;
                assert_eq!(at(1) - at(0), 16);
                changed[start..start + 4].copy_from_slice(&number.to_le_bytes());
                let reason = refused("calibration", &header, &changed);
                assert!(reason.contains("the calibration ["), "{reason}");
            }
        }
        // Longer vectors than there are.
        if kind == "factored" || kind == "recommender" {
            refused("rank", &with_card(&|card| card["options"]["scores"]["rank"] = most.into()), data);
        }
        // Numbers of rivals that are no counts, and factors that are not finite and positive.
        if kind == "second stage" {
            let at = header["second_stage"]["data_offsets"][0].as_u64().unwrap() as usize;
            for (place, number) in
                [(0, 0.0), (0, 1.5), (0, 1e9), (0, f32::NAN), (1, -1.0), (1, f32::INFINITY), (2, 0.0)]
            {
                let mut changed = data.to_vec();
                changed[at + 4 * place..][..4].copy_from_slice(&number.to_le_bytes());
                let reason = refused("second stage", &header, &changed);
                assert!(reason.contains("a second stage with"), "{number}: {reason}");
            }
        }
        // Settings that no training has, users without interactions and interactions without items.
        if kind == "recommender" {
            for (name, value) in [("temperature", json!(0.0)), ("objective", json!("softmax")), ("rank", json!(0))] {
                let reason =
                    refused(name, &with_card(&|card| card["recommender"]["options"][name] = value.clone()), data);
                assert!(reason.contains(&format!("`{name}` must be")), "{reason}");
            }
            let users = with_card(&|card| card["feature_names"] = json!(["one", "two"]));
            assert!(refused("users", &users, data).ends_with("2 feature names for 12 features"));
            let tensor = |name: &str| header[name]["data_offsets"][0].as_u64().unwrap() as usize;
            for (name, word, expected) in [
                ("seen_offsets", u32::MAX, "interactions that do not belong to their users"),
                ("seen_items", 6, "interactions with items that are unknown or out of order"),
                ("seen_weights", 0, "interactions with weights that are not positive numbers"),
                ("with_offsets", u32::MAX, "co-occurrences that do not belong to their items"),
                ("with_items", 6, "co-occurrences with items that are unknown or out of order"),
                ("with_weights", 0, "co-occurrences with weights that are not positive numbers"),
            ] {
                let mut changed = data.to_vec();
                changed[tensor(name)..][..4].copy_from_slice(&word.to_le_bytes());
                let reason = refused(name, &header, &changed);
                assert!(reason.ends_with(expected), "{reason}");
            }
        }
    }
}

/// A number of rivals needs memory in proportion to the classes that there are.
#[test]
fn many_rivals_need_little_memory() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model");
    let bytes = with_second_stage(&fitted::model(&data(), json!({ "trees": 2, "epochs": 3 })));
    let (header, tensors) = parts(&bytes);
    let (mut tensors, at) = (tensors.to_vec(), header["second_stage"]["data_offsets"][0].as_u64().unwrap() as usize);
    tensors[at..at + 4].copy_from_slice(&16_777_216.0f32.to_le_bytes());
    fs::write(&path, joined(&header, &tensors)).unwrap();
    let (model, data) = (Model::load(&path).unwrap(), data());
    let (found, peak) = peak_of(|| model.top_k(data.rows(), 6));
    assert_eq!(found.len(), data.len());
    assert!(peak < 8 << 20, "{peak} bytes");
}

/// The most features that a small file may have: looking at all of them takes neither long nor much memory.
#[test]
fn weights_of_many_hashed_features_need_little_memory() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model");
    let bytes = saved(&fitted::model(&data(), json!({ "cells": 30 })), folder.path());
    let (mut header, data) = parts(&bytes);
    header["__metadata__"]["hashed_features"] = (1 << 26).to_string().into();
    fs::write(&path, joined(&header, data)).unwrap();
    let model = Model::load(&path).unwrap();
    assert_eq!(model.features(), 1 << 26);
    let start = std::time::Instant::now();
    let (largest, peak) = peak_of(|| model.largest_weights(1, 10));
    assert_eq!((largest.positive.len(), largest.negative.len()), (10, 10));
    assert!(peak < 1 << 20, "{peak} bytes");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// The largest weights are those of the list of all weights.
#[test]
fn largest_weights_are_the_ends_of_the_sorted_list() {
    for (kind, model) in models() {
        for class in 0..6 {
            let mut weights = model.weights_of(class);
            assert!(weights.is_sorted_by(|a, b| a.0 < b.0), "{kind}");
            weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            let of = |sign: f32| -> Vec<_> { weights.iter().copied().filter(|(_, w)| w * sign > 0.0).collect() };
            for count in [0, 1, 3, 100] {
                let found = model.largest_weights(class, count);
                let first = |side: Vec<(u32, f32)>| side[..count.min(side.len())].to_vec();
                assert_eq!((found.positive, found.negative), (first(of(1.0)), first(of(-1.0))), "{kind}");
            }
        }
    }
}

#[test]
fn a_model_that_is_not_finite_is_not_saved() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model");
    let mut model = fitted::model(&data(), json!({ "scores": "linear" }));
    model.save(&path).unwrap();
    let (old, good) = (fs::read(&path).unwrap(), model.scores.linear().unwrap().table().to_vec());
    for weight in [f32::NAN, f32::INFINITY] {
        let mut table = good.clone();
        table[3] = weight;
        let linear = Scores::Linear(Linear::new(6, table));
        let vectors = |place: usize| {
            let mut tables = [vec![0.0; 24], vec![0.0; 12], vec![0.0; 6]];
            tables[place][5] = weight;
            let [features, classes, bias] = tables;
            Scores::Factored(Factored::new(2, features, classes, bias))
        };
        for scores in [linear, vectors(0), vectors(1), vectors(2)] {
            model.scores = scores;
            let error = model.save(&path).unwrap_err().to_string();
            assert!(error.ends_with("model: not a usable model: a weight that is not finite"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), old, "the old model stays");
        }
    }
}
