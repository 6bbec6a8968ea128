//! The non-parametric case (section 2.2): the probabilities of K values from their counts.
//!
//! This is the model without features, only a bias per class. Exact likelihood and one-vs-each bound have the same
//! maximum, f_k = log N_k + c (proposition 2); Bouchard's bound has f_k = 2 log N_k + c at K = 2 (proposition 3) and no
//! closed form for K > 2.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use crate::bound::Objective;
use crate::bound::all_classes::{AllClasses, Scratch};
use crate::data::{Examples, Labels, Rows};
use crate::error::{Error, Result};
use crate::options::{BatchOptions, LinearOptions, ScoreOptions, Solver, TrainOptions};
use crate::platform::elementary::{exp, ln};
use crate::platform::math::log_sum_exp;
use crate::platform::names::names;
use crate::platform::pool;
use crate::sample::most_frequent;
use crate::scores::Scores;
use crate::train::batch::Batch;
use crate::train::run::{Progress, Run, Start};
use crate::train::stochastic;
use crate::train::training::Training;

/// A callback that observes an estimate and may stop it; its second argument returns the current scores.
pub type Watch<'a> = dyn FnMut(&Progress, &dyn Fn() -> Vec<f64>) -> ControlFlow<()> + Send + 'a;

/// The method that finds the maximum, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The closed form, if there is one.
    ClosedForm,
    /// L-BFGS on the sum over all points.
    Batch,
    /// Stochastic gradients with sampled points and values (section 4.1).
    Stochastic,
}

names!(Method, "method", { ClosedForm => "closed-form", Batch => "batch", Stochastic => "stochastic" });

impl Method {
    /// The closed form if there is one, else the batch solver, or the stochastic one for a sampled objective.
    pub fn best_for(objective: Objective, values: usize) -> Method {
        match objective {
            Objective::Softmax | Objective::OneVsEach => Method::ClosedForm,
            Objective::Bouchard if values == 2 => Method::ClosedForm,
            Objective::Bouchard | Objective::Merged => Method::Batch,
            Objective::SampledSoftmax | Objective::Normalised => Method::Stochastic,
        }
    }
}

/// The options of a method from settings by name ([`TrainOptions::from_settings`]), with the defaults of this problem.
///
/// # Errors
/// [`Error::Setting`] or [`Error::Unused`] for settings that the method does not have.
pub fn options(method: Method, settings: &Value) -> Result<TrainOptions> {
    let mut settings = settings.clone();
    let given = settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let defaults = match method {
        Method::ClosedForm => {
            let mut names = given.map(|(name, _)| name.as_str());
            if let Some(unused) = names.find(|name| !["objective", "scores", "seed"].contains(name)) {
                return Err(Error::Settings(format!("`{unused}` is a setting that the closed form does not use")));
            }
            json!({})
        }
        // High precision is cheap for few scores.
        Method::Batch => json!({ "solver": "batch", "tolerance": 1e-10 }),
        Method::Stochastic => json!({ "epochs": stochastic::EPOCHS, "learning_rate": stochastic::LEARNING_RATE }),
    };
    for (name, default) in defaults.as_object().into_iter().flatten() {
        if settings[name].is_null() {
            settings[name] = default.clone();
        }
    }
    settings["scores"] = "linear".into();
    TrainOptions::from_settings(&settings)
}

/// Estimates the probabilities of values from their counts. A value with count 0 has probability 0.
///
/// The options are those of linear scores.
///
/// # Errors
/// [`Error::Mismatch`] if no count is positive, [`Error::Setting`] if the method does not support the objective.
pub fn estimate(counts: &[u64], method: Method, options: &TrainOptions, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
    let present: Vec<usize> = (0..counts.len()).filter(|&k| counts[k] > 0).collect();
    let positive: Vec<u64> = present.iter().map(|&k| counts[k]).collect();
    if present.is_empty() {
        return Err(Error::Mismatch("at least one count must be positive".into()));
    }
    let scores = match (positive.len(), method) {
        (1, _) => vec![0.0],
        (_, Method::ClosedForm) => closed_form(&positive, options.objective().unwrap_or(Objective::OneVsEach))?,
        (_, Method::Batch) => by_batch(&positive, options, watch)?,
        (_, Method::Stochastic) => by_sampling(&positive, options, watch)?,
    };
    let total = log_sum_exp(scores.iter().copied());
    let mut probabilities = vec![0.0; counts.len()];
    for (k, score) in present.into_iter().zip(scores) {
        probabilities[k] = exp(score - total);
    }
    Ok(probabilities)
}

/// An estimate has converged if its [`relative_gradient`] is at most this: scores are then right to about 2 %.
pub const CONVERGED: f64 = 0.02;

