//! Factored scores in training: a vector per feature and per class.
//!
//! ```text
//! h = Σ_d x_d u_d        f_k = h·v_k + b_k        ∂f_k/∂v_k = h        ∂f_k/∂u_d = x_d v_k
//! ```
//!
//! With g_k the derivative of the objective with respect to f_k, a row has the gradient g_k h for v_k and x_d q for
//! u_d, where q = Σ_k g_k v_k. Both h and q are computed in the first phase of a batch; in the second, each thread owns
//! a range of features and one of classes. AdaGrad keeps one sum of squares per vector instead of one per number, so
//! that every kernel runs over whole vectors.

use std::ops::Range;

use rayon::prelude::*;

use super::score_function::{Merged, ScoreFunction, cut, feature_ranges, mean};
use super::visit::Visit;
use crate::data::{Examples, Row, Rows};
use crate::error::Result;
use crate::options::{FactoredOptions, StepKind};
use crate::platform::math::{lanes, product};
use crate::platform::memory::prefetch;
use crate::platform::random::Stream;
use crate::platform::simd::vectorised;
use crate::scores::{Factored, Scores};
use crate::train::checkpoint::{F32, StateReader, Table};
use crate::train::optimizer::{Pace, VectorRule, VectorState};

/// Number of values per cache line.
const LINE: usize = 16;

/// Key of the random streams of the initial vectors.
const INITIAL: u64 = u64::MAX - 3;

/// Factored scores in training.
pub(super) struct FactoredLearner {
    features: Vectors,
    classes: Vectors,
    bias: Vectors,
    step: StepKind,
    /// The paces of the vectors and of the biases.
    paces: [Pace; 2],
    penalty_on_bias: bool,
    /// Ranges of features and of classes, one of each per thread.
    feature_ranges: Vec<Range<usize>>,
    class_ranges: Vec<Range<usize>>,
}

/// The state of a row between the phases.
#[derive(Clone, Default)]
pub(super) struct Embedding {
    /// h.
    hidden: Vec<f32>,
    /// q, the gradient with respect to h.
    gradient: Vec<f32>,
}

/// Vectors of the same length, each with the state of its step rule.
struct Vectors {
    rank: usize,
    numbers: Vec<f32>,
    states: Vec<VectorState>,
}

impl Vectors {
    fn new(count: usize, rank: usize, numbers: Vec<f32>) -> Self {
        debug_assert_eq!(numbers.len(), count * rank);
        Vectors { rank, numbers, states: vec![VectorState::default(); count] }
    }

    #[inline(always)]
    fn get(&self, at: usize) -> &[f32] {
        &self.numbers[at * self.rank..(at + 1) * self.rank]
    }

    fn prefetch(&self, at: usize) {
        prefetch(&self.states[at]);
        self.get(at).iter().step_by(LINE).for_each(prefetch);
    }

    /// The current vectors, including the penalty of the batches since their last updates.
    fn frozen(&self, rule: VectorRule) -> Vec<f32> {
        let of_vector = |(vector, state): (&[f32], &VectorState)| {
            let factor = state.factor(rule);
            vector.iter().map(move |number| number * factor).collect::<Vec<f32>>()
        };
        self.numbers.par_chunks(self.rank).zip(&self.states).flat_map_iter(of_vector).collect()
    }

    fn squares(&self) -> impl Iterator<Item = f32> {
        self.states.iter().map(|state| state.squares())
    }

    /// Splits the vectors into consecutive ranges.
    fn split<'a>(&'a mut self, ranges: &[Range<usize>]) -> Vec<Share<'a>> {
        let (rank, mut numbers, mut states) = (self.rank, &mut self.numbers[..], &mut self.states[..]);
        let mut shares = Vec::with_capacity(ranges.len());
        for range in ranges {
            let (own, rest) = numbers.split_at_mut(range.len() * rank);
            let (own_states, rest_states) = states.split_at_mut(range.len());
            shares.push(Share { first: range.start, rank, numbers: own, states: own_states });
            (numbers, states) = (rest, rest_states);
        }
        shares
    }
}

