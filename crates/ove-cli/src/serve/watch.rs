//! `ove train --watch`: the page of `ove serve`, showing a training run instead of a model.

use std::io::IsTerminal;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use axum::Router;
use axum::extract::State;
use axum::middleware;
use axum::response::Response;
use axum::routing::get;
use ove::model::HeldOutPoint;
use ove_report::model;
use serde_json::{Value, json};

use super::host::{self, Hosts};
use super::{answer, assets, connections};
use crate::run::record::{Moment, Sink};
use crate::serve;
use crate::terminal::note;

/// Maximum number of points of a curve; beyond it, every second one is dropped.
const POINTS: usize = 4096;

/// Maximum time to wait for an open page to fetch the final state.
const LAST_FETCH: Duration = Duration::from_secs(3);

/// A run with a page.
pub struct Live(Arc<Mutex<Run>>);

#[derive(Default)]
struct Run {
    moment: Moment,
    finished: bool,
    /// (updates, bound per row).
    bounds: Vec<(f64, f64)>,
    held_out: Vec<HeldOutPoint>,
    /// The time of the last fetch by a page.
    fetched: Option<Instant>,
    end_fetched: bool,
}

impl Live {
    /// Starts the page.
    pub fn open(address: &str) -> Result<Self> {
        let hosts = Hosts::known(address, &[], "use localhost or its address")?;
        let address = serve::resolve("--watch", address)?;
        if !address.ip().is_loopback() {
            bail!("--watch {address} must be a local address such as 127.0.0.1");
        }
        let listener = serve::bind(address)?;
        let url = format!("http://{}", listener.local_addr()?);
        note!("watch at {url}");
        let run = Arc::new(Mutex::new(Run::default()));
        let router = Router::new()
            .route(
                "/health",
                get(async || answer::json(&json!({ "status": "ok", "serves": "training", "token": false }))),
            )
            .route("/training", get(training))
            .merge(assets::routes())
            .layer(middleware::from_fn_with_state(Arc::new(hosts), host::check))
            .with_state(run.clone());
        let runtime = serve::runtime()?;
        thread::spawn(move || {
            let room = connections::Room::default();
            let done = runtime.block_on(connections::serve(listener, router, std::future::pending(), room));
            if let Err(error) = done {
                note!("warning: the page has stopped: {error:#}");
            }
        });
        if std::io::stderr().is_terminal() {
            show_in_browser(&url);
        }
        Ok(Live(run))
    }
}

impl Sink for Live {
    fn write(&mut self, moment: &Moment, held_out: &[HeldOutPoint]) -> Result<()> {
        let mut run = self.0.lock().expect("no panic while it is locked");
        run.moment = *moment;
        run.held_out = held_out.to_vec();
        if let Some(bound) = moment.bound {
            run.bounds.push((moment.updates as f64, bound));
        }
        if run.bounds.len() > POINTS {
            let mut odd = false;
            run.bounds.retain(|_| {
                odd = !odd;
                odd
            });
        }
        Ok(())
    }

    /// Waits until an open page has fetched the final state.
    fn finish(self: Box<Self>) {
        let lock = || self.0.lock().expect("no panic while it is locked");
        lock().finished = true;
        let end = Instant::now();
        let is_open = |run: &Run| run.fetched.is_some_and(|at| at + LAST_FETCH > end) && !run.end_fetched;
        while is_open(&lock()) && end.elapsed() < LAST_FETCH {
            thread::sleep(Duration::from_millis(20));
        }
        // Time for the last response to be sent.
        thread::sleep(Duration::from_millis(100));
    }
}

async fn training(State(run): State<Arc<Mutex<Run>>>) -> Response {
    let mut run = run.lock().expect("no panic while it is locked");
    run.fetched = Some(Instant::now());
    run.end_fetched = run.finished;
    answer::json(&run.json())
}

impl Run {
    fn json(&self) -> Value {
        let Moment { seconds, done, .. } = self.moment;
        let mut object = serde_json::to_value(self.moment).unwrap_or_default();
        object["state"] = if self.finished { "finished" } else { "running" }.into();
        object["seconds_left"] = (done > 0.0).then(|| seconds * (1.0 - done) / done).into();
        let [error, nlpd] = model::held_out_charts(&self.held_out);
        let charts = [model::bound_chart(self.bounds.clone()), error, nlpd];
        object["charts"] = charts.iter().flatten().map(|chart| chart.svg()).collect();
        object
    }
}

/// Opens the page in a browser, if there is one; the address was printed in any case.
fn show_in_browser(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started =
        Command::new(opener).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Ok(mut child) = started {
        thread::spawn(move || child.wait());
    }
}
