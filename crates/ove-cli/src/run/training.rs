//! The training run of the command line: progress line, checkpoints, record and Ctrl-C.

use std::ops::ControlFlow;

use indicatif::ProgressBar;
use ove::train::{Event, Progress, Stop, Training};

use super::checkpoint::Keeper;
use super::record::Recorder;
use super::{interrupt, progress};
use crate::terminal::note;

/// Observes a run and may stop it.
pub struct Follower<'a> {
    pub keeper: &'a mut Keeper,
    pub recorder: &'a mut Recorder,
    line: Option<progress::Line>,
    trying: Option<ProgressBar>,
    rows: usize,
    /// Number of rows visited, after the run.
    pub updates: u64,
}

impl<'a> Follower<'a> {
    /// For a run on this many rows.
    pub fn new(rows: usize, keeper: &'a mut Keeper, recorder: &'a mut Recorder) -> Self {
        Follower { keeper, recorder, line: None, trying: None, rows, updates: 0 }
    }

    /// Handles an event; returns whether the run stops.
    pub fn follow(&mut self, event: Event<'_>) -> ControlFlow<Stop> {
        match event {
            Event::Choosing => {
                let bar = self.trying.get_or_insert_with(|| progress::counter("{spinner} trying learning rates"));
                bar.tick();
                if interrupt::requested() {
                    self.finish_trying();
                    return ControlFlow::Break(Stop::Discard);
                }
            }
            Event::Chosen(chosen) => {
                self.finish_trying();
                note!(
                    "learning rate {:.2e}, at most {} epochs: chosen on {} held-out rows",
                    chosen.learning_rate,
                    chosen.epochs,
                    chosen.rows
                );
            }
            Event::TooFewRows => {
                note!(
                    "too few rows for a validation split: the default epochs and learning rate are used, uncalibrated"
                )
            }
            Event::HeldOut(rows) => self.recorder.hold_out(&rows),
            Event::Step { training, progress } => return self.step(training, progress),
            Event::Retrying { learning_rate } => {
                note!("training diverged; retrying with a learning rate of {learning_rate:.1e}")
            }
            Event::Trained(trained) => {
                self.updates = trained.updates;
                if let Some(line) = self.line.take() {
                    line.finish();
                }
            }
            Event::Calibrated { temperature, rows } => {
                note!("temperature {temperature:.3}, fitted on {rows} held-out rows");
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, training: &Training<'_>, progress: &Progress) -> ControlFlow<Stop> {
        self.finish_trying();
        self.recorder.update(training, progress);
        self.line.get_or_insert_with(|| progress::Line::new(self.rows)).update(progress);
        if progress.done < 1.0 { self.keeper.update(training, progress) } else { ControlFlow::Continue(()) }
    }

    fn finish_trying(&mut self) {
        if let Some(bar) = self.trying.take() {
            bar.finish_and_clear();
        }
    }
}