/// The vectors that one thread owns in the second phase.
struct Share<'a> {
    first: usize,
    rank: usize,
    numbers: &'a mut [f32],
    states: &'a mut [VectorState],
}

impl Share<'_> {
    /// The local index of a vector, if it is in this range.
    #[inline(always)]
    fn local(&self, at: u32) -> Option<usize> {
        let at = (at as usize).wrapping_sub(self.first);
        (at < self.states.len()).then_some(at)
    }
}

impl FactoredLearner {
    pub fn new(examples: &Examples<'_>, seed: u64, options: &FactoredOptions, start: Option<&Scores>) -> Result<Self> {
        let (rank, features, classes) = (options.rank, examples.rows.features(), examples.classes);
        let start = start.map(|scores| scores.factored_for(examples, rank)).transpose()?;
        let numbers = match start {
            Some(factored) => {
                [factored.features_table(), factored.classes_table(), factored.bias()].map(<[f32]>::to_vec)
            }
            // Class vectors start at zero: initially all classes are equally probable.
            None => [initial_vectors(seed, features, rank), vec![0.0; classes * rank], vec![0.0; classes]],
        };
        let [of_features, of_classes, bias] = numbers;
        Ok(FactoredLearner {
            features: Vectors::new(features, rank, of_features),
            classes: Vectors::new(classes, rank, of_classes),
            bias: Vectors::new(classes, 1, bias),
            step: options.stochastic.step,
            paces: Default::default(),
            penalty_on_bias: options.bound.penalty_on_bias,
            feature_ranges: std::iter::once(0..features).collect(),
            class_ranges: std::iter::once(0..classes).collect(),
        })
    }

    fn rules(&self) -> [VectorRule; 2] {
        self.paces.map(|pace| VectorRule::new(self.step, pace))
    }
}

/// Uniform numbers within ±1/√rank, so that rows of unit length have hidden vectors of about half that length.
pub(in crate::train) fn initial_vectors(seed: u64, features: usize, rank: usize) -> Vec<f32> {
    let mut numbers = crate::platform::memory::zeroed(features * rank);
    let scale = 1.0 / (rank as f32).sqrt();
    numbers.par_chunks_mut(rank.max(1)).enumerate().for_each(|(feature, vector)| {
        let mut random = Stream::of(&[seed, INITIAL, feature as u64]);
        vector.iter_mut().for_each(|number| *number = scale * (2.0 * random.uniform() as f32 - 1.0));
    });
    numbers
}

impl ScoreFunction for FactoredLearner {
    type Hidden = Embedding;

    fn touched(&self, entries: f64, classes: f64) -> f64 {
        self.features.rank as f64 * (entries + classes)
    }

    fn share(&mut self, examples: &Examples<'_>, threads: usize) {
        self.feature_ranges = feature_ranges(examples, threads);
        let counts: Vec<usize> = examples.counts().into_iter().map(|count| count as usize + 1).collect();
        self.class_ranges = cut(&counts, counts.iter().sum(), threads);
    }

