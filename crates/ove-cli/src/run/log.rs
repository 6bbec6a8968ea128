//! `--log`: `metrics.jsonl`, one object per line, and an event file for TensorBoard.
//!
//! An event file is a list of records with lengths and checksums; a record is a protocol buffer. Both formats are
//! simple enough to be written without a library:
//!
//! ```text
//! record   length: u64   crc(length): u32   bytes   crc(bytes): u32              crc is CRC-32C, masked
//! Event    1: wall_time (double)   2: step (varint)   3: file_version (string)   5: Summary
//! Summary  1: Value (repeated)     Value   1: tag (string)   2: simple_value (float)
//! ```

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use ove::model::HeldOutPoint;
use serde_json::Value;

use super::record::{Moment, Sink};
use crate::files;

/// The name of the file of measurements.
pub const METRICS: &str = "metrics.jsonl";

/// The files of a run.
pub struct Log {
    events: Appended,
    metrics: Appended,
}

/// A file that is written piece by piece.
struct Appended {
    path: PathBuf,
    file: File,
}

impl Appended {
    fn open(path: PathBuf) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        Ok(Appended { file: file.with_context(|| format!("writing {}", path.display()))?, path })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).with_context(|| format!("writing {}", self.path.display()))
    }
}

impl Log {
    /// Opens the files in a folder, which is created if necessary. A resumed run appends to the files of the earlier
    /// one.
    pub fn new(folder: &Path) -> Result<Self> {
        files::folder(folder)?;
        let second = now() as u64;
        let name = format!("events.out.tfevents.{second}.{}.ove", std::process::id());
        let mut events = Appended::open(folder.join(name))?;
        events.write(&record(&event(now(), 0, |out| field_bytes(out, 3, b"brain.Event:2"))))?;
        Ok(Log { events, metrics: Appended::open(folder.join(METRICS))? })
    }
}

impl Sink for Log {
    fn write(&mut self, moment: &Moment, _: &[HeldOutPoint]) -> Result<()> {
        let object = serde_json::to_value(moment)?;
        self.metrics.write(format!("{object}\n").as_bytes())?;
        let Value::Object(object) = object else { unreachable!("it is a struct") };
        let mut summary = Vec::new();
        for (tag, value) in object.iter().filter(|(tag, _)| !["updates", "done"].contains(&tag.as_str())) {
            let Some(number) = value.as_f64() else { continue };
            field_message(&mut summary, 1, |out| {
                field_bytes(out, 1, tag.as_bytes());
                field_fixed(out, 2, &(number as f32).to_le_bytes());
            });
        }
        let bytes = event(now(), moment.updates, |out| field_bytes(out, 5, &summary));
        self.events.write(&record(&bytes))
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

fn event(wall_time: f64, step: u64, what: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    field_fixed(&mut out, 1, &wall_time.to_le_bytes());
    out.push(2 << 3);
    varint(&mut out, step);
    what(&mut out);
    out
}

/// A 32-bit or 64-bit number.
fn field_fixed(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | if bytes.len() == 8 { 1 } else { 5 });
    out.extend_from_slice(bytes);
}

fn field_bytes(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    out.push(number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn field_message(out: &mut Vec<u8>, number: u8, what: impl FnOnce(&mut Vec<u8>)) {
    let mut message = Vec::new();
    what(&mut message);
    field_bytes(out, number, &message);
}

/// Seven bits per byte, lowest first.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn record(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    [&length[..], &masked(&length).to_le_bytes(), bytes, &masked(bytes).to_le_bytes()].concat()
}

/// The masked checksum of TFRecord: the CRC of bytes that contain their own CRC would be degenerate.
fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C, bit by bit: a few hundred bytes per second need no table.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_castagnoli() {
        // From RFC 3720, appendix B.4, and the usual check value.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        let of = |number| {
            let mut out = Vec::new();
            varint(&mut out, number);
            out
        };
        assert_eq!((of(0), of(127), of(300)), (vec![0], vec![127], vec![0xac, 2]));
        assert_eq!(of(u64::MAX).len(), 10);
    }
}
