//! What one row contributes to an evaluation.

use super::bound::Bound;
use super::propensity::Propensities;
use super::rest::Rest;
use crate::data::Row;
use crate::forest::{Forest, Sight};
use crate::linear::{Linear, Prediction};
use crate::math::log_sum_exp;
use crate::model::Model;

/// The ranks at which rankings are cut.
pub(super) const AT: [usize; 3] = [1, 3, 5];

/// How many classes of a ranking are looked at.
pub(super) const TOP: usize = 5;

/// What one row contributes.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcome {
    /// How many labels the model knows, and how many it does not.
    pub labels: usize,
    unseen: usize,
    /// The best class.
    pub best: u32,
    /// Which of the best classes are labels.
    pub hits: [bool; TOP],
    /// The probability of the best class, and what it would be without calibration.
    pub confidence: f64,
    pub raw_confidence: f64,
    /// Σ log p(label) over all classes.
    pub log_probability: f64,
    /// Σ log p(label) among itself and the classes that are no labels: what the bound bounds.
    pub exact: f64,
    /// The objective.
    pub bound: f64,
    /// Σ K_eff over the labels.
    pub effective_rivals: f64,
    /// Σ 1/p_l of the hits, cut at [`AT`], and that of the best possible ranking.
    pub propensity: [f64; AT.len()],
    pub best_propensity: [f64; AT.len()],
}

impl Outcome {
    /// How many of the best `k` classes are labels.
    pub fn hits_within(&self, k: usize) -> usize {
        self.hits[..k].iter().filter(|&&hit| hit).count()
    }

    /// Σ 1/log₂(rank + 1) over the hits among the best `k` classes, beside the same with all labels in front.
    pub fn normalised_gain(&self, k: usize) -> f64 {
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let possible: f64 = (0..k.min(self.labels + self.unseen)).map(gain).sum();
        let reached: f64 = (0..k).filter(|&rank| self.hits[rank]).map(gain).sum();
        if possible > 0.0 { reached / possible } else { 0.0 }
    }
}

/// What all rows share.
pub(super) struct Measures {
    /// Trees maximise no bound.
    bound: Option<Bound>,
    propensities: Propensities,
}

impl Measures {
    pub fn new(model: &Model) -> Self {
        let bound = model.card.options.linear().map(|options| Bound::new(&model.card, options));
        Measures { bound, propensities: Propensities::new(&model.card) }
    }

    /// Of a row that has seen the trees, with the classes that they rank first, its labels, and how many of these the model does not know.
    pub fn of_forest(
        &self,
        forest: &Forest,
        row: Row<'_>,
        sight: &Sight,
        best: &[Prediction],
        labels: &[u32],
        unseen: usize,
    ) -> Outcome {
        let top: Vec<u32> = best.iter().map(|prediction| prediction.class).collect();
        Outcome {
            confidence: best[0].probability,
            raw_confidence: forest.uncalibrated(row, sight, best[0]),
            log_probability: labels.iter().map(|&label| forest.log_probability(row, sight, label)).sum(),
            ..self.ranked(&top, labels, unseen)
        }
    }

    /// What a ranking of classes tells.
    fn ranked(&self, top: &[u32], labels: &[u32], unseen: usize) -> Outcome {
        let mut hits = [false; TOP];
        top.iter().zip(&mut hits).for_each(|(class, hit)| *hit = labels.contains(class));
        Outcome {
            labels: labels.len(),
            unseen,
            best: top[0],
            hits,
            propensity: self.propensities.of_hits(top, &hits),
            best_propensity: self.propensities.of_best(labels, unseen),
            ..Outcome::default()
        }
    }
}

/// Scores row after row of a linear model in the same memory.
pub(super) struct Task<'a> {
    linear: &'a Linear,
    temperature: Option<f64>,
    measures: &'a Measures,
    scores: Vec<f32>,
    label_scores: Vec<f64>,
    rest: Rest,
}

impl<'a> Task<'a> {
    pub fn new(linear: &'a Linear, model: &Model, measures: &'a Measures) -> Self {
        let (scores, temperature) = (vec![0.0; linear.classes()], model.card.temperature);
        Task { linear, temperature, measures, scores, label_scores: Vec::new(), rest: Rest::default() }
    }

    /// Of a row with these labels, and so many that the model does not know.
    pub fn outcome(&mut self, row: Row<'_>, labels: &[u32], unseen: usize) -> Outcome {
        self.linear.scores(row, &mut self.scores);
        let top = top(&self.scores);
        let best = f64::from(self.scores[top[0] as usize]);
        let raw_confidence = self.temperature.map_or(0.0, |temperature| {
            let terms = self.scores.iter().map(|&score| (temperature * (f64::from(score) - best)).exp());
            1.0 / terms.sum::<f64>()
        });
        self.take_labels(labels);
        self.rest.fill(&self.scores);
        let total = log_sum_exp(self.label_scores.iter().copied().chain([self.rest.log_sum]));
        let exact = self.label_scores.iter().map(|&label| self.rest.log_probability(label)).sum();
        let effective_rivals = self.label_scores.iter().map(|&label| self.rest.effective_rivals(label)).sum();
        let (label_scores, scores, rest) = (&self.label_scores, &self.scores, &mut self.rest);
        let bound = self.measures.bound.as_ref().map(|bound| bound.of_labels(label_scores, scores, rest));
        Outcome {
            confidence: (best - total).exp(),
            raw_confidence,
            log_probability: self.label_scores.iter().map(|label| label - total).sum(),
            exact,
            effective_rivals,
            bound: bound.unwrap_or_default(),
            ..self.measures.ranked(&top, labels, unseen)
        }
    }

    /// Moves the scores of the labels out of those of all classes.
    fn take_labels(&mut self, labels: &[u32]) {
        self.label_scores.clear();
        for &label in labels {
            let score = std::mem::replace(&mut self.scores[label as usize], f32::NEG_INFINITY);
            self.label_scores.push(f64::from(score));
        }
    }
}

/// The classes with the largest scores, the best first; of equal ones the first.
fn top(scores: &[f32]) -> Vec<u32> {
    let mut top: Vec<u32> = Vec::with_capacity(TOP + 1);
    let mut least = f32::NEG_INFINITY;
    for (class, &score) in (0..).zip(scores) {
        if score > least || top.len() < TOP {
            let rank = top.partition_point(|&better| scores[better as usize] >= score);
            top.insert(rank, class);
            top.truncate(TOP);
            least = scores[top[top.len() - 1] as usize];
        }
    }
    top
}
