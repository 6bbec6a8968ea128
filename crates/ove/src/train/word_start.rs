//! Factored scores that start from vectors of words.
//!
//! ```text
//! u_d = w_d / (√3 ‖w_d‖)      if the feature d is a word with a vector w_d
//! ```
//!
//! Without vectors, u_d has numbers that are uniform within ±1/√rank, and so a length of about 1/√3. Vectors of words get
//! this length, so that one learning rate suits all features. Vectors of classes start at zero in either case.

use crate::error::{Error, Result};
use crate::model::WordVectors;
use crate::options::{FactoredOptions, ScoreOptions, TrainOptions};
use crate::platform::math::product;
use crate::platform::pool;
use crate::scores::{Factored, Scores};
use crate::train::stochastic::initial_vectors;

/// Scores to start from.
pub(super) struct WordStart {
    pub scores: Scores,
    /// Number of features that have the vector of a word.
    pub known: usize,
}

/// Scores of so many features and classes; features without a vector start at random.
pub(super) fn factored<'n>(
    vectors: &WordVectors,
    options: &TrainOptions,
    [features, classes]: [usize; 2],
    name: impl Fn(usize) -> Option<&'n str>,
) -> Result<WordStart> {
    let rank = vectors.rank();
    match &options.scores {
        Some(ScoreOptions::Factored(FactoredOptions { rank: own, .. })) if *own == rank => {}
        Some(ScoreOptions::Factored(factored)) => {
            return Err(Error::setting("rank", format!("be {rank}, as for the vectors of words"), factored.rank));
        }
        _ => return Err(Error::Mismatch("vectors of words are the start of factored scores, and of no others".into())),
    }
    let mut table = pool::run(|| initial_vectors(options.seed, features, rank));
    let length = 1.0 / 3f32.sqrt();
    let mut known = 0;
    for (feature, vector) in table.chunks_exact_mut(rank).enumerate() {
        let Some(word) = name(feature).and_then(|word| vectors.get(word)) else { continue };
        let norm = product(&word, &word).sqrt();
        if norm > 0.0 {
            vector.iter_mut().zip(word.iter()).for_each(|(x, word)| *x = word * (length / norm));
            known += 1;
        }
    }
    if known == 0 {
        let why = match name(0) {
            None => "features have no names".to_owned(),
            Some(first) => format!("features are other words, such as `{first}`"),
        };
        return Err(Error::Mismatch(format!("none of the {features} features has one of the vectors of words: {why}")));
    }
    let scores = Scores::Factored(Factored::new(rank, table, vec![0.0; classes * rank], vec![0.0; classes]));
    Ok(WordStart { scores, known })
}
