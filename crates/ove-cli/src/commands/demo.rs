//! `ove demo`.

use std::path::PathBuf;

use anyhow::Result;
use ove::Dataset;
use ove::synthetic::{self, Sparse};
use ove_report::comparison::{self, Method, Outcome};
use ove_report::{Block, Chart, Page, Section, Table};
use serde_json::json;

use crate::files;
use crate::flags::ThreadFlags;
use crate::run;
use crate::run::comparison::Settings;
use crate::terminal::{note, say};

/// Demonstrate the method on synthetic data
///
/// Generates the paper's data set of five classes in the plane and a sparse one with 1,000 classes, trains with the
/// exact softmax, Bouchard's bound and the one-vs-each bound (on all rows and classes, and sampled), prints a table and
/// writes a page with plots.
#[derive(clap::Args)]
pub struct Args {
    /// Folder to write the page and the plots to
    #[arg(short, long, value_name = "DIR", default_value = "demo")]
    output: PathBuf,
    /// Seed of the data and of the sampling
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    pub threads: ThreadFlags,
    /// Print the table as one JSON object
    #[arg(long)]
    json: bool,
}

/// A data set of the demo with the outcome of each method.
struct Part {
    name: &'static str,
    data: Dataset,
    settings: Settings,
    outcomes: Vec<Outcome>,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    files::folder(&args.output)?;
    let parts = [plane(&args)?, sparse(&args)?];
    let charts = [
        ("plane", comparison::plane(&parts[0].data, &parts[0].outcomes)),
        ("plane-bounds", comparison::bounds("Five classes: the sampled bound during training", &parts[0].outcomes)),
        (
            "sparse-bounds",
            comparison::bounds("A thousand classes: the sampled bound during training", &parts[1].outcomes),
        ),
    ];
    for (name, chart) in &charts {
        files::write(&args.output.join(format!("{name}.svg")), &chart.standalone_svg())?;
    }
    let page = args.output.join("index.html");
    files::write(&page, &report(&parts, charts.map(|(_, chart)| chart)).html())?;

    if args.json {
        say!("{}", json!({ "rows": parts.iter().flat_map(Part::json).collect::<Vec<_>>(), "page": page }))?;
    } else {
        say!("{}\nplots: {}", table(&parts).text(), page.display())?;
    }
    Ok(())
}

fn part(name: &'static str, data: Dataset, test: Option<&Dataset>, settings: Settings) -> Result<Part> {
    let mut outcomes = Vec::new();
    for method in Method::ALL {
        note!("{name}: {}", method.name());
        outcomes.push(run::comparison::run(method, &settings, &data, test.unwrap_or(&data))?);
    }
    Ok(Part { name, data, settings, outcomes })
}

/// The data of figure 1b, with the paper's sampling: batches of ten rows, one negative each.
fn plane(args: &Args) -> Result<Part> {
    let settings = Settings {
        shared: json!({ "l2": 0.1, "seed": args.seed }),
        stochastic: json!({ "negatives": 1, "batch": 10, "epochs": 60, "step": "sgd", "learning_rate": 0.05 }),
        batch: json!({}),
    };
    part("plane", synthetic::plane(200, args.seed), None, settings)
}

fn sparse(args: &Args) -> Result<Part> {
    let shape = Sparse { rows: 6000, features: 2000, classes: 1000, entries: 15, signal: 0.5 };
    let data = synthetic::sparse(shape, args.seed, 0);
    let mut test = synthetic::sparse(Sparse { rows: 2000, ..shape }, args.seed, 1);
    test.use_classes(&data.classes);
    let settings = Settings {
        shared: json!({ "l2": 0.1, "seed": args.seed }),
        stochastic: json!({ "negatives": 20, "batch": 64, "epochs": 20, "step": "adagrad", "learning_rate": 0.5 }),
        // Sufficient for a table and a plot.
        batch: json!({ "tolerance": 1e-3 }),
    };
    part("sparse", data, Some(&test), settings)
}