    fn locate(&self, _: Row<'_>, _: &mut Embedding) {}

    fn prefetch(&self, row: Row<'_>, _: &Embedding, classes: &[u32]) {
        row.indices.iter().for_each(|&feature| self.features.prefetch(feature as usize));
        classes.iter().for_each(|&class| self.classes.prefetch(class as usize));
    }

    fn scores(&self, row: Row<'_>, embedding: &mut Embedding, classes: &[u32], scores: &mut Vec<f64>) {
        let [rule, bias_rule] = self.rules();
        embedding.hidden.clear();
        embedding.hidden.resize(self.features.rank, 0.0);
        embed(&self.features, row, rule, &mut embedding.hidden);
        scores.clear();
        scores.extend(classes.iter().map(|&class| {
            let class = class as usize;
            f64::from(self.bias.numbers[class] * self.bias.states[class].factor(bias_rule))
        }));
        add_products(&self.classes, &embedding.hidden, classes, rule, scores);
    }

    fn backward(&self, embedding: &mut Embedding, classes: &[u32], derivatives: &[f64]) {
        embedding.gradient.clear();
        embedding.gradient.resize(self.features.rank, 0.0);
        sum_vectors(&self.classes, classes, derivatives, self.rules()[0], &mut embedding.gradient);
    }

    fn all_scores(&self, row: Row<'_>, scores: &mut [f32]) {
        let [rule, bias_rule] = self.rules();
        let mut hidden = vec![0.0; self.features.rank];
        embed(&self.features, row.below(self.features.states.len()), rule, &mut hidden);
        for (class, score) in scores.iter_mut().enumerate() {
            let factor = self.classes.states[class].factor(rule);
            let bias = self.bias.numbers[class] * self.bias.states[class].factor(bias_rule);
            *score = bias + factor * product(&hidden, self.classes.get(class));
        }
    }

    fn advance(&mut self, rate: f64, shrink: f64) {
        let [vectors, bias] = &mut self.paces;
        vectors.advance(rate, shrink);
        bias.advance(rate, if self.penalty_on_bias { shrink } else { 0.0 });
    }

    fn update(&mut self, rows: Rows<'_>, visits: &[Visit<Embedding>]) {
        let [rule, bias_rule] = self.rules();
        let features = self.features.split(&self.feature_ranges);
        let classes = self.classes.split(&self.class_ranges).into_iter().zip(self.bias.split(&self.class_ranges));
        let update_features = |mut share: Share<'_>| {
            for visit in visits {
                let row = rows.row(visit.row);
                ascend_features(&mut share, row.indices, row.values, &visit.hidden.gradient, rule);
            }
        };
        let update_classes = |(mut share, mut bias): (Share<'_>, Share<'_>)| {
            for visit in visits {
                ascend_classes(&mut share, &visit.classes, &visit.derivatives, &visit.hidden.hidden, rule);
                ascend_classes(&mut bias, &visit.classes, &visit.derivatives, &[1.0], bias_rule);
            }
        };
        if self.feature_ranges.len() == 1 {
            features.into_iter().for_each(update_features);
            classes.for_each(update_classes);
            return;
        }
        let classes: Vec<_> = classes.collect();
        rayon::join(
            || features.into_par_iter().for_each(update_features),
            || classes.into_par_iter().for_each(update_classes),
        );
    }

    fn paces(&self) -> [Pace; 2] {
        self.paces
    }

    fn tables(&self) -> Vec<Table<'_>> {
        vec![
            Table::new("features", F32, &self.features.numbers),
            Table::new("feature_states", F32, &self.features.states),
            Table::new("classes", F32, &self.classes.numbers),
            Table::new("class_states", F32, &self.classes.states),
            Table::new("bias", F32, &self.bias.numbers),
            Table::new("bias_states", F32, &self.bias.states),
        ]
    }

    fn restore(&mut self, state: &dyn StateReader, paces: [Pace; 2]) -> Result<()> {
        for (name, states_name, vectors) in [
            ("features", "feature_states", &mut self.features),
            ("classes", "class_states", &mut self.classes),
            ("bias", "bias_states", &mut self.bias),
        ] {
            state.read_into(name, &mut vectors.numbers)?;
            state.read_into(states_name, &mut vectors.states)?;
        }
        self.paces = paces;
        Ok(())
    }

    fn merge(&mut self, others: &[Merged<'_>], own_share: f64) -> Result<()> {
        let (rules, step) = (self.rules(), self.step);
        for (name, states_name, vectors, part) in [
            ("features", "feature_states", &mut self.features, 0),
            ("classes", "class_states", &mut self.classes, 0),
            ("bias", "bias_states", &mut self.bias, 1),
        ] {
            let (mut numbers, mut squares) = (Vec::new(), Vec::new());
            for other in others {
                let of_other = Vectors {
                    rank: vectors.rank,
                    numbers: other.table(name, vectors.numbers.len())?,
                    states: other.table(states_name, vectors.states.len())?,
                };
                numbers.push((of_other.frozen(VectorRule::new(step, other.paces[part])), other.share));
                squares.push((of_other.squares().collect(), other.share));
            }
            let rule = rules[part];
            let squares = mean(vectors.squares(), own_share, &squares);
            vectors.numbers = mean(vectors.frozen(rule).into_iter(), own_share, &numbers);
            vectors.states = squares.into_iter().map(|squares| VectorState::with(squares, rule)).collect();
        }
        Ok(())
    }

    fn snapshot(&self) -> Scores {
        let [rule, bias_rule] = self.rules();
        let (features, classes) = (self.features.frozen(rule), self.classes.frozen(rule));
        Scores::Factored(Factored::new(self.features.rank, features, classes, self.bias.frozen(bias_rule)))
    }

    fn freeze(self) -> Scores {
        self.snapshot()
    }
}

