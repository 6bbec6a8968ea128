//! Thread pools, kept for the life of the process.
//!
//! rayon's global pool is never started: after a fork, the child's copy of it has no threads, and work in it would wait
//! forever. The pools here are tagged with the id of the process that built them, and a forked child builds its own.
//! They are kept in an append-only list, without a lock that could be held during a fork.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// A list node: a pool and the next node.
struct Node {
    process: u32,
    threads: usize,
    pool: ThreadPool,
    next: OnceLock<Box<Node>>,
}

static POOLS: OnceLock<Box<Node>> = OnceLock::new();

/// Runs `work` on the current pool, or outside of any pool on one with a thread per core.
pub(crate) fn run<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() {
        return work();
    }
    match pool(0) {
        Ok(pool) => pool.install(work),
        Err(error) => panic!("{error}"),
    }
}

/// Runs `work` with the given number of threads; 0 means one per core.
///
/// All parallel work of this crate within `work` uses these threads. Pools are kept, so a second call with the same
/// number costs nothing. Results do not depend on the number of threads.
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

/// The pool of this process with the given number of threads, built if there is none.
fn pool(threads: usize) -> Result<&'static ThreadPool> {
    let (process, mut built, mut slot) = (std::process::id(), None, &POOLS);
    loop {
        if let Some(node) = slot.get() {
            if node.process == process && node.threads == threads {
                return Ok(&node.pool);
            }
            slot = &node.next;
            continue;
        }
        let pool = match built.take() {
            Some(pool) => pool,
            None => build(threads)?,
        };
        // The pool is built before the slot is set; if another thread set it first, the search continues. No locks.
        if let Err(node) = slot.set(Box::new(Node { process, threads, pool, next: OnceLock::new() })) {
            built = Some(node.pool);
        }
    }
}

fn build(threads: usize) -> Result<ThreadPool> {
    let named = ThreadPoolBuilder::new().num_threads(threads).thread_name(|n| format!("ove-{n}"));
    named
        .build()
        .map_err(|error| Error::setting("threads", format!("be a number that the system can start ({error})"), threads))
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
