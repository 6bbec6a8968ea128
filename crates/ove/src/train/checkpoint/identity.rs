//! The identity of a run: its settings and digests of its data. A checkpoint is resumed only if all of these match.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::{Examples, Interactions};
use crate::error::{Error, Result};
use crate::options::{EmbeddingOptions, RecommenderOptions, TrainOptions};
use crate::platform::digest::Digest;
use crate::text::WordCounts;

/// The settings of a run, and digests of all its inputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    options: Value,
    rows: usize,
    features: usize,
    classes: usize,
    entries_sum: u64,
    labels_sum: u64,
    row_weights_sum: u64,
    /// Digest of the initial weights.
    start_sum: Option<u64>,
    /// Digest of the validation rows.
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
            options: serde_json::to_value(options).expect("options are JSON"),
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

    /// The identity of the run of a recommender: its rows are the users, its classes the items.
    pub(crate) fn of_interactions(data: &Interactions, options: &RecommenderOptions) -> Self {
        let mut labels = Digest::default();
        labels.update(bytemuck::cast_slice(data.offsets()));
        labels.update(bytemuck::cast_slice(data.items()));
        Identity {
            options: serde_json::to_value(options).expect("options are JSON"),
            rows: data.len(),
            classes: data.item_count(),
            labels_sum: labels.finish(),
            row_weights_sum: Digest::of(bytemuck::cast_slice(data.weights())),
            ..Identity::default()
        }
    }

    /// The identity of the run of an embedding: its rows are the words of the text, its classes the distinct ones.
    pub(crate) fn of_words(words: &WordCounts, options: &EmbeddingOptions) -> Self {
        let mut labels = Digest::default();
        words.words().iter().for_each(|word| {
            labels.update(&word.len().to_le_bytes());
            labels.update(word.as_bytes());
        });
        labels.update(bytemuck::cast_slice(words.counts()));
        Identity {
            options: serde_json::to_value(options).expect("options are JSON"),
            rows: words.counts().iter().sum::<u64>() as usize,
            classes: words.words().len(),
            labels_sum: labels.finish(),
            ..Identity::default()
        }
    }

    /// Adopts the epochs and the learning rate that the run had chosen, unless they are given.
    pub(crate) fn adopt_choices(&self, given: &TrainOptions, options: &mut TrainOptions) {
        let (epochs, rate) = (&self.options["epochs"], &self.options["learning_rate"]);
        let epochs = epochs.as_u64().map(|epochs| epochs as usize);
        options.epochs = given.epochs.or(epochs).or(options.epochs);
        options.learning_rate = given.learning_rate.or(rate.as_f64()).or(options.learning_rate);
    }

    /// The number of epochs of the run.
    pub(crate) fn epochs(&self) -> Option<usize> {
        self.options["epochs"].as_u64().map(|epochs| epochs as usize)
    }

    /// Checks that another run has the same options and shape, so that the two can be merged.
    pub(crate) fn check_options(&self, other: &Identity) -> Result<()> {
        let of = |identity: &Identity| Identity {
            options: identity.options.clone(),
            features: identity.features,
            classes: identity.classes,
            ..Identity::default()
        };
        of(self).check(&of(other))
    }

    /// Checks that a state belongs to this run; the error names the first difference.
    pub(crate) fn check(&self, saved: &Identity) -> Result<()> {
        let differ = |message: String| Err(Error::Mismatch(message));
        if let Some((name, now, then)) = first_difference(&self.options, &saved.options) {
            return differ(format!("`{name}` is {now}; the checkpoint was written with {then}"));
        }
        for (what, now, then) in [
            ("rows", self.rows, saved.rows),
            ("features", self.features, saved.features),
            ("classes", self.classes, saved.classes),
        ] {
            if now != then {
                return differ(format!("the data has {now} {what}; the checkpoint was written with {then}"));
            }
        }
        for (what, same) in [
            ("features or values of the rows", self.entries_sum == saved.entries_sum),
            ("labels of the rows", self.labels_sum == saved.labels_sum),
            ("weights of the rows", self.row_weights_sum == saved.row_weights_sum),
            ("weights to start from", self.start_sum == saved.start_sum),
            ("validation rows", self.held_out_sum == saved.held_out_sum),
        ] {
            if !same {
                return differ(format!("the {what} are not those that the checkpoint was written with"));
            }
        }
        Ok(())
    }
}

/// The name, as on the command line, and both values of the first setting that differs.
fn first_difference(now: &Value, then: &Value) -> Option<(String, String, String)> {
    let (Value::Object(now), Value::Object(then)) = (now, then) else { return None };
    let mut names: Vec<&String> = now.keys().chain(then.keys()).collect();
    names.sort_unstable();
    // A setting that an earlier version did not have is not set.
    let is_set = |value: &&Value| !value.is_null();
    let name = names.into_iter().find(|name| now.get(*name).filter(is_set) != then.get(*name).filter(is_set))?;
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

/// Digests of the features with values, and of the labels.
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
