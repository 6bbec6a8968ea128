//! Calibration: of rows whose top class has a probability near p, a share of p should be correct.

use crate::model::Bin;

/// Number of bins of equal width.
const BINS: usize = 15;

/// The bins that have pairs of a probability and whether it was right, by increasing probability.
pub(super) fn bins(pairs: impl Iterator<Item = (f64, bool)>) -> Vec<Bin> {
    let mut bins = [Bin::default(); BINS];
    for (confidence, is_label) in pairs {
        let bin = &mut bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.rows += 1;
        bin.confidence += confidence;
        bin.accuracy += f64::from(u8::from(is_label));
    }
    let mean = |bin: Bin| {
        let rows = bin.rows as f64;
        Bin { confidence: bin.confidence / rows, accuracy: bin.accuracy / rows, ..bin }
    };
    bins.into_iter().filter(|bin| bin.rows > 0).map(mean).collect()
}

/// Expected calibration error: Σ over bins of rows·|accuracy − confidence| / all rows.
pub(super) fn calibration_error(bins: &[Bin]) -> f64 {
    let rows: usize = bins.iter().map(|bin| bin.rows).sum();
    bins.iter().map(|bin| bin.rows as f64 * (bin.accuracy - bin.confidence).abs()).sum::<f64>() / rows as f64
}
