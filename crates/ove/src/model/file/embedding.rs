//! The buckets of n-grams that have vectors: `buckets`.

use safetensors::{Dtype, SafeTensors};

use crate::io::tensors::{self, Tensor};
use crate::model::Embedding;
use crate::scores::Scores;

/// The tensors of the file.
pub(super) fn tensors(embedding: &Embedding) -> Vec<Tensor<'_>> {
    vec![Tensor::list("buckets", "U32", &embedding.buckets)]
}

/// Reads the buckets; each has a vector after those of the words.
pub(super) fn parse(
    file: &SafeTensors<'_>,
    scores: &Scores,
    words: usize,
    embedding: &Embedding,
) -> Result<Vec<u32>, String> {
    let Scores::Factored(factored) = scores else {
        return Err("an embedding whose scores are not factored".into());
    };
    embedding.options.check().map_err(|error| error.to_string())?;
    let buckets: Vec<u32> = bytemuck::pod_collect_to_vec(tensors::bytes(file, "buckets", Dtype::U32)?);
    if factored.features() != words + buckets.len() {
        return Err(format!("{} vectors of {words} words and {} n-grams", factored.features(), buckets.len()));
    }
    let is_below = buckets.last().is_none_or(|&last| (last as usize) < embedding.options.buckets);
    if !buckets.windows(2).all(|pair| pair[0] < pair[1]) || !is_below {
        return Err("buckets of n-grams that are unknown or out of order".into());
    }
    if embedding.options.subwords.is_none() && !buckets.is_empty() {
        return Err("vectors of n-grams without their lengths".into());
    }
    Ok(buckets)
}
