//! The contribution of one row to an evaluation.

use super::propensity::Propensities;
use super::{AT, CANDIDATES, TOP};
use crate::bound::Objective;
use crate::bound::negatives::Negatives;
use crate::bound::values::Values;
use crate::data::Row;
use crate::model::Model;
use crate::platform::elementary::{exp, log2};
use crate::platform::math::log_sum_exp;
use crate::platform::top_k::top_k;
use crate::sample::{SamplerKind, most_frequent};
use crate::scores::{Logistic, Measured, Prediction, SoftmaxScores};

/// The contribution of one row.
#[derive(Clone, Default)]
pub(super) struct Outcome {
    /// Number of labels that the model has, and that it does not have.
    pub labels: usize,
    unseen: usize,
    /// The top class.
    pub best: u32,
    /// Which of the top classes are labels.
    pub hits: [bool; TOP],
    /// The probability of the top class, with and without calibration.
    pub confidence: f64,
    pub raw_confidence: f64,
    /// Σ log p(label) over all classes.
    pub log_probability: f64,
    /// Σ log p(label) among the label and its negatives: the exact value of the bound.
    pub exact: f64,
    /// The objective.
    pub bound: f64,
    /// Σ K_eff over the labels.
    pub effective_rivals: f64,
    /// Σ 1/p_l of the hits at each k of [`AT`], and that of the best possible ranking.
    pub propensity: [f64; AT.len()],
    pub best_propensity: [f64; AT.len()],
    /// Rows with several labels: the probabilities of the candidates, and whether they are labels.
    pub candidates: Vec<(f32, bool)>,
}

impl Outcome {
    /// Number of labels among the top `k` classes.
    pub fn hits_within(&self, k: usize) -> usize {
        self.hits[..k].iter().filter(|&&hit| hit).count()
    }

    /// nDCG at `k`: Σ 1/log₂(rank + 1) over the hits, relative to the same with all labels first.
    pub fn normalised_gain(&self, k: usize) -> f64 {
        let gain = |rank: usize| 1.0 / log2(rank as f64 + 2.0);
        let possible: f64 = (0..k.min(self.labels + self.unseen)).map(gain).sum();
        let reached: f64 = (0..k).filter(|&rank| self.hits[rank]).map(gain).sum();
        if possible > 0.0 { reached / possible } else { 0.0 }
    }
}

/// The parameters of the metrics, shared by all rows.
pub(super) struct Measures {
    /// The objective, if it is a bound that can be computed from the scores of a row.
    bound: Option<Values>,
    propensities: Propensities,
    /// If rows have several labels.
    pub logistic: Option<Logistic>,
}

impl Measures {
    pub fn new(model: &Model) -> Self {
        Measures {
            bound: bound_of(model),
            propensities: Propensities::new(&model.card),
            logistic: model.several_labels(),
        }
    }

    /// Whether there is a bound.
    pub fn has_bound(&self) -> bool {
        self.bound.is_some()
    }

    /// The outcome of a row with its own probabilities, its labels, and the number of labels that the model does not
    /// have.
    pub fn of_measured(&self, measured: &Measured, labels: &[u32], unseen: usize) -> Outcome {
        let top: Vec<u32> = measured.top.iter().map(|prediction| prediction.class).collect();
        Outcome {
            confidence: measured.top[0].probability,
            raw_confidence: measured.raw_confidence,
            log_probability: measured.log_probability,
            candidates: self.candidates(&measured.top, labels),
            ..self.ranked(&top, labels, unseen)
        }
    }

    /// Number of top classes per row that are needed.
    pub fn top(&self) -> usize {
        if self.logistic.is_some() { CANDIDATES } else { TOP }
    }

    fn candidates(&self, top: &[Prediction], labels: &[u32]) -> Vec<(f32, bool)> {
        let pair = |found: &Prediction| (found.probability as f32, labels.contains(&found.class));
        if self.logistic.is_some() { top.iter().map(pair).collect() } else { Vec::new() }
    }

    /// The metrics that depend only on the ranking of classes.
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

/// The objective of a model, if it is a bound that can be computed here: a sampled softmax is not a bound, the C of
/// merged rivals depends on the training rows, and trees have no bound.
fn bound_of(model: &Model) -> Option<Values> {
    let options = &model.card.options;
    let bound = options.bound()?;
    let merges_rivals = bound.objective == Objective::Merged
        && options.stochastic().is_some_and(|stochastic| stochastic.sampler == SamplerKind::Rivals);
    if !bound.objective.is_bound() || merges_rivals {
        return None;
    }
    let mass: Vec<f64> = model.card.counts.iter().map(|&count| count as f64).collect();
    Some(Values::new(bound.objective, most_frequent(&mass, bound.objective, bound.merge)))
}

/// Scores rows one by one, reusing buffers.
pub(super) struct Scorer<'a> {
    softmax: &'a dyn SoftmaxScores,
    temperature: Option<f64>,
    measures: &'a Measures,
    scores: Vec<f32>,
    label_scores: Vec<f64>,
    negatives: Negatives,
}

impl<'a> Scorer<'a> {
    pub fn new(softmax: &'a dyn SoftmaxScores, temperature: Option<f64>, measures: &'a Measures) -> Self {
        let scores = vec![0.0; softmax.classes()];
        Scorer { softmax, temperature, measures, scores, label_scores: Vec::new(), negatives: Negatives::default() }
    }

    /// The outcome of a row with its labels and the number of labels that the model does not have.
    pub fn outcome(&mut self, row: Row<'_>, labels: &[u32], unseen: usize) -> Outcome {
        self.softmax.scores(row, &mut self.scores);
        let top = top_k(&self.scores, self.measures.top());
        let of_top: Vec<f64> = top.iter().map(|&class| f64::from(self.scores[class as usize])).collect();
        let best = f64::from(self.scores[top[0] as usize]);
        let raw_confidence = self.temperature.map_or(0.0, |temperature| {
            let terms = self.scores.iter().map(|&score| exp(temperature * (f64::from(score) - best)));
            1.0 / terms.sum::<f64>()
        });
        self.take_labels(labels);
        self.negatives.fill(&self.scores);
        let total = log_sum_exp(self.label_scores.iter().copied().chain([self.negatives.log_sum]));
        let exact = self.label_scores.iter().map(|&label| self.negatives.log_probability(label)).sum();
        let effective_rivals = self.label_scores.iter().map(|&label| self.negatives.effective_rivals(label)).sum();
        let (label_scores, scores, negatives) = (&self.label_scores, &self.scores, &mut self.negatives);
        let bound = self.measures.bound.as_ref().map(|bound| bound.of_labels(label_scores, scores, negatives));
        let log = |score: f64| match self.measures.logistic {
            Some(logistic) => logistic.log_probability(score - total),
            None => score - total,
        };
        let found = top.iter().zip(of_top).map(|(&class, score)| Prediction { class, probability: exp(log(score)) });
        Outcome {
            confidence: exp(log(best)),
            raw_confidence,
            log_probability: self.label_scores.iter().map(|&label| log(label)).sum(),
            candidates: self.measures.candidates(&found.collect::<Vec<_>>(), labels),
            exact,
            effective_rivals,
            bound: bound.unwrap_or_default(),
            ..self.measures.ranked(&top, labels, unseen)
        }
    }

    /// Moves the scores of the labels out of those of all classes, where they become −∞.
    fn take_labels(&mut self, labels: &[u32]) {
        self.label_scores.clear();
        for &label in labels {
            let score = std::mem::replace(&mut self.scores[label as usize], f32::NEG_INFINITY);
            self.label_scores.push(f64::from(score));
        }
    }
}