fn table(parts: &[Part]) -> Table {
    let head = ["set", "method", "error", "nlpd", "bound per row", "gap per row", "seconds"];
    Table {
        caption: "Error and nlpd are computed over all classes; the bound is the maximised objective, and the gap its \
                  distance to the exact log likelihood. The plane data are evaluated on the training points, the \
                  sparse data on held-out rows."
            .into(),
        head: head.map(String::from).into(),
        rows: parts.iter().flat_map(Part::cells).collect(),
    }
}

impl Part {
    fn cells(&self) -> Vec<Vec<String>> {
        let cells = |outcome: &Outcome| {
            let rows = outcome.evaluation.rows as f64;
            vec![
                self.name.to_owned(),
                outcome.method.name().to_owned(),
                format!("{:.3}", outcome.evaluation.error),
                format!("{:.3}", outcome.evaluation.nlpd),
                format!("{:.3}", outcome.evaluation.bound.unwrap_or_default() / rows),
                format!("{:.3}", (outcome.evaluation.gap.unwrap_or_default() / rows).abs()),
                format!("{:.2}", outcome.train_seconds),
            ]
        };
        self.outcomes.iter().map(cells).collect()
    }

    fn json(&self) -> Vec<serde_json::Value> {
        let object = |outcome: &Outcome| {
            json!({
                "set": self.name,
                "method": outcome.method.name(),
                "error": outcome.evaluation.error,
                "nlpd": outcome.evaluation.nlpd,
                "bound": outcome.evaluation.bound,
                "gap": outcome.evaluation.gap,
                "train_seconds": outcome.train_seconds,
            })
        };
        self.outcomes.iter().map(object).collect()
    }
}

fn report(parts: &[Part], charts: [Chart; 3]) -> Page {
    let [plane, plane_bounds, sparse_bounds] = charts;
    let figure = |chart, caption: &str| Block::Figure { chart, caption: caption.into() };
    let settings = |part: &Part| {
        let (shared, o) = (&part.settings.shared, &part.settings.stochastic);
        let sampling = format!("{} rows, {} negatives each, {} epochs", o["batch"], o["negatives"], o["epochs"]);
        let step = o["step"].as_str().unwrap_or_default();
        Block::Settings(vec![
            ("rows".into(), part.data.len().to_string()),
            ("features".into(), part.data.features().to_string()),
            ("classes".into(), part.data.classes.len().to_string()),
            ("penalty λ".into(), shared["l2"].to_string()),
            ("per update".into(), sampling),
            ("step".into(), format!("{step}, learning rate {}", o["learning_rate"])),
            ("seed".into(), shared["seed"].to_string()),
        ])
    };
    let section = |id: &str, title: &str, blocks| Section { id: id.into(), title: title.into(), blocks };
    Page {
        title: "ove demo".into(),
        lead: "The one-vs-each bound replaces a softmax over all classes by a product over pairs of classes, so that \
               training needs only a few rows and a few classes at a time. Here it is compared with the exact softmax \
               and Bouchard's bound on synthetic data."
            .into(),
        sections: vec![
            section("results", "Results", vec![Block::Table(table(parts))]),
            section(
                "plane",
                "Five classes in the plane",
                vec![
                    figure(plane, "The decision boundaries of the three methods that use all rows and classes."),
                    figure(
                        plane_bounds,
                        "The sampled bound uses ten rows and one negative each at a time; averaged over an epoch it \
                         approaches the maximum of the full bound. One-vs-each is closer to the exact likelihood than \
                         Bouchard's bound.",
                    ),
                    settings(&parts[0]),
                ],
            ),
            section(
                "sparse",
                "A thousand classes",
                vec![
                    figure(sparse_bounds, "Each update samples twenty of the 999 negatives of a row."),
                    settings(&parts[1]),
                ],
            ),
        ],
    }
}
