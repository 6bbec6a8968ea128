//! Models in shards: an index opens as the model, the shards join to its file, and nothing else is mistaken for them.

use std::fs;
use std::path::{Path, PathBuf};

use ove::Model;
use ove::synthetic::{Sparse, sparse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fitted;

/// The least size of a shard: the largest page of a system.
const PIECE: u64 = 1 << 16;

fn models() -> Vec<Model> {
    let data = sparse(Sparse { rows: 3000, features: 3000, classes: 60, entries: 20, signal: 0.5 }, 1, 0);
    let settings = [
        json!({ "scores": "trees", "trees": 2, "epochs": 2 }),
        json!({ "scores": "linear", "epochs": 1, "learning_rate": 0.1 }),
    ];
    settings.into_iter().map(|settings| fitted::model(&data, settings)).collect()
}

/// The index, and the shards that it names.
fn shards(path: &Path) -> (Value, Vec<PathBuf>) {
    let index: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let names = index["shards"].as_array().unwrap().iter();
    let paths = names.map(|shard| path.with_file_name(shard["name"].as_str().unwrap())).collect();
    (index, paths)
}

#[test]
fn an_index_opens_as_the_model_and_its_shards_join_to_the_file() {
    for model in models() {
        let folder = TempDir::new().unwrap();
        let (whole, index) = (folder.path().join("whole"), folder.path().join("a.model"));
        model.save(&whole).unwrap();
        let bytes = fs::read(&whole).unwrap();
        for size in [1, PIECE, PIECE + 1, 1 << 40] {
            model.save_in_shards(&index, size).unwrap();
            let (_, paths) = shards(&index);
            let expected = (bytes.len() as u64).div_ceil(size.next_multiple_of(PIECE));
            assert!(paths.len() as u64 == expected && (expected > 2 || size > PIECE), "{} shards", paths.len());
            assert!(paths.iter().flat_map(|path| fs::read(path).unwrap()).eq(bytes.iter().copied()));
            assert!(Model::load(&index).unwrap().to_bytes() == bytes);
            assert!(Model::map(&index).unwrap().to_bytes() == bytes);
            Model::verify(&index).unwrap();
            let merged = folder.path().join("merged");
            Model::merge_shards(&index, &merged).unwrap();
            assert!(fs::read(&merged).unwrap() == bytes);
            assert!(Model::is_in_shards(&index).unwrap() && !Model::is_in_shards(&merged).unwrap());
        }
    }
}

#[test]
fn what_is_wrong_with_shards_is_said() {
    let (folder, model) = (TempDir::new().unwrap(), models().remove(0));
    let (index, merged) = (folder.path().join("a.model"), folder.path().join("merged"));
    model.save_in_shards(&index, PIECE).unwrap();
    let (good, paths) = shards(&index);
    let message = || {
        let merging = Model::merge_shards(&index, &merged).unwrap_err().to_string();
        assert!(!merged.exists(), "half a model");
        assert_eq!(Model::load(&index).unwrap_err().to_string(), merging);
        merging
    };
    let kept = fs::read(&paths[1]).unwrap();
    fs::write(&paths[1], &kept[1..]).unwrap();
    assert!(message().contains(&format!("the index says 65536 bytes, found {}", kept.len() - 1)), "{}", message());
    let mut changed = kept.clone();
    changed[77] ^= 1;
    fs::write(&paths[1], changed).unwrap();
    assert!(message().contains("its checksum is wrong"), "{}", message());
    fs::remove_file(&paths[1]).unwrap();
    assert!(message().starts_with(paths[1].to_str().unwrap()), "{}", message());
    fs::write(&paths[1], kept).unwrap();
    for (path, value, expected) in [
        ("/ove_shards", json!(2), "its index has layout version 2, and this program reads 1"),
        ("/shards/0/name", json!("../a"), "the shard `../a` must be a file beside the index"),
        ("/shards/0/bytes", json!(9), "must have a multiple of 65536 bytes, got 9"),
        ("/shards", json!([]), "it has no shards"),
    ] {
        let mut wrong = good.clone();
        *wrong.pointer_mut(path).unwrap() = value;
        fs::write(&index, wrong.to_string()).unwrap();
        assert!(message().contains(expected), "{expected}: {}", message());
    }
    fs::write(&index, "{\"shards\": 3}").unwrap();
    assert!(Model::merge_shards(&index, &merged).unwrap_err().to_string().contains("it is no index of shards"));
}
