//! The model file taken apart and put together.

use std::ops::Range;

use ove::Model;
use ove::platform::digest::Digest;
use serde_json::{Value, json};

/// The place of the checksum, which is that of all bytes after it.
const CHECKSUM: Range<usize> = 37..53;

/// The header of a file and what follows it.
pub fn parts(bytes: &[u8]) -> (Value, &[u8]) {
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..end]).unwrap(), &bytes[end..])
}

/// The file of a header and what follows it, with the right checksum.
pub fn joined(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    signed([&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat())
}

/// The file with the right checksum, if it has one: a wrong one would hide what else is wrong.
pub fn signed(mut file: Vec<u8>) -> Vec<u8> {
    let before = file.get(8..CHECKSUM.start);
    if before == Some(br#"{"__metadata__":{"checksum":""#) && file.len() >= CHECKSUM.end {
        let sum = format!("{:016x}", Digest::of(&file[CHECKSUM.end..]));
        file[CHECKSUM].copy_from_slice(sum.as_bytes());
    }
    file
}

/// The file of trees with a second stage: two rivals, and for class k a weight of 1 for the first feature and of −½ for
/// the feature k + 1.
pub fn with_second_stage(trees: &Model) -> Vec<u8> {
    let bytes = trees.to_bytes();
    let (mut header, data) = parts(&bytes);
    let mut data = data.to_vec();
    let classes = trees.classes() as u32;
    let words = |words: Vec<u32>| words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
    let floats = [2.0f32, 0.5, 1.5].into_iter().flat_map(f32::to_le_bytes).collect();
    let starts = words((0..=classes).map(|k| 2 * k).collect());
    let features = words((0..classes).flat_map(|k| [0, k + 1]).collect());
    // 1 and −½ as bf16.
    let weights = (0..classes).flat_map(|_| [0x80, 0x3f, 0x00, 0xbf]).collect();
    for (name, dtype, length, bytes) in [
        ("second_stage", "F32", 3, floats),
        ("class_starts", "U32", classes + 1, starts),
        ("class_features", "U32", 2 * classes, features),
        ("class_weights", "BF16", 2 * classes, weights),
    ] {
        let at = data.len();
        data.extend::<Vec<u8>>(bytes);
        header[name] = json!({ "dtype": dtype, "shape": [length], "data_offsets": [at, data.len()] });
    }
    joined(&header, &data)
}
