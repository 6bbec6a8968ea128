//! The model file taken apart and put together.

use serde_json::Value;

/// The header of a file and what follows it.
pub fn parts(bytes: &[u8]) -> (Value, &[u8]) {
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..end]).unwrap(), &bytes[end..])
}

/// The file of a header and what follows it.
pub fn joined(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}
