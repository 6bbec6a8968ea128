//! `ove estimate`.

use std::path::PathBuf;

use anyhow::Result;
use ove::bound::Objective;
use ove::io::read::counts;
use ove::train::categorical::{CONVERGED, Method, estimate, options, relative_gradient};
use serde_json::json;

use crate::flags::{LinearFlags, ThreadFlags, choice};
use crate::run::{interrupt, progress};
use crate::terminal::{note, printable, say};

/// Estimate probabilities from counts
///
/// The non-parametric case of the paper: one free score per value. Exact likelihood and one-vs-each bound give N_k/N;
/// Bouchard's bound overestimates large probabilities.
#[derive(clap::Args)]
#[command(mut_arg("tolerance", |flag| flag.help("Stop when the gradient is this small [default: 1e-10]")))]
#[command(after_help = "Example: printf 'cat\\t7\\ndog\\t2\\n' | ove estimate - --objective bouchard")]
pub struct Args {
    /// A file with one count per line, or `name<TAB>count`; `-` is stdin
    counts: PathBuf,
    /// Method to find the maximum [default: the closed form if there is one, otherwise batch]
    #[arg(long, value_parser = choice!(Method))]
    method: Option<Method>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub threads: ThreadFlags,
    #[command(flatten)]
    linear: LinearFlags,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let values = counts::read(&args.counts)?;
    let counts: Vec<u64> = values.iter().map(|value| value.count).collect();
    let occurring = counts.iter().filter(|&&count| count > 0).count();
    let objective = args.linear.objective.objective.unwrap_or(Objective::OneVsEach);
    let method = args.method.unwrap_or(Method::best_for(objective, occurring));
    let options = options(method, &serde_json::to_value(&args.linear)?)?;
    let mut line = progress::Line::new(counts.iter().sum::<u64>() as usize);
    let probabilities = interrupt::held(|| {
        estimate(&counts, method, &options, &mut |progress, _| {
            line.update(progress);
            interrupt::flow()
        })
    })?;
    line.finish();
    let gradient = relative_gradient(&counts, &probabilities, &options);
    let converged = gradient.map(|gradient| gradient <= CONVERGED);
    if args.json {
        let names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
        let object = json!({
            "objective": objective,
            "method": method,
            "names": names,
            "counts": counts,
            "probabilities": probabilities,
            "gradient": gradient,
            "converged": converged,
        });
        say!("{object}")?;
        return Ok(());
    }
    match (method, gradient) {
        (Method::Stochastic, Some(gradient)) => {
            let (found, advice) = match converged {
                Some(true) => ("converged", ""),
                _ => ("not converged", "; try more --epochs or another --learning-rate"),
            };
            let share = 100.0 * gradient;
            let what = format!("the gradient is {share:.1} % of that at equal probabilities");
            note!("{objective} by {method}: {found}, {what}{advice}");
        }
        _ => note!("{objective} by {method}"),
    }
    for (value, p) in values.iter().zip(probabilities) {
        say!("{}\t{}\t{p:.8}", printable(&value.name), value.count)?;
    }
    Ok(())
}
