//! The whole training of an embedding: counting the words, and the run.

use std::ops::ControlFlow;

use super::EmbeddingTraining;
use crate::error::{Error, Result};
use crate::io::Corpus;
use crate::model::Model;
use crate::options::EmbeddingOptions;
use crate::train::checkpoint::Saved;
use crate::train::fit::Stop;
use crate::train::run::Progress;

/// An event during [`fit_embedding`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum EmbeddingEvent<'e> {
    /// Words are being counted.
    Counting {
        /// Number of words so far.
        words: u64,
    },
    /// The words were counted, and the run begins.
    Counted {
        /// The run.
        training: &'e EmbeddingTraining,
    },
    /// The run took a step.
    Step {
        /// The run, which can be saved now.
        training: &'e EmbeddingTraining,
        /// Its progress.
        progress: &'e Progress,
    },
}

/// A callback that observes the training and may stop it.
pub type WatchEmbedding<'a> = dyn FnMut(EmbeddingEvent<'_>) -> ControlFlow<Stop> + Send + 'a;

/// Trains an embedding. A run that is stopped with [`Stop::Keep`] returns the model so far.
///
/// # Errors
/// Those of [`EmbeddingTraining`], and [`Error::Stopped`] after [`Stop::Discard`] or while words are counted.
///
/// ```
/// use std::ops::ControlFlow;
/// use ove::io::{Corpus, Sentences};
/// use ove::options::EmbeddingOptions;
/// use ove::train::fit_embedding;
///
/// let corpus = Corpus::Sentences(Sentences::of(vec!["to be or not to be".split(' '); 20]));
/// let options = EmbeddingOptions::from_settings(&serde_json::json!({ "rank": 4, "sample": 0.0 }))?;
/// let model = fit_embedding(corpus, &options, None, &mut |_| ControlFlow::Continue(()))?;
/// assert_eq!(model.word_vectors()?.words(), ["be", "to", "not", "or"]);
/// # Ok::<(), ove::Error>(())
/// ```
pub fn fit_embedding(
    corpus: Corpus,
    options: &EmbeddingOptions,
    saved: Option<&Saved>,
    watch: &mut WatchEmbedding<'_>,
) -> Result<Model> {
    options.check()?;
    let mut count = |words| match watch(EmbeddingEvent::Counting { words }) {
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
        ControlFlow::Break(_) => ControlFlow::Break(()),
    };
    let words = corpus.count(options.min_count, options.memory.0 / 4, &mut count)?;
    let mut training = EmbeddingTraining::with_words(corpus, words, options)?;
    if let Some(saved) = saved {
        training.restore(saved)?;
    }
    let mut flow = watch(EmbeddingEvent::Counted { training: &training });
    while flow.is_continue() {
        let Some(progress) = training.step()? else { break };
        flow = watch(EmbeddingEvent::Step { training: &training, progress: &progress });
    }
    match flow {
        ControlFlow::Break(Stop::Discard) => Err(Error::Stopped),
        _ => training.finish(),
    }
}
