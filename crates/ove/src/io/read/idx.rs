//! IDX, the format of MNIST: grey-scale images in one file, their labels in a second file beside it.
//!
//! ```text
//! train-images-idx3-ubyte   00 00 08 03, images, height, width (32 bits each, big-endian), then one byte per pixel
//! train-labels-idx1-ubyte   00 00 08 01, labels, then one byte per label
//! ```
//!
//! A feature is a pixel, row by row from the top left, with a value from 0 to 1. Memory is allocated as data arrive,
//! not by the sizes in the header.

use std::io::Read;

use super::source::Source;
use super::{classes, wrong_file};
use crate::data::Dataset;
use crate::error::Result;

const IMAGES: u32 = 0x0803;
const LABELS: u32 = 0x0801;

pub(super) fn read(mut source: Source, labels_required: bool) -> Result<Dataset> {
    let [count, height, width] = header(&mut source, IMAGES)?;
    let pixels = match height.checked_mul(width) {
        Some(0) | None => {
            let message = format!("expected images of 1 to {} pixels, found {height} x {width}", u32::MAX);
            return Err(wrong_file(source.path(), message));
        }
        Some(pixels) => pixels,
    };
    let labels = labels(&source, count, labels_required)?;
    let mut data = images(&mut source, count, pixels, labels.as_deref())?;
    at_end(&mut source, format!("{count} images of {pixels} bytes"))?;
    classes::from_numbers(&mut data, |label| label.to_string());
    Ok(data)
}

fn images(source: &mut Source, count: u32, pixels: u32, labels: Option<&[u8]>) -> Result<Dataset> {
    let mut data = Dataset::new(pixels as usize, Vec::new());
    let mut image = Vec::new();
    for n in 0..count as usize {
        fill(source, pixels, &mut image)?;
        if image.len() < pixels as usize {
            let end = format!("the end of the file within image {}", n + 1);
            return Err(wrong_file(source.path(), format!("expected {count} images of {pixels} bytes, found {end}")));
        }
        for (feature, &grey) in (0..).zip(&image).filter(|(_, grey)| **grey != 0) {
            data.push_entry(feature, f32::from(grey) / 255.0);
        }
        let label = labels.map(|labels| u32::from(labels[n]));
        data.end_row(label.as_slice());
    }
    Ok(data)
}

/// One label per image; `None` if there is no label file and none is required.
fn labels(images: &Source, count: u32, required: bool) -> Result<Option<Vec<u8>>> {
    let name = images.name();
    let label_name = name.replace("images", "labels").replace("idx3", "idx1");
    let Some(path) = images.beside(&label_name).filter(|_| label_name != name) else {
        if !required {
            return Ok(None);
        }
        let message = format!("expected the labels beside it, found no {label_name}, compressed or not");
        return Err(wrong_file(images.path(), message));
    };
    let mut source = Source::open(&path)?;
    let [found] = header(&mut source, LABELS)?;
    if found != count {
        return Err(wrong_file(&path, format!("expected {count} labels, one per image, found {found}")));
    }
    let mut labels = Vec::new();
    fill(&mut source, count, &mut labels)?;
    if labels.len() < count as usize {
        return Err(wrong_file(&path, format!("expected {count} labels, found {}", labels.len())));
    }
    at_end(&mut source, format!("{count} labels"))?;
    Ok(Some(labels))
}

/// The sizes after the magic number.
fn header<const N: usize>(source: &mut Source, magic: u32) -> Result<[u32; N]> {
    let mut bytes = Vec::new();
    fill(source, 4 + 4 * N as u32, &mut bytes)?;
    let mut numbers = bytes.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let short = || wrong_file(source.path(), format!("expected a header of {} bytes, found fewer", 4 + 4 * N));
    let found = numbers.next().ok_or_else(short)?;
    if found != magic {
        let kind = if magic == IMAGES { "images" } else { "labels" };
        let message = format!("expected the magic number {magic:#010x} of {kind}, found {found:#010x}");
        return Err(wrong_file(source.path(), message));
    }
    let mut sizes = [0; N];
    for size in &mut sizes {
        *size = numbers.next().ok_or_else(short)?;
    }
    Ok(sizes)
}

/// Reads up to `count` bytes; the buffer grows with the data.
fn fill(source: &mut Source, count: u32, buffer: &mut Vec<u8>) -> Result<()> {
    buffer.clear();
    let read = source.input().take(count.into()).read_to_end(buffer);
    read.map(drop).map_err(|e| source.failure(e))
}

fn at_end(source: &mut Source, promised: String) -> Result<()> {
    let mut rest = Vec::new();
    fill(source, 1, &mut rest)?;
    if rest.is_empty() {
        return Ok(());
    }
    Err(wrong_file(source.path(), format!("expected {promised}, found more data")))
}
