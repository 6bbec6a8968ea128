//! `ove convert`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use ove::io::write;
use ove::text::{Text, TextOptions};
use ove::{Dataset, Model};
use serde_json::json;

use crate::files;
use crate::flags::{DataFlags, TextFlags, ThreadFlags};
use crate::terminal::{printable, say};

/// Convert data to the format of the extreme classification (XMC) repository
///
/// Reads any supported format, including raw text, and numbers features and labels. A test set that is converted
/// together with its training set gets the same numbers; labels that occur only in the test set come last.
#[derive(clap::Args)]
#[command(after_help = "Example: ove convert train.tsv -o train.xmc --test test.tsv --test-output test.xmc --ngrams 2")]
pub struct Args {
    /// Labelled rows or texts
    data: PathBuf,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Test rows, converted with the same numbers
    #[arg(long, value_name = "DATA", requires = "test_output")]
    test: Option<PathBuf>,
    /// File to write the test rows to
    #[arg(long, value_name = "FILE", requires = "test")]
    test_output: Option<PathBuf>,
    /// Use the text settings, vocabulary and classes of a model
    #[arg(long, value_name = "MODEL")]
    like: Option<PathBuf>,
    /// File to write the label names to, one per line, in the order of their numbers; control characters are escaped
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    #[command(flatten)]
    input: DataFlags,
    #[command(flatten)]
    pub threads: ThreadFlags,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    text: TextFlags,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let start = Instant::now();
    files::separate(
        &[
            ("--output", Some(&args.output)),
            ("--test-output", args.test_output.as_ref()),
            ("--names", args.names.as_ref()),
        ],
        &[("the data", Some(&args.data)), ("--test", args.test.as_ref()), ("--like", args.like.as_ref())],
    )?;
    let (text, mut data) = first(&args)?;
    let test = match &args.test {
        Some(path) => {
            let mut test = args.input.read_with(text.as_ref(), &data.columns, path, true)?;
            test.extend_classes(&data.classes);
            data.extend_classes(&test.classes);
            Some(test)
        }
        None => None,
    };
    let features = data.features().max(test.as_ref().map_or(0, Dataset::features));
    let parts = [Some((&args.output, &data)), args.test_output.as_ref().zip(test.as_ref())];
    for (path, data) in parts.iter().flatten() {
        write::xmc(path, data, features, data.classes.len())?;
    }
    if let Some(path) = &args.names {
        files::write(path, &data.classes.iter().map(|name| format!("{}\n", printable(name))).collect::<String>())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        let rows: Vec<_> = parts.iter().flatten().map(|(path, data)| facts(path, data)).collect();
        say!("{}", json!({ "files": rows, "features": features, "labels": data.classes.len(), "seconds": seconds }))?;
        return Ok(());
    }
    for (path, data) in parts.iter().flatten() {
        say!("output           {} ({} rows)", path.display(), data.len())?;
    }
    say!("features         {features}")?;
    say!("labels           {}", data.classes.len())?;
    say!("seconds          {seconds:.2}")?;
    Ok(())
}

/// The rows that define the numbering, and their text pipeline if they were texts.
fn first(args: &Args) -> Result<(Option<Text>, Dataset)> {
    let Some(like) = &args.like else { return args.input.read(&args.data, &args.text.options(TextOptions::default())) };
    let card = Model::load(like)?.card;
    let mut data = args.input.read_with(card.text.as_ref(), &card.columns, &args.data, true)?;
    data.extend_classes(&card.classes);
    Ok((card.text, data))
}

fn facts(path: &Path, data: &Dataset) -> serde_json::Value {
    json!({ "path": path, "rows": data.len(), "entries": data.rows().entries() })
}
