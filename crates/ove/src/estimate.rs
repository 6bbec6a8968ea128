//! The non-parametric case (section 2.2): probabilities of K values from how often each occurs.
//!
//! It is the model with no features, only a bias a class. Exact likelihood and one-vs-each bound share their maximum,
//! f_k = log N_k + c (proposition 2); Bouchard's bound has f_k = 2 log N_k + c at K = 2 (proposition 3) and no closed form beyond.

use serde::{Deserialize, Serialize};

use crate::data::Rows;
use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::math::log_sum_exp;
use crate::names::names;
use crate::objective::Objective;
use crate::options::{Options, Solver};
use crate::solve::{Begin, Problem, Watch, batch, in_pool, train};

/// How the maximum is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By its formula, where there is one.
    ClosedForm,
    /// L-BFGS on the full sum.
    Batch,
    /// Subsampled points and remaining values (section 4.1).
    Stochastic,
}

names!(Method, "method", { ClosedForm => "closed-form", Batch => "batch", Stochastic => "stochastic" });

impl Method {
    /// The formula where there is one, else the full sum.
    pub fn best_for(objective: Objective, values: usize) -> Method {
        match objective {
            Objective::Softmax | Objective::OneVsEach => Method::ClosedForm,
            Objective::Bouchard if values == 2 => Method::ClosedForm,
            Objective::Bouchard | Objective::Merged => Method::Batch,
        }
    }
}

/// Estimates the probabilities of values that occur `counts` times. A value that never occurs has probability 0.
pub fn estimate(counts: &[u64], method: Method, options: &Options, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
    let seen: Vec<usize> = (0..counts.len()).filter(|&k| counts[k] > 0).collect();
    let positive: Vec<u64> = seen.iter().map(|&k| counts[k]).collect();
    if seen.is_empty() {
        return Err(Error::Mismatch {
            found: "no value that occurs".into(),
            allowed: "at least one count is positive".into(),
        });
    }
    let scores = match (positive.len(), method) {
        (1, _) => vec![0.0],
        (_, Method::ClosedForm) => closed_form(&positive, options.objective)?,
        (_, Method::Batch) => by_batch(&positive, options, watch)?,
        (_, Method::Stochastic) => by_sampling(&positive, options, watch)?,
    };
    let total = log_sum_exp(scores.iter().copied());
    let mut probabilities = vec![0.0; counts.len()];
    for (k, score) in seen.into_iter().zip(scores) {
        probabilities[k] = (score - total).exp();
    }
    Ok(probabilities)
}

fn closed_form(counts: &[u64], objective: Objective) -> Result<Vec<f64>> {
    let factor = match objective {
        Objective::Softmax | Objective::OneVsEach => 1.0,
        Objective::Bouchard if counts.len() == 2 => 2.0,
        Objective::Bouchard | Objective::Merged => {
            return Err(Error::Option {
                name: "method",
                found: format!("closed-form for {objective} with {} values", counts.len()),
                allowed: "softmax and one-vs-each have a formula, bouchard for two values; take batch".into(),
            });
        }
    };
    Ok(counts.iter().map(|&count| factor * (count as f64).ln()).collect())
}

/// One row a value, which counts as often as the value occurs.
fn by_batch(counts: &[u64], options: &Options, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
    let labels = Labels::single((0..counts.len() as u32).collect());
    let weights: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let offsets = vec![0; counts.len() + 1];
    let rows = Rows::new(0, &offsets, &[], &[])?;
    let problem = Problem { rows, labels: &labels, row_weights: &weights, classes: counts.len() };
    options.check()?;
    in_pool(options.threads, || Ok(batch::maximise(Begin::default(), &problem, options, watch)?.weights))
}

/// One row a point.
fn by_sampling(counts: &[u64], options: &Options, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
    let points = counts.iter().sum::<u64>();
    if points > u64::from(u32::MAX) {
        return Err(Error::Option {
            name: "method",
            found: format!("stochastic for {points} points"),
            allowed: format!("it holds each point and takes at most {}", u32::MAX),
        });
    }
    let points = counts.iter().zip(0..).flat_map(|(&count, k)| std::iter::repeat_n(k, count as usize));
    let labels = Labels::single(points.collect());
    let offsets = vec![0; labels.len() + 1];
    let rows = Rows::new(0, &offsets, &[], &[])?;
    let problem = Problem { rows, labels: &labels, row_weights: &[], classes: counts.len() };
    let options = Options { solver: Solver::Stochastic, ..options.clone() };
    let fit = train(&problem, &options, watch)?;
    Ok(fit.linear.bias().iter().map(|&f| f64::from(f)).collect())
}
