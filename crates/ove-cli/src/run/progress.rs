//! Progress on a terminal while training runs: bound, rate and time left.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ove::Progress;

use super::interrupt;

const STEPS: u64 = 10_000;

/// Bars are hidden where stderr is not a terminal.
fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// A bar on stderr, with `details` in indicatif's template language.
pub fn bar(length: u64, details: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:24}} {{percent:>3}}%  {details}  {{eta}} left"));
    ProgressBar::with_draw_target(Some(length), target()).with_style(style.expect("a well-formed template"))
}

/// A counter on stderr without a known end.
pub fn counter(details: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(details).expect("a well-formed template");
    ProgressBar::with_draw_target(None, target()).with_style(style)
}

/// The bound, smoothed over about the last hundred batches; the batch solver's is exact and not smoothed.
pub fn smooth(bound: Option<f64>, progress: &Progress<'_>) -> f64 {
    match bound {
        Some(bound) if progress.learning_rate > 0.0 => bound + 0.01 * (progress.bound - bound),
        _ => progress.bound,
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

    /// Shows progress; breaks after Ctrl-C.
    pub fn update(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        self.bound = Some(smooth(self.bound, progress));
        if !self.bar.is_hidden() && self.shown.elapsed() > Duration::from_millis(100) {
            self.shown = Instant::now();
            self.show(progress);
        }
        interrupt::flow()
    }

    fn show(&self, progress: &Progress<'_>) {
        let bound = self.bound.unwrap_or_default() / self.rows as f64;
        let pass = if progress.learning_rate > 0.0 {
            let rate = progress.updates as f64 / self.bar.elapsed().as_secs_f64();
            format!("epoch {}  {rate:.0} updates/s  learning rate {:.2e}", progress.epoch, progress.learning_rate)
        } else {
            format!("iteration {}", progress.epoch)
        };
        self.bar.set_message(format!("{pass}  bound {bound:.4} per row"));
        self.bar.set_position((progress.done * STEPS as f64) as u64);
    }

    /// Removes the line.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
