//! The training run of the command line: progress line, checkpoints, record and Ctrl-C.

use std::ops::ControlFlow;

use indicatif::ProgressBar;
use ove::options::ScoreOptions;
use ove::train::{Compared, Event, Progress, Stop, Training};

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
                let bar = self.trying.get_or_insert_with(|| progress::counter("{spinner} trying settings"));
                bar.tick();
                if interrupt::requested() {
                    self.finish_trying();
                    return ControlFlow::Break(Stop::Discard);
                }
            }
            Event::Compared(compared) => {
                self.finish_trying();
                note!("{}", choice(compared));
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
                note!("too few rows for a validation split: nothing is chosen on held-out rows, and nothing calibrated")
            }
            Event::Vectors { known, features } => {
                note!("{known} of {features} features start at the vectors of words");
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

/// The candidate that was chosen, and the errors of the others.
fn choice(compared: &[Compared]) -> String {
    let best = compared.iter().fold(&compared[0], |best, other| if other.error < best.error { other } else { best });
    let others = compared.iter().filter(|other| *other != best);
    let others: Vec<String> = others.map(|other| format!("{} {:.3}", name(other), other.error)).collect();
    format!("{}: error {:.3} on {} held-out rows ({})", name(best), best.error, best.rows, others.join(", "))
}

fn name(candidate: &Compared) -> String {
    let scores = match &candidate.options.scores {
        Some(ScoreOptions::Trees(trees)) if trees.leaves == Some(1) => "one node".to_owned(),
        Some(ScoreOptions::Trees(trees)) => format!("{} trees", trees.trees),
        _ => candidate.options.objective().map_or("linear", |objective| objective.name()).to_owned(),
    };
    let l2 = candidate.options.l2.map(|l2| format!(" with λ = {l2}"));
    let epochs = candidate.options.epochs.map(|epochs| format!(" with {epochs} epochs"));
    scores + &l2.unwrap_or_default() + &epochs.unwrap_or_default()
}
