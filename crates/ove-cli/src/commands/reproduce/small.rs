//! Tables 1 and 2 and figure 3a–c: three data sets, four methods, λ = 1.

use std::path::Path;

use anyhow::Result;
use ove::Dataset;
use ove::scores::Linear;
use ove_report::comparison::{CurvePoint, Method, Outcome, smooth};
use ove_report::{Axis, Block, Chart, Layer, Section, Table};
use serde_json::json;

use super::{Results, Setting, csv, find, read};
use crate::run;
use crate::run::comparison::Settings;
use crate::terminal::note;

/// A data set of the paper.
pub(super) struct Set {
    pub name: &'static str,
    train: &'static str,
    test: &'static str,
    origin: &'static str,
    /// Table 1: features, classes, training rows, test rows.
    sizes: [usize; 4],
    /// Table 2: norm, error and nlpd for each method, in the order of [`Method::ALL`]. The exact softmax has no norm.
    paper: [[f64; 3]; 4],
    /// Epochs and learning rate of the stochastic run.
    stochastic: (usize, f64),
    /// A remark on differences from the paper.
    remark: &'static str,
}

pub(super) const SETS: [Set; 3] = [
    Set {
        name: "mnist",
        train: "train-images-idx3-ubyte",
        test: "t10k-images-idx3-ubyte",
        origin: "the MNIST handwritten digits, with the two idx1-ubyte label files in the same folder",
        sizes: [784, 10, 60_000, 10_000],
        paper: [[f64::NAN, 0.074, 0.271], [0.64, 0.073, 0.333], [0.50, 0.082, 0.287], [0.53, 0.080, 0.278]],
        stochastic: (350, 0.03),
        remark: "Bouchard: the paper's optimiser stopped before convergence, so its norm and nlpd are not those of the \
                 maximum.",
    },
    Set {
        name: "20news",
        train: "train.data",
        test: "test.data",
        origin: "20 Newsgroups by date, Matlab/Octave format, with train.label, test.label and vocabulary.txt in the \
                 same folder",
        sizes: [61_188, 20, 11_269, 7_505],
        paper: [[f64::NAN, 0.272, 1.263], [0.65, 0.249, 1.337], [0.05, 0.276, 1.297], [0.14, 0.276, 1.312]],
        stochastic: (5000, 0.003),
        remark: "Bouchard: the paper's optimiser stopped before convergence here as well. Stochastic: word counts \
                 differ in scale by thousands and the rows are nearly separable, so the last percents of the bound would \
                 take many more epochs.",
    },
    Set {
        name: "bibtex",
        train: "bibtex-train.arff",
        test: "bibtex-test.arff",
        origin: "Mulan's bibtex; the first label in attribute order is kept",
        sizes: [1_836, 148, 4_880, 2_515],
        paper: [[f64::NAN, 0.622, 2.793], [0.25, 0.621, 2.955], [0.09, 0.636, 2.888], [0.10, 0.633, 2.875]],
        stochastic: (4000, 0.08),
        remark: "Error and nlpd of all methods, including the exact softmax, are shifted together: most likely the \
                 paper's copy of the data listed the labels of a row in another order, and so had another first label.",
    },
];

/// Number of rows per update, as in the paper.
pub(super) const BATCH: usize = 200;

/// The tolerance of the batch methods.
const TOLERANCE: f64 = 1e-5;

/// Number of estimates that the paper averages for its curves.
const WINDOW: usize = 400;

/// A data set with the results of the methods.
struct Compared {
    set: &'static Set,
    sizes: [usize; 4],
    outcomes: Vec<Outcome>,
}

