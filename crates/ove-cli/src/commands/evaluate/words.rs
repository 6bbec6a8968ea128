//! `ove evaluate --analogies --similarities`: tests of word vectors.

use anyhow::{Result, bail};
use ove::model::{AnalogySection, WordVectors};
use serde_json::{Map, Value, json};

use super::Args;
use crate::terminal::say;

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    if args.data.is_some() {
        bail!("rows are evaluated without `analogies` and `similarities`; leave one or the other out");
    }
    let vectors = WordVectors::open(&args.model)?;
    let mut object = Map::new();
    object.insert("words".into(), vectors.words().len().into());
    if let Some(path) = &args.analogies {
        let found = vectors.analogies(path, None)?;
        let limited = vectors.analogies(path, Some(args.limit))?;
        for (name, all, some) in [
            ("semantic", found.semantic(), limited.semantic()),
            ("syntactic", found.syntactic(), limited.syntactic()),
            ("total", found.total(), limited.total()),
        ] {
            object.insert(name.into(), facts(&all));
            object.insert(format!("{name}_limited"), facts(&some));
            if !args.json {
                say!(
                    "{name:<16} {:.4} ({} of {} questions covered); among the first {} words {:.4} ({})",
                    all.accuracy(),
                    all.covered,
                    all.questions,
                    args.limit,
                    some.accuracy(),
                    some.covered
                )?;
            }
        }
        object.insert("sections".into(), serde_json::to_value(&found.sections)?);
    }
    let mut similarities = Vec::new();
    for path in &args.similarities {
        let found = vectors.similarities(path)?;
        let name = path.display().to_string();
        if !args.json {
            say!(
                "Spearman's rho   {:.4} ({} of {} pairs covered)  {name}",
                found.spearman,
                found.covered,
                found.pairs
            )?;
        }
        similarities.push(json!({
            "file": name, "spearman": found.spearman, "covered": found.covered, "pairs": found.pairs
        }));
    }
    if !similarities.is_empty() {
        object.insert("similarities".into(), similarities.into());
    }
    if args.json {
        say!("{}", Value::Object(object))?;
    }
    Ok(())
}

fn facts(section: &AnalogySection) -> Value {
    json!({
        "accuracy": section.accuracy(),
        "correct": section.correct,
        "covered": section.covered,
        "questions": section.questions,
    })
}
