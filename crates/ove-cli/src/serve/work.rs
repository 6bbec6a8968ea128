//! Predictions on all cores, with a bounded queue and batching.
//!
//! Each piece of a request wakes a thread of a pool, which takes its share of the queue and predicts the rows together;
//! batches never wait for each other. A long request is split into pieces that are queued one after another, so that
//! short requests are not delayed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use axum::http::StatusCode;
use ove::{Dataset, Prediction};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::{Semaphore, oneshot};

use super::answer::Fault;
use super::metrics::Metrics;
use super::request::{Input, MOST_CLASSES, Predict, Wanted};
use super::served::Served;

/// Maximum number of rows of a piece, and of a batch: some milliseconds of work.
const PIECE: usize = 32;

/// Maximum number of waiting requests; further ones are rejected.
const WAITING: usize = 1024;

/// The threads for predictions, and their queue.
pub struct Work {
    pool: ThreadPool,
    waiting: Arc<Mutex<VecDeque<Piece>>>,
    room: Arc<Semaphore>,
}

/// What was found for a row.
#[derive(Debug)]
pub struct Found {
    /// Its most probable classes.
    pub top: Vec<Prediction>,
    /// Number of its features that the model knows; with none, the classes do not depend on the row.
    pub known: usize,
}

struct Piece {
    served: Arc<Served>,
    input: Input,
    wanted: Wanted,
    reply: oneshot::Sender<Vec<Found>>,
}

impl Work {
    /// Starts the given number of threads, 0 for one per core.
    pub fn new(threads: usize) -> Result<Self> {
        let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(|n| format!("predict {n}"));
        // A panic closes the channel of the request, which then fails.
        let pool = builder.panic_handler(|_| {}).build().context("starting threads")?;
        Ok(Work { pool, waiting: Arc::default(), room: Arc::new(Semaphore::new(WAITING)) })
    }

    /// Number of requests waiting or in progress.
    pub fn waiting(&self) -> usize {
        WAITING - self.room.available_permits()
    }

    /// The classes of each row.
    pub async fn predict(&self, served: &Arc<Served>, asked: Predict, metrics: &Metrics) -> Result<Vec<Found>, Fault> {
        let _place = self.room.try_acquire().map_err(|_| busy())?;
        let mut predictions = Vec::with_capacity(asked.input.len());
        metrics.add_rows(asked.input.len());
        for input in asked.input.pieces(PIECE) {
            let (reply, answer) = oneshot::channel();
            let piece = Piece { served: served.clone(), input, wanted: asked.wanted, reply };
            self.waiting.lock().expect("no panic while it is locked").push_back(piece);
            let (waiting, threads) = (self.waiting.clone(), self.pool.current_num_threads());
            self.pool.spawn(move || predict_batch(take_batch(&waiting, threads)));
            predictions.extend(answer.await.map_err(|_| failed())?);
        }
        Ok(predictions)
    }

    /// Runs other work on the pool.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
        let _place = self.room.try_acquire().map_err(|_| busy())?;
        let (reply, answer) = oneshot::channel();
        self.pool.spawn(move || {
            let _ = reply.send(work());
        });
        answer.await.map_err(|_| failed())
    }
}

fn busy() -> Fault {
    Fault::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests are waiting")
}

fn failed() -> Fault {
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "the prediction failed")
}

/// Takes a share of the queue, of one model and one kind of input; empty if other threads were faster.
fn take_batch(waiting: &Mutex<VecDeque<Piece>>, threads: usize) -> Vec<Piece> {
    let mut waiting = waiting.lock().expect("no panic while it is locked");
    let share = waiting.len().div_ceil(threads);
    let (mut batch, mut rows): (Vec<Piece>, usize) = (Vec::new(), 0);
    while let Some(piece) = waiting.front() {
        let fits = batch.first().is_none_or(|first| {
            let same_kind = matches!(first.input, Input::Texts(_)) == matches!(piece.input, Input::Texts(_));
            same_kind && Arc::ptr_eq(&first.served, &piece.served) && rows + piece.input.len() <= PIECE
        });
        if !fits || batch.len() == share {
            break;
        }
        rows += piece.input.len();
        batch.extend(waiting.pop_front());
    }
    batch
}

