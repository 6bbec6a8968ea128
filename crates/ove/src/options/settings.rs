//! Options from a flat list of settings by name, such as flags or keywords.
//!
//! A group of settings is a struct whose serialised default defines the names of its settings: a new field is a new
//! setting. Groups remove their settings from the list; what is left over belongs to a group that is not used.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    BatchOptions, BoundOptions, ClassWeight, Effort, FactoredOptions, LinearOptions, RecommenderOptions, ScoreKind,
    ScoreOptions, Solver, SolverKind, StochasticOptions, TrainOptions, TreeOptions,
};
use crate::error::{Error, Result};
use crate::platform::bytes::Bytes;

/// The former name of trees, as a solver.
const FOREST: &str = "forest";

/// The former name of the number of negatives.
const CLASSES: &str = "classes";

impl TrainOptions {
    /// Builds options from settings by name, such as `{"objective": "merged", "epochs": 3}`.
    ///
    /// Names are those of the fields, with `_` or `-`; null stands for a setting that is not given. If `scores` is not
    /// given, settings that are specific to a score function select it: `rank` selects factored scores, `trees` or
    /// `rivals` and `leaves` select trees, and any setting of the objective or a solver selects linear scores.
    ///
    /// # Errors
    /// [`Error::Setting`] for a value out of range, [`Error::Unused`] for a setting that the chosen scores and solver
    /// do not use, [`Error::Settings`] for an unknown name.
    pub fn from_settings(settings: &Value) -> Result<Self> {
        TrainOptions::default().with_settings(settings)
    }

    /// Changes some settings, as in [`TrainOptions::from_settings`]; the others keep their values.
    ///
    /// Other scores or another solver start from their own defaults, epochs and learning rate among them.
    ///
    /// # Errors
    /// Those of [`TrainOptions::from_settings`].
    pub fn with_settings(mut self, settings: &Value) -> Result<Self> {
        let given = settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let mut list: Map<String, Value> = given.map(|(name, value)| (name.replace('-', "_"), value.clone())).collect();
        if let Some(count) = list.remove(CLASSES) {
            list.entry("negatives").or_insert(count);
        }
        let mut solver = list.remove("solver");
        let mut kind = list.remove("scores").map(|value| parse::<ScoreKind>("scores", &value)).transpose()?;
        let may_be_trees = kind.is_none_or(|kind| kind == ScoreKind::Trees);
        if may_be_trees && solver.as_ref().is_some_and(|solver| solver == FOREST) {
            (kind, solver) = (Some(ScoreKind::Trees), None);
        }
        let solver = solver.map(|value| parse::<SolverKind>("solver", &value)).transpose()?;

        let before = self.scores.as_ref().map(ScoreOptions::kind);
        let solver_changes = match &self.scores {
            Some(ScoreOptions::Linear(linear)) => solver.is_some_and(|solver| solver != linear.solver.kind()),
            _ => false,
        };
        if before.is_some() && (kind.is_some_and(|kind| Some(kind) != before) || solver_changes) {
            (self.epochs, self.learning_rate) = (None, None);
        }
        set(&mut list, "effort", &mut self.effort)?;
        set(&mut list, "epochs", &mut self.epochs)?;
        set(&mut list, "learning_rate", &mut self.learning_rate)?;
        set(&mut list, "l2", &mut self.l2)?;
        set(&mut list, "seed", &mut self.seed)?;
        set(&mut list, "calibrate", &mut self.calibrate)?;
        if let Some(weight) = list.remove("class_weight") {
            self.class_weight = class_weight(&weight)?;
        }
        if let Some(memory) = list.remove("memory") {
            self.memory = bytes(&memory)?;
        }

        let kind = kind.or(before).or_else(|| implied(&list, solver));
        self.scores = match kind {
            None => None,
            Some(kind) => {
                let base = self.scores.filter(|_| before == Some(kind));
                let base = base.or((kind == ScoreKind::Trees).then(|| ScoreOptions::Trees(self.effort.trees())));
                Some(scores(kind, base, solver, &mut list)?)
            }
        };
        if let Some(name) = list.keys().next() {
            return Err(left_over(name, self.scores.as_ref()));
        }
        if self.effort != Effort::Default && kind.is_some_and(|kind| kind != ScoreKind::Trees) {
            return Err(unused("effort", "trees", self.scores.as_ref()));
        }
        self.check()?;
        Ok(self)
    }
}

