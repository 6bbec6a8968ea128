//! Keywords to settings. Their names are those of the command line, and so is what follows where one is not given.

use ove::Settings;
use ove::train::budget::{Bytes, keep_within};
use ove::options::{ClassWeight, FOREST_FROM, ForestOptions, Options, Solver};
use ove::text::TextOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::exception;

/// How to train, as a dictionary says it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Keywords {
    objective: Option<String>,
    solver: Option<String>,
    l2: Option<f64>,
    penalty_on_bias: bool,
    merge: usize,
    class_weight: Option<Weights>,
    classes: Option<usize>,
    sampler: Option<String>,
    power: f64,
    batch: usize,
    epochs: Option<usize>,
    step: String,
    learning_rate: Option<f64>,
    schedule: String,
    tolerance: f64,
    iterations: usize,
    trees: Option<usize>,
    /// Bytes, as a number or as `8GB`.
    memory: String,
    calibrate: bool,
    seed: u64,
    threads: usize,
}

/// How often the labels of each class count.
#[derive(FromPyObject)]
enum Weights {
    Listed(Vec<f64>),
    Named(String),
}

/// What the data is to choose for a linear model.
#[derive(Clone, Copy)]
pub struct Choices {
    /// How often and how far the stochastic solver steps: by rows that it does not see.
    pub passes: bool,
    /// How far it steps: less, where the usual rate diverges.
    pub rate: bool,
    /// The temperature, by rows that training does not see.
    pub temperature: bool,
}

impl Keywords {
    /// What the data is to choose.
    pub fn choices(&self) -> Choices {
        let rate = self.learning_rate.is_none();
        Choices { passes: rate && self.epochs.is_none(), rate, temperature: self.calibrate }
    }

    /// How much memory the weights may take.
    pub fn memory(&self) -> PyResult<Bytes> {
        self.memory.parse().map_err(exception)
    }

    /// The settings for so many features and classes.
    pub fn settings(self, features: usize, classes: usize) -> PyResult<Settings> {
        let memory = self.memory()?;
        let mut settings = self.unlimited(classes)?;
        if let Settings::Linear(options) = &mut settings {
            keep_within(memory, features, classes, true, options).map_err(exception)?;
        }
        Ok(settings)
    }

    fn unlimited(self, classes: usize) -> PyResult<Settings> {
        let linear_asked_for = self.objective.is_some() || self.classes.is_some() || self.sampler.is_some();
        let is_large = classes >= FOREST_FROM && !linear_asked_for;
        let usual = if is_large || self.trees.is_some() { "forest" } else { Solver::Stochastic.name() };
        let solver = self.solver.as_deref().unwrap_or(usual);
        if self.trees.is_some() && (linear_asked_for || solver != "forest") {
            return Err(PyValueError::new_err(
                "trees are of a forest: they do not go with an objective, classes, a sampler or another solver",
            ));
        }
        match solver {
            "forest" => Ok(Settings::Forest(self.forest()?)),
            "stochastic" => Ok(Settings::Linear(self.linear(Solver::Stochastic)?)),
            "batch" => Ok(Settings::Linear(self.linear(Solver::Batch)?)),
            other => Err(PyValueError::new_err(format!(
                "solver is `{other}`, but it is one of stochastic, batch, forest, or None for the usual one"
            ))),
        }
    }

    fn linear(self, solver: Solver) -> PyResult<Options> {
        let usual = Options::default();
        let class_weight = self.class_weight()?;
        Ok(Options {
            objective: parsed(self.objective, usual.objective)?,
            solver,
            l2: self.l2.unwrap_or(usual.l2),
            penalty_on_bias: self.penalty_on_bias,
            merge: self.merge,
            class_weight,
            classes: self.classes.unwrap_or(usual.classes),
            sampler: parsed(self.sampler, usual.sampler)?,
            power: self.power,
            batch: self.batch,
            epochs: self.epochs.unwrap_or(usual.epochs),
            step: self.step.parse().map_err(exception)?,
            learning_rate: self.learning_rate.unwrap_or(usual.learning_rate),
            schedule: self.schedule.parse().map_err(exception)?,
            seed: self.seed,
            cells: None,
            tolerance: self.tolerance,
            iterations: self.iterations,
            threads: self.threads,
        })
    }

    fn forest(self) -> PyResult<ForestOptions> {
        let usual = ForestOptions::default();
        Ok(ForestOptions {
            trees: self.trees.unwrap_or(usual.trees),
            epochs: self.epochs.or(usual.epochs),
            learning_rate: self.learning_rate.unwrap_or(usual.learning_rate),
            l2: self.l2.unwrap_or(usual.l2),
            class_weight: self.class_weight()?,
            seed: self.seed,
            threads: self.threads,
        })
    }

    fn class_weight(&self) -> PyResult<ClassWeight> {
        match &self.class_weight {
            None => Ok(ClassWeight::Equal),
            Some(Weights::Listed(weights)) => Ok(ClassWeight::Listed(weights.clone())),
            Some(Weights::Named(name)) if name == "balanced" => Ok(ClassWeight::Balanced),
            Some(Weights::Named(name)) => {
                Err(PyValueError::new_err(format!("class_weight is `{name}`, but it is `balanced` or says weights")))
            }
        }
    }
}

/// The value of a name, or what is usual.
fn parsed<T: std::str::FromStr<Err = ove::Error>>(name: Option<String>, usual: T) -> PyResult<T> {
    name.map_or(Ok(usual), |name| name.parse().map_err(exception))
}

/// The defaults of linear models, forests and texts, as JSON.
#[pyfunction]
pub fn defaults() -> (String, String, String) {
    let (linear, forest, text) = (Options::default(), ForestOptions::default(), TextOptions::default());
    let json = |value: serde_json::Result<String>| value.expect("settings are JSON");
    (json(serde_json::to_string(&linear)), json(serde_json::to_string(&forest)), json(serde_json::to_string(&text)))
}
