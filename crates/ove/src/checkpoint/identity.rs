//! What a run is of: its settings and its data. A checkpoint goes on only where all of it is the same.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::Rows;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::solve::{Begin, Problem};

/// The settings, and the sums of everything that training reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Without threads, which change nothing.
    options: Value,
    rows: usize,
    features: usize,
    classes: usize,
    entries_sum: u64,
    labels_sum: u64,
    row_weights_sum: u64,
    /// Of the weights that the run started from.
    start_sum: Option<u64>,
    /// Of the rows that may end it.
    held_out_sum: Option<u64>,
}

impl Identity {
    pub fn new(problem: &Problem<'_>, options: &impl Serialize, begin: &Begin<'_>) -> Self {
        Identity {
            options: serde_json::to_value(options).expect("settings are numbers and names"),
            rows: problem.rows.len(),
            features: problem.rows.features(),
            classes: problem.classes,
            entries_sum: entries_sum(problem.rows),
            labels_sum: labels_sum(problem.labels),
            row_weights_sum: Digest::of(bytemuck::cast_slice(problem.row_weights)),
            start_sum: begin.start.map(|linear| Digest::of(bytemuck::cast_slice(&linear.table()[..]))),
            held_out_sum: begin.held_out.map(|held| entries_sum(held.rows) ^ labels_sum(held.labels).rotate_left(1)),
        }
    }

    /// Refuses to go on with what was kept of another run, and says in what they differ.
    pub fn check(&self, kept: &Identity) -> Result<()> {
        let differ = |found: String, allowed: String| Err(Error::Mismatch { found, allowed });
        if let Some((name, now, then)) = first_difference(&self.options, &kept.options) {
            return differ(format!("{name} is {now}"), format!("the checkpoint was written with {then}"));
        }
        for (what, now, then) in [
            ("rows", self.rows, kept.rows),
            ("features", self.features, kept.features),
            ("classes", self.classes, kept.classes),
        ] {
            if now != then {
                return differ(format!("{now} {what}"), format!("the checkpoint was written with {then}"));
            }
        }
        for (what, same) in [
            ("features or values of rows", self.entries_sum == kept.entries_sum),
            ("labels of rows", self.labels_sum == kept.labels_sum),
            ("weights of rows", self.row_weights_sum == kept.row_weights_sum),
            ("weights to start from", self.start_sum == kept.start_sum),
            ("held-out rows", self.held_out_sum == kept.held_out_sum),
        ] {
            if !same {
                return differ(
                    format!("other {what}"),
                    "a checkpoint goes on with the data it was written with".into(),
                );
            }
        }
        Ok(())
    }
}

/// The name and both values of a setting that differs, named as on the command line.
fn first_difference(now: &Value, then: &Value) -> Option<(String, String, String)> {
    let (Value::Object(now), Value::Object(then)) = (now, then) else { return None };
    let mut names: Vec<&String> = now.keys().chain(then.keys()).collect();
    names.sort_unstable();
    let name = names.into_iter().find(|name| now.get(*name) != then.get(*name))?;
    let show = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "not set".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    Some((name.replace('_', "-"), show(now.get(name)), show(then.get(name))))
}

fn entries_sum(rows: Rows<'_>) -> u64 {
    let mut digest = Digest::default();
    rows.each(|row| {
        digest.update(&row.indices.len().to_le_bytes());
        digest.update(bytemuck::cast_slice(row.indices));
        digest.update(bytemuck::cast_slice(row.values));
    });
    digest.finish()
}

fn labels_sum(labels: &Labels) -> u64 {
    let mut digest = Digest::default();
    for labels in labels.iter() {
        digest.update(&labels.len().to_le_bytes());
        digest.update(bytemuck::cast_slice(labels));
    }
    digest.finish()
}