/// Maximum number of values for [`relative_gradient`], whose time grows with its square.
const MOST_VALUES: usize = 20_000;

/// The norm of the gradient of the objective at these probabilities, relative to that at equal ones; `None` for a
/// sampled objective, whose gradient depends on the sample, and for more than 20,000 values.
pub fn relative_gradient(counts: &[u64], probabilities: &[f64], options: &TrainOptions) -> Option<f64> {
    let objective = options.objective().unwrap_or(Objective::OneVsEach);
    let present: Vec<usize> = (0..counts.len()).filter(|&k| counts[k] > 0).collect();
    let values = present.len();
    if objective.is_sampled() || values > MOST_VALUES {
        return None;
    }
    let weights: Vec<f64> = present.iter().map(|&k| counts[k] as f64).collect();
    let merged = most_frequent(&weights, objective, options.bound().map_or(0, |bound| bound.merge));
    let all = AllClasses::new(objective, &merged, values);
    let norm = |scores: &[f64]| {
        let (mut sum, mut row, mut scratch) = (vec![0.0; values], Vec::new(), Scratch::default());
        for (k, weight) in weights.iter().enumerate() {
            row.clear();
            row.extend_from_slice(scores);
            all.value_and_gradient(&[k as u32], &[1.0], &mut row, &mut scratch);
            sum.iter_mut().zip(&row).for_each(|(sum, derivative)| *sum += weight * derivative);
        }
        sum.iter().map(|derivative| derivative * derivative).sum::<f64>().sqrt()
    };
    let scores: Vec<f64> = present.iter().map(|&k| ln(probabilities[k])).collect();
    let (here, at_zero) = (norm(&scores), norm(&vec![0.0; values]));
    // With equal counts the maximum is there.
    let total: f64 = weights.iter().sum();
    Some(here / if at_zero > 1e-9 * total { at_zero } else { total })
}

fn closed_form(counts: &[u64], objective: Objective) -> Result<Vec<f64>> {
    let factor = match objective {
        Objective::Softmax | Objective::OneVsEach => 1.0,
        Objective::Bouchard if counts.len() == 2 => 2.0,
        Objective::Bouchard | Objective::Merged | Objective::SampledSoftmax | Objective::Normalised => {
            let must =
                "be batch or stochastic: only softmax, one-vs-each and bouchard with two values have a closed form";
            return Err(Error::setting("method", must, format!("closed-form for {objective}")));
        }
    };
    Ok(counts.iter().map(|&count| factor * ln(count as f64)).collect())
}

/// One row per value, weighted by its count.
fn by_batch(counts: &[u64], options: &TrainOptions, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
    let labels = Labels::single((0..counts.len() as u32).collect());
    let weights: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let offsets = vec![0; counts.len() + 1];
    let examples = Examples::new(Rows::new(0, &offsets, &[], &[])?, &labels, &weights, counts.len());
    options.check()?;
    let batch = match &options.scores {
        Some(ScoreOptions::Linear(LinearOptions { solver: Solver::Batch(batch), .. })) => batch.clone(),
        _ => BatchOptions::default(),
    };
    pool::run(|| {
        let mut run = Batch::new(examples, options, &batch, None);
        while let Some(progress) = run.step()? {
            if watch(&progress, &|| run.weights().to_vec()).is_break() {
                break;
            }
        }
        Ok(run.weights().to_vec())
    })
}

/// One row per point.
fn by_sampling(counts: &[u64], options: &TrainOptions, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
    let points = counts.iter().sum::<u64>();
    if points > u64::from(u32::MAX) {
        let must = format!("be batch for more than {} points", u32::MAX);
        return Err(Error::setting("method", must, format!("stochastic for {points}")));
    }
    let points = counts.iter().zip(0..).flat_map(|(&count, k)| std::iter::repeat_n(k, count as usize));
    let labels = Labels::single(points.collect());
    let offsets = vec![0; labels.len() + 1];
    let examples = Examples::new(Rows::new(0, &offsets, &[], &[])?, &labels, &[], counts.len());
    pool::run(|| {
        let mut training = Training::new(examples, options, Start::default())?;
        while let Some(progress) = training.step()? {
            if watch(&progress, &|| training.snapshot().map(|scores| biases(&scores)).unwrap_or_default()).is_break() {
                break;
            }
        }
        Ok(biases(&training.finish()?.scores))
    })
}

/// The scores of a model without features.
fn biases(scores: &Scores) -> Vec<f64> {
    let linear = scores.linear().expect("the scores are linear");
    linear.bias().iter().map(|&f| f64::from(f)).collect()
}
