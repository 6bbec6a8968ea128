//! Factored scores from tensors.

use safetensors::SafeTensors;

use super::Source;
use crate::platform::mapped_slice::MappedSlice;
use crate::scores::Factored;

/// Reads the vectors of features and classes, and the biases.
pub(super) fn parse(source: &Source, file: &SafeTensors<'_>, classes: usize, rank: usize) -> Result<Factored, String> {
    let table = |name: &str, wanted: &[Option<usize>]| -> Result<MappedSlice<f32>, String> {
        let tensor = file.tensor(name).map_err(|e| e.to_string())?;
        let fits = |(found, wanted): (&usize, &Option<usize>)| wanted.is_none_or(|wanted| wanted == *found);
        if tensor.shape().len() != wanted.len() || !tensor.shape().iter().zip(wanted).all(fits) {
            return Err(format!("{name} {:?} for {classes} classes and rank {rank}", tensor.shape()));
        }
        source.floats(&tensor)
    };
    if rank == 0 {
        return Err("vectors of no numbers".into());
    }
    let features = table("feature_vectors", &[None, Some(rank)])?;
    let class_vectors = table("class_vectors", &[Some(classes), Some(rank)])?;
    let bias = table("bias", &[Some(classes)])?;
    if features.len() / rank > u32::MAX as usize {
        return Err(format!("vectors of {} features, more than there are numbers for", features.len() / rank));
    }
    Ok(Factored::new(rank, features, class_vectors, bias))
}
