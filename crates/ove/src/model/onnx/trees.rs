//! Trees in a graph: the search of the nearest leaves, the votes for the classes in them, and the second stage.
//!
//! The equations are those of [`scores::trees`](crate::scores::trees), in 32 bits. Votes are logarithms from the second
//! stage on, where those of unlikely classes are smaller than any number.

use super::blocks::Blocks;
use super::ragged::{Ragged, gather_ints, scatter_add, slice};
use super::rows::{Rows, list};
use super::{Found, log_softmax};
use crate::io::onnx::{Attribute, Graph, Value};
use crate::scores::Trees;
use crate::scores::sparse::SparseBlocks;
use crate::scores::trees::{BEAM, Calibration, NEAR, SecondStage, Tree};

/// The bias of the children of nodes.
const BIAS: f32 = -1.0;

/// Votes of 0 count as this in a logarithm; those of the second stage as that.
const LEAST: f32 = f32::MIN_POSITIVE;
const LEAST_CANDIDATE: f32 = 1e-30;

/// The votes of one tree.
struct Votes {
    /// The row, the class and the vote for each class of the searched leaves.
    rows: Value,
    classes: Value,
    votes: Value,
    /// −E of the leaves of all rows, row by row, and 1 for those that were searched.
    root: Value,
    searched: Value,
    /// Number of leaves.
    leaves: i64,
}

/// The `k` most probable classes of each row, among those of the searched leaves.
pub fn top(g: &Graph<'_>, trees: &Trees, rows: &Rows, k: &Value) -> Found {
    let of_tree = |(n, tree): (usize, &Tree)| search(g, &format!("tree{n}"), tree, &trees.calibration, rows);
    let votes: Vec<Votes> = trees.trees().iter().enumerate().map(of_tree).collect();
    let count = g.float(1.0 / votes.len() as f32);

    // Each class of a row once, with the votes of all trees; rows and their classes in order.
    let classes = g.int(trees.classes() as i64);
    let keys: Vec<Value> =
        votes.iter().map(|v| g.op("Add", &[&g.op("Mul", &[&v.rows, &classes]), &v.classes])).collect();
    let join = |lists: Vec<&Value>| g.op_with("Concat", &lists, &[("axis", Attribute::Int(0))]);
    let (keys, each) = (join(keys.iter().collect()), join(votes.iter().map(|v| &v.votes).collect()));
    let [keys, _, places, _] = g.ops("Unique", &[&keys], &[("sorted", Attribute::Int(1))]);
    let none = g.op("Expand", &[&g.float(0.0), &g.op("Shape", &[&keys])]);
    let mut sums = scatter_add(g, &none, &places, &each);
    let row = g.op("Div", &[&keys, &classes]);
    let class = g.op("Sub", &[&keys, &g.op("Mul", &[&row, &classes])]);
    if let Calibration::Normalised(evidence) = trees.calibration {
        for ((n, tree), votes) in trees.trees().iter().enumerate().zip(&votes) {
            let more = unsearched(g, &format!("tree{n}"), tree, votes, evidence.tail, &row, &class);
            sums = g.op("Add", &[&sums, &more]);
        }
    }
    let means = g.op("Mul", &[&sums, &count]);

    let rivals = trees.second_stage().map_or(0, |mix| mix.rivals as i64);
    let most = g.op("Max", &[k, &g.ints(&[rivals])]);
    let [votes_of_top, classes_of_top] = top_of_lists(g, rows, &row, &class, &means, &most);
    let mut found = Found { classes: classes_of_top, logs: log(g, &votes_of_top, LEAST) };
    if let Some(second) = &trees.second_stage {
        let several = matches!(trees.calibration, Calibration::Logistic(_));
        found = correct(g, second, trees.classes(), several, rows, found, &votes_of_top);
    }
    found.classes = g.op("Slice", &[&found.classes, &g.ints(&[0]), k, &g.ints(&[1])]);
    found.logs = g.op("Slice", &[&found.logs, &g.ints(&[0]), k, &g.ints(&[1])]);
    if let Calibration::Normalised(evidence) = trees.calibration {
        let of_trees: Vec<Value> = votes.iter().map(|votes| total(g, votes, evidence.tail, rows)).collect();
        let total = g.op("Mul", &[&g.op("Sum", &of_trees.iter().collect::<Vec<_>>()), &count]);
        let total = g.op("Unsqueeze", &[&g.op("Log", &[&total]), &g.ints(&[1])]);
        found.logs = g.op("Sub", &[&found.logs, &total]);
    }
    found
}

