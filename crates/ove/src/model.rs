//! A trained model of either form, with everything that a file keeps of it.

use std::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::data::{Row, Rows};
use crate::error::Result;
use crate::evaluate::{Evaluation, or_infinite};
use crate::forest::{Forest, Search};
use crate::linear::{Linear, Prediction};
use crate::options::{ForestOptions, Options};
use crate::solve::in_pool;
use crate::text::Text;

/// A point of the curve that training leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TracePoint {
    /// Updates (rows visited) so far; for the batch solver, evaluations of the full sum.
    pub updates: u64,
    /// The objective summed over all rows, without the penalty: exact from the batch solver, an unbiased estimate, averaged
    /// over the updates since the last point, from the stochastic one.
    pub bound: f64,
}

/// What some held-out rows said of the model along training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOutPoint {
    /// Updates so far, as in [`TracePoint`].
    pub updates: u64,
    /// The share of the rows whose best class is none of theirs.
    pub error: f64,
    /// −log p(label), averaged over their labels.
    #[serde(deserialize_with = "or_infinite")]
    pub nlpd: f64,
}

/// The two forms of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// A score for each class, and the exact softmax over all of them.
    Linear(Linear),
    /// Trees over the classes.
    Forest(Forest),
}

/// The settings of either form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Settings {
    /// Of a linear model.
    Linear(Options),
    /// Of a forest.
    Forest(ForestOptions),
}

/// By hand: an untagged enum could not say which setting is wrong.
impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let settings = match value.get("trees") {
            Some(_) => serde_json::from_value(value).map(Settings::Forest),
            None => serde_json::from_value(value).map(Settings::Linear),
        };
        settings.map_err(D::Error::custom)
    }
}

impl Settings {
    /// Those of a linear model.
    pub fn linear(&self) -> Option<&Options> {
        match self {
            Settings::Linear(options) => Some(options),
            Settings::Forest(_) => None,
        }
    }
}

/// A model with everything that a file keeps of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What gives scores to rows.
    pub weights: Weights,
    /// What the model knows beside its weights.
    pub card: Card,
}

impl Model {
    /// K.
    pub fn classes(&self) -> usize {
        self.card.classes.len()
    }

    /// D.
    pub fn features(&self) -> usize {
        match &self.weights {
            Weights::Linear(linear) => linear.features(),
            Weights::Forest(forest) => forest.features(),
        }
    }

    /// The weights of a linear model.
    pub fn linear(&self) -> Option<&Linear> {
        match &self.weights {
            Weights::Linear(linear) => Some(linear),
            Weights::Forest(_) => None,
        }
    }

    /// Whether held-out rows made its probabilities what they are.
    pub fn is_calibrated(&self) -> bool {
        self.linear().is_none() || self.card.temperature.is_some()
    }

    /// Divides the scores of a linear model by a temperature, and remembers it; a forest has its own.
    pub fn calibrate(&mut self, temperature: f64) {
        if let Weights::Linear(linear) = &mut self.weights {
            linear.scale((1.0 / temperature) as f32);
            self.card.temperature = Some(temperature * self.card.temperature.unwrap_or(1.0));
        }
    }

    /// How many weights are stored.
    pub fn weight_count(&self) -> usize {
        match &self.weights {
            Weights::Linear(linear) => linear.weights(),
            Weights::Forest(forest) => forest.weights(),
        }
    }

    /// Drops the weights below a threshold and keeps the others in 16 bits.
    pub fn prune(&mut self, threshold: f32) -> Result<()> {
        match &mut self.weights {
            Weights::Linear(linear) => linear.prune(threshold),
            Weights::Forest(forest) => {
                forest.prune(threshold);
                Ok(())
            }
        }
    }

    /// The weight of each feature for a class, where it is not zero: what speaks for the class in general.
    pub fn weights_of(&self, class: u32) -> Vec<(u32, f32)> {
        match &self.weights {
            Weights::Linear(linear) => {
                let weights = (0..linear.features() as u32).map(|feature| (feature, linear.weight(feature, class)));
                weights.filter(|&(_, weight)| weight != 0.0).collect()
            }
            Weights::Forest(forest) => forest.weights_of(class),
        }
    }

    /// What each feature of a row speaks for a class, w·x, where the model knows the feature.
    pub fn explain(&self, row: Row<'_>, class: u32) -> Vec<(u32, f32)> {
        let weight = |feature| match &self.weights {
            Weights::Linear(linear) => linear.weight(feature, class),
            Weights::Forest(forest) => forest.weight_of(feature, class),
        };
        let entries = row.indices.iter().zip(row.values).map(|(&feature, &value)| (feature, value));
        let known = entries.take_while(|&(feature, _)| (feature as usize) < self.features());
        known.map(|(feature, value)| (feature, weight(feature) * value)).collect()
    }

    /// The `count` most probable classes of each row in a range.
    pub fn top(
        &self,
        rows: Rows<'_>,
        range: Range<usize>,
        count: usize,
        threads: usize,
    ) -> Result<Vec<Vec<Prediction>>> {
        match &self.weights {
            Weights::Linear(linear) => linear.top(rows, range, count, threads),
            Weights::Forest(forest) => in_pool(threads, || {
                let rows: Vec<Row<'_>> = rows.iter(range).collect();
                Ok(forest.see(&rows, Search::Nearest, |piece, sights, scratch| {
                    forest.top(&rows[piece], sights, count, scratch)
                }))
            }),
        }
    }
}

/// What a model knows beside its weights: names, and how it was trained. Nothing here depends on the clock or the machine, so
/// that the same run gives the same file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The settings it was trained with.
    pub options: Settings,
    /// The name of each class.
    pub classes: Vec<String>,
    /// How many training rows each class had.
    pub counts: Vec<u64>,
    /// The name of each feature; empty where the data had none, and where `text` names them.
    pub feature_names: Vec<String>,
    /// How texts become rows, if it was trained on raw text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    /// T of a linear model whose scores were divided by it: what held-out rows made of its probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How many rows it was trained on.
    pub rows: u64,
    /// Whether training ran to its end; a run that was stopped early leaves a model too.
    pub finished: bool,
    /// The curve of the bound.
    pub trace: Vec<TracePoint>,
    /// The curves of error and nlpd on some rows it was not trained on, if there were any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<HeldOutPoint>,
    /// What was measured on such rows at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
}

impl Card {
    /// Of a model that was trained to its end on so many rows, of which nothing else is said.
    pub fn new(options: Settings, classes: Vec<String>, counts: Vec<u64>, rows: u64) -> Self {
        Card {
            options,
            classes,
            counts,
            feature_names: Vec::new(),
            text: None,
            temperature: None,
            rows,
            finished: true,
            trace: Vec::new(),
            held_out: Vec::new(),
            evaluation: None,
        }
    }

    /// The name of a feature, where it has one.
    pub fn feature_name(&self, feature: usize) -> Option<&str> {
        let term = self.text.as_ref().and_then(|text| text.names().get(feature));
        term.or_else(|| self.feature_names.get(feature).map(String::as_str))
    }
}
