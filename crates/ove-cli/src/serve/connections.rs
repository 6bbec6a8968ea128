//! Connections, with limits on their number and times.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Maximum time for the head of a request to arrive, and for a connection to be idle.
const HEAD: Duration = Duration::from_secs(10);

/// Maximum number of bytes that a connection reads ahead, which is also the maximum length of a head. By default it is
/// 417,792: of 8192 connections, 3.4 GB.
const READ_AHEAD: usize = 32 << 10;

/// Maximum time for the current requests when the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// Maximum number of connections; further ones wait.
const MOST: usize = 8192;

/// A semaphore that limits the number of connections.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Room(Arc::new(Semaphore::new(MOST)))
    }
}

impl Room {
    /// Number of open connections.
    pub fn taken(&self) -> usize {
        MOST - self.0.available_permits()
    }
}

/// Serves requests until `stop` completes, then finishes the current ones.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>, room: Room) -> Result<()> {
    // The default limit of some systems is low; a failure to raise it is ignored.
    let _ = rlimit::increase_nofile_limit(2 * MOST as u64);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let graceful = GracefulShutdown::new();
    let accept = async {
        loop {
            let place = room.0.clone().acquire_owned().await?;
            let Ok((stream, _)) = listener.accept().await else {
                // Out of file descriptors, or the peer has already closed the connection.
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(READ_AHEAD);
            let service = TowerToHyperService::new(router.clone());
            let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
            tokio::spawn(async move {
                // Errors of the peer are ignored.
                let _ = connection.await;
                drop(place);
            });
        }
    };
    tokio::select! {
        done = accept => return done,
        () = stop => {}
    }
    drop(listener);
    let _ = timeout(LAST_ANSWERS, graceful.shutdown()).await;
    Ok(())
}
