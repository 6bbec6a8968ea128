//! The default learning rate, and the search for a better one: short runs on a sample of the rows, compared on held-out
//! validation rows.
//!
//! Starting from the default, learning rates a factor of √10 apart are tried downwards or upwards while the validation
//! loss improves.

use super::calibration::fit_temperature;
use super::run::Start;
use super::stochastic;
use super::training::Training;
use crate::data::{Examples, Row};
use crate::error::{Error, Result};
use crate::options::{ScoreOptions, StepKind, TrainOptions};
use crate::platform::elementary::powf;
use crate::platform::random::Stream;

/// Maximum number of rows of a trial, and its number of epochs.
const ROWS: usize = 12_000;
const EPOCHS: usize = 5;

/// Maximum number of factors of √10 in either direction.
const REACH: i32 = 6;

/// Maximum number of epochs for a number of rows: a constant number of updates, within limits.
///
/// On 20 newsgroups, MNIST and BibTeX every further epoch up to here lowers the error (.250 → .225 → .218, .084 → .079,
/// .441 → .409 → .402 after 5, 20, 60).
pub(crate) fn epochs_for(rows: usize) -> usize {
    (1_200_000 / rows.max(1)).clamp(5, 60)
}

/// Number of rows of a trial per class, below which the default of factored scores is not searched for a better one: so
/// few rows say nothing about the vectors of so many classes. On yso-titles by the first subject (K = 21,184) the
/// search made .188 to .048 of the precision@1.
const ROWS_PER_CLASS: usize = 10;

/// The learning rate if none is given, and where a search starts.
///
/// With AdaGrad, a step changes the vector of each feature of a row by about the learning rate η, and therefore h = Σ_d
/// x_d u_d by up to η ‖x‖₁. The default of factored scores is η = 1 / mean ‖x‖₁, so that this does not depend on the
/// number of features and their units.
pub(crate) fn default(examples: &Examples<'_>, options: &TrainOptions) -> f64 {
    match &options.scores {
        Some(ScoreOptions::Factored(factored)) if factored.stochastic.step == StepKind::Adagrad => {
            let ids = examples.ids().step_by(examples.len().div_ceil(ROWS));
            let norms = ids.map(|id| examples.rows.row(id).values.iter().map(|&x| f64::from(x.abs())).sum::<f64>());
            let (rows, sum) = norms.fold((0, 0.0), |(rows, sum), norm| (rows + 1, sum + norm));
            if sum > 0.0 { f64::from(rows) / sum } else { stochastic::LEARNING_RATE }
        }
        _ => stochastic::LEARNING_RATE,
    }
}

/// Whether short runs can compare learning rates.
pub(crate) fn is_searched(examples: &Examples<'_>, options: &TrainOptions) -> bool {
    let is_factored = matches!(options.scores, Some(ScoreOptions::Factored(_)));
    !is_factored || examples.len().min(ROWS) >= ROWS_PER_CLASS * examples.classes
}

/// Searches the learning rate, starting at `default`; each run begins with the scores of `start`. `proceed` is called
/// between steps; its error ends the search.
pub(crate) fn choose(
    examples: &Examples<'_>,
    options: &TrainOptions,
    start: Start<'_>,
    default: f64,
    validation: &Examples<'_>,
    proceed: &mut dyn FnMut() -> Result<()>,
) -> Result<f64> {
    let mut ids: Vec<u32> = examples.ids().filter(|&id| examples.weight(id) > 0.0).map(|id| id as u32).collect();
    Stream::of(&[options.seed, u64::MAX - 2]).shuffle(&mut ids);
    ids.truncate(ROWS);
    ids.sort_unstable();
    let trial = examples.with_index(&ids);
    let rate = |power: i32| default * powf(10.0, f64::from(power) / 2.0);
    let mut nlpd = |power: i32| -> Result<f64> {
        let mut short = options.clone();
        (short.learning_rate, short.epochs) =
            (Some(rate(power)), Some(options.epochs.map_or(EPOCHS, |all| all.min(EPOCHS))));
        let mut run = || -> Result<f64> {
            let mut training = Training::new(trial, &short, start)?;
            while training.step()?.is_some() {
                proceed()?;
            }
            let scores = training.finish()?.scores;
            let softmax = scores.softmax().expect("scores of the stochastic solver have a softmax");
            Ok(fit_temperature(validation, &|row: Row<'_>, out: &mut [f32]| softmax.scores(row, out)).nlpd)
        };
        match run() {
            Err(Error::Diverged { .. }) => Ok(f64::INFINITY),
            other => other,
        }
    };
    let mut best = (0, nlpd(0)?);
    for direction in [-1, 1] {
        let from = best.0;
        for step in 1..=REACH {
            let power = from + direction * step;
            let found = nlpd(power)?;
            // Where all diverge, a smaller one may not.
            if found >= best.1 && best.1.is_finite() {
                break;
            }
            best = (power, found);
        }
        if best.0 != 0 {
            break;
        }
    }
    Ok(rate(best.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::options::{FactoredOptions, LinearOptions};

    /// Rows of norms 2 and 6 in turn, and one without features.
    fn data(rows: usize, classes: usize) -> Dataset {
        let mut data = Dataset::new(2, (0..classes).map(|k| k.to_string()).collect());
        for n in 0..rows {
            if n > 0 {
                data.push_entry(0, 1.5);
                data.push_entry(1, [-0.5, -4.5][n % 2]);
            }
            data.end_row(&[(n % classes) as u32]);
        }
        data
    }

    #[test]
    fn the_default_of_factored_scores_is_one_over_the_mean_norm() {
        let factored = |step| {
            let mut factored = FactoredOptions::default();
            factored.stochastic.step = step;
            TrainOptions::new(ScoreOptions::Factored(factored))
        };
        let adagrad = factored(StepKind::Adagrad);
        let rate = |rows, options: &TrainOptions| default(&Examples::of(&data(rows, 2)), options);
        assert_eq!(rate(5, &adagrad), 5.0 / (2.0 + 6.0 + 2.0 + 6.0));
        // Of many rows, every so many.
        assert!((rate(5 * ROWS, &adagrad) - 0.25).abs() < 1e-4);
        // Rows without features, other steps and other scores.
        assert_eq!(rate(1, &adagrad), stochastic::LEARNING_RATE);
        assert_eq!(rate(5, &factored(StepKind::Sgd)), stochastic::LEARNING_RATE);
        let linear = TrainOptions::new(ScoreOptions::Linear(LinearOptions::default()));
        assert_eq!(rate(5, &linear), stochastic::LEARNING_RATE);
        for (rows, classes, searched) in [(100, 10, true), (99, 10, false), (2 * ROWS, ROWS / 10 + 1, false)] {
            let data = data(rows, classes);
            assert_eq!(is_searched(&Examples::of(&data), &adagrad), searched, "{rows} rows, {classes} classes");
            assert!(is_searched(&Examples::of(&data), &linear));
        }
    }
}
