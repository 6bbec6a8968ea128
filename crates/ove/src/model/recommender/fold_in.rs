//! The vector of a new user from a list of items, with the item vectors as they are.
//!
//! It maximises the objective of training for these items, against a fixed sample of negatives, by some steps of Adam
//! from the mean of the item vectors.

use crate::bound::Objective;
use crate::options::RecommenderOptions;
use crate::platform::elementary::{ln, powf};
use crate::platform::math::{add_scaled, exp_all, max_all, product, products};
use crate::platform::random::Stream;
use crate::platform::simd::vectorised;
use crate::scores::Factored;

/// Number of steps.
const STEPS: usize = 40;

/// Length of the first step; the others decay to zero.
const RATE: f32 = 0.1;

/// Maximum number of negatives.
const NEGATIVES: usize = 1024;

/// Key of the random stream of the negatives.
const KEY: u64 = u64::MAX - 14;

/// The sample of negatives.
pub(super) struct Negatives {
    items: Vec<u32>,
    vectors: Vec<f32>,
    /// The number of items that each stands for.
    weight: f32,
}

impl Negatives {
    pub fn new(factored: &Factored, options: &RecommenderOptions) -> Self {
        let mut order: Vec<u32> = (0..factored.classes() as u32).collect();
        Stream::of(&[options.seed, KEY]).shuffle(&mut order);
        order.truncate(NEGATIVES);
        order.sort_unstable();
        let weight = factored.classes() as f32 / order.len() as f32;
        let vectors = order.iter().flat_map(|&item| factored.class(item)).copied().collect();
        Negatives { items: order, vectors, weight }
    }

    /// log Σ_j e^{s_j} over all items for the vector of a user as the model has it, estimated by the sample.
    pub fn log_sum(&self, vector: &[f32]) -> f32 {
        let mut scores = vec![0.0; self.items.len()];
        products(&self.vectors, vector, &mut scores);
        let largest = max_all(&scores);
        scores.iter_mut().for_each(|score| *score -= largest);
        exp_all(&mut scores);
        largest + ln(f64::from(self.weight * scores.iter().sum::<f32>())) as f32
    }
}

/// The derivatives of the objective by the scores, at a vector of unit length (for cosines).
struct Derivatives {
    own: Vec<f32>,
    others: Vec<f32>,
}

impl Derivatives {
    fn at(
        vector: &[f32],
        factored: &Factored,
        options: &RecommenderOptions,
        negatives: &Negatives,
        items: &[(u32, f32)],
    ) -> Derivatives {
        let scale = (1.0 / options.temperature) as f32;
        let mut others = vec![0.0; negatives.items.len()];
        products(&negatives.vectors, vector, &mut others);
        let mut own: Vec<f32> = items.iter().map(|&(item, _)| product(vector, factored.class(item))).collect();
        let largest = max_all(&own).max(max_all(&others));
        for scores in [&mut others, &mut own] {
            scores.iter_mut().for_each(|score| *score = (*score - largest) * scale);
            exp_all(scores);
        }
        for (item, _) in items {
            if let Ok(at) = negatives.items.binary_search(item) {
                others[at] = 0.0;
            }
        }
        if options.objective == Objective::OneVsEach {
            let mut sums = vec![0.0; others.len()];
            for (&(_, weight), own) in items.iter().zip(&mut own) {
                let mut total = 0.0;
                for (sum, other) in sums.iter_mut().zip(&others) {
                    let share = weight * negatives.weight * other / (other + *own);
                    *sum += share;
                    total += share;
                }
                *own = total;
            }
            return Derivatives { own, others: sums };
        }
        let all = negatives.weight * others.iter().sum::<f32>();
        let mut shares = 0.0;
        for (&(_, weight), own) in items.iter().zip(&mut own) {
            shares += weight * negatives.weight / (*own + all);
            *own = weight * all / (*own + all);
        }
        others.iter_mut().for_each(|other| *other *= shares);
        Derivatives { own, others }
    }

