//! Writes data sets in the format of the extreme classification repository (XMC).
//!
//! ```text
//! 2 5 3
//! 0,2 1:0.5 4:1
//! 1 weight:2.5 0:0.25
//! ```
//!
//! Values have as many digits as are needed to read the same number again. A row without labels starts with a space.
//!
//! Predictions are written as tables: [`predictions`].

pub mod predictions;

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::io::atomic::write_beside;
use crate::platform::pool;

/// Number of rows that a thread formats at a time.
const BLOCK: usize = 256;

/// Number of blocks that are held in memory before they are written.
const BLOCKS: usize = 64;

/// Writes `data` with these numbers of features and labels in its header, which may exceed those of `data`.
///
/// # Errors
/// [`Error::File`] if the file cannot be written.
pub fn xmc(path: &Path, data: &Dataset, features: usize, labels: usize) -> Result<()> {
    let blocks: Vec<Range<usize>> =
        (0..data.len()).step_by(BLOCK).map(|first| first..(first + BLOCK).min(data.len())).collect();
    write_beside(path, |beside| {
        let write = || {
            let mut file = File::create(beside)?;
            writeln!(file, "{} {features} {labels}", data.len())?;
            for blocks in blocks.chunks(BLOCKS) {
                let texts: Vec<Vec<u8>> =
                    pool::run(|| blocks.par_iter().map(|rows| lines(data, rows.clone())).collect());
                texts.iter().try_for_each(|text| file.write_all(text))?;
            }
            Ok(())
        };
        write().map_err(|e| Error::file(path, e))
    })
}

fn lines(data: &Dataset, rows: Range<usize>) -> Vec<u8> {
    let mut text = Vec::new();
    for n in rows {
        line(data, n, &mut text).expect("writing to memory cannot fail");
    }
    text
}

fn line(data: &Dataset, n: usize, text: &mut Vec<u8>) -> std::io::Result<()> {
    for (i, label) in data.labels[n].iter().enumerate() {
        write!(text, "{}{label}", if i > 0 { "," } else { "" })?;
    }
    if let Some(weight) = data.row_weights.get(n).filter(|&&weight| weight != 1.0) {
        write!(text, " weight:{weight}")?;
    }
    let row = data.rows().row(n);
    for (feature, value) in row.indices.iter().zip(row.values) {
        write!(text, " {feature}:{value}")?;
    }
    if text.last().is_none_or(|&byte| byte == b'\n') {
        // Nothing was written: a line without labels.
        text.push(b' ');
    }
    text.push(b'\n');
    Ok(())
}
