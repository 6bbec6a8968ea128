//! Signals of the server: SIGTERM and Ctrl-C stop it, SIGHUP reloads the model.
//!
//! Without Unix signals there is only Ctrl-C, and a new model needs a restart.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use anyhow::{Result, anyhow};

use super::Server;
use crate::terminal::note;

#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

/// Completes at SIGTERM or Ctrl-C.
#[cfg(unix)]
pub fn stop() -> Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Completes at Ctrl-C.
#[cfg(not(unix))]
pub fn stop() -> Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Reloads the model at each SIGHUP; after a failure, the old one stays in use.
#[cfg(unix)]
pub fn reload<S: Send + Sync + 'static>(
    server: Arc<Server<S>>,
    load: impl Fn() -> Result<S> + Send + 'static,
) -> Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            // A panic must not end this task, which would silently ignore all later signals.
            let load = || std::panic::catch_unwind(AssertUnwindSafe(&load));
            let loaded = tokio::task::block_in_place(load).unwrap_or_else(|_| Err(anyhow!("the loader panicked")));
            server.metrics.model_loaded(loaded.is_ok());
            match loaded {
                Ok(served) => {
                    *server.served.write().expect("no panic while it is locked") = Arc::new(served);
                    note!("reloaded the model");
                }
                Err(error) => note!("reloading failed, the old model stays in use: {error:#}"),
            }
        }
    });
    Ok(())
}

/// Does nothing: there is no SIGHUP.
#[cfg(not(unix))]
pub fn reload<S>(_: Arc<Server<S>>, _: impl Fn() -> Result<S>) -> Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::serve::Served;
    use crate::serve::metrics::Gauges;

    /// Signals go to the whole process, so there is one test of them.
    #[test]
    fn a_loader_that_panics_is_counted_and_called_again() {
        let server = Arc::new(Server::new(Served::of_tests(), None, 1).unwrap());
        let calls = AtomicUsize::new(0);
        let load = move || match calls.fetch_add(1, SeqCst) {
            0 => panic!("on purpose"),
            _ => Ok(Served::of_tests()),
        };
        let first = server.served();
        crate::serve::runtime().unwrap().block_on(async {
            reload(server.clone(), load).unwrap();
            for counter in ["ove_model_load_failures_total 1\n", "ove_model_loads_total 1\n"] {
                let process = std::process::id().to_string();
                assert!(std::process::Command::new("kill").args(["-HUP", &process]).status().unwrap().success());
                let (start, gauges) = (Instant::now(), Gauges { waiting: 0, connections: 0, body_bytes: 0 });
                while !server.metrics.text(&gauges).contains(counter) {
                    assert!(start.elapsed() < Duration::from_secs(10), "no {counter}");
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        });
        assert!(!Arc::ptr_eq(&first, &server.served()), "the new model is served");
    }
}
