//! A forest as tensors: the levels of all trees one after the other, each tree's root before its leaves.
//!
//! ```text
//! shape        4                   D, trees, τ and γ, these as the bits of a 32-bit float; 0 for no γ
//! leaves       trees               how many leaves each tree has
//! order        trees × K           the classes, leaf by leaf
//! starts       levels × (D + 1)    where the cells of each feature start, counted from the level's first
//! nodes        cells               of which node each cell is, 16 bits
//! ends         cells               where its weights end, counted from the level's first
//! children     weights             of which child each weight is, 16 bits
//! weights      weights             bfloat16
//! ```

use safetensors::{Dtype, SafeTensors};

use super::Tensor;
use crate::forest::{Calibration, Entry, Forest, Level, Tree, leaf_starts};
use crate::model::Weights;

/// The numbers of a forest in the order of the file; empty for a linear model.
#[derive(Default)]
pub(super) struct Parts {
    shape: Vec<u32>,
    leaves: Vec<u32>,
    order: Vec<u32>,
    starts: Vec<u32>,
    nodes: Vec<u16>,
    ends: Vec<u32>,
    children: Vec<u16>,
    weights: Vec<u16>,
}

impl Parts {
    pub fn of(weights: &Weights) -> Self {
        let mut parts = Parts::default();
        let Weights::Forest(forest) = weights else { return parts };
        let Calibration { temperature, vote_power } = forest.calibration;
        parts.shape = vec![
            forest.features() as u32,
            forest.trees().len() as u32,
            temperature.to_bits(),
            vote_power.unwrap_or(0.0).to_bits(),
        ];
        for tree in forest.trees() {
            parts.leaves.push(tree.leaves().children().len() as u32 - 1);
            parts.order.extend(tree.order());
            [tree.root(), tree.leaves()].into_iter().for_each(|level| parts.push(level));
        }
        parts
    }

    fn push(&mut self, level: &Level) {
        let parts = level.parts();
        self.starts.extend(parts.starts);
        self.nodes.extend(parts.nodes);
        self.ends.extend(parts.ends);
        self.children.extend(parts.entries.iter().map(|entry| entry.child() as u16));
        self.weights.extend(parts.entries.iter().map(|entry| entry.bits()));
    }

    pub fn tensors<'a>(&'a self) -> Vec<Tensor<'a>> {
        let words = |name, numbers: &'a [u32]| Tensor {
            name,
            dtype: "U32",
            shape: vec![numbers.len()],
            bytes: bytemuck::cast_slice(numbers),
        };
        let halves = |name, dtype, numbers: &'a [u16]| Tensor {
            name,
            dtype,
            shape: vec![numbers.len()],
            bytes: bytemuck::cast_slice(numbers),
        };
        vec![
            words("shape", &self.shape),
            words("leaves", &self.leaves),
            words("order", &self.order),
            words("starts", &self.starts),
            words("ends", &self.ends),
            halves("nodes", "U16", &self.nodes),
            halves("children", "U16", &self.children),
            halves("weights", "BF16", &self.weights),
        ]
    }
}

/// Reads a forest over so many classes.
pub(super) fn parse(file: &SafeTensors, classes: usize) -> Result<Forest, String> {
    let [features, trees, temperature, power] =
        words(file, "shape")?.try_into().map_err(|_| "a shape that is not four numbers".to_owned())?;
    let (temperature, power) = (f32::from_bits(temperature), f32::from_bits(power));
    if !(temperature.is_finite() && temperature > 0.0 && power.is_finite() && power >= 0.0) {
        return Err(format!("the temperature {temperature} and the power {power}, but they are positive numbers"));
    }
    let calibration = Calibration { temperature, vote_power: (power > 0.0).then_some(power) };
    let (leaves, order) = (words(file, "leaves")?, words(file, "order")?);
    if trees == 0 || leaves.len() != trees as usize || order.len() != leaves.len() * classes {
        return Err(format!("{trees} trees with {} leaves and {} classes", leaves.len(), order.len()));
    }
    let mut rest = Rest {
        starts: &words(file, "starts")?,
        nodes: &halves(file, "nodes", Dtype::U16)?,
        ends: &words(file, "ends")?,
        children: &halves(file, "children", Dtype::U16)?,
        weights: &halves(file, "weights", Dtype::BF16)?,
    };
    let mut parsed = Vec::new();
    for (order, &leaves) in order.chunks(classes).zip(&leaves) {
        check_order(order, leaves as usize)?;
        let root = rest.level(features as usize, vec![0, leaves as usize])?;
        let leaves = rest.level(features as usize, leaf_starts(classes, leaves as usize))?;
        parsed.push(Tree::new(root, leaves, order.to_vec()));
    }
    Ok(Forest::new(features as usize, parsed, calibration))
}

/// Whether each class stands in one leaf.
fn check_order(order: &[u32], leaves: usize) -> Result<(), String> {
    let mut seen = vec![false; order.len()];
    let new = |class: &u32| seen.get_mut(*class as usize).is_some_and(|seen| !std::mem::replace(seen, true));
    if leaves == 0 || leaves > order.len().min(usize::from(u16::MAX)) || !order.iter().all(new) {
        return Err("a tree that does not have each class once".into());
    }
    Ok(())
}

/// What of the tensors is not read yet.
struct Rest<'a> {
    starts: &'a [u32],
    nodes: &'a [u16],
    ends: &'a [u32],
    children: &'a [u16],
    weights: &'a [u16],
}

impl Rest<'_> {
    fn level(&mut self, features: usize, children: Vec<usize>) -> Result<Level, String> {
        let short = || "fewer weights than the trees have".to_owned();
        let last = |numbers: &[u32]| numbers.last().copied().unwrap_or(0) as usize;
        let starts = self.starts.split_off(..features + 1).ok_or_else(short)?;
        let nodes = self.nodes.split_off(..last(starts)).ok_or_else(short)?;
        let ends = self.ends.split_off(..last(starts)).ok_or_else(short)?;
        let of = self.children.split_off(..last(ends)).ok_or_else(short)?;
        let weights = self.weights.split_off(..last(ends)).ok_or_else(short)?;
        let entries = of.iter().zip(weights).map(|(&child, &bits)| Entry::from_bits(child, bits)).collect();
        Level::new(children, starts.to_vec(), nodes.to_vec(), ends.to_vec(), entries).map_err(str::to_owned)
    }
}

fn words(file: &SafeTensors, name: &str) -> Result<Vec<u32>, String> {
    let tensor = file.tensor(name).map_err(|e| e.to_string())?;
    if tensor.dtype() != Dtype::U32 {
        return Err(format!("`{name}` of type {:?}, but it is of type U32", tensor.dtype()));
    }
    Ok(tensor.data().as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

fn halves(file: &SafeTensors, name: &str, dtype: Dtype) -> Result<Vec<u16>, String> {
    let tensor = file.tensor(name).map_err(|e| e.to_string())?;
    if tensor.dtype() != dtype {
        return Err(format!("`{name}` of type {:?}, but it is of type {dtype:?}", tensor.dtype()));
    }
    Ok(tensor.data().as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect())
}
