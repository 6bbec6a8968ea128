//! Embeddings of words, or of any symbols: vectors from which a word predicts its neighbours.
//!
//! The model is factored scores s = u_x·v_y + log q(y) with a feature and a class per word; the objectives are those of
//! [`bound::EmbeddingObjective`](crate::bound::EmbeddingObjective). The text is streamed in pieces, a piece is worked
//! on in blocks of segments, and a block has two phases: each segment computes its gradients from the vectors as they
//! were before the block (see `segment`), then stripes of the tables add these gradients in the order of the text.
//! Every random number is keyed by the seed and its place in the text, so the same seed gives the same bits for any
//! number of threads.
//!
//! ```
//! use ove::io::{Corpus, Sentences};
//! use ove::options::EmbeddingOptions;
//! use ove::train::EmbeddingTraining;
//!
//! let sentences = (0..200).map(|n| if n % 2 == 0 { ["red", "green", "blue"] } else { ["one", "two", "three"] });
//! let corpus = Corpus::Sentences(Sentences::of(sentences));
//! let options = EmbeddingOptions::from_settings(&serde_json::json!({ "rank": 8, "sample": 0.0, "epochs": 2 }))?;
//! let mut training = EmbeddingTraining::new(corpus, &options)?;
//! while training.step()?.is_some() {}
//! let model = training.finish()?;
//! assert_eq!(model.classes(), 6);
//! # Ok::<(), ove::Error>(())
//! ```

mod draws;
mod fit;
mod parts;
mod reader;
#[cfg(test)]
mod reported;
mod segment;
mod vectors;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

pub use fit::{EmbeddingEvent, WatchEmbedding, fit_embedding};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::draws::{Noise, Positions};
use self::parts::Parts;
use self::reader::{Reader, Source};
use self::segment::{POSITIONS, Place, Segment};
use self::vectors::Vectors;
use super::checkpoint::{self, F32, Identity, State, StateReader, Table};
use super::run::Progress;
use crate::bound::EmbeddingObjective;
use crate::error::{Error, Result};
use crate::io::Corpus;
use crate::model::{Card, Embedding, Model, TracePoint};
use crate::options::{EmbeddingOptions, FactoredOptions, ScoreOptions, TrainOptions};
use crate::platform::bytes::Bytes;
use crate::platform::elementary::ln;
use crate::platform::matrix::PANEL;
use crate::platform::pool;
use crate::scores::{Factored, Scores};
use crate::text::WordCounts;

/// Keys of random streams.
const INPUTS: u64 = u64::MAX - 22;

/// Negatives that a segment draws per multiple of the usual five per neighbour.
///
/// Fewer are faster, and more words are seen. On half of the analogies, after 10 MB of text: 7.6 % with 16 (8.6 seconds
/// of processor time), 9.3 % with 32 (10.3), 9.0 % with 48 (11.9), 9.8 % with 64 (13.8).
const DRAWS: usize = 2 * PANEL;

/// The rate of the running mean of normalising constants.
const NORMALISER_RATE: f64 = 0.05;

/// How often the most frequent row of a table may be visited per block, on average: gradients of a block add up, and
/// with too many for one row they would overshoot.
const VISITS: f64 = 8.0;

/// The most segments per block: enough work for the threads between two waits.
const SEGMENTS: usize = 32;

/// Every so many segments of a piece, the objective is evaluated.
const MEASURED: usize = 32;

/// What segments read.
struct Settings<'a> {
    inputs: &'a Vectors,
    outputs: &'a Vectors,
    normalisers: &'a [f32],
    parts: &'a Parts,
    noise: &'a Noise,
    objective: EmbeddingObjective,
    cbow: bool,
    /// Negatives per segment.
    draws: usize,
    /// How many negatives per neighbour each of them stands for.
    weight: f32,
}

/// A run that the caller advances piece by piece.
pub struct EmbeddingTraining {
    source: Arc<Source>,
    reader: Option<Reader>,
    options: EmbeddingOptions,
    inputs: Vectors,
    outputs: Vectors,
    /// log Z of each word, for the normalised objective.
    normalisers: Vec<f32>,
    parts: Parts,
    noise: Noise,
    segments: Vec<Segment>,
    facts: Facts,
}

