//! The checkpoint of trees: the weights of finished jobs. Unfinished ones start again.

use std::collections::BTreeMap;

use super::node::Weights;
use crate::error::Result;
use crate::scores::sparse::Entry;
use crate::train::checkpoint::{StateReader, Table, U16, U32};

/// The finished jobs, by their number.
pub(super) type Finished = BTreeMap<usize, Learned>;

/// The result of a job.
pub(super) struct Learned {
    pub weights: Weights,
}

/// The state: the share of work done, and the weights of finished jobs.
pub(super) fn state(share: f64, finished: &Finished) -> (String, Vec<Table<'_>>) {
    let (mut jobs, mut features, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for (&job, Learned { weights }) in finished {
        jobs.extend([job as u32, weights.features.len() as u32, weights.entries.len() as u32]);
        features.extend(weights.features.iter().flat_map(|&(feature, count)| [feature, count]));
        entries.extend_from_slice(&weights.entries);
    }
    let tables = vec![
        Table::owned("jobs", U32, &jobs),
        Table::owned("features", U32, &features),
        Table::owned("entries", U16, &entries),
    ];
    (share.to_string(), tables)
}

/// Reads the finished jobs, whose numbers must be below `count`.
pub(super) fn restore(saved: &dyn StateReader, count: usize, features: usize) -> Result<Finished> {
    let jobs: Vec<u32> = saved.read("jobs")?;
    let (all_features, all_entries): (Vec<u32>, Vec<Entry>) = (saved.read("features")?, saved.read("entries")?);
    let (mut rest, mut entries) = (all_features.as_chunks::<2>().0, &all_entries[..]);
    let mut finished = Finished::new();
    for &[job, own_features, own_entries] in jobs.as_chunks::<3>().0 {
        let of_job = rest.split_off(..own_features as usize).zip(entries.split_off(..own_entries as usize));
        let (own, weights) = of_job.ok_or_else(|| saved.unusable("weights of nodes are missing".into()))?;
        let counted: u64 = own.iter().map(|&[_, count]| u64::from(count)).sum();
        let fits = own.iter().all(|&[feature, _]| (feature as usize) < features) && counted == weights.len() as u64;
        if job as usize >= count || !fits {
            return Err(saved.unusable("its nodes do not match these trees".into()));
        }
        let weights = Weights {
            features: own.iter().map(|&[feature, count]| (feature, count)).collect(),
            entries: weights.to_vec(),
        };
        finished.insert(job as usize, Learned { weights });
    }
    Ok(finished)
}
