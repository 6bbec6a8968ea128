//! The interactions that a recommender was trained on, as tensors: `seen_offsets`, `seen_items` and `seen_weights`.

use safetensors::{Dtype, SafeTensors};

use crate::data::Interactions;
use crate::io::tensors::{self, Tensor};
use crate::model::Recommender;
use crate::options::RecommenderOptions;
use crate::scores::Scores;

/// The tensors of the file.
pub(super) fn tensors(recommender: &Recommender) -> Vec<Tensor<'_>> {
    let seen = &recommender.seen;
    let offsets: Vec<u64> = seen.offsets().iter().map(|&offset| offset as u64).collect();
    vec![
        Tensor::owned("seen_offsets", "U64", &offsets),
        Tensor::list("seen_items", "U32", seen.items()),
        Tensor::list("seen_weights", "F32", seen.weights()),
    ]
}

/// Reads the interactions; each must be of a user and an item that the scores have.
pub(super) fn parse(
    options: &RecommenderOptions,
    file: &SafeTensors<'_>,
    scores: &Scores,
) -> Result<Interactions, String> {
    options.check().map_err(|e| e.to_string())?;
    let Scores::Factored(factored) = scores else {
        return Err("a recommender whose scores are not factored".into());
    };
    let offsets: Vec<u64> = bytemuck::pod_collect_to_vec(tensors::bytes(file, "seen_offsets", Dtype::U64)?);
    let items: Vec<u32> = bytemuck::pod_collect_to_vec(tensors::bytes(file, "seen_items", Dtype::U32)?);
    let weights: Vec<f32> = bytemuck::pod_collect_to_vec(tensors::bytes(file, "seen_weights", Dtype::F32)?);
    if offsets.len() != factored.features() + 1 {
        return Err(format!("interactions of {} users, not {}", offsets.len().saturating_sub(1), factored.features()));
    }
    let last = offsets.last().copied();
    if offsets[0] != 0 || !offsets.is_sorted() || last != Some(items.len() as u64) || items.len() != weights.len() {
        return Err("interactions that do not belong to their users".into());
    }
    let offsets: Vec<usize> = offsets.into_iter().map(|offset| offset as usize).collect();
    let of_users = offsets.windows(2).map(|pair| &items[pair[0]..pair[1]]);
    let increase = |items: &[u32]| items.windows(2).all(|pair| pair[0] < pair[1]);
    let are_known = |items: &[u32]| items.last().is_none_or(|&last| (last as usize) < factored.classes());
    if !of_users.clone().all(|items| increase(items) && are_known(items)) {
        return Err("interactions with items that are unknown or out of order".into());
    }
    if !weights.iter().all(|&weight| weight.is_finite() && weight > 0.0) {
        return Err("interactions with weights that are not positive numbers".into());
    }
    Ok(Interactions::from_parts(offsets, items, weights))
}
