//! A forest as tensors: the [`levels`] of all trees, each tree's root before its leaves, and
//!
//! ```text
//! shape        3                   trees, τ and γ, these as the bits of a 32-bit float; 0 for no γ
//! leaves       trees               how many leaves each tree has
//! order        trees × K           the classes, leaf by leaf
//! ```
//!
//! A root has a cell for every feature: there are as many features.

use safetensors::{Dtype, SafeTensors};

use super::levels::{self, Levels};
use super::{Source, Tensor};
use crate::forest::{Calibration, Forest, Tree, leaf_starts};

pub(super) fn tensors(forest: &Forest) -> Vec<Tensor<'_>> {
    let Calibration { temperature, vote_power } = forest.calibration;
    let trees = forest.trees();
    let shape = vec![trees.len() as u32, temperature.to_bits(), vote_power.unwrap_or(0.0).to_bits()];
    let leaves = trees.iter().map(|tree| tree.leaves().nodes() as u32).collect();
    let order = trees.iter().flat_map(|tree| tree.order()).copied().collect();
    let words = |name, numbers: Vec<u32>| Tensor {
        name,
        dtype: "U32",
        shape: vec![numbers.len()],
        pieces: vec![bytemuck::cast_slice::<u32, u8>(&numbers).to_vec().into()],
    };
    let of_trees: Vec<_> = trees.iter().flat_map(|tree| [tree.root(), tree.leaves()]).collect();
    let own = [words("shape", shape), words("leaves", leaves), words("order", order)];
    own.into_iter().chain(levels::tensors(&of_trees)).collect()
}

/// Reads a forest over so many classes.
pub(super) fn parse(source: &Source, file: &SafeTensors, classes: usize) -> Result<Forest, String> {
    let [trees, temperature, power] =
        words(file, "shape")?.try_into().map_err(|_| "a shape that is not three numbers".to_owned())?;
    let (temperature, power) = (f32::from_bits(temperature), f32::from_bits(power));
    if !(temperature.is_finite() && temperature > 0.0 && power.is_finite() && power >= 0.0) {
        return Err(format!("the temperature {temperature} and the power {power}, but they are positive numbers"));
    }
    let calibration = Calibration { temperature, vote_power: (power > 0.0).then_some(power) };
    let (leaves, order) = (words(file, "leaves")?, words(file, "order")?);
    if trees == 0 || leaves.len() != trees as usize || order.len() != leaves.len() * classes {
        return Err(format!("{trees} trees with {} leaves and {} classes", leaves.len(), order.len()));
    }
    let mut levels = Levels::of(source, file)?;
    let (mut parsed, mut features) = (Vec::new(), None);
    for (order, &leaves) in order.chunks(classes).zip(&leaves) {
        check_order(order, leaves as usize)?;
        let root = levels.next(None, vec![0, leaves as usize])?;
        if *features.get_or_insert(root.features()) != root.features() {
            return Err("trees over different features".into());
        }
        let leaves = levels.next(features, leaf_starts(classes, leaves as usize))?;
        parsed.push(Tree::new(root, leaves, order.to_vec()));
    }
    Ok(Forest::new(features.unwrap_or(0), parsed, calibration))
}

/// Whether each class stands in one leaf.
fn check_order(order: &[u32], leaves: usize) -> Result<(), String> {
    let mut seen = vec![false; order.len()];
    let new = |class: &u32| seen.get_mut(*class as usize).is_some_and(|seen| !std::mem::replace(seen, true));
    if leaves == 0 || leaves > order.len().min(usize::from(u16::MAX)) || !order.iter().all(new) {
        return Err("a tree that does not have each class once".into());
    }
    if order.len().div_ceil(leaves) > usize::from(u16::MAX) {
        return Err(format!("a leaf of more than {} classes", u16::MAX));
    }
    Ok(())
}

fn words(file: &SafeTensors, name: &str) -> Result<Vec<u32>, String> {
    Ok(bytemuck::pod_collect_to_vec(levels::bytes(file, name, Dtype::U32)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_have_each_class_once_and_not_too_many() {
        let order: Vec<u32> = (0..70_000).collect();
        assert!(check_order(&order, 2).is_ok());
        assert!(
            check_order(&order, 1).is_err() && check_order(&order, 0).is_err() && check_order(&order, 70_000).is_err()
        );
        assert!(check_order(&[0, 2, 2], 1).is_err() && check_order(&[0, 1, 3], 1).is_err());
    }
}
