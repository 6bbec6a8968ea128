//! Trees from tensors. A root has a cell for every feature, which gives the number of features.

use safetensors::{Dtype, SafeTensors};

use super::Source;
use super::sparse::BlocksReader;
use crate::io::tensors::bytes;
use crate::scores::trees::{Calibration, ClassWeights, Evidence, Mix, SecondStage, Tree, leaf_starts};
use crate::scores::{Logistic, Trees};

/// Largest number of rivals: every smaller integer is a 32-bit float.
const MOST_RIVALS: f32 = 16_777_216.0;

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
    let sizes = if file.tensor("leaf_sizes").is_ok() { Some(words(file, "leaf_sizes")?) } else { None };
    let mut sizes = sizes.as_deref();
    let mut blocks = BlocksReader::of(source, file)?;
    let (mut parsed, mut features) = (Vec::new(), None);
    for (order, &leaves) in order.chunks(classes).zip(&leaves) {
        let starts = starts_of(classes, leaves as usize, &mut sizes)?;
        check_order(order, &starts)?;
        let root = blocks.next(None, vec![0, leaves as usize])?;
        if *features.get_or_insert(root.features()) != root.features() {
            return Err("trees over different features".into());
        }
        let leaves = blocks.next(features, starts)?;
        parsed.push(Tree::new(root, leaves, order.to_vec()));
    }
    if sizes.is_some_and(|rest| !rest.is_empty()) {
        return Err("sizes of leaves that are not there".into());
    }
    let mut trees = Trees::new(features.unwrap_or(0), parsed, calibration);
    if file.tensor("second_stage").is_ok() {
        trees.second_stage = Some(parse_second_stage(source, file, trees.features(), classes)?);
    }
    blocks.finish()?;
    Ok(trees)
}

/// The second stage, whose weights are mapped if the file is.
fn parse_second_stage(
    source: &Source,
    file: &SafeTensors,
    features: usize,
    classes: usize,
) -> Result<SecondStage, String> {
    let numbers: Vec<f32> = bytemuck::pod_collect_to_vec(bytes(file, "second_stage", Dtype::F32)?);
    let [rivals, kappa, sharpness] =
        numbers.try_into().map_err(|_| "a second stage that does not have three numbers".to_owned())?;
    if !(rivals >= 1.0 && rivals.fract() == 0.0 && rivals <= MOST_RIVALS) {
        return Err(format!("a second stage with {rivals} rivals"));
    }
    let starts = bytes(file, "class_starts", Dtype::U32)?;
    if starts.len() != size_of::<u32>() * (classes + 1) {
        return Err("a second stage over another number of classes".into());
    }
    let weights = ClassWeights {
        starts: source.numbers(starts),
        features: source.numbers(bytes(file, "class_features", Dtype::U32)?),
        weights: source.numbers(bytes(file, "class_weights", Dtype::BF16)?),
    };
    let mix = Mix { rivals: rivals as usize, kappa, sharpness };
    SecondStage::new(features, weights, mix).map_err(str::to_owned)
}

/// The start of each leaf of a tree, and the end of the last; takes its sizes from those of all trees, if they are
/// given.
fn starts_of(classes: usize, leaves: usize, sizes: &mut Option<&[u32]>) -> Result<Vec<usize>, String> {
    let wrong = || "a tree that does not contain each class exactly once".to_owned();
    if leaves == 0 || leaves > classes.min(usize::from(u16::MAX)) {
        return Err(wrong());
    }
    let Some(sizes) = sizes else { return Ok(leaf_starts(classes, leaves)) };
    let own = sizes.split_off(..leaves).ok_or_else(wrong)?;
    let mut starts = vec![0];
    starts.extend(own.iter().scan(0usize, |end, &size| {
        *end += size as usize;
        Some(*end)
    }));
    if starts[leaves] != classes || own.contains(&0) {
        return Err(wrong());
    }
    Ok(starts)
}

/// Checks that each class is in exactly one leaf.
fn check_order(order: &[u32], starts: &[usize]) -> Result<(), String> {
    let mut seen = vec![false; order.len()];
    let new = |class: &u32| seen.get_mut(*class as usize).is_some_and(|seen| !std::mem::replace(seen, true));
    if !order.iter().all(new) {
        return Err("a tree that does not contain each class exactly once".into());
    }
    if starts.windows(2).any(|range| range[1] - range[0] > usize::from(u16::MAX)) {
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
        let check = |order: &[u32], leaves, mut sizes: Option<&[u32]>| {
            check_order(order, &starts_of(order.len(), leaves, &mut sizes)?)
        };
        assert!(check(&order, 2, None).is_ok());
        for leaves in [0, 1, 70_000] {
            assert!(check(&order, leaves, None).is_err(), "{leaves}");
        }
        assert!(check(&[0, 2, 2], 1, None).is_err() && check(&[0, 1, 3], 1, None).is_err());
        assert!(check(&order, 3, Some(&[9000, 60_000, 1000])).is_ok());
        for sizes in [&[66_000, 4000][..], &[60_000, 9999], &[60_000, 10_001], &[60_000], &[0, 70_000]] {
            assert!(check(&order, 2, Some(sizes)).is_err(), "{sizes:?}");
        }
    }
}
