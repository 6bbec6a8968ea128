//! Signals of the server: SIGTERM and Ctrl-C stop it, SIGHUP reloads the model.
//!
//! Without Unix signals there is only Ctrl-C, and a new model needs a restart.

use std::sync::Arc;

use anyhow::Result;

use super::Server;
use super::served::Served;
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
pub fn reload(server: Arc<Server>, load: impl Fn() -> Result<Served> + Send + 'static) -> Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            let loaded = tokio::task::block_in_place(&load);
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
pub fn reload(_: Arc<Server>, _: impl Fn() -> Result<Served>) -> Result<()> {
    Ok(())
}
