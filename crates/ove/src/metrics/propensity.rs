//! Propensities (Jain, Prabhu and Varma 2016): the probability that a relevant label is observed, from its frequency.
//!
//! ```text
//! 1/p_l = 1 + C (N_l + B)^−A        C = (log N − 1)(B + 1)^A        A = 0.55, B = 1.5
//! ```

use super::{AT, TOP};
use crate::model::Card;
use crate::platform::elementary::{ln, powf};

/// 1/p_l of every class.
pub(super) struct Propensities {
    inverse: Vec<f64>,
    /// 1/p_l of a class without training rows.
    unseen: f64,
}

impl Propensities {
    pub fn new(card: &Card) -> Self {
        let (a, b) = (0.55, 1.5f64);
        let c = (ln(card.rows as f64) - 1.0) * powf(b + 1.0, a);
        let inverse = |count: u64| 1.0 + c * powf(count as f64 + b, -a);
        Propensities { inverse: card.counts.iter().map(|&count| inverse(count)).collect(), unseen: inverse(0) }
    }

    /// Σ 1/p_l over the hits among the top 1, 3 and 5 classes.
    pub fn of_hits(&self, top: &[u32], hits: &[bool; TOP]) -> [f64; AT.len()] {
        let of_hit = |(&class, &hit): (&u32, &bool)| if hit { self.inverse[class as usize] } else { 0.0 };
        AT.map(|k| top.iter().zip(hits).take(k).map(of_hit).sum())
    }

    /// The same for the best possible ranking, which starts with the rarest labels.
    pub fn of_best(&self, labels: &[u32], unseen: usize) -> [f64; AT.len()] {
        let mut inverse: Vec<f64> = labels.iter().map(|&label| self.inverse[label as usize]).collect();
        inverse.extend(std::iter::repeat_n(self.unseen, unseen));
        inverse.sort_by(|a, b| b.total_cmp(a));
        AT.map(|k| inverse.iter().take(k).sum())
    }
}
