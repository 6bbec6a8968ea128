//! Trees from tensors. A root has a cell for every feature, which gives the number of features.

use safetensors::{Dtype, SafeTensors};

use super::Source;
use super::sparse::BlocksReader;
use crate::io::tensors::bytes;
use crate::scores::trees::{Calibration, Evidence, Tree, leaf_starts};
use crate::scores::{Logistic, Trees};

/// Reads trees over the given number of classes.
pub(super) fn parse(source: &Source, file: &SafeTensors, classes: usize) -> Result<Trees, String> {
    let calibration: Vec<f32> = bytemuck::pod_collect_to_vec(bytes(file, "calibration", Dtype::F32)?);
    let calibration = match calibration[..] {
        [root, leaf, power, tail] => Some(Evidence { root, leaf, power, tail })
            .filter(Evidence::is_valid)
            .map(Calibration::Normalised)
            .ok_or(format!("the calibration {calibration:?}, which is not four positive numbers, the last up to 1")),
        [intercept, slope, threshold] => Some(Logistic { intercept, slope, threshold })
            .filter(|logistic| logistic.is_valid())
            .map(Calibration::Logistic)
            .ok_or(format!(
                "the calibration {calibration:?}, which is not a number, a positive number and a probability"
            )),
        _ => Err("a calibration that is not four or three numbers".into()),
    }?;
    let (leaves, order) = (words(file, "leaves")?, words(file, "order")?);
    if leaves.is_empty() || order.len() != leaves.len() * classes {
        return Err(format!("{} trees over {classes} classes with {} entries in all", leaves.len(), order.len()));
    }
    let mut blocks = BlocksReader::of(source, file)?;
    let (mut parsed, mut features) = (Vec::new(), None);
    for (order, &leaves) in order.chunks(classes).zip(&leaves) {
        check_order(order, leaves as usize)?;
        let root = blocks.next(None, vec![0, leaves as usize])?;
        if *features.get_or_insert(root.features()) != root.features() {
            return Err("trees over different features".into());
        }
        let leaves = blocks.next(features, leaf_starts(classes, leaves as usize))?;
        parsed.push(Tree::new(root, leaves, order.to_vec()));
    }
    blocks.finish()?;
    Ok(Trees::new(features.unwrap_or(0), parsed, calibration))
}

/// Checks that each class is in exactly one leaf.
fn check_order(order: &[u32], leaves: usize) -> Result<(), String> {
    let mut seen = vec![false; order.len()];
    let new = |class: &u32| seen.get_mut(*class as usize).is_some_and(|seen| !std::mem::replace(seen, true));
    if leaves == 0 || leaves > order.len().min(usize::from(u16::MAX)) || !order.iter().all(new) {
        return Err("a tree that does not contain each class exactly once".into());
    }
    if order.len().div_ceil(leaves) > usize::from(u16::MAX) {
        return Err(format!("a leaf of more than {} classes", u16::MAX));
    }
    Ok(())
}

fn words(file: &SafeTensors, name: &str) -> Result<Vec<u32>, String> {
    Ok(bytemuck::pod_collect_to_vec(bytes(file, name, Dtype::U32)?))
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