impl ScoreOptions {
    /// The kind of score function.
    pub fn kind(&self) -> ScoreKind {
        match self {
            ScoreOptions::Linear(_) => ScoreKind::Linear,
            ScoreOptions::Factored(_) => ScoreKind::Factored,
            ScoreOptions::Trees(_) => ScoreKind::Trees,
        }
    }
}

impl Solver {
    fn kind(&self) -> SolverKind {
        match self {
            Solver::Stochastic(_) => SolverKind::Stochastic,
            Solver::Batch(_) => SolverKind::Batch,
        }
    }
}

/// The kind of scores that the given settings select, if any.
fn implied(list: &Map<String, Value>, solver: Option<SolverKind>) -> Option<ScoreKind> {
    let has = |name: &str| list.contains_key(name);
    if has("rank") {
        Some(ScoreKind::Factored)
    } else if has("trees") || has("rivals") || has("leaves") || has("views") {
        Some(ScoreKind::Trees)
    } else if solver.is_some() || !list.is_empty() {
        Some(ScoreKind::Linear)
    } else {
        None
    }
}

/// The options of one kind of scores, with their settings taken from the list.
fn scores(
    kind: ScoreKind,
    base: Option<ScoreOptions>,
    solver: Option<SolverKind>,
    list: &mut Map<String, Value>,
) -> Result<ScoreOptions> {
    match kind {
        ScoreKind::Linear => {
            let base = match base {
                Some(ScoreOptions::Linear(linear)) => linear,
                _ => LinearOptions::default(),
            };
            let before = base.solver.kind();
            let solver = match (solver.unwrap_or(before), base.solver) {
                (SolverKind::Stochastic, Solver::Stochastic(own)) => Solver::Stochastic(take(own, list)?),
                (SolverKind::Stochastic, _) => Solver::Stochastic(take(StochasticOptions::default(), list)?),
                (SolverKind::Batch, Solver::Batch(own)) => Solver::Batch(take(own, list)?),
                (SolverKind::Batch, _) => Solver::Batch(take(BatchOptions::default(), list)?),
            };
            let mut linear = LinearOptions { bound: take(base.bound, list)?, solver, cells: base.cells };
            set(list, "cells", &mut linear.cells)?;
            Ok(ScoreOptions::Linear(linear))
        }
        ScoreKind::Factored => {
            let base = match base {
                Some(ScoreOptions::Factored(factored)) => factored,
                _ => FactoredOptions::default(),
            };
            if let Some(SolverKind::Batch) = solver {
                let must = "be stochastic for factored scores";
                return Err(Error::setting("solver", must, SolverKind::Batch));
            }
            Ok(ScoreOptions::Factored(take(base, list)?))
        }
        ScoreKind::Trees => {
            let base = match base {
                Some(ScoreOptions::Trees(trees)) => trees,
                _ => TreeOptions::default(),
            };
            if let Some(solver) = solver {
                return Err(Error::setting("solver", "be left out for trees, which have their own", solver));
            }
            Ok(ScoreOptions::Trees(take(base, list)?))
        }
    }
}

/// A group of settings, updated with settings taken from the list.
pub(super) fn take<T: Serialize + DeserializeOwned>(group: T, list: &mut Map<String, Value>) -> Result<T> {
    let mut values = fields(&group);
    for (name, value) in &mut values {
        let Some(given) = list.remove(name) else { continue };
        *value = given;
    }
    // On failure, try the settings one by one to name the invalid one.
    serde_json::from_value(Value::Object(values.clone())).map_err(|error| {
        let own = fields(&group);
        let wrong = values.iter().find(|(name, value)| {
            let mut one = own.clone();
            one.insert((*name).clone(), (*value).clone());
            serde_json::from_value::<T>(Value::Object(one)).is_err()
        });
        unreadable(wrong.map_or("settings", |(name, _)| name), wrong.map_or(&Value::Null, |(_, value)| value), &error)
    })
}

/// The settings of a group by name.
fn fields(group: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(group) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("a group is a struct"),
    }
}

