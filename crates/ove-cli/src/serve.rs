//! `ove serve`: a model behind HTTP, with a page to explore it.
//!
//! ```text
//! connections → routes → request → work (a bounded queue, batches on all cores) → answer
//!                   ↘ page, model, classes, metrics
//! ```
//!
//! [`routes`] says what there is, `openapi.rs` describes it, `served.rs` holds the model that SIGHUP replaces.

mod answer;
mod assets;
mod body;
mod card;
pub mod connections;
mod explain;
mod metrics;
mod openapi;
mod request;
mod routes;
mod served;
mod token;
mod work;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use anyhow::{Context, Result, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::settings::ThreadFlags;
pub use answer::json;
pub use assets::routes as page;
use metrics::Metrics;
use served::Served;
use token::Token;
use work::Work;

/// Serve a model over HTTP, with a page to explore it
///
/// POST /predict, POST /explain, GET /model, GET /classes, GET /health and GET /metrics, described by /openapi.json; the page is at /.
/// SIGHUP loads the model again without losing a request; SIGTERM and Ctrl-C stop once every request is answered.
#[derive(clap::Args)]
#[command(after_help = "Example: ove serve my.model\n\
    \n  curl localhost:8080/predict -H 'content-type: application/json' -d '{\"text\": \"Timber in the city\", \"top\": 3}'")]
pub struct Args {
    /// The model
    model: PathBuf,
    /// Where to listen; beyond this machine only with a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// A file with the token that requests have to carry: `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A file of lines `class<TAB>name`, where classes have names for people
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadFlags,
}

/// What all requests share.
pub struct Server {
    served: RwLock<Arc<Served>>,
    token: Option<Token>,
    work: Work,
    metrics: Metrics,
    room: connections::Room,
}

impl Server {
    /// The model of this moment; a request keeps the one that it began with.
    pub fn served(&self) -> Arc<Served> {
        self.served.read().expect("no panic while it is locked").clone()
    }
}

/// Serves until it is stopped.
pub fn run(args: Args) -> Result<()> {
    let address = address(&args.listen)?;
    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    if token.is_none() && !address.ip().is_loopback() {
        bail!("--listen {address} is open to other machines, so it needs a --token-file");
    }
    let load = move || Served::load(&args.model, args.names.as_deref());
    let server = Arc::new(Server {
        served: RwLock::new(Arc::new(load()?)),
        token,
        work: Work::new(args.threads.threads)?,
        metrics: Metrics::default(),
        room: connections::Room::default(),
    });
    let listener = bind(address)?;
    runtime()?.block_on(async {
        let (stop, hangup) = (stop()?, signal(SignalKind::hangup())?);
        tokio::spawn(reload_on_hangup(hangup, server.clone(), load));
        eprintln!("listening on http://{}", listener.local_addr()?);
        connections::serve(listener, routes::router(server.clone()), stop, server.room.clone()).await
    })
}

/// The threads that read and write; predicting has threads of its own.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("starting threads")
}

fn address(text: &str) -> Result<SocketAddr> {
    let found =
        text.to_socket_addrs().with_context(|| format!("--listen {text}: an address is like 127.0.0.1:8080"))?;
    found.into_iter().next().with_context(|| format!("--listen {text}: no such address"))
}

/// Listens there.
pub fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).with_context(|| format!("listening on {address}"))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Ends with SIGTERM or Ctrl-C.
fn stop() -> Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Loads the model again at each SIGHUP; a file that cannot be used leaves the old one in place.
async fn reload_on_hangup(mut hangup: Signal, server: Arc<Server>, load: impl Fn() -> Result<Served>) {
    while hangup.recv().await.is_some() {
        let loaded = tokio::task::block_in_place(&load);
        server.metrics.model_loaded(loaded.is_ok());
        match loaded {
            Ok(served) => {
                *server.served.write().expect("no panic while it is locked") = Arc::new(served);
                eprintln!("loaded the model again");
            }
            Err(error) => eprintln!("the model in use stays: {error:#}"),
        }
    }
}
