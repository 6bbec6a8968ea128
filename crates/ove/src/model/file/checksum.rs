//! The checksum of a model file: XXH3, 64 bits, of every byte that follows its 16 hexadecimal digits.
//!
//! It is the first entry of the metadata, and the metadata come first in the header, so it is at the same place in
//! every file. The bytes before it are the same in every file, except for the length of the header, which cannot be
//! changed alone: the header would not end where its JSON does.
//!
//! ```text
//! length (8 bytes)  {"__metadata__":{"checksum":"0123456789abcdef","ove":…   tensors
//!                                                         └────── checksum of ──────┘
//! ```

use std::ops::Range;

use serde_json::{Value, json};

use crate::io::tensors::{self, Tensor};
use crate::platform::digest::Digest;

/// The length of the header, and its bytes before the checksum.
const LENGTH: usize = size_of::<u64>();
const BEFORE: &str = r#"{"__metadata__":{"checksum":""#;

/// Number of hexadecimal digits.
const DIGITS: usize = 16;

/// The place of the checksum in a file.
const PLACE: Range<usize> = LENGTH + BEFORE.len()..LENGTH + BEFORE.len() + DIGITS;

/// The header of a file with these metadata and tensors, and the checksum of both.
pub(super) fn header(metadata: Value, tensors: &[Tensor<'_>]) -> String {
    let mut with_sum = json!({ "checksum": "0".repeat(DIGITS) });
    if let (Value::Object(all), Value::Object(metadata)) = (&mut with_sum, metadata) {
        all.extend(metadata);
    }
    let mut header = tensors::header(with_sum, tensors);
    assert!(header.starts_with(BEFORE), "the checksum is the first entry of the metadata");
    let place = PLACE.start - LENGTH..PLACE.end - LENGTH;
    let mut digest = Digest::default();
    digest.update(&header.as_bytes()[place.end..]);
    tensors.iter().flat_map(|tensor| &tensor.pieces).for_each(|piece| digest.update(piece));
    header.replace_range(place, &digits(digest.finish()));
    header
}

/// Checks that the bytes of a file are those that were written.
pub(super) fn check(file: &[u8]) -> Result<(), String> {
    if !file[LENGTH.min(file.len())..].starts_with(BEFORE.as_bytes()) || file.len() < PLACE.end {
        return Err("no checksum at the start of the metadata".into());
    }
    if file[PLACE] != *digits(Digest::of(&file[PLACE.end..])).as_bytes() {
        return Err("its checksum is wrong: some of it was changed".into());
    }
    Ok(())
}

fn digits(sum: u64) -> String {
    format!("{sum:0DIGITS$x}")
}
