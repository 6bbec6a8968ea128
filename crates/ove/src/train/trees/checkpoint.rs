//! The checkpoint of trees: the weights of finished jobs, and the candidates of the second stage. Unfinished jobs start
//! again, and so does an unfinished search for rivals.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::node::Weights;
use super::second_stage::SecondStageRun;
use crate::error::Result;
use crate::model::TracePoint;
use crate::scores::sparse::Entry;
use crate::train::checkpoint::{StateReader, Table, U16, U32};

/// The finished jobs, by their number.
pub(super) type Finished = BTreeMap<usize, Learned>;

/// The result of a job.
pub(super) struct Learned {
    pub weights: Weights,
}

/// The scalars of the state.
#[derive(Serialize, Deserialize)]
pub(super) struct Facts {
    /// The share of the trees' work that is done.
    pub done: f64,
    /// Number of waves of the second stage that are done, once it has its rivals, and its objective so far.
    pub waves: Option<usize>,
    pub trace: Vec<TracePoint>,
}

/// The state: the scalars, the weights of finished jobs, and the second stage if it has started.
pub(super) fn state<'a>(
    done: f64,
    finished: &Finished,
    second: Option<&'a SecondStageRun<'_>>,
) -> (String, Vec<Table<'a>>) {
    let (mut jobs, mut features, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for (&job, Learned { weights }) in finished {
        jobs.extend([job as u32, weights.features.len() as u32, weights.entries.len() as u32]);
        features.extend(weights.features.iter().flat_map(|&(feature, count)| [feature, count]));
        entries.extend_from_slice(&weights.entries);
    }
    let mut tables = vec![
        Table::owned("jobs", U32, &jobs),
        Table::owned("features", U32, &features),
        Table::owned("entries", U16, &entries),
    ];
    tables.extend(second.map(SecondStageRun::tables).unwrap_or_default());
    let trace = second.map(|second| second.trace.clone()).unwrap_or_default();
    let facts = Facts { done, waves: second.and_then(SecondStageRun::waves), trace };
    (serde_json::to_string(&facts).expect("numbers are JSON"), tables)
}

/// Reads the scalars and the finished jobs; `children` gives the children of a job, if there is such a job.
pub(super) fn restore(
    saved: &dyn StateReader,
    features: usize,
    children: impl Fn(usize) -> Option<Range<usize>>,
) -> Result<(Facts, Finished)> {
    let jobs: Vec<u32> = saved.read("jobs")?;
    let (all_features, all_entries): (Vec<u32>, Vec<Entry>) = (saved.read("features")?, saved.read("entries")?);
    let (mut rest, mut entries) = (all_features.as_chunks::<2>().0, &all_entries[..]);
    let mut finished = Finished::new();
    for &[job, own_features, own_entries] in jobs.as_chunks::<3>().0 {
        let of_job = rest.split_off(..own_features as usize).zip(entries.split_off(..own_entries as usize));
        let (own, kept) = of_job.ok_or_else(|| saved.unusable("weights of nodes are missing".into()))?;
        if !children(job as usize).is_some_and(|children| fits(own, kept, features, &children)) {
            return Err(saved.unusable("its nodes do not match these trees".into()));
        }
        let weights = Weights {
            features: own.iter().map(|&[feature, count]| (feature, count)).collect(),
            entries: kept.to_vec(),
        };
        finished.insert(job as usize, Learned { weights });
    }
    Ok((saved.parse_facts()?, finished))
}

/// Whether the weights are those of existing features, in increasing order, and of children of the job, in order as
/// well.
fn fits(features: &[[u32; 2]], mut entries: &[Entry], count: usize, children: &Range<usize>) -> bool {
    let of_children = |entries: &[Entry]| {
        entries.iter().all(|entry| children.contains(&entry.child()))
            && entries.is_sorted_by(|a, b| a.child() < b.child())
    };
    let all = features.iter().all(|&[_, own]| entries.split_off(..own as usize).is_some_and(of_children));
    all && entries.is_empty()
        && features.is_sorted_by(|a, b| a[0] < b[0])
        && features.last().is_none_or(|&[last, _]| (last as usize) < count)
}
