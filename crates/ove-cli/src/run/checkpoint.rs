//! `ove train --checkpoint`: when a run keeps its state, and how it goes on.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ove::checkpoint::{Checkpoints, Every, Save, Saved};

use super::interrupt;

/// Where and how often the state of a run is kept.
#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints")]
pub struct CheckpointFlags {
    /// Keep the state of the run in this folder, so that --resume can go on after whatever stops it; Ctrl-C and SIGTERM write one more
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// How often: a time such as 30s, 5min or 2h, or a number of epochs (batch solver: iterations) such as 1epoch
    #[arg(long, value_name = "TIME|EPOCHS", default_value_t = Every::default(), requires = "checkpoint")]
    checkpoint_every: Every,
    /// Go on from the newest whole checkpoint, with the same data and options; from the start if there is none
    #[arg(long, requires = "checkpoint")]
    resume: bool,
}

/// The checkpoints of a run, if it keeps any.
#[derive(Default)]
pub struct Keeper {
    checkpoints: Option<Checkpoints>,
    saved: Option<Saved>,
    /// Whether the run still has to say where it goes on.
    went_on: bool,
    /// Whether Ctrl-C ended the run with a checkpoint.
    stopped: bool,
}

impl CheckpointFlags {
    /// Whether the run keeps checkpoints.
    pub fn is_given(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// Opens the folder: better now than after hours of training.
    pub fn open(&self) -> Result<Keeper> {
        let Some(folder) = &self.checkpoint else { return Ok(Keeper::default()) };
        let checkpoints = Checkpoints::new(folder, self.checkpoint_every).context("--checkpoint")?;
        if !self.resume && !checkpoints.is_empty() {
            bail!(
                "{} holds checkpoints of a run that did not end; --resume goes on with it, another folder or an empty one \
                 begins anew",
                folder.display()
            );
        }
        let mut keeper = Keeper::default();
        if self.resume {
            let newest = checkpoints.newest()?;
            newest.passed_over.iter().for_each(|error| eprintln!("passed over: {error}"));
            match &newest.saved {
                Some(saved) => eprintln!("going on from {}", saved.path().display()),
                None => eprintln!("{}: no checkpoint to go on from; beginning anew", folder.display()),
            }
            keeper.went_on = newest.saved.is_some();
            keeper.saved = newest.saved;
        }
        keeper.checkpoints = Some(checkpoints);
        Ok(keeper)
    }
}

impl Keeper {
    /// Takes the state to go on from, if there is one.
    pub fn take_saved(&mut self) -> Option<Saved> {
        self.saved.take()
    }

    /// Writes a checkpoint if one is due, or if the run is to stop; whether it is. A disk that is full now may not be next time, so a
    /// failure is told and the run goes on.
    pub fn hear(&mut self, epochs: f64, save: &Save<'_>) -> ControlFlow<()> {
        // Asked once: a request that comes while a checkpoint is written is for the next time, when it gets its own.
        let flow = interrupt::flow();
        let Some(checkpoints) = &mut self.checkpoints else { return flow };
        if std::mem::take(&mut self.went_on) {
            checkpoints.went_on(epochs);
        }
        // Several threads may hear that a forest is to stop.
        if !self.stopped && (flow.is_break() || checkpoints.is_due(epochs)) {
            match checkpoints.write(epochs, save) {
                Ok(()) => self.stopped = flow.is_break(),
                Err(error) => eprintln!("warning: no checkpoint: {error}"),
            }
        }
        flow
    }

    /// Whether Ctrl-C ended the run and a checkpoint holds what was reached.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The run is at its end and its model saved.
    pub fn clear(&self) -> Result<()> {
        Ok(self.checkpoints.as_ref().map_or(Ok(()), Checkpoints::clear)?)
    }
}
