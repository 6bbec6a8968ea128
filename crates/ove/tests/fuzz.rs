//! A short run of every fuzz target on stable Rust without any tool: its corpus, and inputs made from it by a fixed seed. `make fuzz` runs
//! the same targets long, guided by coverage.

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;

use ove::platform::random::Stream;

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

#[test]
fn seeds_of_models_are_models() {
    for seed in corpus("model") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::write(&path, seed).unwrap();
        ove::Model::load(&path).unwrap();
    }
}
