//! The learning rate that the data chooses: short runs on some of the rows, compared on rows that were held out.
//!
//! Rates a factor of √10 apart are tried from the usual one on, upwards or downwards while that helps.

use std::ops::ControlFlow;

use super::{Problem, train};
use crate::error::{Error, Result};
use crate::held_out::{HeldOut, copy};
use crate::options::Options;
use crate::random::Stream;

/// A trial: rows at most, and epochs.
const ROWS: usize = 12_000;
const EPOCHS: usize = 5;

/// Factors of √10 at most, in either direction.
const REACH: i32 = 6;

/// Epochs for so many rows: about as many updates in all for few rows and for many, within limits. On 20 newsgroups, MNIST and BibTeX
/// every further epoch up to here lowers the error (.250 → .225 → .218, .084 → .079, .441 → .409 → .402 after 5, 20, 60).
pub fn epochs_for(rows: usize) -> usize {
    (1_200_000 / rows.max(1)).clamp(5, 60)
}

/// The rate for a problem, of whose rows those with weight are tried. `watch` may stop the search; the best so far is returned.
pub fn choose(
    problem: &Problem<'_>,
    options: &Options,
    held_out: &HeldOut<'_>,
    watch: &mut (dyn FnMut() -> ControlFlow<()> + Send),
) -> Result<f64> {
    let mut order: Vec<u32> = (0..problem.rows.len() as u32)
        .filter(|&n| problem.row_weights.get(n as usize).is_none_or(|&weight| weight > 0.0))
        .collect();
    Stream::of(&[options.seed, u64::MAX - 2]).shuffle(&mut order);
    order.truncate(ROWS);
    let sample = copy(problem, &order);
    let trial = Problem { rows: sample.rows(), labels: &sample.labels, row_weights: &sample.row_weights, ..*problem };
    let mut nlpd = |power: i32| -> Result<f64> {
        let learning_rate = options.learning_rate * 10f64.powf(f64::from(power) / 2.0);
        let short = Options { learning_rate, epochs: EPOCHS, ..options.clone() };
        match train(&trial, &short, &mut |_| watch()) {
            Ok(fit) => Ok(held_out.judge(&fit.linear, options.threads)?.nlpd),
            Err(Error::Diverged { .. }) => Ok(f64::INFINITY),
            Err(error) => Err(error),
        }
    };
    let mut best = (0, nlpd(0)?);
    for direction in [-1, 1] {
        let from = best.0;
        for step in 1..=REACH {
            let power = from + direction * step;
            let found = nlpd(power)?;
            if found >= best.1 {
                break;
            }
            best = (power, found);
        }
        if best.0 != 0 {
            break;
        }
    }
    Ok(options.learning_rate * 10f64.powf(f64::from(best.0) / 2.0))
}
