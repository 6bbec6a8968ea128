//! What a checkpoint keeps of a forest: the nodes that have finished. What the others had learned is learned again.

use std::collections::BTreeMap;
use std::path::Path;

use super::node::Weights;
use crate::checkpoint::{Saved, Table, U16, U32};
use crate::error::Result;
use crate::forest::Entry;
use crate::options::ForestOptions;
use crate::solve::{Begin, Problem};

/// What the jobs have learned so far, by their number.
pub(super) type Finished = BTreeMap<usize, Learned>;

/// What a job has learned.
pub(super) struct Learned {
    pub weights: Weights,
    /// Whether it was trained to its end.
    pub whole: bool,
}

/// Writes all that was trained to its end.
pub(super) fn save(
    path: &Path,
    problem: &Problem<'_>,
    options: &ForestOptions,
    share: f64,
    finished: &Finished,
) -> Result<()> {
    let (mut jobs, mut features, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for (&job, Learned { weights, .. }) in finished.iter().filter(|(_, learned)| learned.whole) {
        jobs.extend([job as u32, weights.features.len() as u32, weights.entries.len() as u32]);
        features.extend(weights.features.iter().flat_map(|&(feature, count)| [feature, count]));
        entries.extend_from_slice(&weights.entries);
    }
    let tables =
        [Table::new("jobs", U32, &jobs), Table::new("features", U32, &features), Table::new("entries", U16, &entries)];
    Begin::default().save(path, (problem, options), &share, &tables)
}

/// What was kept, if it is of jobs below `count` in order.
pub(super) fn restore(saved: &Saved, count: usize, features: usize) -> Result<Finished> {
    let jobs: Vec<u32> = saved.read("jobs")?;
    let (all_features, all_entries): (Vec<u32>, Vec<Entry>) = (saved.read("features")?, saved.read("entries")?);
    let (mut rest, mut entries) = (all_features.as_chunks::<2>().0, &all_entries[..]);
    let mut finished = Finished::new();
    for &[job, own_features, own_entries] in jobs.as_chunks::<3>().0 {
        let of_job = rest.split_off(..own_features as usize).zip(entries.split_off(..own_entries as usize));
        let (own, kept) = of_job.ok_or_else(|| saved.unusable("fewer weights than its nodes have"))?;
        let counted: u64 = own.iter().map(|&[_, count]| u64::from(count)).sum();
        let fits = own.iter().all(|&[feature, _]| (feature as usize) < features) && counted == kept.len() as u64;
        if job as usize >= count || !fits {
            return Err(saved.unusable("nodes that this forest does not have"));
        }
        let weights = Weights {
            features: own.iter().map(|&[feature, count]| (feature, count)).collect(),
            entries: kept.to_vec(),
        };
        finished.insert(job as usize, Learned { weights, whole: true });
    }
    Ok(finished)
}