/// The scalars of the state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Facts {
    epoch: usize,
    /// Pieces of this epoch that are done.
    pieces: usize,
    /// Words passed in all epochs, kept or not.
    tokens: u64,
    /// Sum of the objective over the pairs that were measured in this epoch, and their number.
    sum: f64,
    pairs: u64,
    trace: Vec<TracePoint>,
}

impl EmbeddingTraining {
    /// Counts the words and prepares a run.
    ///
    /// # Errors
    /// [`Error::Setting`] for invalid settings, [`Error::Mismatch`] if no word is frequent enough or the vectors exceed
    /// the memory budget, and those of [`Corpus::count`].
    pub fn new(corpus: Corpus, options: &EmbeddingOptions) -> Result<Self> {
        options.check()?;
        let words = corpus.count(options.min_count, options.memory.0 / 4, &mut |_| ControlFlow::Continue(()))?;
        EmbeddingTraining::with_words(corpus, words, options)
    }

    /// Prepares a run on words that were counted already.
    ///
    /// # Errors
    /// As [`EmbeddingTraining::new`].
    pub fn with_words(corpus: Corpus, words: WordCounts, options: &EmbeddingOptions) -> Result<Self> {
        options.check()?;
        check_words(&words, options)?;
        let parts = Parts::new(&words, options);
        check_memory(words.words().len(), parts.rows(), options)?;
        let width = options.rank.next_multiple_of(PANEL);
        let kept = draws::kept(words.counts(), options.sample);
        let most = parts.largest_share(&words, &kept);
        let segments = ((VISITS / (most * POSITIONS as f64)) as usize).clamp(1, SEGMENTS);
        let count = words.words().len();
        let is_normalised = options.objective == EmbeddingObjective::Normalised;
        Ok(EmbeddingTraining {
            inputs: pool::run(|| Vectors::random(parts.rows(), options.rank, width, [options.seed, INPUTS])),
            outputs: Vectors::zero(count, width),
            normalisers: if is_normalised { vec![f32::NAN; count] } else { Vec::new() },
            noise: Noise::new(words.counts()),
            segments: std::iter::repeat_with(Segment::default).take(segments).collect(),
            parts,
            source: Arc::new(Source { corpus, words, kept, window: options.window, seed: options.seed }),
            reader: None,
            options: options.clone(),
            facts: Facts::default(),
        })
    }

    /// The words with their counts.
    pub fn words(&self) -> &WordCounts {
        &self.source.words
    }

    /// Number of words of the text that are in the vocabulary.
    pub fn tokens(&self) -> u64 {
        self.source.words.counts().iter().sum()
    }

    /// Number of words that were passed in all epochs so far.
    pub fn passed(&self) -> u64 {
        self.facts.tokens
    }

    /// Learns from the next piece of text; returns `None` at the end of the run.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the objective is not finite, and those of reading the text.
    pub fn step(&mut self) -> Result<Option<Progress>> {
        loop {
            if self.facts.epoch >= self.options.epochs {
                return Ok(None);
            }
            let reader =
                self.reader.get_or_insert_with(|| Reader::start(&self.source, self.facts.epoch, self.facts.pieces));
            if let Some(positions) = reader.next()? {
                pool::run(|| self.learn(&positions));
                self.facts.pieces += 1;
                self.facts.tokens += positions.tokens;
                if !self.facts.sum.is_finite() {
                    return Err(self.diverged());
                }
                return Ok(Some(self.progress()));
            }
            self.reader = None;
            self.end_epoch()?;
        }
    }

