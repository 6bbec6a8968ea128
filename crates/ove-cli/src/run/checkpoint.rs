//! `ove train --checkpoint`: saving and resuming the state of a run.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ove::train::checkpoint::{Checkpoints, Every, Save, Saved};
use ove::train::{Progress, Stop, Training};

use super::interrupt;
use crate::terminal::note;

/// Flags of checkpoints.
#[derive(clap::Args)]
#[command(next_help_heading = "Checkpoints")]
pub struct CheckpointFlags {
    /// Save checkpoints to this folder, for --resume after an interruption; Ctrl-C and SIGTERM save a last one
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Interval between checkpoints: a duration such as 30s, 5min or 2h, or a number of epochs (batch solver:
    /// iterations) such as 1epoch
    #[arg(long, value_name = "TIME|EPOCHS", default_value_t = Every::default(), requires = "checkpoint")]
    checkpoint_every: Every,
    /// Resume from the newest usable checkpoint, with the same data and options; start anew if there is none
    #[arg(long, requires = "checkpoint")]
    resume: bool,
}

/// The checkpoints of a run, if there are any.
#[derive(Default)]
pub struct Keeper {
    checkpoints: Option<Checkpoints>,
    saved: Option<Saved>,
    /// Whether the run has resumed and has not yet reported its epoch.
    resumed: bool,
    /// Whether Ctrl-C ended the run with a checkpoint.
    stopped: bool,
}

impl CheckpointFlags {
    /// Whether the run keeps checkpoints.
    pub fn is_given(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// Opens the folder before training, so that errors show up early.
    pub fn open(&self) -> Result<Keeper> {
        let Some(folder) = &self.checkpoint else { return Ok(Keeper::default()) };
        let checkpoints = Checkpoints::new(folder, self.checkpoint_every).context("--checkpoint")?;
        if !self.resume && !checkpoints.is_empty() {
            bail!(
                "{} has checkpoints of an unfinished run; resume it with --resume, or use an empty folder",
                folder.display()
            );
        }
        let mut keeper = Keeper::default();
        if self.resume {
            let newest = checkpoints.newest()?;
            newest.passed_over.iter().for_each(|error| note!("skipped: {error}"));
            match &newest.saved {
                Some(saved) => note!("resuming from {}", saved.path().display()),
                None => note!("{}: no checkpoint to resume from; starting anew", folder.display()),
            }
            keeper.resumed = newest.saved.is_some();
            keeper.saved = newest.saved;
        }
        keeper.checkpoints = Some(checkpoints);
        Ok(keeper)
    }
}

impl Keeper {
    /// Takes the checkpoint to resume, if there is one.
    pub fn take_saved(&mut self) -> Option<Saved> {
        self.saved.take()
    }

    /// Writes a checkpoint if one is due or the run is to stop; returns whether it stops.
    ///
    /// A failure, such as a full disk, may be temporary: it is reported, and the run continues.
    pub fn update(&mut self, training: &Training<'_>, progress: &Progress) -> ControlFlow<Stop> {
        self.keep(&|path| training.save(path), progress)
    }

    /// The same for any run that can be saved.
    pub fn keep(&mut self, save: &Save<'_>, progress: &Progress) -> ControlFlow<Stop> {
        // Read once: a request during the write is handled at the next step, with a checkpoint of its own.
        let stops = interrupt::requested();
        let kept = if stops { ControlFlow::Break(Stop::Keep) } else { ControlFlow::Continue(()) };
        let Some(checkpoints) = &mut self.checkpoints else { return kept };
        if std::mem::take(&mut self.resumed) {
            checkpoints.resumed_at(progress.epochs);
        }
        if !stops && !checkpoints.is_due(progress.epochs) {
            return kept;
        }
        match checkpoints.write(progress.epochs, save) {
            Ok(()) if stops => {
                self.stopped = true;
                ControlFlow::Break(Stop::Discard)
            }
            Ok(()) => kept,
            Err(error) => {
                note!("warning: the checkpoint could not be written: {error}");
                kept
            }
        }
    }

    /// Whether Ctrl-C ended the run with a checkpoint.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// Removes the checkpoints, after the model is saved.
    pub fn clear(&self) -> Result<()> {
        Ok(self.checkpoints.as_ref().map_or(Ok(()), Checkpoints::clear)?)
    }
}