/// Runs all data sets that exist; the report gets the table, the figure or both.
pub fn run(setting: &Setting<'_>, table: bool, figure: bool) -> Result<Results> {
    let (mut compared, mut absent) = (Vec::new(), Vec::new());
    for set in &SETS {
        match load(setting.data, set)? {
            Some((train, test)) => compared.push(compare(set, &train, &test, setting)?),
            None => absent.push(Block::Text(missing(setting.data, set))),
        }
    }
    let mut results = Results { rows: compared.iter().flat_map(rows).collect(), ..Results::default() };
    if table {
        let mut blocks = vec![Block::Table(sizes_table(&compared)), Block::Table(scores_table(&compared))];
        blocks.extend(compared.iter().map(remarks));
        blocks.extend(absent.iter().cloned());
        let title = "Tables 1 and 2: closeness to the exact softmax".into();
        results.sections.push(Section { id: "table-2".into(), title, blocks });
    }
    if figure {
        let mut blocks: Vec<Block> = compared.iter().map(curves_figure).collect();
        blocks.extend(absent);
        let title = "Figure 3: the bounds along training".into();
        results.sections.push(Section { id: "figure-3".into(), title, blocks });
        results.curves = compared.iter().map(curves_file).collect();
    }
    Ok(results)
}

/// Eq. 17: |w_softmax − w| / |w_softmax|, the sums of absolute values over all weights and biases.
pub fn norm(softmax: &Linear, other: &Linear) -> f64 {
    let (softmax, other) = (softmax.table(), other.table());
    let pairs = softmax.iter().zip(other.iter());
    let difference: f64 = pairs.map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs()).sum();
    difference / softmax.iter().map(|&a| f64::from(a).abs()).sum::<f64>()
}

/// Training and test rows with the classes of both, or `None` if the data set does not exist.
pub(super) fn load(folder: &Path, set: &Set) -> Result<Option<(Dataset, Dataset)>> {
    let (train, test) = (find(folder, set.name, set.train), find(folder, set.name, set.test));
    let Some((train, test)) = train.zip(test) else { return Ok(None) };
    let mut train = read(&train)?;
    let mut test = read(&test)?;
    let mut classes = train.classes.clone();
    classes.extend(test.classes.iter().filter(|class| !train.classes.contains(class)).cloned());
    train.use_classes(&classes);
    test.use_classes(&classes);
    Ok(Some((train, test)))
}

/// Says where a data set was looked for and what it is.
pub(super) fn missing(folder: &Path, set: &Set) -> String {
    let text = format!(
        "{} was not found: looked for {}/{}/{} and {} (.gz or not). The data set is {}.",
        set.name,
        folder.display(),
        set.name,
        set.train,
        set.test,
        set.origin
    );
    note!("{text}");
    text
}

fn compare(set: &'static Set, train: &Dataset, test: &Dataset, setting: &Setting<'_>) -> Result<Compared> {
    let (epochs, learning_rate) = set.stochastic;
    let settings = Settings {
        shared: json!({ "l2": 1.0, "seed": setting.seed }),
        stochastic: json!({
            "negatives": 1,
            "batch": BATCH,
            "epochs": epochs,
            "step": "sgd",
            "learning_rate": learning_rate,
        }),
        batch: json!({ "tolerance": TOLERANCE }),
    };
    let mut outcomes = Vec::new();
    for method in Method::ALL {
        note!("{}: {}", set.name, method.name());
        outcomes.push(run::comparison::run(method, &settings, train, test)?);
    }
    let sizes = [train.features(), train.classes.len(), train.len(), test.len()];
    Ok(Compared { set, sizes, outcomes })
}

impl Compared {
    fn norm(&self, outcome: &Outcome) -> f64 {
        norm(self.outcomes[0].linear(), outcome.linear())
    }
}

fn rows(compared: &Compared) -> Vec<serde_json::Value> {
    let row = |outcome: &Outcome| {
        json!({
            "set": compared.set.name,
            "method": outcome.method.name(),
            "norm": compared.norm(outcome),
            "error": outcome.evaluation.error,
            "nlpd": outcome.evaluation.nlpd,
            "bound": outcome.maximum,
            "train_seconds": outcome.train_seconds,
        })
    };
    compared.outcomes.iter().map(row).collect()
}

fn sizes_table(compared: &[Compared]) -> Table {
    let row = |compared: &Compared| {
        let cell = |(found, paper): (&usize, &usize)| {
            if found == paper { found.to_string() } else { format!("{found} (paper: {paper})") }
        };
        let sizes = compared.sizes.iter().zip(&compared.set.sizes).map(cell);
        std::iter::once(compared.set.name.to_owned()).chain(sizes).collect()
    };
    Table {
        caption: "Table 1 of the paper: the sizes of the data sets, with the paper's number where it differs.".into(),
        head: ["set", "features", "classes", "training rows", "test rows"].map(String::from).into(),
        rows: compared.iter().map(row).collect(),
    }
}