vectorised! {
    /// Σ_d x_d u_d.
    fn embed(features: &Vectors, row: Row<'_>, rule: VectorRule, hidden: &mut [f32]) {
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            let value = value * features.states[feature as usize].factor(rule);
            for (hidden, number) in hidden.iter_mut().zip(features.get(feature as usize)) {
                *hidden += value * number;
            }
        }
    }
}

vectorised! {
    /// Adds h·v_k to the score of each class.
    fn add_products(vectors: &Vectors, hidden: &[f32], classes: &[u32], rule: VectorRule, scores: &mut [f64]) {
        for (score, &class) in scores.iter_mut().zip(classes) {
            let factor = vectors.states[class as usize].factor(rule);
            *score += f64::from(factor * lanes(hidden, vectors.get(class as usize), |a, b| a * b));
        }
    }
}

vectorised! {
    /// Σ_k g_k v_k.
    fn sum_vectors(vectors: &Vectors, classes: &[u32], derivatives: &[f64], rule: VectorRule, out: &mut [f32]) {
        for (&class, &derivative) in classes.iter().zip(derivatives) {
            let derivative = derivative as f32 * vectors.states[class as usize].factor(rule);
            for (sum, number) in out.iter_mut().zip(vectors.get(class as usize)) {
                *sum += derivative * number;
            }
        }
    }
}

vectorised! {
    /// Updates the vectors of a row's features with the gradient x_d q.
    fn ascend_features(share: &mut Share<'_>, indices: &[u32], values: &[f32], gradient: &[f32], rule: VectorRule) {
        let square = lanes(gradient, gradient, |a, b| a * b) / gradient.len() as f32;
        for (&feature, &value) in indices.iter().zip(values) {
            if let Some(at) = share.local(feature) {
                let vector = &mut share.numbers[at * share.rank..(at + 1) * share.rank];
                ascend(vector, &mut share.states[at], value, gradient, square, rule);
            }
        }
    }
}

vectorised! {
    /// Updates the vectors of the candidates with the gradient g_k h.
    fn ascend_classes(share: &mut Share<'_>, classes: &[u32], derivatives: &[f64], hidden: &[f32], rule: VectorRule) {
        let square = lanes(hidden, hidden, |a, b| a * b) / hidden.len() as f32;
        for (&class, &derivative) in classes.iter().zip(derivatives) {
            if let Some(at) = share.local(class) {
                let vector = &mut share.numbers[at * share.rank..(at + 1) * share.rank];
                ascend(vector, &mut share.states[at], derivative as f32, hidden, square, rule);
            }
        }
    }
}

/// Updates a vector with the gradient `a` times a direction of the given mean square.
#[inline(always)]
fn ascend(vector: &mut [f32], state: &mut VectorState, a: f32, direction: &[f32], square: f32, rule: VectorRule) {
    let (factor, step) = state.ascend(a * a * square, rule);
    let step = step * a;
    for (number, direction) in vector.iter_mut().zip(direction) {
        *number = *number * factor + step * direction;
    }
}
