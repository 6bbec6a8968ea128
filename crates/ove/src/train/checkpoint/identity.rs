//! What a run is of: its settings and its data. A checkpoint goes on only where all of it is the same.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::Examples;
use crate::error::{Error, Result};
use crate::options::TrainOptions;
use crate::platform::digest::Digest;

/// The settings, and the sums of everything that training reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
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
    pub(crate) fn new(
        examples: &Examples<'_>,
        options: &TrainOptions,
        start_sum: Option<u64>,
        validation: Option<&Examples<'_>>,
    ) -> Self {
        let (entries_sum, labels_sum) = sums(examples);
        Identity {
            options: serde_json::to_value(options).expect("settings are numbers and names"),
            rows: examples.len(),
            features: examples.rows.features(),
            classes: examples.classes,
            entries_sum,
            labels_sum,
            row_weights_sum: Digest::of(bytemuck::cast_slice(examples.row_weights)),
            start_sum,
            held_out_sum: validation.map(sums).map(|(entries, labels)| entries ^ labels.rotate_left(1)),
        }
    }

    /// Takes over the epochs and the learning rate that the run had chosen, where they are not given.
    pub(crate) fn adopt_choices(&self, given: &TrainOptions, options: &mut TrainOptions) {
        let (epochs, rate) = (&self.options["epochs"], &self.options["learning_rate"]);
        let epochs = epochs.as_u64().map(|epochs| epochs as usize);
        options.epochs = given.epochs.or(epochs).or(options.epochs);
        options.learning_rate = given.learning_rate.or(rate.as_f64()).or(options.learning_rate);
    }

    /// Refuses to merge with a run that has other options or another shape.
    pub(crate) fn check_options(&self, other: &Identity) -> Result<()> {
        let of = |identity: &Identity| Identity {
            options: identity.options.clone(),
            features: identity.features,
            classes: identity.classes,
            ..Identity::default()
        };
        of(self).check(&of(other))
    }

    /// Refuses to go on with what was kept of another run, and says in what they differ.
    pub(crate) fn check(&self, kept: &Identity) -> Result<()> {
        let differ = |message: String| Err(Error::Mismatch(message));
        if let Some((name, now, then)) = first_difference(&self.options, &kept.options) {
            return differ(format!("`{name}` is {now}; the checkpoint was written with {then}"));
        }
        for (what, now, then) in [
            ("rows", self.rows, kept.rows),
            ("features", self.features, kept.features),
            ("classes", self.classes, kept.classes),
        ] {
            if now != then {
                return differ(format!("the data has {now} {what}; the checkpoint was written with {then}"));
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
                return differ(format!("the {what} are not those that the checkpoint was written with"));
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
    if let (Some(now @ Value::Object(_)), Some(then @ Value::Object(_))) = (now.get(name), then.get(name)) {
        return first_difference(now, then);
    }
    let show = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "not set".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    Some((name.replace('_', "-"), show(now.get(name)), show(then.get(name))))
}

/// The sums of features with values, and of labels.
fn sums(examples: &Examples<'_>) -> (u64, u64) {
    let (mut entries, mut labels) = (Digest::default(), Digest::default());
    examples.each(|id, row| {
        entries.update(&row.indices.len().to_le_bytes());
        entries.update(bytemuck::cast_slice(row.indices));
        entries.update(bytemuck::cast_slice(row.values));
        let own = &examples.labels[id];
        labels.update(&own.len().to_le_bytes());
        labels.update(bytemuck::cast_slice(own));
    });
    (entries.finish(), labels.finish())
}