    fn end_epoch(&mut self) -> Result<()> {
        let expected = self.tokens() * (self.facts.epoch as u64 + 1);
        if self.facts.tokens < expected && self.source.words.least() == 1 {
            return Err(Error::Mismatch("the text has become shorter since its words were counted".into()));
        }
        let bound = if self.facts.pairs == 0 { 0.0 } else { self.facts.sum / self.facts.pairs as f64 };
        let (facts, tokens) = (&mut self.facts, self.source.words.counts().iter().sum::<u64>());
        facts.trace.push(TracePoint { updates: facts.tokens, bound: bound * tokens as f64 });
        (facts.epoch, facts.pieces, facts.sum, facts.pairs) = (facts.epoch + 1, 0, 0.0, 0);
        Ok(())
    }

    fn diverged(&self) -> Error {
        Error::Diverged { epoch: self.facts.epoch + 1, learning_rate: self.options.learning_rate }
    }

    fn learn(&mut self, positions: &Positions) {
        let count = positions.words.len();
        let per_block = POSITIONS * self.segments.len();
        for first in (0..count).step_by(per_block) {
            let rate = self.rate(positions.tokens * first as u64 / count as u64);
            let places: Vec<Place> = (first..count.min(first + per_block))
                .step_by(POSITIONS)
                .map(|from| Place {
                    positions: from..count.min(from + POSITIONS),
                    key: [self.options.seed, self.facts.epoch as u64, self.facts.pieces as u64, from as u64],
                    rate: rate as f32,
                    measured: (from / POSITIONS).is_multiple_of(MEASURED),
                })
                .collect();
            self.block(positions, &places);
        }
    }

    /// The learning rate after so many words of the current piece.
    fn rate(&self, tokens: u64) -> f64 {
        let total = (self.tokens() * self.options.epochs as u64) as f64;
        let left = 1.0 - (self.facts.tokens + tokens) as f64 / total;
        self.options.learning_rate * left.max(1e-4)
    }

    /// Both phases of a block of segments.
    fn block(&mut self, positions: &Positions, places: &[Place]) {
        let EmbeddingTraining { inputs, outputs, normalisers, parts, noise, options, segments, .. } = self;
        let draws = draws_for(options);
        let settings = Settings {
            inputs,
            outputs,
            normalisers,
            parts,
            noise,
            objective: options.objective,
            cbow: options.cbow,
            draws,
            weight: options.negatives as f32 / draws as f32,
        };
        let segments = &mut segments[..places.len()];
        segments.par_iter_mut().zip(places).for_each(|(segment, place)| segment.compute(&settings, positions, place));

        let segments = &*segments;
        rayon::join(
            || {
                inputs.stripes().enumerate().for_each(|(number, mut stripe)| {
                    segments.iter().for_each(|segment| segment.inputs.add_to(number, &mut stripe));
                    segments.iter().for_each(|segment| segment.inputs.forget_in(number, &mut stripe));
                });
            },
            || {
                outputs.stripes().enumerate().for_each(|(number, mut stripe)| {
                    segments.iter().for_each(|segment| segment.outputs.add_to(number, &mut stripe));
                    segments.iter().for_each(|segment| segment.outputs.forget_in(number, &mut stripe));
                });
            },
        );
        for segment in segments {
            self.facts.sum += segment.value.0;
            self.facts.pairs += segment.value.1;
            for &(word, normaliser) in &segment.normalisers {
                normalisers[word as usize] = normaliser;
            }
        }
    }

    fn progress(&self) -> Progress {
        let all = self.tokens() as f64;
        let done = self.facts.tokens as f64 / (all * self.options.epochs as f64);
        let bound = self.facts.sum / self.facts.pairs.max(1) as f64;
        Progress {
            done: done.min(1.0),
            epoch: self.facts.epoch + 1,
            epochs: self.facts.tokens as f64 / all,
            updates: self.facts.tokens,
            likelihood: None,
            bound: Some(bound * all),
            learning_rate: Some(self.rate(0)),
        }
    }

    /// A copy of the whole state of the run.
    pub fn state(&self) -> State {
        let (facts, tables) = self.state_parts();
        State::new(self.identity(), facts, &tables)
    }

    fn state_parts(&self) -> (String, Vec<Table<'_>>) {
        let tables = vec![
            Table::new("inputs", F32, &self.inputs.numbers),
            Table::new("outputs", F32, &self.outputs.numbers),
            Table::new("normalisers", F32, &self.normalisers),
        ];
        (serde_json::to_string(&self.facts).expect("facts are numbers"), tables)
    }

