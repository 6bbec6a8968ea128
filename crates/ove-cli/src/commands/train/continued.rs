//! `ove train --from`: training of a finished model continues with new rows, classes and features.
//!
//! Classes and features of the model keep their numbers, those that are new come after them and start with weights of
//! zero. Terms of raw text keep their weight (idf) too: a text that was a row of the model is still the same row.

use std::path::Path;

use anyhow::{Result, bail};
use ove::model::Card;
use ove::text::Text;
use ove::{Dataset, Linear, Model, Settings};

/// The model that is trained further.
pub struct Continued {
    /// Everything but its weights.
    pub card: Card,
    linear: Linear,
}

impl Continued {
    /// Opens the model of `--from`, if there is one.
    pub fn open(path: Option<&Path>) -> Result<Option<Continued>> {
        let Some(path) = path else { return Ok(None) };
        let Model { weights, card } = Model::load(path)?;
        match weights {
            ove::Weights::Linear(linear) => Ok(Some(Continued { card, linear })),
            ove::Weights::Forest(_) => bail!(
                "{}: a forest, whose trees are grown from all rows at once; grow it anew with the old rows and the new ones",
                path.display()
            ),
        }
    }

    /// How texts become rows, if the model was trained on texts.
    pub fn text(&self) -> Option<&Text> {
        self.card.text.as_ref()
    }

    /// Gives classes and features of new rows the numbers that the model has for them.
    pub fn number(&self, data: &mut Dataset) -> Result<()> {
        let (old, new) = (&self.card.feature_names, &mut data.feature_names);
        if let Some((old, new)) = old.iter().zip(new.iter()).find(|(old, new)| old != new) {
            bail!("a feature named {new}, but the model has {old} in its place");
        }
        if new.len() < old.len() {
            new.clone_from(old);
        }
        data.allow_features(self.linear.features());
        if !data.feature_names.is_empty() && data.feature_names.len() < data.features() {
            data.feature_names.clear();
        }
        data.extend_classes(&self.card.classes);
        Ok(())
    }

    /// The weights to start from.
    pub fn start(&self, data: &Dataset) -> Result<Linear> {
        Ok(self.linear.grown(data.features(), data.classes.len())?)
    }

    /// How many cells the weights share, if they do.
    pub fn cells(&self) -> Option<usize> {
        let places = self.linear.places();
        places.is_hashed().then(|| places.cells())
    }

    /// The settings of the model.
    pub fn settings(&self) -> &Settings {
        &self.card.options
    }

    /// Adds the rows and counts of the earlier training to a card.
    pub fn add_to(&self, card: &mut Card) {
        card.rows += self.card.rows;
        card.counts.iter_mut().zip(&self.card.counts).for_each(|(new, old)| *new += old);
    }
}
