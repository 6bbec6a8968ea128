//! What a checkpoint keeps of trees: the nodes that are trained to their end. What the others had learned is learned
//! again.

use std::collections::BTreeMap;

use super::node::Weights;
use crate::error::Result;
use crate::scores::sparse::Entry;
use crate::train::checkpoint::{StateReader, Table, U16, U32};

/// What the jobs that are trained to their end have learned, by their number.
pub(super) type Finished = BTreeMap<usize, Learned>;

/// What a job has learned.
pub(super) struct Learned {
    pub weights: Weights,
}

/// All that was trained to its end.
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

/// What was kept, if it is of jobs below `count` in order.
pub(super) fn restore(saved: &dyn StateReader, count: usize, features: usize) -> Result<Finished> {
    let jobs: Vec<u32> = saved.read("jobs")?;
    let (all_features, all_entries): (Vec<u32>, Vec<Entry>) = (saved.read("features")?, saved.read("entries")?);
    let (mut rest, mut entries) = (all_features.as_chunks::<2>().0, &all_entries[..]);
    let mut finished = Finished::new();
    for &[job, own_features, own_entries] in jobs.as_chunks::<3>().0 {
        let of_job = rest.split_off(..own_features as usize).zip(entries.split_off(..own_entries as usize));
        let (own, kept) = of_job.ok_or_else(|| saved.unusable("fewer weights than its nodes have".into()))?;
        let counted: u64 = own.iter().map(|&[_, count]| u64::from(count)).sum();
        let fits = own.iter().all(|&[feature, _]| (feature as usize) < features) && counted == kept.len() as u64;
        if job as usize >= count || !fits {
            return Err(saved.unusable("nodes that these trees do not have".into()));
        }
        let weights = Weights {
            features: own.iter().map(|&[feature, count]| (feature, count)).collect(),
            entries: kept.to_vec(),
        };
        finished.insert(job as usize, Learned { weights });
    }
    Ok(finished)
}
