//! `ove inspect`.

use std::path::PathBuf;

use anyhow::Result;
use ove::options::ScoreOptions;
use ove::{Error, Model, Scores};
use serde_json::{Value, json};

use crate::terminal::{printable, say};

/// Show the contents of a model
///
/// Prints its size, its settings, and the objective along training. With --class, prints the features with the largest
/// positive and negative weights of a class.
#[derive(clap::Args)]
pub struct Args {
    /// Model file
    model: PathBuf,
    /// Class to show, by its label or its name
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// Number of features to show for and against the class
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Read the whole file, and check its checksum and that all weights are finite
    #[arg(long)]
    verify: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let model = if args.verify { Model::load(&args.model) } else { Model::map(&args.model) }?;
    match &args.class {
        Some(name) => show_class(&model, name, &args),
        None => show_model(&model, args.json),
    }
}

fn show_model(model: &Model, as_json: bool) -> Result<()> {
    let card = &model.card;
    let mut options = serde_json::to_value(&card.options)?;
    if let Some(text) = &card.text {
        options["text"] = serde_json::to_value(text)?;
    }
    if !card.columns.is_empty() {
        options["columns"] = serde_json::to_value(&card.columns)?;
    }
    let second_stage = match &model.scores {
        Scores::Trees(trees) => trees.second_stage(),
        _ => None,
    };
    if as_json {
        let mut object = json!({
            "classes": model.classes(),
            "features": model.features(),
            "rows": card.rows,
            "finished": card.finished,
            "temperature": card.temperature,
            "threshold": model.several_labels().map(|logistic| logistic.threshold),
            "options": options,
            "trace": card.trace,
        });
        if let Some(mix) = second_stage {
            object["second_stage"] = json!({ "rivals": mix.rivals, "kappa": mix.kappa });
        }
        say!("{object}")?;
        return Ok(());
    }
    say!("{} classes, {} features, {} training rows", model.classes(), model.features(), card.rows)?;
    if !card.finished {
        say!("training was stopped before the end")?;
    }
    if let Some(logistic) = model.several_labels() {
        say!("several labels per row: a class is predicted from a probability of {:.3} on", logistic.threshold)?;
    }
    if let Some(ScoreOptions::Trees(trees)) = &card.options.scores {
        say!("nodes of trees ({}): one-vs-rest, squared hinge", trees.trees)?;
        match second_stage {
            Some(mix) => {
                let (objective, rivals, kappa) = (trees.objective, mix.rivals, mix.kappa);
                say!("second stage: {objective}, over the {rivals} best classes of a row, with κ {kappa:.2}")?;
            }
            None => say!("no second stage")?,
        }
    }
    let mut by_count: Vec<usize> = (0..card.classes.len()).collect();
    by_count.sort_by_key(|&k| std::cmp::Reverse(card.counts[k]));
    let most: Vec<String> = by_count
        .iter()
        .take(5)
        .map(|&k| format!("{} ({})", printable(&card.shown(k as u32)), card.counts[k]))
        .collect();
    say!("most frequent: {}", most.join(", "))?;
    say!("\noptions")?;
    if let Value::Object(options) = options {
        for (name, value) in options {
            say!("  {name:<16} {value}")?;
        }
    }
    say!("\nupdates      bound    bound per row")?;
    for point in card.trace.iter().step_by(card.trace.len().div_ceil(12).max(1)) {
        say!("{:>8}  {:>12.2}  {:>10.4}", point.updates, point.bound, point.bound / card.rows as f64)?;
    }
    Ok(())
}

fn show_class(model: &Model, name: &str, args: &Args) -> Result<()> {
    let card = &model.card;
    let class = card.find_class(name).ok_or_else(|| {
        let must = format!("be one of the model's {} classes, such as {}", card.classes.len(), card.classes[0]);
        Error::setting("class", must, format!("`{name}`"))
    })?;
    let weights = model.largest_weights(class, args.top);
    let (bias, count) = (model.bias(class), card.counts[class as usize]);
    let feature = |d: u32| card.feature_name(d as usize).map_or_else(|| format!("feature {d}"), str::to_owned);
    if args.json {
        let list = |weights: &[(u32, f32)]| -> Vec<Value> {
            weights.iter().map(|&(d, w)| json!({ "feature": feature(d), "index": d, "weight": w })).collect()
        };
        let mut object = json!({
            "class": card.classes[class as usize],
            "count": count,
            "bias": bias,
            "for": list(&weights.positive),
            "against": list(&weights.negative),
        });
        if let Some(name) = card.label_name(class) {
            object["name"] = name.into();
        }
        say!("{object}")?;
        return Ok(());
    }
    let bias = bias.map_or(String::new(), |bias| format!(", bias {bias:.4}"));
    say!("{}: {count} training rows{bias}", printable(&card.shown(class)))?;
    say!("\nlargest positive weights")?;
    for (d, w) in weights.positive {
        say!("  {w:>9.4}  {}", printable(&feature(d)))?;
    }
    say!("\nlargest negative weights")?;
    for (d, w) in weights.negative {
        say!("  {w:>9.4}  {}", printable(&feature(d)))?;
    }
    Ok(())
}
