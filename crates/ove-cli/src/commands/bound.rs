//! `ove bound`.

use anyhow::Result;
use ove::Error;
use ove::bound::objective;
use serde_json::json;

use crate::terminal::say;

/// Compare the bounds on one probability
///
/// Prints the exact log probability of one class and its lower bounds, from the scores of all classes.
#[derive(clap::Args)]
#[command(after_help = "Example: ove bound --scores 1.2,0.3,-0.7 --class 0 --merge 1,2")]
pub struct Args {
    /// The scores of all classes
    #[arg(long, value_delimiter = ',', required = true, allow_hyphen_values = true, value_name = "F,F,…")]
    scores: Vec<f64>,
    /// The class whose probability is bounded, from 0
    #[arg(long, value_name = "K")]
    class: usize,
    /// Classes that share one logarithm in the merged bound
    #[arg(long, value_delimiter = ',', value_name = "K,K,…")]
    merge: Vec<usize>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    check(&args)?;
    // The class first, then those of C, then the rest.
    let mut order = vec![args.class];
    order.extend(&args.merge);
    order.extend((0..args.scores.len()).filter(|k| *k != args.class && !args.merge.contains(k)));
    let scores: Vec<f64> = order.iter().map(|&k| args.scores[k]).collect();
    let ones = vec![1.0; scores.len() - 1];
    let inside = args.merge.len();

    let exact = objective::softmax(&mut scores.clone());
    let one_vs_each = objective::one_vs_each(&mut scores.clone(), &ones);
    let merged = objective::merged(&mut scores.clone(), inside, &ones[inside..]);
    let (bouchard, alpha) = objective::bouchard(&mut scores.clone());
    if args.json {
        let object = json!({
            "exact": exact,
            "one_vs_each": one_vs_each,
            "merged": merged,
            "bouchard": bouchard,
            "bouchard_alpha": alpha,
        });
        say!("{object}")?;
        return Ok(());
    }
    say!("{:<12} {:>14} {:>12}  {:>12}", "", "log p", "p", "gap")?;
    for (name, value) in [("exact", exact), ("one-vs-each", one_vs_each), ("merged", merged), ("bouchard", bouchard)] {
        say!("{name:<12} {value:>14.6} {:>12.6}  {:>12.6}", value.exp(), exact - value)?;
    }
    say!("Bouchard's α is {alpha:.6}; merged has {inside} classes in one logarithm")?;
    Ok(())
}

fn check(args: &Args) -> Result<(), Error> {
    let classes = args.scores.len();
    let reject = |name: &str, got: String, must: String| Err(Error::setting(name, must, got));
    if classes < 2 {
        return reject("scores", format!("{classes} number"), "have at least two numbers, one per class".into());
    }
    if let Some(f) = args.scores.iter().find(|f| !f.is_finite()) {
        return reject("scores", f.to_string(), "be finite".into());
    }
    let range = format!("be between 0 and {}", classes - 1);
    if args.class >= classes {
        return reject("class", args.class.to_string(), range);
    }
    for (i, &k) in args.merge.iter().enumerate() {
        if k >= classes {
            return reject("merge", k.to_string(), range);
        }
        if k == args.class || args.merge[..i].contains(&k) {
            return reject("merge", k.to_string(), "list each of the other classes at most once".into());
        }
    }
    Ok(())
}