    /// The derivative by the vector.
    fn gradient(&self, factored: &Factored, negatives: &Negatives, items: &[(u32, f32)]) -> Vec<f32> {
        let mut gradient = vec![0.0; factored.rank()];
        for (&(item, _), &derivative) in items.iter().zip(&self.own) {
            add_scaled(&mut gradient, derivative, factored.class(item));
        }
        subtract_all(&negatives.vectors, &self.others, &mut gradient);
        gradient
    }
}

/// The vector of a user with these items and weights, divided by the temperature.
pub(super) fn fold_in(
    factored: &Factored,
    options: &RecommenderOptions,
    negatives: &Negatives,
    items: &[(u32, f32)],
) -> Vec<f32> {
    let rank = factored.rank();
    let mut vector = vec![0.0; rank];
    for &(item, weight) in items {
        add_scaled(&mut vector, weight, factored.class(item));
    }
    let vector = maximise(vector, options.normalize, |vector| {
        Derivatives::at(vector, factored, options, negatives, items).gradient(factored, negatives, items)
    });
    let scale = (1.0 / options.temperature) as f32;
    vector.into_iter().map(|number| number * scale).collect()
}

/// Takes the steps of Adam from a vector, towards the maximum of what has this gradient at a vector. If scores are
/// cosines, the gradient is taken at unit length, and so is the result.
pub(super) fn maximise(mut vector: Vec<f32>, normalize: bool, gradient_at: impl Fn(&[f32]) -> Vec<f32>) -> Vec<f32> {
    let length = product(&vector, &vector).sqrt();
    if length == 0.0 {
        return vector;
    }
    let rank = vector.len();
    vector.iter_mut().for_each(|number| *number /= length);
    let (mut means, mut squares) = (vec![0.0f32; rank], vec![0.0f32; rank]);
    for step in 0..STEPS {
        let (unit, inverse) = if normalize { to_unit(&vector) } else { (vector.clone(), 1.0) };
        let mut gradient = gradient_at(&unit);
        if normalize {
            let along = product(&gradient, &unit);
            for (gradient, unit) in gradient.iter_mut().zip(&unit) {
                *gradient = (*gradient - along * unit) * inverse;
            }
        }
        let rate = RATE * (1.0 - step as f32 / STEPS as f32);
        let missing = |decay: f64| (1.0 - powf(decay, (step + 1) as f64)) as f32;
        let (of_mean, of_square) = (missing(0.9), missing(0.99));
        for d in 0..rank {
            means[d] = 0.9 * means[d] + 0.1 * gradient[d];
            squares[d] = 0.99 * squares[d] + 0.01 * gradient[d] * gradient[d];
            vector[d] += rate * (means[d] / of_mean) / ((squares[d] / of_square).sqrt() + 1e-12);
        }
    }
    if normalize { to_unit(&vector).0 } else { vector }
}

/// The factor of each item's vector in the vector of the user, at the maximum of the objective.
pub(super) fn shares(
    factored: &Factored,
    options: &RecommenderOptions,
    negatives: &Negatives,
    items: &[(u32, f32)],
) -> Vec<f32> {
    let vector = fold_in(factored, options, negatives, items);
    let scale = (1.0 / options.temperature) as f32;
    let unit: Vec<f32> = vector.iter().map(|number| number / scale).collect();
    let derivatives = Derivatives::at(&unit, factored, options, negatives, items);
    // For cosines the gradient is parallel to the vector there; its length is what the factors are relative to.
    let gradient = derivatives.gradient(factored, negatives, items);
    let length = if options.normalize { product(&gradient, &gradient).sqrt().max(f32::MIN_POSITIVE) } else { 1.0 };
    derivatives.own.into_iter().map(|own| own * scale / length).collect()
}

pub(super) fn to_unit(vector: &[f32]) -> (Vec<f32>, f32) {
    let inverse = 1.0 / product(vector, vector).sqrt().max(f32::MIN_POSITIVE);
    (vector.iter().map(|number| number * inverse).collect(), inverse)
}

vectorised! {
    fn subtract_all(table: &[f32], factors: &[f32], out: &mut [f32]) {
        for (&factor, row) in factors.iter().zip(table.chunks_exact(out.len())) {
            for (out, number) in out.iter_mut().zip(row) {
                *out -= factor * number;
            }
        }
    }
}
