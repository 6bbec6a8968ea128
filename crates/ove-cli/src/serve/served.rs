//! The served model, with data derived from it on first use.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;
use std::time::SystemTime;

use anyhow::{Result, ensure};
use ove::Model;
use ove::io::read::label_names;
use serde_json::{Value, json};

use super::annif::Project;
use super::card;

/// The served model.
pub struct Served {
    /// The model.
    pub model: Model,
    /// What it is called: its file without the extension.
    title: String,
    /// When its file was saved, if the system knows.
    pub saved: Option<SystemTime>,
    /// The names of each class, if a file with names is given; otherwise they are the model's.
    names: Option<Vec<Vec<String>>>,
    /// What Annif calls it, if Annif may ask.
    pub project: Option<Project>,
    features: OnceLock<HashMap<String, u32>>,
    card: OnceLock<String>,
}

/// The keys of `features` in a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Names; unknown ones are ignored.
    Names,
    /// Numbers from 0; those beyond the model's features are ignored.
    Numbers,
}

impl Served {
    /// Loads a model and the display names of its classes; a project of Annif wants a model of texts.
    pub fn load(model: &Path, names: Option<&Path>, project: Option<Project>) -> Result<Self> {
        let title = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let saved = std::fs::metadata(model).and_then(|facts| facts.modified()).ok();
        let model = Model::map(model)?;
        model.check_predicts_rows()?;
        let takes_texts = model.card.text.is_some();
        ensure!(project.is_none() || takes_texts, "--annif-project needs a model that was trained on texts");
        let names = names.map(|path| label_names::read(path)?.of(&model.card.classes)).transpose()?;
        let (features, card) = Default::default();
        Ok(Served { model, title, saved, names, project, features, card })
    }

    /// What the model is called.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The class with a label.
    pub fn class(&self, name: &str) -> Option<u32> {
        self.model.card.classes.iter().position(|class| class == name).map(|class| class as u32)
    }

    /// Whether this is true of the label of a class or of one of its names.
    pub fn any_name(&self, class: u32, is: impl Fn(&str) -> bool) -> bool {
        let names = self.names.as_ref().unwrap_or(&self.model.card.label_names);
        let mut names = names.get(class as usize).into_iter().flatten();
        is(self.label(class)) || names.any(|name| is(name))
    }

    /// The label of a class, as in the training data.
    pub fn label(&self, class: u32) -> &str {
        &self.model.card.classes[class as usize]
    }

    /// The display name of a class, if it has one.
    pub fn name(&self, class: u32) -> Option<&str> {
        match &self.names {
            Some(names) => names[class as usize].first().map(String::as_str),
            None => self.model.card.label_name(class),
        }
    }

    /// Whether classes have display names.
    pub fn has_names(&self) -> bool {
        self.names.is_some() || !self.model.card.label_names.is_empty()
    }

    /// Whether the model accepts texts.
    pub fn takes_texts(&self) -> bool {
        self.model.card.text.is_some()
    }

    /// Whether features are identified by names or numbers.
    pub fn keys(&self) -> Keys {
        if self.model.card.feature_name(0).is_some() { Keys::Names } else { Keys::Numbers }
    }

    /// The feature with a name.
    pub fn feature(&self, name: &str) -> Option<u32> {
        let card = &self.model.card;
        let all = || (0..self.model.features()).filter_map(|d| Some((card.feature_name(d)?.to_owned(), d as u32)));
        self.features.get_or_init(|| all().collect()).get(name).copied()
    }

    /// The response to `GET /model`.
    pub fn json(&self) -> Value {
        let card = &self.model.card;
        let mut options = serde_json::to_value(&card.options).unwrap_or_default();
        if let Some(text) = &card.text {
            options["text"] = serde_json::to_value(text).unwrap_or_default();
        }
        json!({
            "name": self.title,
            "examples": card.examples,
            "classes": self.model.classes(),
            "features": self.model.features(),
            "rows": card.rows,
            "finished": card.finished,
            "takes_texts": self.takes_texts(),
            "options": options,
            "trace": card.trace,
            "held_out": card.held_out,
            "evaluation": card.evaluation,
        })
    }

    /// The model card as an HTML fragment.
    pub fn card(&self) -> &str {
        self.card.get_or_init(|| card::html(self))
    }
}

#[cfg(test)]
impl Served {
    /// Two classes that are separated by one feature.
    pub fn of_tests() -> Self {
        let mut data = ove::Dataset::new(1, vec!["low".into(), "high".into()]);
        for (value, label) in [(-1.0, 0), (1.0, 1)] {
            data.push_entry(0, value);
            data.end_row(&[label]);
        }
        let watch = |_: ove::train::Event<'_>| std::ops::ControlFlow::Continue(());
        let model = ove::fit(&data, &ove::TrainOptions::default(), watch).expect("two separable rows");
        let (names, features, card) = Default::default();
        Served { model, title: "tests".into(), saved: None, names, project: None, features, card }
    }
}
