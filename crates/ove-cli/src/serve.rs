//! The HTTP server of a model (`ove serve`) and of a training run (`ove train --watch`), with a web page.
//!
//! ```text
//! connections → host → routes → request → work (a bounded queue, batches on all cores) → answer
//!                          ↘ page, model, classes, metrics
//! ```
//!
//! [`routes`] defines the endpoints, `openapi.rs` describes them, `served.rs` is the model, which SIGHUP replaces, and
//! [`watch`] is the page of a training run.

mod annif;
mod answer;
mod assets;
mod body;
mod card;
mod connections;
mod explain;
mod host;
mod metrics;
mod openapi;
mod request;
mod routes;
mod served;
mod signals;
mod token;
pub mod watch;
mod work;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, RwLock};

use anyhow::{Context, Result};

pub use annif::Project;
pub use host::Hosts;
use metrics::Metrics;
pub use served::Served;
pub use token::Token;
use work::Work;

use crate::terminal::note;

/// The state that all requests share.
pub struct Server {
    served: RwLock<Arc<Served>>,
    token: Option<Token>,
    /// What Annif calls the model, if it may ask.
    project: Option<Project>,
    work: Work,
    bodies: body::Budget,
    metrics: Metrics,
    room: connections::Room,
}

impl Server {
    /// A server that has not answered anything.
    fn new(served: Served, token: Option<Token>, project: Option<Project>, threads: usize) -> Result<Self> {
        Ok(Server {
            served: RwLock::new(Arc::new(served)),
            token,
            project,
            work: Work::new(threads)?,
            bodies: body::Budget::default(),
            metrics: Metrics::default(),
            room: connections::Room::default(),
        })
    }

    /// The current model; a request uses the same one throughout.
    pub fn served(&self) -> Arc<Served> {
        self.served.read().expect("no panic while it is locked").clone()
    }
}

/// Serves a model until SIGTERM or Ctrl-C; `load` is called again at each SIGHUP.
pub fn serve(
    address: SocketAddr,
    hosts: Hosts,
    token: Option<Token>,
    project: Option<Project>,
    threads: usize,
    load: impl Fn() -> Result<Served> + Send + 'static,
) -> Result<()> {
    let server = Arc::new(Server::new(load()?, token, project, threads)?);
    let listener = bind(address)?;
    runtime()?.block_on(async {
        let stop = signals::stop()?;
        signals::reload(server.clone(), load)?;
        note!("listening on http://{}", listener.local_addr()?);
        connections::serve(listener, routes::router(server.clone(), hosts), stop, server.room.clone()).await
    })
}

/// The threads for connections; predictions have their own threads.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting threads")
}

/// Resolves the address of a flag.
pub fn resolve(flag: &str, address: &str) -> Result<SocketAddr> {
    let found = address
        .to_socket_addrs()
        .with_context(|| format!("{flag} {address}: an address must have the form 127.0.0.1:8080"))?;
    found.into_iter().next().with_context(|| format!("{flag} {address}: no such address"))
}

/// Listens on an address.
fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).with_context(|| format!("listening on {address}"))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
