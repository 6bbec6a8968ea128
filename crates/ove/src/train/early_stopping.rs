//! Early stopping: a run ends when held-out rows have not gained for several epochs.

use serde::{Deserialize, Serialize};

/// Epochs in a row that may pass without a gain on held-out rows.
const PATIENCE: usize = 3;

/// The best epoch so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct EarlyStopping {
    /// The least nlpd of held-out rows, and the number of epochs since.
    best: Option<(f64, usize)>,
}

impl EarlyStopping {
    /// Takes the nlpd of held-out rows after an epoch; whether the run is to stop.
    pub fn stops_after(&mut self, nlpd: f64) -> bool {
        let (least, since) = self.best.unwrap_or((f64::INFINITY, 0));
        self.best = Some(if nlpd < least { (nlpd, 0) } else { (least, since + 1) });
        self.has_stopped()
    }

    /// Epochs since the best one.
    pub fn epochs(&self) -> usize {
        self.best.map_or(0, |(_, since)| since)
    }

    /// Whether held-out rows have ended the run.
    pub fn has_stopped(&self) -> bool {
        self.best.is_some_and(|(_, since)| since >= PATIENCE)
    }
}
