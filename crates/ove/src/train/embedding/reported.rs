//! The objective that a run reports, beside its exact value.
//!
//! A run at a learning rate of zero measures windows that it never learns from. Its windows, negatives and the blocks
//! that are measured are drawn; the exact value sums over all of them:
//!
//! ```text
//! Σ_pairs p(distance) value(x, y) / Σ_pairs p(distance)        p(d) = (window − d + 1) / window
//! value(x, y) by the sums over all words m of q_m, which k negatives stand for
//! ```

use super::EmbeddingTraining;
use crate::bound::EmbeddingObjective;
use crate::io::{Corpus, Sentences};
use crate::options::EmbeddingOptions;
use crate::platform::random::Stream;

const WORDS: usize = 50;
const WINDOW: usize = 3;

/// Sentences in which a word is often followed by the next one, and frequent words occur more often than rare ones.
fn sentences() -> Vec<Vec<String>> {
    let mut random = Stream::of(&[21]);
    let sentence = |random: &mut Stream| {
        let mut word = 0;
        (0..12)
            .map(|_| {
                let drawn = (random.below(WORDS as u64) * random.below(WORDS as u64)) as usize / WORDS;
                word = if random.below(2) == 0 { (word + 1) % WORDS } else { drawn };
                format!("w{word}")
            })
            .collect()
    };
    (0..20_000).map(|_| sentence(&mut random)).collect()
}

/// A run whose vectors are random, and which does not move them.
fn still(objective: EmbeddingObjective, sentences: &[Vec<String>]) -> EmbeddingTraining {
    let options = EmbeddingOptions {
        rank: 8,
        window: WINDOW,
        sample: 0.0,
        min_count: 1,
        epochs: 1,
        learning_rate: 1e-12,
        objective,
        ..EmbeddingOptions::default()
    };
    let corpus = Corpus::Sentences(Sentences::of(sentences));
    let mut run = EmbeddingTraining::new(corpus, &options).expect("enough words");
    let mut random = Stream::of(&[22]);
    let width = run.inputs.width;
    for table in [&mut run.inputs, &mut run.outputs] {
        for vector in table.numbers.chunks_mut(width) {
            vector[..8].iter_mut().for_each(|x| *x = 0.4 * random.normal() as f32);
        }
    }
    run
}

fn exact(run: &EmbeddingTraining, objective: EmbeddingObjective, sentences: &[Vec<String>]) -> f64 {
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let shares = &run.noise.shares;
    let negatives = run.options.negatives as f64;
    let all: Vec<Vec<f64>> = (0..shares.len() as u32)
        .map(|x| {
            let score = |y: u32| {
                run.inputs.get(x).iter().zip(run.outputs.get(y)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            (0..shares.len() as u32).map(score).collect()
        })
        .collect();
    let value = |x: usize, y: usize| {
        let (scores, own) = (&all[x], all[x][y]);
        let sum = |term: &dyn Fn(f64) -> f64| {
            negatives * shares.iter().zip(scores).map(|(share, &score)| share * term(score)).sum::<f64>()
        };
        match objective {
            EmbeddingObjective::OneVsEach => -sum(&|score| softplus(score - own)),
            EmbeddingObjective::NegativeSampling => -softplus(-own) - sum(&|score| softplus(score)),
            // The normalised bound is tight at the exact Z.
            EmbeddingObjective::SampledSoftmax | EmbeddingObjective::Normalised => -softplus(sum(&f64::exp).ln() - own),
        }
    };
    let (mut total, mut weight) = (0.0, 0.0);
    for sentence in sentences {
        let words: Vec<usize> =
            sentence.iter().map(|word| run.source.words.get(word).expect("counted") as usize).collect();
        for at in 0..words.len() {
            for other in at.saturating_sub(WINDOW)..words.len().min(at + WINDOW + 1) {
                if other != at {
                    let share = (WINDOW + 1 - at.abs_diff(other)) as f64 / WINDOW as f64;
                    total += share * value(words[at], words[other]);
                    weight += share;
                }
            }
        }
    }
    total / weight
}

/// What is reported is drawn from a thirty-second of the windows: its error is well below a percent.
#[test]
fn the_reported_objective_is_the_exact_one() {
    let sentences = sentences();
    for objective in EmbeddingObjective::ALL.iter().copied() {
        let mut run = still(objective, &sentences);
        let expected = exact(&run, objective, &sentences);
        while run.step().expect("text").is_some() {}
        let found = run.facts.trace[0].bound / run.tokens() as f64;
        // One-vs-each and negative sampling are sums over negatives, whose samples are unbiased. The logarithm of a
        // sampled Z is too small on average, and so sampled softmax is too large; a Z that is a running mean makes a
        // bound too small.
        let (least, most) = match objective {
            EmbeddingObjective::SampledSoftmax => (-0.005, 0.03),
            EmbeddingObjective::Normalised => (-0.03, 0.005),
            _ => (-0.01, 0.01),
        };
        let off = found / expected - 1.0;
        // Both are negative: a larger value is closer to zero.
        assert!((least..most).contains(&-off), "{objective}: {found}, exactly {expected}");
    }
}
