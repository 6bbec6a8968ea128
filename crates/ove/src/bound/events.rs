//! Proposition 1: the bound for any probability model.
//!
//! For an event A and disjoint events Bᵢ whose union is the rest of Ω,
//!
//! ```text
//! P(A) ≥ Π P(A | A ∪ Bᵢ) = Π P(A) / (P(A) + P(Bᵢ))                                          eq. 5
//! ```
//!
//! with equality for a single B. Merging two events replaces their factors by P(A | A ∪ Bᵢ ∪ Bⱼ), which can only
//! tighten the bound.

use crate::error::{Error, Result};

/// The bound of eq. 5 on P(A), from P(A) and the P(Bᵢ), given up to a common factor.
///
/// # Errors
/// [`Error::Setting`] if P(A) is not positive, or a P(Bᵢ) is negative or not finite.
pub fn bound(a: f64, rest: &[f64]) -> Result<f64> {
    let valid = |p: f64| p.is_finite() && p >= 0.0;
    if !valid(a) || a == 0.0 {
        return Err(Error::setting("P(A)", "be a positive number", a));
    }
    if let Some(&b) = rest.iter().find(|&&b| !valid(b)) {
        return Err(Error::setting("P(B)", "be a number of at least 0", b));
    }
    Ok(rest.iter().map(|b| a / (a + b)).product())
}

/// Merges events: each group of indices becomes one event, in the order of the groups, followed by the other events.
///
/// # Errors
/// [`Error::Setting`] if an index is out of range or occurs twice.
pub fn merge(rest: &[f64], groups: &[Vec<usize>]) -> Result<Vec<f64>> {
    let mut free = vec![true; rest.len()];
    let mut merged = Vec::with_capacity(rest.len());
    for group in groups {
        let mut sum = 0.0;
        for &i in group {
            match free.get_mut(i) {
                Some(free) if *free => *free = false,
                found => {
                    let must = format!("name each of the {} events at most once", rest.len());
                    let again = if found.is_some() { " twice" } else { "" };
                    return Err(Error::setting("merge", must, format!("event {i}{again}")));
                }
            }
            sum += rest[i];
        }
        merged.push(sum);
    }
    merged.extend(rest.iter().zip(free).filter(|(_, free)| *free).map(|(b, _)| b));
    Ok(merged)
}
