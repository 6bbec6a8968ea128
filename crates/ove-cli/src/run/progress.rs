//! The progress line of training on a terminal: bound, speed and time left.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ove::train::Progress;

const STEPS: u64 = 10_000;

/// Bars are hidden if stderr is not a terminal.
fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// A bar on stderr, with `details` in indicatif's template language.
pub fn bar(length: u64, details: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:24}} {{percent:>3}}%  {details}  {{eta}} left"));
    ProgressBar::with_draw_target(Some(length), target()).with_style(style.expect("a well-formed template"))
}

/// A counter on stderr, without a known end.
pub fn counter(details: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(details).expect("a well-formed template");
    ProgressBar::with_draw_target(None, target()).with_style(style)
}

/// The bound, smoothed over about the last hundred batches, except for the batch solver, whose bound is exact.
pub fn smooth(bound: Option<f64>, progress: &Progress) -> Option<f64> {
    match (bound, progress.bound) {
        (Some(bound), Some(new)) if progress.learning_rate.is_some() => Some(bound + 0.01 * (new - bound)),
        (_, new) => new,
    }
}

/// The progress line of a training run.
pub struct Line {
    bar: ProgressBar,
    rows: u64,
    shown: Instant,
    bound: Option<f64>,
}

impl Line {
    /// A line for a run on this many rows.
    pub fn new(rows: usize) -> Self {
        Line { bar: bar(STEPS, "{msg}"), rows: rows as u64, shown: Instant::now(), bound: None }
    }

    /// Shows progress.
    pub fn update(&mut self, progress: &Progress) {
        self.bound = smooth(self.bound, progress);
        if !self.bar.is_hidden() && self.shown.elapsed() > Duration::from_millis(100) {
            self.shown = Instant::now();
            self.show(progress);
        }
    }

    fn show(&self, progress: &Progress) {
        let pass = match (progress.learning_rate, progress.bound) {
            (Some(learning_rate), _) => {
                let rate = progress.updates as f64 / self.bar.elapsed().as_secs_f64();
                format!("epoch {}  {rate:.0} updates/s  learning rate {learning_rate:.2e}", progress.epoch)
            }
            (None, Some(_)) => format!("iteration {}", progress.epoch),
            (None, None) => "trees".into(),
        };
        let bound =
            self.bound.map_or(String::new(), |bound| format!("  bound {:.4} per row", bound / self.rows as f64));
        self.bar.set_message(format!("{pass}{bound}"));
        self.bar.set_position((progress.done * STEPS as f64) as u64);
    }

    /// Removes the line.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