fn set<T: DeserializeOwned>(list: &mut Map<String, Value>, name: &str, field: &mut T) -> Result<()> {
    if let Some(value) = list.remove(name) {
        *field = serde_json::from_value(value.clone()).map_err(|error| unreadable(name, &value, &error))?;
    }
    Ok(())
}

fn parse<T: std::str::FromStr<Err = Error>>(name: &str, value: &Value) -> Result<T> {
    value.as_str().map_or_else(|| Err(Error::setting(name, "be a name", value)), str::parse)
}

/// The error for a value of the wrong type.
fn unreadable(name: &str, value: &Value, error: &serde_json::Error) -> Error {
    let (must, message) = (kind_of(name), error.to_string());
    // Enums report their allowed names themselves.
    match message.strip_prefix('`').map(|_| message.as_str()) {
        Some(own) => Error::Settings(own.to_owned()),
        None => Error::setting(name, must, value),
    }
}

/// What a value of a setting must be, by the type of its default.
fn kind_of(name: &str) -> &'static str {
    let defaults = [
        fields(&LinearOptions::default()),
        fields(&FactoredOptions::default()),
        fields(&TreeOptions::default()),
        fields(&BatchOptions::default()),
        fields(&StochasticOptions::default()),
    ];
    match defaults.iter().find_map(|group| group.get(name)) {
        Some(Value::Bool(_)) => "be true or false",
        None if name == "calibrate" => "be true or false",
        Some(Value::Number(number)) if number.is_f64() => "be a number",
        None | Some(Value::Null) if ["l2", "learning_rate"].contains(&name) => "be a number",
        _ if ["seed", "merge", "rivals"].contains(&name) => "be an integer of at least 0",
        None | Some(Value::Number(_) | Value::Null) => "be an integer of at least 1",
        _ => "be a name",
    }
}

fn class_weight(value: &Value) -> Result<ClassWeight> {
    match value {
        Value::String(name) if name == "balanced" => Ok(ClassWeight::Balanced),
        Value::String(name) if name == "equal" => Ok(ClassWeight::Equal),
        Value::Array(_) => serde_json::from_value(value.clone())
            .map(ClassWeight::Listed)
            .map_err(|_| Error::setting("class-weight", "be a list of numbers", value)),
        other => Err(Error::setting("class-weight", "be `balanced` or a list of weights", other)),
    }
}

pub(super) fn bytes(value: &Value) -> Result<Bytes> {
    match value {
        Value::String(text) => text.parse(),
        Value::Number(number) => number.to_string().parse(),
        other => Err(Error::setting("memory", "be a number of bytes such as 8GB", other)),
    }
}

/// The error for a setting that no group took from the list.
fn left_over(name: &str, scores: Option<&ScoreOptions>) -> Error {
    let has = |group: Map<String, Value>| group.contains_key(name);
    let owner = if has(fields(&StochasticOptions::default())) {
        "the stochastic solver"
    } else if has(fields(&BatchOptions::default())) {
        "the batch solver"
    } else if has(fields(&TreeOptions::default())) {
        "trees"
    } else if has(fields(&BoundOptions::default())) {
        "linear and factored scores"
    } else if name == "cells" {
        "linear scores"
    } else if has(fields(&FactoredOptions::default())) {
        "factored scores"
    } else {
        let (shown, is_of_recommenders) = (name.replace('_', "-"), has(fields(&RecommenderOptions::default())));
        return Error::Settings(match is_of_recommenders {
            true => format!("`{shown}` is a setting of recommenders (--format interactions)"),
            false => format!("`{shown}` is not a setting of training"),
        });
    };
    unused(name, owner, scores)
}

fn unused(name: &str, owner: &'static str, scores: Option<&ScoreOptions>) -> Error {
    let chosen = match scores {
        Some(ScoreOptions::Trees(_)) => "trees do",
        Some(ScoreOptions::Factored(_)) => "factored scores do",
        _ if !owner.ends_with("solver") => "linear scores do",
        Some(ScoreOptions::Linear(LinearOptions { solver: Solver::Batch(_), .. })) => "the batch solver does",
        Some(ScoreOptions::Linear(_)) | None => "the stochastic solver does",
    };
    Error::Unused { name: name.replace('_', "-"), owner, chosen }
}
