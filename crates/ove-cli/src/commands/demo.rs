//! `ove demo`: the main job on made texts, and what each bound costs and gains.

mod job;
mod method;
mod titles;

use std::path::PathBuf;

use anyhow::Result;
use ove::synthetic;
use ove_report::comparison::{self, Method, Outcome};
use ove_report::{Block, Chart, Page, Section};
use serde_json::json;

use crate::files;
use crate::flags::ThreadFlags;
use crate::run;
use crate::run::comparison::Settings;
use crate::terminal::{note, say};

/// Show what `ove` does, on made data, in about a minute
///
/// Trains on 30,000 made titles in a thousand classes, explains predictions and measures them on new titles; then
/// compares the paper's bound with the exact softmax and with other bounds from 5 to 10,000 classes. Writes a page with
/// all of it, and the model and its data to go on with.
#[derive(clap::Args)]
pub struct Args {
    /// Folder to write the page, the titles and the model to
    #[arg(short, long, value_name = "DIR", default_value = "demo")]
    output: PathBuf,
    /// Seed of the data and of the sampling
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// A tenth of the rows, and at most 100 classes where bounds are compared: a few seconds
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    pub threads: ThreadFlags,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    files::folder(&args.output)?;
    let job = job::run(&args)?;
    let method = method::run(&args)?;
    let plane = plane(args.seed)?;
    let mut sections = job.sections();
    sections.extend(method.sections());
    sections.push(plane_section(args.seed, &plane));
    let page = Page {
        title: "ove: softmax models with very many classes".into(),
        lead: "A model of short texts in a thousand classes, from its data to its explanations; and the method behind it: what \
               the one-vs-each bound costs and gains beside the exact softmax. All data are made, and every figure was \
               measured in this run."
            .into(),
        sections,
    };
    let path = args.output.join("index.html");
    files::write(&path, &page.html())?;
    for (name, chart) in method.charts() {
        files::write(&args.output.join(format!("{name}.svg")), &chart.standalone_svg())?;
    }
    if args.json {
        say!("{}", json!({ "job": job.json(), "method": method.json(), "page": path }))?;
        return Ok(());
    }
    job.print()?;
    say!("\n{}", method.table().text())?;
    say!("page: {}", path.display())?;
    say!("next: ove serve {}", job.model_path.display())?;
    Ok(())
}

/// The data of figure 1b, with the paper's sampling: batches of ten rows, one negative each.
fn plane(seed: u64) -> Result<Vec<Outcome>> {
    let settings = Settings {
        shared: json!({ "l2": 0.1, "seed": seed }),
        stochastic: json!({ "negatives": 1, "batch": 10, "epochs": 60, "step": "sgd", "learning_rate": 0.05 }),
        batch: json!({}),
    };
    let data = synthetic::plane(200, seed);
    note!("five classes in the plane");
    Method::ALL.iter().map(|&method| run::comparison::run(method, &settings, &data, &data)).collect()
}

fn plane_section(seed: u64, outcomes: &[Outcome]) -> Section {
    let figure = |chart: Chart, caption: &str| Block::Figure { chart, caption: caption.into() };
    let data = synthetic::plane(200, seed);
    Section {
        id: "plane".into(),
        title: "The paper's picture: five classes in the plane".into(),
        blocks: vec![
            figure(
                comparison::plane(&data, outcomes),
                "The decision boundaries of three objectives, maximised over all rows and classes.",
            ),
            figure(
                comparison::bounds("The sampled bound during training", outcomes),
                "The sampled bound sees ten rows and one negative each at a time; averaged over an epoch it approaches the \
                 maximum of the full bound. One-vs-each is closer to the exact likelihood than Bouchard's bound.",
            ),
        ],
    }
}
