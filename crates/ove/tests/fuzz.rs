//! A short run of every fuzz target on stable Rust without any tool: its corpus, and inputs made from it by a fixed
//! seed. `make fuzz` runs the same targets long, guided by coverage.

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;

use ove::io::read::{Input, ReadOptions, read_bytes};
use ove::platform::random::Stream;
use ove::text::TextOptions;
use ove::train::checkpoint::Saved;
use ove::train::{Start, Training};
use ove::{Dataset, Examples, Model};
use serde_json::json;

use crate::file_parts::with_second_stage;
use crate::fitted::{self, with};

/// Inputs that are made for each target.
const MADE: usize = 1500;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// An input like these, with a few changes.
fn made(corpus: &[Vec<u8>], random: &mut Stream) -> Vec<u8> {
    let mut any = |below: usize| random.below(below.max(1) as u64) as usize;
    let mut bytes = corpus[any(corpus.len())].clone();
    for _ in 0..1 + any(5) {
        let (at, end) = (any(bytes.len()), any(bytes.len() + 1));
        match any(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << any(8),
            1 if at < bytes.len() => bytes[at] = [0, 9, 10, 13, 32, 44, 45, 57, 58, 123, 127, 255][any(12)],
            2 => bytes.truncate(end),
            3 if at < end => drop(bytes.drain(at..end.min(at + 16))),
            4 => {
                let other = &corpus[any(corpus.len())];
                let (from, to) = (any(other.len()), any(other.len() + 1));
                let piece = other.get(from..to).unwrap_or_default().to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let number =
                    ["1e400", "-0", "4294967295", "18446744073709551616", ":", "\t", "\u{feff}", "nan"][any(8)];
                bytes.splice(at..at, number.bytes());
            }
        }
    }
    bytes
}

/// `fuzz/run` runs every program of fuzz/fuzz_targets.
#[test]
fn every_target_has_a_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let mut programs: Vec<String> = fs::read_dir(folder.join("fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    programs.sort();
    assert_eq!(programs, targets::TARGETS.map(|(name, _)| name));
    assert!(programs.iter().all(|name| manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\""))));
}

#[test]
fn every_target_takes_what_is_made_from_its_corpus() {
    for (number, (name, run)) in targets::TARGETS.into_iter().enumerate() {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name} has a corpus");
        corpus.iter().for_each(|bytes| run(bytes));
        let mut random = Stream::of(&[number as u64]);
        for _ in 0..MADE {
            run(&made(&corpus, &mut random));
        }
    }
}

/// A seed of each kind of model, small enough that a change of a few bytes is likely to hit something.
fn model_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut fruit = Dataset::new(5, ["apple", "pear", "plum"].map(String::from).to_vec());
    for class in [0, 1, 2, 0, 1, 2] {
        fruit.push_entry(class, 1.0);
        fruit.push_entry(class + 2, 0.5);
        fruit.end_row(&[class]);
    }
    let texts = "one two\ttree\nthree four\thouse wood\none four five\twood tree\nfive two three\thouse\n";
    let Input::Texts(texts) = read_bytes("a.tsv".as_ref(), texts.into(), &ReadOptions::default()).unwrap() else {
        panic!("texts")
    };
    let (text, of_texts) = texts.fit(&TextOptions::default()).unwrap();
    let short = |settings| with(&json!({ "epochs": 3 }), settings);
    let model = |settings| fitted::model(&fruit, short(settings));
    let of_text = |settings| {
        let mut model = fitted::model(&of_texts, short(settings));
        model.card.text = Some(text.clone());
        model
    };
    let mut pruned = model(json!({ "scores": "linear" }));
    pruned.prune(0.05).unwrap();
    let trees = model(json!({ "trees": 2 }));
    let second_stage = Model::from_bytes(&with_second_stage(&trees)).unwrap();
    let chosen = targets::checkpoint_interactions();
    let mut training = targets::recommender_run(&chosen);
    while training.step().unwrap().is_some() {}
    let recommender = training.finish().unwrap();
    let seeds = [
        ("linear", model(json!({ "scores": "linear" }))),
        ("hashed", model(json!({ "cells": 9 }))),
        ("pruned", pruned),
        ("factored", model(json!({ "rank": 2 }))),
        ("trees", trees),
        ("secondstage", second_stage),
        ("recommender", recommender),
        ("text", of_text(json!({ "scores": "linear" }))),
        ("texttrees", of_text(json!({ "trees": 1 }))),
    ];
    seeds.map(|(name, model)| (name, model.to_bytes())).into()
}

/// A checkpoint of each run after its first step.
fn checkpoint_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (data, folder) = (targets::checkpoint_rows(), tempfile::tempdir().unwrap());
    let seed = |(name, settings)| {
        let options = targets::options(settings);
        let mut training = Training::new(Examples::of(&data), &options, Start::default()).unwrap();
        training.step().unwrap();
        training.save(&folder.path().join(name)).unwrap();
        (name, fs::read(folder.path().join(name)).unwrap())
    };
    let mut seeds: Vec<_> = targets::RUNS.map(seed).into();
    let chosen = targets::checkpoint_interactions();
    let mut training = targets::recommender_run(&chosen);
    training.step().unwrap();
    training.save(&folder.path().join("recommender")).unwrap();
    seeds.push(("recommender", fs::read(folder.path().join("recommender")).unwrap()));
    seeds
}

/// Where the layout of a file changes, its seeds are made anew: `cargo test -p ove --test all make_seeds -- --ignored`.
#[test]
#[ignore = "writes to fuzz/corpus"]
fn make_seeds() {
    for (target, seeds) in [("model", model_seeds()), ("checkpoint", checkpoint_seeds())] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        seeds.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
    }
}

#[test]
fn seeds_of_models_are_models() {
    assert_eq!(corpus("model").len(), model_seeds().len(), "a seed of each kind");
    for seed in corpus("model") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::write(&path, seed).unwrap();
        ove::Model::load(&path).unwrap();
    }
}

/// Each goes on in the run that it is of.
#[test]
fn seeds_of_checkpoints_are_checkpoints() {
    let data = targets::checkpoint_rows();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/checkpoint");
    for (name, settings) in targets::RUNS {
        let path = folder.join(name);
        let options = targets::options(settings);
        let mut training = Training::new(Examples::of(&data), &options, Start::default()).unwrap();
        training.restore(&Saved::open(&path).unwrap()).unwrap();
    }
    let chosen = targets::checkpoint_interactions();
    let saved = Saved::open(&folder.join("recommender")).unwrap();
    targets::recommender_run(&chosen).restore(&saved).unwrap();
    assert_eq!(corpus("checkpoint").len(), targets::RUNS.len() + 1);
}
