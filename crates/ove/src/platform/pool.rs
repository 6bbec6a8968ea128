//! The threads that work runs on: pools of our own, kept for the life of the process.
//!
//! rayon's global pool is never started, since a process that has started it and then forks leaves a child whose pool has
//! no threads: work in it would wait for ever. The pools here belong to the process that made them, by its id, and a
//! forked child makes its own. They are kept in a list that only grows, without a lock that a fork could leave held.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// A pool, and where the next one is.
struct Kept {
    process: u32,
    threads: usize,
    pool: ThreadPool,
    next: OnceLock<Box<Kept>>,
}

static POOLS: OnceLock<Box<Kept>> = OnceLock::new();

/// Runs `work` on the threads of the pool that this is called in, or else of one with a thread per core.
pub(crate) fn run<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match pool(0) {
        Ok(pool) => pool.install(work),
        // Without more threads, this one does the work: rayon then has none to hand it to.
        Err(error) => panic!("{error}"),
    }
}

/// Runs `work` with this many threads; 0 means one per core.
///
/// Everything in this crate that works in parallel and is called within `work` uses these threads. Pools are kept, so
/// that a second call with the same number costs nothing. Their number changes no result.
///
/// # Errors
/// [`Error::Setting`] if the system cannot start the threads.
///
/// ```
/// let threads = ove::with_threads(2, || rayon::current_num_threads())?;
/// assert_eq!(threads, 2);
/// # Ok::<(), ove::Error>(())
/// ```
pub fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> Result<R> {
    Ok(pool(threads)?.install(work))
}

/// The pool of this process with this many threads, made if there is none.
fn pool(threads: usize) -> Result<&'static ThreadPool> {
    let (process, mut made, mut slot) = (std::process::id(), None, &POOLS);
    loop {
        if let Some(kept) = slot.get() {
            if kept.process == process && kept.threads == threads {
                return Ok(&kept.pool);
            }
            slot = &kept.next;
            continue;
        }
        let pool = match made.take() {
            Some(pool) => pool,
            None => build(threads)?,
        };
        // Made before the slot is touched, and whoever finds it taken looks on: nothing waits here.
        if let Err(kept) = slot.set(Box::new(Kept { process, threads, pool, next: OnceLock::new() })) {
            made = Some(kept.pool);
        }
    }
}

fn build(threads: usize) -> Result<ThreadPool> {
    let named = ThreadPoolBuilder::new().num_threads(threads).thread_name(|n| format!("ove-{n}"));
    named
        .build()
        .map_err(|error| Error::setting("threads", format!("be as many as the system can start ({error})"), threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_made_once_and_the_global_one_never() {
        let first = std::ptr::from_ref(pool(3).unwrap());
        assert_eq!(first, std::ptr::from_ref(pool(3).unwrap()));
        assert_eq!(with_threads(3, rayon::current_num_threads).unwrap(), 3);
        // Within a pool, work stays in it.
        assert_eq!(with_threads(3, || run(rayon::current_num_threads)).unwrap(), 3);
    }
}