    /// Restores the state or checkpoint of a run on the same text with the same options; the run then ends in the same
    /// bits as the other would have.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for the state of another run, [`Error::Checkpoint`] for a damaged one.
    pub fn restore(&mut self, state: &dyn StateReader) -> Result<()> {
        self.identity().check(state.identity())?;
        let facts: Facts = state.parse_facts()?;
        if facts.epoch > self.options.epochs {
            return Err(state.unusable(format!("{} of {} epochs are done", facts.epoch, self.options.epochs)));
        }
        state.read_into("inputs", &mut self.inputs.numbers)?;
        state.read_into("outputs", &mut self.outputs.numbers)?;
        state.read_into("normalisers", &mut self.normalisers)?;
        self.facts = facts;
        self.reader = None;
        Ok(())
    }

    /// Writes the state to a checkpoint file, atomically.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let (facts, tables) = self.state_parts();
        checkpoint::write(path, &self.identity(), &facts, &tables)
    }

    fn identity(&self) -> Identity {
        Identity::of_words(&self.source.words, &self.options)
    }

    /// A model with the current vectors.
    pub fn model(&self) -> Model {
        let (words, rank) = (&self.source.words, self.options.rank);
        let count = words.words().len();
        let bias: Vec<f32> = self.noise.shares.iter().map(|&share| ln(share) as f32).collect();
        let (inputs, outputs, rows) = (&self.inputs, &self.outputs, self.parts.rows());
        let scores = pool::run(|| {
            let (inputs, outputs) = (inputs.in_order(rows, rank), outputs.in_order(count, rank));
            Scores::Factored(Factored::new(rank, inputs, outputs, bias))
        });
        let mut options =
            TrainOptions::new(ScoreOptions::Factored(FactoredOptions { rank, ..FactoredOptions::default() }));
        (options.epochs, options.seed) = (Some(self.options.epochs), self.options.seed);
        let buckets = self.parts.buckets().to_vec();
        let card = Card {
            finished: self.facts.epoch == self.options.epochs,
            trace: self.facts.trace.clone(),
            embedding: Some(Embedding { options: self.options.clone(), buckets }),
            ..Card::new(options, words.words().to_vec(), words.counts().to_vec(), self.tokens())
        };
        Model { scores, card }
    }

    /// Ends the run, complete or not, and returns the model.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a number is not finite.
    pub fn finish(self) -> Result<Model> {
        let model = self.model();
        if !model.scores.are_finite() {
            return Err(self.diverged());
        }
        Ok(model)
    }
}

/// The number of negatives that a segment draws, which grows with those that a neighbour is compared with.
fn draws_for(options: &EmbeddingOptions) -> usize {
    DRAWS * options.negatives.div_ceil(EmbeddingOptions::default().negatives)
}

fn check_words(words: &WordCounts, options: &EmbeddingOptions) -> Result<()> {
    if words.least() > options.min_count {
        return Err(Error::Mismatch(format!(
            "the distinct words exceed the memory budget: words with up to {} occurrences were dropped; raise \
             `memory` or `min-count`",
            words.least() - 1
        )));
    }
    if words.words().is_empty() {
        return Err(Error::Mismatch(format!(
            "no word of the text occurs `min-count` = {} times; lower it, or give a longer text",
            options.min_count
        )));
    }
    Ok(())
}

fn check_memory(words: usize, rows: usize, options: &EmbeddingOptions) -> Result<()> {
    // Both tables in training, and both in the model.
    let needed = Bytes((words + rows) as u64 * 8 * options.rank.next_multiple_of(PANEL) as u64);
    if needed.0 <= options.memory.0 {
        return Ok(());
    }
    let (rank, memory) = (options.rank, options.memory);
    Err(Error::Mismatch(format!(
        "vectors of {rank} numbers of {words} words need {needed}; `memory` allows {memory}; raise `min-count`, or try a \
         smaller `rank`"
    )))
}
