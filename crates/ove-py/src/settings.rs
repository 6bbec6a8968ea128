//! Settings, which Python passes as one JSON object. The library knows their names, ranges and defaults.

use ove::TrainOptions;
use ove::io::read::label_names;
use ove::options::{BatchOptions, FactoredOptions, LinearOptions, StochasticOptions, TREES_FROM, TreeOptions};
use ove::text::{Language, TextOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors::exception;

/// Settings by name; null stands for one that is not given.
pub fn parsed(settings: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(settings).map_err(|error| PyValueError::new_err(format!("settings are not JSON: {error}")))
}

/// The options of these settings; what is not given is that of the earlier options, or the default.
pub fn options(settings: Map<String, Value>, earlier: Option<&TrainOptions>) -> PyResult<TrainOptions> {
    earlier.cloned().unwrap_or_default().with_settings(&Value::Object(settings)).map_err(exception)
}

/// Checks settings of texts and of training before any data are read.
#[pyfunction]
pub fn check_settings(texts: &str, training: &str) -> PyResult<()> {
    text_options(parsed(texts)?)?.check().map_err(exception)?;
    options(parsed(training)?, None)?.check().map_err(exception)
}

/// How texts become rows; settings of training say what is not given.
pub fn text_options(settings: Map<String, Value>) -> PyResult<TextOptions> {
    let fields = text_defaults();
    let (own, training): (Map<_, _>, Map<_, _>) = settings.into_iter().partition(|(name, _)| fields.contains_key(name));
    let mut options = self::options(training, None)?.text();
    for (name, value) in own.into_iter().filter(|(_, value)| !value.is_null()) {
        let mut all = json!(options);
        let languages: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
        let one_of_languages = format!("one of {}", languages.join(", "));
        let kind = match &name[..] {
            "chars" => "a pair of integers, the shortest and the longest length, such as (3, 5)",
            "stem" => &one_of_languages,
            _ if all[&name].is_boolean() => "True or False",
            _ => "an integer",
        };
        all[&name] = value.clone();
        options = serde_json::from_value(all)
            .map_err(|_| PyValueError::new_err(format!("`{name}` must be {kind}, got {value}")))?;
    }
    Ok(options)
}

/// The defaults of the settings of texts; whether kinds of terms are kept apart follows from the settings of training.
fn text_defaults() -> Map<String, Value> {
    let mut fields = json!(TextOptions::default()).as_object().cloned().unwrap_or_default();
    fields.remove("apart");
    fields
}

/// The defaults of all settings as JSON, by the part of training that uses them.
#[pyfunction]
pub fn defaults() -> String {
    let usual = TrainOptions::default();
    let defaults = json!({
        "all": { "effort": usual.effort, "class_weight": usual.class_weight, "seed": usual.seed, "calibrate": usual.calibrate,
                 "memory": usual.memory.0, "name_weight": label_names::WEIGHT },
        "linear": LinearOptions::default(),
        "factored": FactoredOptions::default(),
        "trees": TreeOptions::default(),
        "stochastic": StochasticOptions::default(),
        "batch": BatchOptions::default(),
        "text": text_defaults(),
        "trees_from": TREES_FROM,
    });
    defaults.to_string()
}