fn scores_table(compared: &[Compared]) -> Table {
    let cell = |ours: f64, paper: f64, digits: usize| {
        if paper.is_nan() { "—".to_owned() } else { format!("{ours:.digits$} ({paper:.digits$})") }
    };
    let row = |compared: &Compared, outcome: &Outcome| {
        let [norm, error, nlpd] = compared.set.paper[outcome.method as usize];
        vec![
            compared.set.name.to_owned(),
            outcome.method.name().to_owned(),
            cell(compared.norm(outcome), norm, 2),
            cell(outcome.evaluation.error, error, 3),
            cell(outcome.evaluation.nlpd, nlpd, 3),
            format!("{:.1}", outcome.maximum),
            format!("{:.1}", outcome.train_seconds),
        ]
    };
    let rows = compared.iter().flat_map(|compared| compared.outcomes.iter().map(move |outcome| row(compared, outcome)));
    Table {
        caption:
            "Table 2 of the paper: our values, and the paper's in brackets. Norm is eq. 17; error and nlpd are on \
                  the test rows; the bound is the maximised objective minus the penalty on the training rows."
                .into(),
        head: ["set", "method", "norm", "error", "nlpd", "bound", "seconds"].map(String::from).into(),
        rows: rows.collect(),
    }
}

/// The settings of a data set, and remarks.
fn remarks(compared: &Compared) -> Block {
    let (epochs, learning_rate) = compared.set.stochastic;
    let [.., full, sampled] = &compared.outcomes[..] else { unreachable!("four methods") };
    let (best, reached) = (full.maximum, sampled.maximum);
    Block::Settings(vec![
        ("set".into(), compared.set.name.into()),
        ("batch methods".into(), format!("L-BFGS until the gradient is {TOLERANCE:.0e} of the first")),
        (
            "stochastic".into(),
            format!(
                "{BATCH} rows with 1 negative each per update, {epochs} epochs, sgd with a learning rate of \
                 {learning_rate} decaying to zero"
            ),
        ),
        (
            "stochastic vs. batch".into(),
            format!("its bound is {:.2} % below the maximum", 100.0 * (best - reached) / best.abs()),
        ),
        ("remark".into(), compared.set.remark.into()),
    ])
}

fn curves_figure(compared: &Compared) -> Block {
    let layer = |outcome: &Outcome| {
        let window = if outcome.method == Method::OneVsEachStochastic { WINDOW } else { 1 };
        let curve = smooth(&outcome.curve, window);
        Layer::Line {
            name: outcome.method.name().into(),
            points: curve.iter().filter(|p| p.seconds > 0.0).map(|p| (p.seconds, p.bound)).collect(),
            style: outcome.method.style(),
        }
    };
    let best = compared.outcomes[0].maximum;
    let lowest = compared.outcomes.iter().map(|o| o.maximum).fold(f64::INFINITY, f64::min);
    let chart = Chart {
        title: format!("Bounds on {}", compared.set.name),
        x: Axis { label: "seconds".into(), log: true, ..Axis::default() },
        y: Axis {
            label: "log likelihood or bound, minus the penalty".into(),
            // Only the end of the curves; they start far below.
            range: Some((lowest - 1.5 * (best - lowest), best + 0.2 * (best - lowest))),
            ..Axis::default()
        },
        layers: compared.outcomes.iter().map(layer).collect(),
        ..Chart::default()
    };
    let caption = format!(
        "{}: one-vs-each ends closer to the exact softmax than Bouchard's bound. The stochastic curve is the mean of \
         the last {WINDOW} estimates.",
        compared.set.name
    );
    Block::Figure { chart, caption }
}

fn curves_file(compared: &Compared) -> (String, String) {
    let lines = compared.outcomes.iter().flat_map(|outcome| {
        let line = |p: &CurvePoint| format!("{},{},{},{}", outcome.method.name(), p.seconds, p.epochs, p.bound);
        outcome.curve.iter().map(line)
    });
    (format!("figure-3-{}.csv", compared.set.name), csv("method,seconds,epochs,bound", lines))
}
