//! `--watch`: the page of `ove serve`, which shows the run instead of a model.

use std::io::IsTerminal;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use ove::model::HeldOutPoint;
use ove_report::model;
use serde_json::{Value, json};

use super::{answer, assets, connections};
use crate::run::record::Moment;
use crate::serve;

/// The most points of a curve that are kept; then every second one goes.
const POINTS: usize = 4096;

/// How long a page that looks may take to hear that the run is over.
const LAST_LOOK: Duration = Duration::from_secs(3);

/// A run that can be looked at.
pub struct Live(Arc<Mutex<Run>>);

#[derive(Default)]
struct Run {
    moment: Moment,
    finished: bool,
    /// The bound a row, after so many updates.
    bounds: Vec<(f64, f64)>,
    held_out: Vec<HeldOutPoint>,
    looked: Option<Instant>,
    saw_the_end: bool,
}

impl Live {
    /// Starts the page.
    pub fn open(address: &str) -> Result<Self> {
        let address = serve::resolve("--watch", address)?;
        if !address.ip().is_loopback() {
            bail!("--watch {address} is open to other machines, but a run is shown on this one only");
        }
        let listener = serve::bind(address)?;
        let url = format!("http://{}", listener.local_addr()?);
        eprintln!("watch at {url}");
        let run = Arc::new(Mutex::new(Run::default()));
        let router = Router::new()
            .route(
                "/health",
                get(async || answer::json(&json!({ "status": "ok", "serves": "training", "token": false }))),
            )
            .route("/training", get(training))
            .merge(assets::routes())
            .with_state(run.clone());
        let runtime = serve::runtime()?;
        thread::spawn(move || {
            let room = connections::Room::default();
            let done = runtime.block_on(connections::serve(listener, router, std::future::pending(), room));
            if let Err(error) = done {
                eprintln!("the page ends here: {error:#}");
            }
        });
        if std::io::stderr().is_terminal() {
            show_in_browser(&url);
        }
        Ok(Live(run))
    }

    /// A new moment.
    pub fn show(&self, moment: Moment, held_out: &[HeldOutPoint]) {
        let mut run = self.0.lock().expect("no panic while it is locked");
        run.moment = moment;
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
    }

    /// The run is over: a page that looks hears of it before the program ends.
    pub fn finish(self) {
        let lock = || self.0.lock().expect("no panic while it is locked");
        lock().finished = true;
        let end = Instant::now();
        let looks = |run: &Run| run.looked.is_some_and(|looked| looked + LAST_LOOK > end) && !run.saw_the_end;
        while looks(&lock()) && end.elapsed() < LAST_LOOK {
            thread::sleep(Duration::from_millis(20));
        }
        // Its last answer is on the way.
        thread::sleep(Duration::from_millis(100));
    }
}

async fn training(State(run): State<Arc<Mutex<Run>>>) -> Response {
    let mut run = run.lock().expect("no panic while it is locked");
    run.looked = Some(Instant::now());
    run.saw_the_end = run.finished;
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

/// Where there is a browser; where there is none, the address stands on the terminal.
fn show_in_browser(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started =
        Command::new(opener).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Ok(mut child) = started {
        thread::spawn(move || child.wait());
    }
}