fn predict_batch(batch: Vec<Piece>) {
    let Some(first) = batch.first() else { return };
    let top = |piece: &Piece| if let Wanted::Top(top) = piece.wanted { top } else { 0 };
    let most = batch.iter().map(top).max().unwrap_or(0);
    let (served, data) = (first.served.clone(), rows_of(&batch, &first.served));
    let (model, rows) = (&served.model, data.rows());
    // Runs on the current pool.
    let mut found = model.top_k(rows, most).into_iter();
    let mut start = 0;
    for piece in batch {
        let own = start..start + piece.input.len();
        start = own.end;
        let mut tops: Vec<_> = found.by_ref().take(own.len()).collect();
        let most = match piece.wanted {
            Wanted::Top(top) => top,
            Wanted::Threshold(threshold) => {
                tops = model.predict_within(rows, own.clone(), Some(threshold));
                MOST_CLASSES
            }
        };
        tops.iter_mut().for_each(|classes| classes.truncate(most));
        let known = |row: usize| rows.row(row).below(model.features()).indices.len();
        let _ = piece.reply.send(own.zip(tops).map(|(row, top)| Found { top, known: known(row) }).collect());
    }
}

fn rows_of(batch: &[Piece], served: &Served) -> Dataset {
    let inputs: Vec<&Input> = batch.iter().map(|piece| &piece.input).collect();
    rows(&inputs, served)
}

/// The rows of several inputs of one kind, concatenated.
pub fn rows(inputs: &[&Input], served: &Served) -> Dataset {
    let (mut texts, mut data) = (Vec::new(), Dataset::new(served.model.features(), Vec::new()));
    for input in inputs {
        match input {
            Input::Texts(more) => texts.extend(more.iter().map(String::as_str)),
            Input::Rows(rows) => {
                for row in rows {
                    row.iter().for_each(|&(feature, value)| data.push_entry(feature, value));
                    data.end_row(&[]);
                }
            }
        }
    }
    match &served.model.card.text {
        Some(text) if !texts.is_empty() => text.rows(&texts),
        _ => data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(served: &Arc<Served>, rows: usize) -> Piece {
        let (reply, _) = oneshot::channel();
        Piece { served: served.clone(), input: Input::Rows(vec![Vec::new(); rows]), wanted: Wanted::Top(1), reply }
    }

    #[test]
    fn a_batch_is_a_share_of_one_model() {
        let (one, other) = (Arc::new(Served::of_tests()), Arc::new(Served::of_tests()));
        let rows = [(&one, 1), (&one, 1), (&one, 1), (&one, PIECE), (&other, 1), (&other, 1)];
        let waiting = Mutex::new(rows.iter().map(|(served, rows)| piece(served, *rows)).collect());
        let sizes = |batch: Vec<Piece>| batch.iter().map(|piece| piece.input.len()).collect::<Vec<_>>();
        assert_eq!(sizes(take_batch(&waiting, 3)), [1, 1]); // a third of six
        assert_eq!(sizes(take_batch(&waiting, 1)), [1]); // the next is too large
        assert_eq!(sizes(take_batch(&waiting, 1)), [PIECE]); // and then comes another model
        assert_eq!(sizes(take_batch(&waiting, 1)), [1, 1]);
        assert_eq!(sizes(take_batch(&waiting, 1)), [0; 0]);
    }

    #[test]
    fn a_full_queue_rejects_requests_and_a_panic_fails_only_its_own() {
        let work = Work::new(1).unwrap();
        let runtime = crate::serve::runtime().unwrap();
        let status = |answer: Result<i32, Fault>| answer.unwrap_err().status();
        let panicked = runtime.block_on(work.run(|| panic!("on purpose")));
        assert_eq!(status(panicked), StatusCode::INTERNAL_SERVER_ERROR);
        let taken = work.room.try_acquire_many(WAITING as u32).unwrap();
        assert_eq!(work.waiting(), WAITING);
        assert_eq!(status(runtime.block_on(work.run(|| 1))), StatusCode::SERVICE_UNAVAILABLE);
        let asked = Predict { input: Input::Rows(vec![Vec::new()]), wanted: Wanted::Top(1) };
        let served = Arc::new(Served::of_tests());
        let refused = runtime.block_on(work.predict(&served, asked, &Metrics::default()));
        assert_eq!(refused.unwrap_err().status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(taken);
        assert_eq!(runtime.block_on(work.run(|| 1)).unwrap(), 1);
    }
}