/// Searches one tree.
fn search(g: &Graph<'_>, name: &str, tree: &Tree, calibration: &Calibration, rows: &Rows) -> Votes {
    let leaves = tree.leaves().nodes() as i64;
    let blocks = |of: &str, nodes: &SparseBlocks| Blocks::of_nodes(g, &format!("{name}_{of}"), nodes);
    let root = blocks("root", tree.root());
    let node = g.op("Expand", &[&g.int(0), &rows.count]);
    let scores = root.scores(g, rows, &rows.numbers, &node, BIAS).all;
    let violations = violations(g, &scores);
    let [tau_root, tau_leaf, power] = match calibration {
        Calibration::Normalised(evidence) => [evidence.root, evidence.leaf, evidence.power],
        Calibration::Logistic(_) => [1.0, 1.0, 2.0],
    };
    let root = energies(g, &violations, tau_root, power);

    // Leaves are chosen by energies that are not calibrated.
    let plain = g.op("Reshape", &[&energies(g, &violations, 1.0, 2.0), &g.ints(&[-1, leaves])]);
    let [nearest, numbers] = g.ops("TopK", &[&plain, &g.ints(&[leaves.min(BEAM as i64)])], &[]);
    let near = g.op("Sub", &[&slice(g, &nearest, 0, 1, 1), &g.float(NEAR)]);
    let is_near = g.op("GreaterOrEqual", &[&nearest, &near]);
    let near = g.op("Transpose", &[&g.op("NonZero", &[&is_near])]);
    let of_rows = g.op("Reshape", &[&slice(g, &near, 0, 1, 1), &g.ints(&[-1])]);
    let leaf = g.op("GatherND", &[&numbers, &near]);

    let scores = blocks("leaves", tree.leaves()).scores(g, rows, &of_rows, &leaf, BIAS);
    let of_classes = energies(g, &self::violations(g, &scores.all), tau_leaf, power);
    let row = g.op("Gather", &[&of_rows, &scores.places.owner]);
    let leaf_of_score = g.op("Gather", &[&leaf, &scores.places.owner]);
    let of_root = |row: &Value, leaf: &Value| g.op("Add", &[&g.op("Mul", &[row, &g.int(leaves)]), leaf]);
    let of_leaf = g.op("Gather", &[&root, &of_root(&row, &leaf_of_score)]);
    let votes = g.op("Exp", &[&g.op("Add", &[&of_leaf, &of_classes])]);

    let starts: Vec<i64> = tree.leaves().children().iter().map(|&start| start as i64).collect();
    let order: Vec<u32> = (0..leaves as u16).flat_map(|leaf| tree.leaf_classes(leaf)).copied().collect();
    let starts = g.weights(list(format!("{name}_leaf_starts"), "I64", &starts));
    let order = g.weights(list(format!("{name}_order"), "U32", &order));
    let at = g.op("Add", &[&g.op("Gather", &[&starts, &leaf_of_score]), &scores.places.within]);
    let classes = gather_ints(g, &order, &at);

    let none = g.op("Expand", &[&g.float(0.0), &g.op("Shape", &[&root])]);
    let ones = g.op("Expand", &[&g.float(1.0), &g.op("Shape", &[&leaf])]);
    let searched = scatter_add(g, &none, &of_root(&of_rows, &leaf), &ones);
    Votes { rows: row, classes, votes, root, searched, leaves }
}

/// max(0, 1 − f).
fn violations(g: &Graph<'_>, scores: &Value) -> Value {
    g.op("Relu", &[&g.op("Sub", &[&g.float(1.0), scores])])
}

/// −E = −τ max(0, 1 − f)^p.
fn energies(g: &Graph<'_>, violations: &Value, tau: f32, power: f32) -> Value {
    g.op("Mul", &[&g.op("Pow", &[violations, &g.float(power)]), &g.float(-tau)])
}

fn log(g: &Graph<'_>, votes: &Value, least: f32) -> Value {
    g.op("Log", &[&g.op("Max", &[votes, &g.float(least)])])
}

/// The vote of a tree for classes whose leaf it did not search: their part of ζ e^{−E_leaf}; 0 for others.
fn unsearched(g: &Graph<'_>, name: &str, tree: &Tree, votes: &Votes, tail: f32, row: &Value, class: &Value) -> Value {
    let classes = leaves_of_classes(tree);
    let share = |&leaf: &u16| tail / tree.leaf_classes(leaf).len() as f32;
    let shares: Vec<f32> = classes.iter().map(share).collect();
    let leaves = g.weights(list(format!("{name}_leaf_of_class"), "U16", &classes));
    let shares = g.weights(list(format!("{name}_share_of_class"), "F32", &shares));
    let at = g.op("Add", &[&g.op("Mul", &[row, &g.int(votes.leaves)]), &gather_ints(g, &leaves, class)]);
    let left = g.op("Sub", &[&g.float(1.0), &g.op("Gather", &[&votes.searched, &at])]);
    let of_leaf = g.op("Mul", &[&g.op("Exp", &[&g.op("Gather", &[&votes.root, &at])]), &left]);
    g.op("Mul", &[&of_leaf, &g.op("Gather", &[&shares, class])])
}

/// The leaf of each class.
fn leaves_of_classes(tree: &Tree) -> Vec<u16> {
    let classes = *tree.leaves().children().last().expect("an end");
    (0..classes as u32).map(|class| tree.place(class).0 as u16).collect()
}

