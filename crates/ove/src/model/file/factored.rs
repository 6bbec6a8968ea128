//! Factored scores from tensors.

use safetensors::SafeTensors;

use super::Source;
use crate::platform::mapped_slice::MappedSlice;
use crate::scores::Factored;

/// Reads the vectors of features and classes, and the biases.
pub(super) fn parse(source: &Source, file: &SafeTensors<'_>, classes: usize, rank: usize) -> Result<Factored, String> {
    let table = |name: &str, shape: [Option<usize>; 2]| -> Result<MappedSlice<f32>, String> {
        let tensor = file.tensor(name).map_err(|e| e.to_string())?;
        let columns = if name == "bias" {
            vec![tensor.shape().first().copied().unwrap_or(0), 1]
        } else {
            tensor.shape().to_vec()
        };
        let fits =
            columns.len() == 2 && columns.iter().zip(shape).all(|(found, wanted)| wanted.is_none_or(|w| w == *found));
        if !fits {
            return Err(format!("{name} {:?} for {classes} classes and rank {rank}", tensor.shape()));
        }
        source.floats(&tensor)
    };
    if rank == 0 {
        return Err("vectors of length 0".into());
    }
    let features = table("feature_vectors", [None, Some(rank)])?;
    let class_vectors = table("class_vectors", [Some(classes), Some(rank)])?;
    let bias = table("bias", [Some(classes), Some(1)])?;
    if features.len() / rank > u32::MAX as usize || bias.len() != classes {
        return Err("vectors of inconsistent lengths".into());
    }
    Ok(Factored::new(rank, features, class_vectors, bias))
}
