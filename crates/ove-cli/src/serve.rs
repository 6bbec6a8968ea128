//! The HTTP server of a model, of word vectors or of a recommender (`ove serve`), and of a training run (`ove train
//! --watch`), with a web page.
//!
//! ```text
//! connections → host → routes → request → work (a bounded queue, batches on all cores) → answer
//!                          ↘ page, model, classes, metrics
//! ```
//!
//! [`routes`] defines the endpoints, `openapi.rs` describes them, and `served.rs` is the model, which SIGHUP replaces.
//! [`words`] has the same of word vectors, [`recommend`] of recommenders, and [`watch`] is the page of a training run.

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
mod recommend;
mod request;
mod routes;
mod served;
mod signals;
mod token;
pub mod watch;
mod words;
mod work;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, RwLock};

use anyhow::{Context, Result};
use axum::Router;

pub use annif::Project;
pub use host::Hosts;
use metrics::Metrics;
pub use recommend::ServedRecommender;
pub use served::Served;
pub use token::Token;
pub use words::ServedWords;
use work::Work;

use crate::terminal::note;

/// The state that all requests share: what is served, and all that is the same whatever it is.
pub struct Server<S> {
    served: RwLock<Arc<S>>,
    token: Option<Token>,
    work: Work,
    bodies: body::Budget,
    metrics: Metrics,
    room: connections::Room,
}

impl<S> Server<S> {
    /// A server that has not answered anything.
    fn new(served: S, token: Option<Token>, threads: usize) -> Result<Self> {
        Ok(Server {
            served: RwLock::new(Arc::new(served)),
            token,
            work: Work::new(threads)?,
            bodies: body::Budget::default(),
            metrics: Metrics::default(),
            room: connections::Room::default(),
        })
    }

    /// What is served now; a request uses the same throughout.
    pub fn served(&self) -> Arc<S> {
        self.served.read().expect("no panic while it is locked").clone()
    }
}

/// What can be served.
pub trait Serve: Send + Sync + Sized + 'static {
    /// Its endpoints.
    fn router(server: Arc<Server<Self>>, hosts: Hosts) -> Router;
}

impl Serve for Served {
    fn router(server: Arc<Server<Self>>, hosts: Hosts) -> Router {
        routes::router(server, hosts)
    }
}

impl Serve for ServedWords {
    fn router(server: Arc<Server<Self>>, hosts: Hosts) -> Router {
        words::router(server, hosts)
    }
}

impl Serve for ServedRecommender {
    fn router(server: Arc<Server<Self>>, hosts: Hosts) -> Router {
        recommend::router(server, hosts)
    }
}

/// Serves until SIGTERM or Ctrl-C; `load` is called again at each SIGHUP.
pub fn serve<S: Serve>(
    address: SocketAddr,
    hosts: Hosts,
    token: Option<Token>,
    threads: usize,
    load: impl Fn() -> Result<S> + Send + 'static,
) -> Result<()> {
    let server = Arc::new(Server::new(load()?, token, threads)?);
    let listener = bind(address)?;
    runtime()?.block_on(async {
        let stop = signals::stop()?;
        signals::reload(server.clone(), load)?;
        note!("listening on http://{}", listener.local_addr()?);
        connections::serve(listener, S::router(server.clone(), hosts), stop, server.room.clone()).await
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
