//! How much memory the weights of a model may take.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::options::{Options, Solver};
use crate::step::StepKind;

/// Has weights share cells where the budget is too small for all of them, before anything is allocated. Refuses where they may not, or where
/// that does not help.
pub fn keep_within(
    memory: Bytes,
    features: usize,
    classes: usize,
    may_share: bool,
    options: &mut Options,
) -> Result<()> {
    let bytes_a_cell = match (options.solver, options.step) {
        // Six vectors in 64 bits and six pairs of vectors in 32 take 96 bytes; the rest is for the derivatives of the rows.
        (Solver::Batch, _) => 16 * 8,
        // The model takes the memory of the cells that it is made from.
        (Solver::Stochastic, StepKind::Sgd) => 4,
        (Solver::Stochastic, StepKind::Adagrad) => 12,
    };
    let (features, classes) = (features as u64 + 1, classes as u64);
    let needed = Bytes(features * classes * bytes_a_cell);
    if needed.0 <= memory.0 {
        return Ok(());
    }
    let shared = (memory.0 / bytes_a_cell).saturating_sub(classes);
    if options.solver == Solver::Batch || shared < classes || !may_share {
        return Err(Error::Mismatch {
            found: format!(
                "{classes} classes times {features} features need {needed} for the {} solver",
                options.solver
            ),
            allowed: format!("memory allows {memory}"),
        });
    }
    options.cells = Some(shared as usize);
    Ok(())
}

/// Whether so many weights of trees are within the budget. They take four bytes each while their nodes learn, and again where prediction
/// needs them, with the places of both.
pub fn holds_forest(memory: Bytes, weights: usize) -> bool {
    bytes_of_forest(weights).0 <= memory.0
}

/// Refuses a forest that has outgrown the budget.
pub fn check_forest(memory: Bytes, trees: usize, weights: usize) -> Result<()> {
    if holds_forest(memory, weights) {
        return Ok(());
    }
    Err(Error::Mismatch {
        found: format!("{trees} trees need more than {} for their weights", bytes_of_forest(weights)),
        allowed: format!(
            "memory allows {memory}; fewer trees need less, and the weights of the stochastic solver can share what there is"
        ),
    })
}

fn bytes_of_forest(weights: usize) -> Bytes {
    Bytes(weights as u64 * 12)
}

/// A number of bytes, written like `8GB`, `512MB` or `100000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::Option {
            name: "memory",
            found: format!("`{text}`"),
            allowed: "it is a number of bytes, or one with KB, MB, GB or TB, such as 8GB".into(),
        };
        let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let unit: f64 = match text[digits..].trim().to_ascii_uppercase().as_str() {
            "" | "B" => 1.0,
            "K" | "KB" => 1e3,
            "M" | "MB" => 1e6,
            "G" | "GB" => 1e9,
            "T" | "TB" => 1e12,
            _ => return Err(bad()),
        };
        let number: f64 = text[..digits].parse().map_err(|_| bad())?;
        Ok(Bytes((number * unit) as u64))
    }
}

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 as f64 {
            b if b >= 1e9 => write!(f, "{:.1} GB", b / 1e9),
            b if b >= 1e6 => write!(f, "{:.1} MB", b / 1e6),
            b => write!(f, "{:.1} kB", b / 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_their_units() {
        for (text, bytes) in [("8GB", 8_000_000_000), ("1.5 MB", 1_500_000), ("700", 700), ("2k", 2000)] {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(bytes));
        }
        for text in ["", "GB", "8 parsecs", "-1GB", "1.2.3"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
