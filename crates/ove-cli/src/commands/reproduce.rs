//! `ove reproduce`: the paper's experiments in one report.
//!
//! Each part returns a section of the page, rows for `--json` and curves for CSV files.

mod figure_1;
mod figure_2;
mod large;
mod likelihood;
mod small;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;
use ove::Dataset;
use ove::io::read::ReadOptions;
use ove_report::{Block, Chart, Page, Section};
use serde_json::{Value, json};

use crate::files;
use crate::flags::ThreadFlags;
use crate::run::memory;
use crate::terminal::say;

/// Reproduce the paper's experiments
///
/// Writes report.html, a self-contained page with all figures and tables next to the paper's numbers, and the curves as
/// CSV files. A part without its data reports which files it needs; the others run.
#[derive(clap::Args)]
#[command(after_help = "Example: ove reproduce all --data data -o report")]
pub struct Args {
    /// Part of the paper
    #[arg(value_enum, default_value_t = Part::All)]
    part: Part,
    /// Folder with the data sets, one subfolder each: mnist, 20news, bibtex, amazoncat-13k, yso-titles
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Folder to write the report to
    #[arg(short, long, value_name = "DIR", default_value = "report")]
    output: PathBuf,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    pub threads: ThreadFlags,
    /// Print the results as one JSON object
    #[arg(long)]
    json: bool,
}

/// The parts of the paper.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Non-parametric probabilities, decision boundaries, and the sampled bound
    #[value(name = "figure-1")]
    Figure1,
    /// A million points over ten thousand values
    #[value(name = "figure-2")]
    Figure2,
    /// The bounds along training on three data sets
    #[value(name = "figure-3")]
    Figure3,
    /// Closeness, error and nlpd on three data sets
    #[value(name = "table-2")]
    Table2,
    /// Error, nlpd and cost per update of five objectives, all trained by stochastic steps
    #[value(name = "likelihood")]
    Likelihood,
    /// One update per row at large scale
    #[value(name = "large")]
    Large,
    /// All parts
    #[value(name = "all")]
    All,
}

/// The inputs of every part.
pub struct Setting<'a> {
    /// The folder with the data sets.
    pub data: &'a Path,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// The results of a part.
#[derive(Default)]
pub struct Results {
    /// Sections of the report.
    pub sections: Vec<Section>,
    /// Rows for `--json`.
    pub rows: Vec<Value>,
    /// Curves: file names and contents.
    pub curves: Vec<(String, String)>,
}

impl Results {
    fn add(&mut self, other: Results) {
        self.sections.extend(other.sections);
        self.rows.extend(other.rows);
        self.curves.extend(other.curves);
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    files::folder(&args.output)?;
    let setting = Setting { data: &args.data, seed: args.seed };
    let wants = |parts: &[Part]| args.part == Part::All || parts.contains(&args.part);
    let start = Instant::now();
    let mut results = Results::default();
    if wants(&[Part::Figure1]) {
        results.add(figure_1::run(&setting)?);
    }
    if wants(&[Part::Figure2]) {
        results.add(figure_2::run(&setting)?);
    }
    if wants(&[Part::Table2, Part::Figure3]) {
        results.add(small::run(&setting, wants(&[Part::Table2]), wants(&[Part::Figure3]))?);
    }
    if wants(&[Part::Likelihood]) {
        results.add(likelihood::run(&setting)?);
    }
    if wants(&[Part::Large]) {
        results.add(large::run(&setting)?);
    }
    let seconds = start.elapsed().as_secs_f64();

    let report = args.output.join("report.html");
    for (name, text) in &results.curves {
        files::write(&args.output.join(name), text)?;
    }
    for (name, chart) in results.sections.iter().flat_map(charts) {
        files::write(&args.output.join(name), &chart.standalone_svg())?;
    }
    files::write(&report, &page(results.sections, args.seed, seconds).html())?;
    if args.json {
        say!("{}", json!({ "rows": results.rows, "report": report, "seconds": seconds }))?;
    } else {
        say!("{}", report.display())?;
    }
    Ok(())
}

fn page(mut sections: Vec<Section>, seed: u64, seconds: f64) -> Page {
    let peak = memory::peak_bytes().map_or("unknown".into(), |bytes| memory::Bytes(bytes).to_string());
    let run = Block::Settings(vec![
        ("version".into(), env!("CARGO_PKG_VERSION").into()),
        ("seed".into(), seed.to_string()),
        ("threads".into(), std::thread::available_parallelism().map_or("unknown".into(), |n| n.to_string())),
        ("total time".into(), format!("{seconds:.1} s")),
        ("peak memory".into(), peak),
    ]);
    sections.push(Section { id: "run".into(), title: "This run".into(), blocks: vec![run] });
    Page {
        title: "One-vs-each, reproduced".into(),
        lead: "The experiments of “One-vs-Each Approximation to Softmax for Scalable Estimation of Probabilities” \
               (Titsias, 2016), reproduced. The paper's numbers are shown next to ours where it gives any."
            .into(),
        sections,
    }
}

/// The charts of a section, each with a file name.
fn charts(section: &Section) -> impl Iterator<Item = (String, &Chart)> {
    let charts = section.blocks.iter().filter_map(|block| match block {
        Block::Figure { chart, .. } => Some(chart),
        _ => None,
    });
    charts.enumerate().map(|(i, chart)| (format!("{}-{}.svg", section.id, i + 1), chart))
}

/// The file of a data set, gzipped or not, if it exists.
fn find(data: &Path, set: &str, name: &str) -> Option<PathBuf> {
    let folder = data.join(set);
    [folder.join(name), folder.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
}

/// Reads a data set as in the paper, with only the first label of each row.
fn read(path: &Path) -> Result<Dataset> {
    Ok(ove::io::read::read(path, &ReadOptions { first_label: true, ..ReadOptions::default() })?)
}

/// A CSV file with these columns.
fn csv(head: &str, rows: impl Iterator<Item = String>) -> String {
    std::iter::once(head.to_owned()).chain(rows).map(|line| line + "\n").collect()
}
