//! Linear scores from tensors.

use safetensors::SafeTensors;

use super::sparse::BlocksReader;
use super::{Source, check_finite, floats};
use crate::scores::layout::Layout;
use crate::scores::{Linear, SparseLinear};

/// Features are 32-bit numbers.
const MOST: usize = u32::MAX as usize;

/// Reads dense or hashed weights.
pub(super) fn parse(
    source: &Source,
    file: &SafeTensors<'_>,
    classes: usize,
    hashed: Option<&String>,
) -> Result<Linear, String> {
    let bias = bias_of(file, classes)?;
    let weights = file.tensor("weights").map_err(|e| e.to_string())?;
    let layout = layout(weights.shape(), classes, hashed)?;
    let bytes = floats(&weights)?;
    if source.mapped && bytes.as_ptr_range().end == bias.as_ptr() {
        let start = bytes.as_ptr() as usize - source.file.as_ptr() as usize;
        let both = &source.file[start..start + bytes.len() + bias.len()];
        return Ok(Linear::with_layout(layout, source.numbers(both)));
    }
    let mut table = Vec::with_capacity(layout.cells() + classes);
    for bytes in [bytes, bias] {
        table.extend(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    }
    check_finite(&table)?;
    Ok(Linear::with_layout(layout, table))
}

/// Reads pruned weights.
pub(super) fn parse_pruned(source: &Source, file: &SafeTensors<'_>, classes: usize) -> Result<SparseLinear, String> {
    let bias = source.numbers(bias_of(file, classes)?);
    check_finite(&bias)?;
    let mut blocks = BlocksReader::of(source, file)?;
    let weights = blocks.next(None, SparseLinear::blocks(classes))?;
    blocks.finish()?;
    Ok(SparseLinear::new(weights, bias))
}

fn bias_of<'a>(file: &SafeTensors<'a>, classes: usize) -> Result<&'a [u8], String> {
    let bias = file.tensor("bias").map_err(|e| e.to_string())?;
    if bias.shape() != [classes] {
        return Err(format!("bias {:?} for {classes} classes", bias.shape()));
    }
    floats(&bias)
}

/// The layout of a tensor of weights.
fn layout(shape: &[usize], classes: usize, hashed: Option<&String>) -> Result<Layout, String> {
    match (shape, hashed) {
        (&[features, columns], None) if columns == classes && features <= MOST => Ok(Layout::dense(features, classes)),
        (&[_, _], None) => Err(format!("weights {shape:?} for {classes} classes")),
        (_, None) => Err("weights that are not a matrix".into()),
        (&[cells], Some(features)) if cells >= classes => {
            // The one count that the size of the file does not limit by itself.
            let most = Layout::most_hashed_features(cells);
            match features.parse() {
                Ok(features) if features <= most => Ok(Layout::hashed(features, classes, cells)),
                _ => Err(format!("hashed_features `{features}`: expected a number up to {most} for {cells} cells")),
            }
        }
        (_, Some(_)) => Err(format!("hashed weights {shape:?} for {classes} classes")),
    }
}
