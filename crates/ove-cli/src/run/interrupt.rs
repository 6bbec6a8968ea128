//! Ctrl-C and SIGTERM.
//!
//! During training, the first one ends the run after the current batch, so that the model so far can be saved; a second
//! one ends the program at once. At any other time the first one ends the program: no file is incomplete then.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::terminal::note;

/// Signals within this time after the first are ignored: some programs signal a process and then its group.
const ECHO: Duration = Duration::from_millis(500);

/// Time of the first signal.
static FIRST: OnceLock<Instant> = OnceLock::new();
static HELD: AtomicBool = AtomicBool::new(false);

/// Installs the handler.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        if !HELD.load(SeqCst) {
            std::process::exit(130);
        }
        if let Some(first) = FIRST.get() {
            if first.elapsed() > ECHO {
                std::process::exit(130);
            }
            return;
        }
        let _ = FIRST.set(Instant::now());
        // Below the progress line.
        note!("");
        note!("stopping; press Ctrl-C again to quit without saving");
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

/// Whether Ctrl-C was pressed or SIGTERM received.
pub fn requested() -> bool {
    FIRST.get().is_some()
}

/// Breaks once a stop is requested.
pub fn flow() -> ControlFlow<()> {
    if requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
