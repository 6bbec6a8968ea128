//! Sparse linear scores in a graph: those of the children of a node, for pairs of a row and a node.
//!
//! The features of a node rise, so that its cell for a feature is found by halving; a cell lists its children and their
//! weights. The tensors are those of [`SparseBlocks`], with every cell as a list.

use super::ragged::{Ragged, as_floats, gather_ints, places, scatter_add, search};
use super::rows::{Rows, list};
use crate::io::onnx::{Graph, Value};
use crate::scores::sparse::SparseBlocks;
use crate::scores::trees::SecondStage;

/// What ends a list that is searched.
const END: u32 = u32::MAX;

/// The weights of nodes.
pub struct Blocks {
    /// The first cell of each node, and the end of the last.
    starts: Value,
    /// The feature of each cell.
    features: Value,
    /// The number of cells of the largest node.
    longest: usize,
    weights: Value,
    children: Option<Children>,
}

/// The children of each node; there is none of these if each node is its own only child.
struct Children {
    /// The first weight of each cell, and the end of the last.
    cells: Value,
    /// The child of each weight.
    of_weights: Value,
    /// The number of children of each node.
    widths: Value,
}

/// The scores of the children of pairs.
pub struct Scores {
    /// The scores, pair by pair.
    pub all: Value,
    /// Which child of which pair each of them belongs to.
    pub places: Ragged,
}

impl Blocks {
    pub fn of_nodes(g: &Graph<'_>, name: &str, blocks: &SparseBlocks) -> Self {
        let (mut starts, mut features, mut cells) = (vec![0u32], Vec::new(), vec![0u32]);
        let (mut of_weights, mut weights): (Vec<u16>, Vec<u16>) = (Vec::new(), Vec::new());
        for node in 0..blocks.nodes() {
            for (feature, entries) in blocks.cells(node) {
                for entry in entries {
                    of_weights.push(entry.child() as u16);
                    weights.push(entry.bits());
                }
                features.push(feature);
                cells.push(weights.len() as u32);
            }
            starts.push(features.len() as u32);
        }
        let widths: Vec<i64> = blocks.children().windows(2).map(|range| (range[1] - range[0]) as i64).collect();
        let children = Children {
            cells: g.weights(list(format!("{name}_cells"), "U32", &cells)),
            of_weights: g.weights(list(format!("{name}_children"), "U16", &of_weights)),
            widths: g.weights(list(format!("{name}_widths"), "I64", &widths)),
        };
        Blocks { children: Some(children), ..Blocks::new(g, name, &starts, features, &weights) }
    }

    /// The second stage of trees: each class is a node with one child.
    pub fn of_classes(g: &Graph<'_>, name: &str, second: &SecondStage, classes: usize) -> Self {
        let (mut starts, mut features, mut weights) = (vec![0u32], Vec::new(), Vec::new());
        for class in 0..classes as u32 {
            for (feature, weight) in second.weights_of(class) {
                features.push(feature);
                weights.push((weight.to_bits() >> 16) as u16);
            }
            starts.push(features.len() as u32);
        }
        Blocks::new(g, name, &starts, features, &weights)
    }

    fn new(g: &Graph<'_>, name: &str, starts: &[u32], mut features: Vec<u32>, weights: &[u16]) -> Self {
        let longest = starts.windows(2).map(|range| (range[1] - range[0]) as usize).max().unwrap_or(0);
        features.push(END);
        Blocks {
            starts: g.weights(list(format!("{name}_starts"), "U32", starts)),
            features: g.weights(list(format!("{name}_features"), "U32", &features)),
            longest,
            weights: g.weights(list(format!("{name}_weights"), "BF16", weights)),
            children: None,
        }
    }

    /// The scores of the children of pairs, each from `bias` on.
    pub fn scores(&self, g: &Graph<'_>, rows: &Rows, of_rows: &Value, nodes: &Value, bias: f32) -> Scores {
        let children = self.children.as_ref().expect("nodes with children");
        let [cell, value, pair] = self.cells(g, rows, of_rows, nodes);
        let first = gather_ints(g, &children.cells, &cell);
        let next = g.op("Add", &[&cell, &g.int(1)]);
        let lengths = g.op("Sub", &[&gather_ints(g, &children.cells, &next), &first]);
        let found = Ragged::of(g, &lengths);
        let at = g.op("Add", &[&g.op("Gather", &[&first, &found.owner]), &found.within]);
        let value = g.op("Gather", &[&value, &found.owner]);
        let product = self.product(g, &at, &value);
        let widths = g.op("Gather", &[&children.widths, nodes]);
        let places = Ragged::of(g, &widths);
        let pair = g.op("Gather", &[&pair, &found.owner]);
        let child = gather_ints(g, &children.of_weights, &at);
        let target = g.op("Add", &[&g.op("Gather", &[&places.starts, &pair]), &child]);
        let none = g.op("Expand", &[&g.float(bias), &places.total]);
        Scores { all: scatter_add(g, &none, &target, &product), places }
    }

    /// The score of each pair of a row and a node that is its own only child.
    pub fn single_scores(&self, g: &Graph<'_>, rows: &Rows, of_rows: &Value, nodes: &Value) -> Value {
        let [cell, value, pair] = self.cells(g, rows, of_rows, nodes);
        let product = self.product(g, &cell, &value);
        let none = g.op("Expand", &[&g.float(0.0), &g.op("Shape", &[nodes])]);
        scatter_add(g, &none, &pair, &product)
    }

    fn product(&self, g: &Graph<'_>, at: &Value, value: &Value) -> Value {
        let weights = g.op("Gather", &[&self.weights, at]);
        let weights = as_floats(g, &weights);
        g.op("Mul", &[&weights, value])
    }

    /// The cells of the features of pairs, with the value of the feature and the pair.
    fn cells(&self, g: &Graph<'_>, rows: &Rows, of_rows: &Value, nodes: &Value) -> [Value; 3] {
        let entries = Ragged::of(g, &g.op("Gather", &[&rows.lengths, of_rows]));
        let starts = g.op("Gather", &[&rows.starts, of_rows]);
        let entry = g.op("Add", &[&g.op("Gather", &[&starts, &entries.owner]), &entries.within]);
        let feature = g.op("Gather", &[&rows.features, &entry]);
        let node = g.op("Gather", &[nodes, &entries.owner]);
        let from = gather_ints(g, &self.starts, &node);
        let next = g.op("Add", &[&node, &g.int(1)]);
        let to = gather_ints(g, &self.starts, &next);
        let [at, is_there] = search(g, &self.features, &from, &to, &feature, self.longest);
        let kept = places(g, &is_there);
        let value = g.op("Gather", &[&rows.values, &entry]);
        [at, value, entries.owner].map(|list| g.op("Gather", &[&list, &kept]))
    }
}
