//! Python while the library works: Ctrl-C and progress.
//!
//! Python runs signal handlers on its main thread only, and the library reports from one of its own threads. So the
//! work goes to another thread, and the one that called waits for it with the interpreter released. It wakes every
//! [`TICK`] to let handlers run and to pass on the latest report.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

const TICK: Duration = Duration::from_millis(50);

/// What the two threads tell each other.
#[derive(Default)]
pub struct Pulse {
    stop: AtomicBool,
    enough: AtomicBool,
    latest: Mutex<Option<Report>>,
}

/// How far the work is.
#[derive(Clone, Copy, Default)]
pub struct Report {
    /// The share that is done.
    pub done: f64,
    /// The bound on the scale of all rows, if there is one.
    pub bound: Option<f64>,
    /// Number of epochs and of updates; none while settings are chosen.
    pub run: Option<(f64, u64)>,
}

impl Pulse {
    /// Says how far the work is.
    pub fn tell(&self, report: Report) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    /// Whether the work has to stop, and nobody waits for its result.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Whether the work has to stop, and its result so far is wanted.
    pub fn is_enough(&self) -> bool {
        self.enough.load(Relaxed)
    }

    fn take(&self) -> Option<Report> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Does `work` with the interpreter released. `progress`, if given, is called with the share that is done, the bound,
/// and the number of epochs and of updates. If it returns False, the work is asked to end with what it has. An
/// exception of a signal handler or of `progress` stops the work, and is raised once it has stopped.
pub fn watched<R: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Pulse) -> R + Send,
) -> PyResult<R> {
    let pulse = Pulse::default();
    py.detach(|| {
        std::thread::scope(|scope| {
            let (working, finished) = mpsc::channel::<()>();
            let worker = scope.spawn(|| {
                let _ends_with_the_work = working;
                work(&pulse)
            });
            let mut heard = Ok(());
            while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(TICK) {
                if heard.is_ok() {
                    heard = Python::attach(|py| hear(py, &pulse, progress.as_ref()));
                    pulse.stop.store(heard.is_err(), Relaxed);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if heard.is_ok() {
                heard = Python::attach(|py| hear(py, &pulse, progress.as_ref()));
            }
            heard.map(|()| result)
        })
    })
}

fn hear(py: Python<'_>, pulse: &Pulse, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let (Some(Report { done, bound, run }), Some(progress)) = (pulse.take(), progress) {
        let answer = progress.call1(py, (done, bound, run))?;
        if matches!(answer.extract::<bool>(py), Ok(false)) {
            pulse.enough.store(true, Relaxed);
        }
    }
    Ok(())
}
