//! The interactions that a recommender was trained on, as tensors: `seen_offsets`, `seen_items` and `seen_weights`; and
//! which items occur together, if it is used: `with_offsets`, `with_items` and `with_weights`.

use std::sync::Arc;

use safetensors::{Dtype, SafeTensors};

use crate::data::Interactions;
use crate::io::tensors::{self, Tensor};
use crate::model::{CoOccurrence, Recommender};
use crate::options::RecommenderOptions;
use crate::scores::Scores;

/// The tensors of the file.
pub(super) fn tensors(recommender: &Recommender) -> Vec<Tensor<'_>> {
    let seen = &recommender.seen;
    let offsets: Vec<u64> = seen.offsets().iter().map(|&offset| offset as u64).collect();
    let mut tensors = vec![
        Tensor::owned("seen_offsets", "U64", &offsets),
        Tensor::list("seen_items", "U32", seen.items()),
        Tensor::list("seen_weights", "F32", seen.weights()),
    ];
    if recommender.options.co_occurrence > 0.0 {
        let CoOccurrence { offsets, items, weights } = &*recommender.co_occurrence;
        tensors.push(Tensor::list("with_offsets", "U64", offsets));
        tensors.push(Tensor::list("with_items", "U32", items));
        tensors.push(Tensor::list("with_weights", "F32", weights));
    }
    tensors
}

/// Reads the interactions, each of a user and an item that the scores have, and which items occur together.
pub(super) fn parse(
    options: &RecommenderOptions,
    file: &SafeTensors<'_>,
    scores: &Scores,
) -> Result<(Interactions, Arc<CoOccurrence>), String> {
    options.check().map_err(|e| e.to_string())?;
    let Scores::Factored(factored) = scores else {
        return Err("a recommender whose scores are not factored".into());
    };
    let (offsets, items, weights) =
        lists(file, "seen", ["interactions", "users"], [factored.features(), factored.classes()])?;
    let offsets = offsets.into_iter().map(|offset| offset as usize).collect();
    let seen = Interactions::from_parts(offsets, items, weights);
    if options.co_occurrence == 0.0 {
        return Ok((seen, Arc::default()));
    }
    let (offsets, items, weights) = lists(file, "with", ["co-occurrences", "items"], [factored.classes(); 2])?;
    Ok((seen, Arc::new(CoOccurrence { offsets, items, weights })))
}

/// A matrix in CSR form.
type Lists = (Vec<u64>, Vec<u32>, Vec<f32>);

/// Reads a matrix of this many rows and columns, whose values are above 0; `what` are its entries and its rows.
fn lists(file: &SafeTensors<'_>, name: &str, what: [&str; 2], [rows, columns]: [usize; 2]) -> Result<Lists, String> {
    let [what, whose] = what;
    let part = |part: &str, dtype| tensors::bytes(file, &format!("{name}_{part}"), dtype);
    let offsets: Vec<u64> = bytemuck::pod_collect_to_vec(part("offsets", Dtype::U64)?);
    let items: Vec<u32> = bytemuck::pod_collect_to_vec(part("items", Dtype::U32)?);
    let weights: Vec<f32> = bytemuck::pod_collect_to_vec(part("weights", Dtype::F32)?);
    if offsets.len() != rows + 1 {
        return Err(format!("{what} of {} {whose}, not {rows}", offsets.len().saturating_sub(1)));
    }
    let last = offsets.last().copied();
    if offsets[0] != 0 || !offsets.is_sorted() || last != Some(items.len() as u64) || items.len() != weights.len() {
        return Err(format!("{what} that do not belong to their {whose}"));
    }
    let of_rows = offsets.windows(2).map(|pair| &items[pair[0] as usize..pair[1] as usize]);
    let increase = |items: &[u32]| items.windows(2).all(|pair| pair[0] < pair[1]);
    let are_known = |items: &[u32]| items.last().is_none_or(|&last| (last as usize) < columns);
    if !of_rows.clone().all(|items| increase(items) && are_known(items)) {
        return Err(format!("{what} with items that are unknown or out of order"));
    }
    if !weights.iter().all(|&weight| weight.is_finite() && weight > 0.0) {
        return Err(format!("{what} with weights that are not positive numbers"));
    }
    Ok((offsets, items, weights))
}
