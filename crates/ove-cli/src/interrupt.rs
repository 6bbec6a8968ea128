//! Ctrl-C and SIGTERM. While a model is trained, it ends the run after the current batch, so that what was reached can be saved; a second
//! one gives up on that. At any other time it ends the program at once: nothing is half-written then.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};

use anyhow::{Context, Result};

static REQUESTS: AtomicU8 = AtomicU8::new(0);
static HELD: AtomicBool = AtomicBool::new(false);

/// Starts listening.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        let earlier = REQUESTS.fetch_add(1, SeqCst);
        if earlier > 0 || !HELD.load(SeqCst) {
            std::process::exit(130);
        }
        eprintln!("\nstopping; press Ctrl-C again to give up what was reached");
    })
    .context("listening for Ctrl-C")
}

/// Runs `work`, during which the first Ctrl-C only sets [`requested`].
pub fn held<R>(work: impl FnOnce() -> R) -> R {
    HELD.store(true, SeqCst);
    let result = work();
    HELD.store(false, SeqCst);
    result
}

/// Whether Ctrl-C was pressed, or SIGTERM came.
pub fn requested() -> bool {
    REQUESTS.load(SeqCst) > 0
}

/// Whether work that may be stopped goes on.
pub fn flow() -> ControlFlow<()> {
    if requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
