//! Models as ONNX graphs, for any runtime of that format.
//!
//! ```text
//! inputs    indices, values, offsets    the features of all rows and their values; row n has those from offsets[n] up
//!                                       to offsets[n + 1]
//!           k                           how many classes, 5 if it is not given
//! outputs   classes, probabilities      the k most probable classes of each row, best first, by number
//!           scores                      f_k(x) of all classes; trees have none
//! ```
//!
//! One graph per kind of scores, of operators that any version since 18 has; what these kinds share is here. All
//! numbers have 32 bits, so that probabilities differ from those of the model by its rounding.

mod blocks;
mod ragged;
mod rows;
mod trees;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use self::blocks::Blocks;
use self::ragged::range;
use self::rows::{Rows, list};
use super::Model;
use crate::error::{Error, Result};
use crate::io::onnx::{Attribute, Graph, Type, Value, second_file};
use crate::io::tensors::Tensor;
use crate::platform::pool;
use crate::scores::{Factored, Linear, Logistic, Scores, SparseLinear};

/// How many classes, unless a number is given.
const DEFAULT_TOP: i64 = 5;

/// The top classes of each row, and the logarithms of their votes or probabilities.
struct Found {
    classes: Value,
    logs: Value,
}

impl Model {
    /// Saves the model in the ONNX format. Weights are in a second file, `path` with `.data` at its end, if that is
    /// asked for or if they have more than 2 GB.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be written, [`Error::Settings`] for recommenders and word vectors.
    pub fn save_onnx(&self, path: &Path, separate: bool) -> Result<()> {
        if self.card.recommender.is_some() || self.card.embedding.is_some() {
            let what = if self.card.recommender.is_some() { "recommender" } else { "model of word vectors" };
            return Err(Error::Settings(format!(
                "a {what} has no ONNX form: it must be a classifier, as `ove train` makes of rows or texts"
            )));
        }
        pool::run(|| self.graph().save(path, separate))
    }

    /// The second file of a model that is saved in the ONNX format under a path.
    pub fn onnx_data(path: &Path) -> PathBuf {
        second_file(path)
    }

    fn graph(&self) -> Graph<'_> {
        let g = Graph::default();
        let rows = Rows::new(&g, self.features());
        let top = g.input("k", Type::Int64, &["1"]);
        g.weights(list("k", "I64", &[DEFAULT_TOP]));
        let k = g.op("Min", &[&top, &g.ints(&[self.classes() as i64])]);
        let scores = match &self.scores {
            Scores::Linear(linear) => Some(linear_scores(&g, linear, &rows)),
            Scores::Sparse(sparse) => Some(sparse_scores(&g, sparse, &rows)),
            Scores::Factored(factored) => Some(factored_scores(&g, factored, &rows)),
            Scores::Trees(_) => None,
        };
        let found = match (&self.scores, &scores) {
            (Scores::Trees(of), _) => trees::top(&g, of, &rows, &k),
            (_, Some(scores)) => {
                let [top, classes] = g.ops("TopK", &[scores, &k], &[]);
                let total = g.op("ReduceLogSumExp", &[scores, &g.ints(&[1])]);
                Found { classes, logs: g.op("Sub", &[&top, &total]) }
            }
            _ => unreachable!("trees alone have no scores"),
        };
        let probabilities = match self.several_labels() {
            Some(Logistic { intercept, slope, .. }) => {
                let logit = g.op("Add", &[&g.op("Mul", &[&found.logs, &g.float(slope)]), &g.float(intercept)]);
                g.op("Sigmoid", &[&logit])
            }
            None => g.op("Exp", &[&found.logs]),
        };
        let is_there = g.op("GreaterOrEqual", &[&found.classes, &g.int(0)]);
        let probabilities = g.op("Where", &[&is_there, &probabilities, &g.float(0.0)]);
        let (classes, probabilities) = self.or_prior(&g, &rows, &k, found.classes, probabilities);
        g.output("classes", &classes, Type::Int64, &["rows", "top"]);
        g.output("probabilities", &probabilities, Type::Float, &["rows", "top"]);
        if let Some(scores) = scores {
            g.output("scores", &scores, Type::Float, &["rows", &self.classes().to_string()]);
        }
        g
    }

    /// The most frequent classes in place of those of a row of which the model knows nothing.
    fn or_prior(&self, g: &Graph<'_>, rows: &Rows, k: &Value, classes: Value, probabilities: Value) -> (Value, Value) {
        if self.card.text.is_none() && self.scores.softmax().is_some() {
            return (classes, probabilities);
        }
        let prior = self.prior_top(self.classes());
        let of_prior: Vec<i64> = prior.iter().map(|found| found.class.into()).collect();
        let shares: Vec<f32> = prior.iter().map(|found| found.probability as f32).collect();
        let is_empty = g.op("Unsqueeze", &[&rows.is_empty, &g.ints(&[1])]);
        let choose = |prior: Value, found: &Value| {
            let top = g.op("Slice", &[&prior, &g.ints(&[0]), k]);
            g.op("Where", &[&is_empty, &g.op("Unsqueeze", &[&top, &g.ints(&[0])]), found])
        };
        (
            choose(g.weights(list("prior_classes", "I64", &of_prior)), &classes),
            choose(g.weights(list("prior_probabilities", "F32", &shares)), &probabilities),
        )
    }
}

