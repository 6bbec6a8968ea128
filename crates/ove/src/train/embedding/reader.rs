//! A thread that reads the text ahead of training: pieces of it as numbers of words, with words and windows drawn.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use super::draws::Positions;
use crate::error::Result;
use crate::io::Corpus;
use crate::text::WordCounts;

/// Pieces that are read ahead.
const AHEAD: usize = 4;

/// What the thread reads, and how it draws.
pub(super) struct Source {
    pub corpus: Corpus,
    pub words: WordCounts,
    /// The share of the occurrences of each word that is kept.
    pub kept: Vec<f32>,
    pub window: usize,
    pub seed: u64,
}

/// The pieces of one epoch. When it is dropped, the thread ends with the piece that it reads.
pub(super) struct Reader {
    pieces: Receiver<Result<Positions>>,
}

impl Reader {
    /// Starts reading an epoch from a piece on.
    pub fn start(source: &Arc<Source>, epoch: usize, from: usize) -> Self {
        let (sender, pieces) = sync_channel(AHEAD);
        let source = Arc::clone(source);
        std::thread::spawn(move || {
            let mut number = from as u64;
            let mut take = |tokens: Vec<u32>| {
                let key = [source.seed, epoch as u64, number];
                number += 1;
                match sender.send(Ok(Positions::draw(&tokens, &source.kept, source.window, key))) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            };
            if let Err(error) = source.corpus.each_piece(&source.words, from, &mut take) {
                // If nobody listens any more, nobody wants to know.
                let _ = sender.send(Err(error));
            }
        });
        Reader { pieces }
    }

    /// The next piece, or `None` at the end of the text.
    pub fn next(&mut self) -> Result<Option<Positions>> {
        self.pieces.recv().ok().transpose()
    }
}
