//! `ove estimate`.

use std::path::PathBuf;

use anyhow::Result;
use ove::estimate::{Method, estimate};
use ove::options::Solver;
use ove::read::counts;
use serde_json::json;

use crate::flags::{LinearFlags, choice};
use crate::run::{interrupt, progress};
use crate::terminal::{note, say};

/// Estimate probabilities from counts
///
/// The non-parametric case of the paper: one free score per value. Exact likelihood and one-vs-each bound agree on
/// N_k/N; Bouchard's bound exaggerates.
#[derive(clap::Args)]
// Few scores are cheap to find exactly.
#[command(mut_arg("tolerance", |flag| flag.default_value("1e-10")))]
#[command(after_help = "Example: printf 'cat\\t7\\ndog\\t2\\n' | ove estimate - --objective bouchard")]
pub struct Args {
    /// A file with one count per line, or `name<TAB>count`; `-` is stdin
    counts: PathBuf,
    /// How the maximum is found; by its formula where there is one, else by batch, if not given
    #[arg(long, value_parser = choice!(Method))]
    method: Option<Method>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    linear: LinearFlags,
}

/// Estimates.
pub fn run(args: Args) -> Result<()> {
    let values = counts::read(&args.counts)?;
    let counts: Vec<u64> = values.iter().map(|value| value.count).collect();
    let occurring = counts.iter().filter(|&&count| count > 0).count();
    let options = args.linear.options(Solver::Stochastic);
    let method = args.method.unwrap_or(Method::best_for(options.objective, occurring));
    let mut line = progress::Line::new(counts.iter().sum::<u64>() as usize);
    let probabilities = interrupt::held(|| estimate(&counts, method, &options, &mut |progress| line.update(progress)))?;
    line.finish();
    if args.json {
        let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
        let object = json!({
            "objective": options.objective,
            "method": method,
            "names": names,
            "counts": counts,
            "probabilities": probabilities,
        });
        say!("{object}")?;
        return Ok(());
    }
    note!("{} by {method}", options.objective);
    for (value, p) in values.iter().zip(probabilities) {
        say!("{}\t{}\t{p:.8}", value.name, value.count)?;
    }
    Ok(())
}