/// The votes of a tree for all classes together.
fn total(g: &Graph<'_>, votes: &Votes, tail: f32, rows: &Rows) -> Value {
    let none = g.op("Expand", &[&g.float(0.0), &rows.count]);
    let searched = scatter_add(g, &none, &votes.rows, &votes.votes);
    let left = g.op("Sub", &[&g.float(1.0), &votes.searched]);
    let others = g.op("Mul", &[&g.op("Exp", &[&votes.root]), &left]);
    let others = g.op("Reshape", &[&others, &g.ints(&[-1, votes.leaves])]);
    let others = g.op_with("ReduceSum", &[&others, &g.ints(&[1])], &[("keepdims", Attribute::Int(0))]);
    g.op("Add", &[&searched, &g.op("Mul", &[&others, &g.float(tail)])])
}

/// The `most` largest votes of each row and their classes, −1 where there is none. Ties are in class order.
fn top_of_lists(g: &Graph<'_>, rows: &Rows, row: &Value, class: &Value, votes: &Value, most: &Value) -> [Value; 2] {
    let ones = g.op("Expand", &[&g.int(1), &g.op("Shape", &[row])]);
    let counts = scatter_add(g, &g.op("Expand", &[&g.int(0), &rows.count]), row, &ones);
    let lists = Ragged::of(g, &counts);
    let counts = g.op_with("Concat", &[&counts, most], &[("axis", Attribute::Int(0))]);
    let width = g.op_with("ReduceMax", &[&counts, &g.ints(&[0])], &[("keepdims", Attribute::Int(1))]);
    let at = g.op("Add", &[&g.op("Mul", &[row, &width]), &lists.within]);
    let size = g.op("Mul", &[&rows.count, &width]);
    let shape = g.op_with("Concat", &[&rows.count, &width], &[("axis", Attribute::Int(0))]);
    let padded = |numbers: &Value, none: Value| {
        let all = g.op("ScatterElements", &[&g.op("Expand", &[&none, &size]), &at, numbers]);
        g.op("Reshape", &[&all, &shape])
    };
    let (votes, classes) = (padded(votes, g.float(-1.0)), padded(class, g.int(-1)));
    let [top, places] = g.ops("TopK", &[&votes, most], &[]);
    let classes = g.op_with("GatherElements", &[&classes, &places], &[("axis", Attribute::Int(1))]);
    [top, classes]
}

/// Corrects the votes of the first classes of each row by the second stage, and sorts them again.
fn correct(
    g: &Graph<'_>,
    second: &SecondStage,
    classes: usize,
    several: bool,
    rows: &Rows,
    found: Found,
    votes: &Value,
) -> Found {
    let mix = second.mix();
    let rivals = mix.rivals as i64;
    let first = |of: &Value| slice(g, of, 0, rivals, 1);
    let others = |of: &Value| slice(g, of, rivals, i64::MAX, 1);
    let (candidates, votes) = (first(&found.classes), first(votes));
    let is_there = g.op("GreaterOrEqual", &[&candidates, &g.int(0)]);
    let pairs = g.op("Transpose", &[&g.op("NonZero", &[&is_there])]);
    let of_rows = g.op("Reshape", &[&slice(g, &pairs, 0, 1, 1), &g.ints(&[-1])]);
    let of_classes = g.op("GatherND", &[&candidates, &pairs]);
    let weights = Blocks::of_classes(g, "second_stage", second, classes);
    let scores = weights.single_scores(g, rows, &of_rows, &of_classes);
    let none = g.op("Expand", &[&g.float(0.0), &g.op("Shape", &[&candidates])]);
    let scores = g.op("ScatterND", &[&none, &pairs, &scores]);
    let corrections = g.op("Mul", &[&scores, &g.float(mix.kappa)]);
    let sums = g.op("Add", &[&log(g, &votes, LEAST_CANDIDATE), &corrections]);
    let (logs, rest) = if several {
        let of_those = g.op("Where", &[&is_there, &corrections, &g.float(f32::MAX)]);
        let least = g.op("ReduceMin", &[&of_those, &g.ints(&[1])]);
        (sums, g.op("Add", &[&others(&found.logs), &least]))
    } else {
        let sharp = g.op("Mul", &[&sums, &g.float(mix.sharpness)]);
        let sharp = g.op("Where", &[&is_there, &sharp, &g.float(f32::MIN)]);
        let all = g.op("ReduceSum", &[&g.op("Relu", &[&votes]), &g.ints(&[1])]);
        let shares = log_softmax(g, &sharp);
        (g.op("Add", &[&shares, &log(g, &all, LEAST)]), others(&found.logs))
    };
    let logs = g.op("Where", &[&is_there, &logs, &g.float(f32::MIN)]);
    let [logs, places] = g.ops("TopK", &[&logs, &g.ints(&[rivals])], &[]);
    let candidates = g.op_with("GatherElements", &[&candidates, &places], &[("axis", Attribute::Int(1))]);
    let join = |a: &Value, b: &Value| g.op_with("Concat", &[a, b], &[("axis", Attribute::Int(1))]);
    Found { classes: join(&candidates, &others(&found.classes)), logs: join(&logs, &rest) }
}
