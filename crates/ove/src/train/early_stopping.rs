//! Early stopping: a run ends when the validation loss has not improved for several epochs.

use serde::{Deserialize, Serialize};

/// Number of consecutive epochs without improvement after which a run stops.
const PATIENCE: usize = 3;

/// The best validation loss so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct EarlyStopping {
    /// The lowest nlpd of the validation rows, and the number of epochs since.
    best: Option<(f64, usize)>,
}

impl EarlyStopping {
    /// Records the nlpd of the validation rows after an epoch; returns whether the run should stop.
    pub fn stops_after(&mut self, nlpd: f64) -> bool {
        let (least, since) = self.best.unwrap_or((f64::INFINITY, 0));
        self.best = Some(if nlpd < least { (nlpd, 0) } else { (least, since + 1) });
        self.has_stopped()
    }

    /// Whether the run should stop.
    pub fn has_stopped(&self) -> bool {
        self.best.is_some_and(|(_, since)| since >= PATIENCE)
    }
}
