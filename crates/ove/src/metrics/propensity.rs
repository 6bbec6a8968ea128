//! Propensities (Jain, Prabhu and Varma 2016): how likely a label that is right was noticed, by how often it was in training.
//!
//! ```text
//! 1/p_l = 1 + C (N_l + B)^−A        C = (log N − 1)(B + 1)^A        A = 0.55, B = 1.5
//! ```

use super::{AT, TOP};
use crate::model::Card;

/// 1/p_l of every class.
pub(super) struct Propensities {
    inverse: Vec<f64>,
    /// Of a class that the training rows did not have.
    unseen: f64,
}

impl Propensities {
    pub fn new(card: &Card) -> Self {
        let (a, b) = (0.55, 1.5f64);
        let c = ((card.rows as f64).ln() - 1.0) * (b + 1.0).powf(a);
        let inverse = |count: u64| 1.0 + c * (count as f64 + b).powf(-a);
        Propensities { inverse: card.counts.iter().map(|&count| inverse(count)).collect(), unseen: inverse(0) }
    }

    /// Σ 1/p_l over the hits among the first 1, 3 and 5 classes of a ranking.
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
