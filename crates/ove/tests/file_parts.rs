//! The model file taken apart and put together.

use std::ops::Range;

use ove::platform::digest::Digest;
use serde_json::Value;

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
