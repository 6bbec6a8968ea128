//! Connections: each has its time limits, and none can take the place of all others.

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

/// How long a request's head may take to arrive, and a connection may be idle.
const HEAD: Duration = Duration::from_secs(10);

/// How long requests may take to end once the server has to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// Connections beyond these wait until others end.
const MOST: usize = 8192;

/// Room for connections.
#[derive(Clone)]
pub struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Room(Arc::new(Semaphore::new(MOST)))
    }
}

impl Room {
    /// How many connections are open.
    pub fn taken(&self) -> usize {
        MOST - self.0.available_permits()
    }
}

/// Answers requests until `stop` ends, then those that have begun.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>, room: Room) -> Result<()> {
    // Some systems start with few; what cannot be raised stays.
    let _ = rlimit::increase_nofile_limit(2 * MOST as u64);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let graceful = GracefulShutdown::new();
    let accept = async {
        loop {
            let place = room.0.clone().acquire_owned().await?;
            let Ok((stream, _)) = listener.accept().await else {
                // Out of file descriptors, or a peer that is gone already: others go on.
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
            let service = TowerToHyperService::new(router.clone());
            let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
            tokio::spawn(async move {
                // A peer that breaks off is no fault of ours.
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
