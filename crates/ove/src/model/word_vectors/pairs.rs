//! Similarities of words beside those that people gave: Spearman's rank correlation.
//!
//! ```text
//! tiger<TAB>cat<TAB>7.35
//! ```
//!
//! Lines that start with `#` are comments. Case is ignored, and pairs with an unknown word are left out.

use std::path::Path;

use serde::Serialize;

use super::{WordVectors, product};
use crate::error::{Error, Place, Result};
use crate::io::read::text_lines;

/// How well similarities agree with those of people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WordPairs {
    /// Spearman's rank correlation over the covered pairs.
    pub spearman: f64,
    /// Number of pairs whose words are both known.
    pub covered: usize,
    /// Number of pairs.
    pub pairs: usize,
}

impl WordVectors {
    /// Compares the cosines of pairs of words with the numbers of a file.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, [`Error::Input`] if a line is not two words and a number.
    pub fn similarities(&self, path: &Path) -> Result<WordPairs> {
        let numbers = self.by_upper_case(usize::MAX);
        let (mut pairs, mut ours, mut theirs) = (0, Vec::new(), Vec::new());
        for (line, text) in (1..).zip(text_lines(path)?) {
            if text.starts_with('#') || text.trim().is_empty() {
                continue;
            }
            let separated = if text.contains('\t') { '\t' } else { ' ' };
            let parts: Vec<&str> = text.split(separated).map(str::trim).filter(|part| !part.is_empty()).collect();
            let score = parts.get(2).and_then(|score| score.parse::<f64>().ok()).filter(|score| score.is_finite());
            let Some(score) = score else {
                let place = Place { path: path.to_owned(), line, column: 1 };
                return Err(Error::Input {
                    place,
                    message: "expected two words and a number, separated by tabs".into(),
                });
            };
            pairs += 1;
            let number = |word: &str| numbers.get(&word.to_uppercase());
            if let (Some(&a), Some(&b)) = (number(parts[0]), number(parts[1])) {
                ours.push(f64::from(product(self.unit_of(a), self.unit_of(b))));
                theirs.push(score);
            }
        }
        Ok(WordPairs { spearman: correlation(&ranks(&ours), &ranks(&theirs)), covered: ours.len(), pairs })
    }
}

/// The rank of each number; equal numbers share the mean of their ranks.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut first = 0;
    for same in order.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
        let mean = first as f64 + (same.len() as f64 - 1.0) / 2.0;
        same.iter().for_each(|&at| ranks[at] = mean);
        first += same.len();
    }
    ranks
}

/// Pearson's correlation; 0 if one of the lists is constant.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len().max(1) as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(a, b)| f(a - mean_a, b - mean_b)).sum::<f64>();
    let scale = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    if scale > 0.0 { sum(&|a, b| a * b) / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `scipy.stats.spearmanr` gives it.
    #[test]
    fn the_correlation_is_that_of_ranks() {
        let (a, b) = ([1.0, 2.0, 2.0, 5.0, 0.5, 9.0], [3.0, 1.0, 4.0, 4.0, 2.0, 7.0]);
        assert_eq!(ranks(&a), [1.0, 2.5, 2.5, 4.0, 0.0, 5.0]);
        let found = correlation(&ranks(&a), &ranks(&b));
        assert!((found - 0.720_588_235_294_117_6).abs() < 1e-12, "{found}");
        assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), 0.0);
    }
}