/// A table with a row of classes per feature, and the biases as its last row. Hashed rows overlap.
fn linear_scores<'a>(g: &Graph<'a>, linear: &'a Linear, rows: &Rows) -> Value {
    let (features, classes) = (linear.features(), linear.classes());
    if !linear.is_hashed() {
        let table = g.weights(Tensor::new("weights", "F32", vec![features + 1, classes], linear.table()));
        return rows.weighted_sums(g, features, classes, |g, features| g.op("Gather", &[&table, features]));
    }
    let layout = linear.layout();
    let starts = (0..features as u32).map(|feature| layout.of_feature(feature).start);
    let starts: Vec<i64> = starts.chain([layout.cells()]).map(|start| start as i64).collect();
    let starts = g.weights(list("starts", "I64", &starts));
    let cells = g.weights(Tensor::list("cells", "F32", linear.table()));
    let of_classes = range(g, &g.ints(&[classes as i64]));
    rows.weighted_sums(g, features, classes, |g, features| {
        let starts = g.op("Unsqueeze", &[&g.op("Gather", &[&starts, features]), &g.ints(&[1])]);
        g.op("Gather", &[&cells, &g.op("Add", &[&starts, &of_classes])])
    })
}

fn sparse_scores<'a>(g: &Graph<'a>, sparse: &'a SparseLinear, rows: &Rows) -> Value {
    let blocks = Blocks::of_nodes(g, "blocks", sparse.weights());
    let count = sparse.weights().nodes() as i64;
    // The blocks of a row follow each other, so that their scores are those of all classes.
    let pairs = range(g, &g.op("Mul", &[&rows.count, &g.ints(&[count])]));
    let row = g.op("Div", &[&pairs, &g.int(count)]);
    let node = g.op("Sub", &[&pairs, &g.op("Mul", &[&row, &g.int(count)])]);
    let scores = blocks.scores(g, rows, &row, &node, 0.0).all;
    let scores = g.op("Reshape", &[&scores, &g.ints(&[-1, sparse.bias().len() as i64])]);
    g.op("Add", &[&scores, &g.weights(Tensor::list("bias", "F32", sparse.bias()))])
}

/// The vector of a row times those of the classes.
fn factored_scores<'a>(g: &Graph<'a>, factored: &'a Factored, rows: &Rows) -> Value {
    let (features, rank) = (factored.features(), factored.rank());
    let pieces: Vec<Cow<'a, [u8]>> =
        vec![bytemuck::cast_slice(factored.features_table()).into(), vec![0; rank * size_of::<f32>()].into()];
    let shape = vec![features + 1, rank];
    let table = g.weights(Tensor { name: "feature_vectors".into(), dtype: "F32", shape, pieces });
    let hidden = rows.weighted_sums(g, features, rank, |g, features| g.op("Gather", &[&table, features]));
    let shape = vec![factored.classes(), rank];
    let classes = g.weights(Tensor::new("class_vectors", "F32", shape, factored.classes_table()));
    let bias = g.weights(Tensor::list("bias", "F32", factored.bias()));
    g.op_with("Gemm", &[&hidden, &classes, &bias], &[("transB", Attribute::Int(1))])
}

fn log_softmax(g: &Graph<'_>, scores: &Value) -> Value {
    g.op_with("LogSoftmax", &[scores], &[("axis", Attribute::Int(1))])
}
