//! Prometheus metrics, in the text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::run::memory;

/// Upper bounds of the histogram buckets, in seconds.
const SECONDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// The metrics of the server.
#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    seconds: Mutex<BTreeMap<&'static str, Histogram>>,
    rows: AtomicU64,
    loads: AtomicU64,
    failed_loads: AtomicU64,
}

/// What others count.
pub struct Gauges {
    /// Requests waiting or in progress.
    pub waiting: usize,
    /// Open connections.
    pub connections: usize,
    /// Bytes of request bodies that are held.
    pub body_bytes: usize,
}

#[derive(Default, Clone)]
struct Histogram {
    counts: [u64; SECONDS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Records a response.
    pub fn answered(&self, path: &'static str, status: u16, took: Duration) {
        *self.requests.lock().expect("no panic while it is locked").entry((path, status)).or_default() += 1;
        let mut seconds = self.seconds.lock().expect("no panic while it is locked");
        let (histogram, took) = (seconds.entry(path).or_default(), took.as_secs_f64());
        histogram.counts.iter_mut().zip(SECONDS).filter(|(_, end)| took <= *end).for_each(|(count, _)| *count += 1);
        histogram.count += 1;
        histogram.sum += took;
    }

    /// Adds predicted rows.
    pub fn add_rows(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Relaxed);
    }

    /// Records a reload of the model, successful or not.
    pub fn model_loaded(&self, success: bool) {
        let counter = if success { &self.loads } else { &self.failed_loads };
        counter.fetch_add(1, Relaxed);
    }

    /// All metrics as text.
    pub fn text(&self, gauges: &Gauges) -> String {
        let mut out = String::new();
        head(&mut out, "ove_requests_total", "counter", "Requests by path and status.");
        for ((path, status), count) in &*self.requests.lock().expect("no panic while it is locked") {
            line(&mut out, format_args!("ove_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}"));
        }
        head(&mut out, "ove_request_seconds", "histogram", "Time from the head of a request to its response.");
        for (path, histogram) in &*self.seconds.lock().expect("no panic while it is locked") {
            histogram.write(&mut out, path);
        }
        let resident = memory::resident_bytes().unwrap_or(0);
        for (name, kind, help, value) in [
            ("ove_rows_total", "counter", "Rows predicted.", self.rows.load(Relaxed)),
            ("ove_waiting", "gauge", "Requests waiting or in progress.", gauges.waiting as u64),
            ("ove_connections", "gauge", "Open connections.", gauges.connections as u64),
            ("ove_body_bytes", "gauge", "Bytes of request bodies that are held.", gauges.body_bytes as u64),
            ("ove_model_loads_total", "counter", "Successful reloads of the model.", self.loads.load(Relaxed)),
            ("ove_model_load_failures_total", "counter", "Failed reloads.", self.failed_loads.load(Relaxed)),
            ("process_resident_memory_bytes", "gauge", "Resident memory.", resident),
        ] {
            head(&mut out, name, kind, help);
            line(&mut out, format_args!("{name} {value}"));
        }
        out
    }
}

impl Histogram {
    fn write(&self, out: &mut String, path: &str) {
        const NAME: &str = "ove_request_seconds";
        for (end, count) in SECONDS.iter().zip(self.counts) {
            line(out, format_args!("{NAME}_bucket{{path=\"{path}\",le=\"{end}\"}} {count}"));
        }
        line(out, format_args!("{NAME}_bucket{{path=\"{path}\",le=\"+Inf\"}} {}", self.count));
        line(out, format_args!("{NAME}_sum{{path=\"{path}\"}} {}", self.sum));
        line(out, format_args!("{NAME}_count{{path=\"{path}\"}} {}", self.count));
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    line(out, format_args!("# HELP {name} {help}"));
    line(out, format_args!("# TYPE {name} {kind}"));
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string does not fail");
}
