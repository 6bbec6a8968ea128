//! The checkpoint of trees: the plan of the nodes, the weights of finished jobs, and the candidates of the second
//! stage. Unfinished jobs start again, and so does an unfinished search for rivals.
//!
//! What came of a part of the run is a checkpoint too, with the jobs of the part alone, or the rivals of its rows.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::node::Weights;
use super::plan::Plan;
use super::second_stage::SecondStageRun;
use crate::error::Result;
use crate::model::TracePoint;
use crate::scores::sparse::Entry;
use crate::train::checkpoint::{F32, StateReader, Table, U16, U32};

/// The finished jobs, by their number.
pub(super) type Finished = BTreeMap<usize, Learned>;

/// The result of a job.
pub(super) struct Learned {
    pub weights: Weights,
}

/// The scalars of the state.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Facts {
    /// The share of the trees' work that is done.
    pub done: f64,
    /// Number of waves of the second stage that are done, once it has its rivals, and its objective so far.
    pub waves: Option<usize>,
    pub trace: Vec<TracePoint>,
    /// The number of epochs, if there is a plan.
    #[serde(default)]
    pub epochs: Option<usize>,
    /// The first row whose rivals are here, for a part that has searched some.
    #[serde(default)]
    pub rivals_from: Option<usize>,
}

/// The state: the scalars, the plan, the weights of finished jobs, and the second stage if it has started.
pub(super) fn state<'a>(
    done: f64,
    plan: Option<&'a Plan>,
    finished: &Finished,
    second: Option<&'a SecondStageRun<'_>>,
) -> (String, Vec<Table<'a>>) {
    let mut tables: Vec<Table<'a>> = tables_of(finished);
    if let Some(plan) = plan {
        tables.push(Table::new("plan_classes", U32, &plan.orders));
        tables.push(Table::new("plan_squares", F32, &plan.squares));
    }
    tables.extend(second.map(SecondStageRun::tables).unwrap_or_default());
    let trace = second.map(|second| second.trace.clone()).unwrap_or_default();
    let (waves, epochs) = (second.and_then(SecondStageRun::waves), plan.map(|plan| plan.epochs));
    let facts = Facts { done, waves, trace, epochs, ..Facts::default() };
    (facts.json(), tables)
}

/// Finished jobs of a part.
pub(super) fn nodes(finished: &Finished) -> (String, Vec<Table<'static>>) {
    (Facts::default().json(), tables_of(finished))
}

/// The rivals of some rows.
pub(super) fn rivals(first: usize, found: &[Vec<u32>]) -> (String, Vec<Table<'static>>) {
    let counts: Vec<u32> = found.iter().map(|classes| classes.len() as u32).collect();
    let mut tables = tables_of(&Finished::new());
    tables.extend([Table::owned("rival_counts", U32, &counts), Table::owned("rivals", U32, &found.concat())]);
    (Facts { rivals_from: Some(first), ..Facts::default() }.json(), tables)
}

/// Reads the rivals of some rows.
pub(super) fn read_rivals(saved: &dyn StateReader, classes: usize) -> Result<Vec<Vec<u32>>> {
    let (counts, all): (Vec<u32>, Vec<u32>) = (saved.read("rival_counts")?, saved.read("rivals")?);
    let mut rest = &all[..];
    let of_row = |&count: &u32| rest.split_off(..count as usize).map(<[u32]>::to_vec);
    let found: Option<Vec<Vec<u32>>> = counts.iter().map(of_row).collect();
    found
        .filter(|_| rest.is_empty() && all.iter().all(|&class| (class as usize) < classes))
        .ok_or_else(|| saved.unusable("its rivals do not match these rows".into()))
}

/// Reads the plan, if there is one.
pub(super) fn read_plan(saved: &dyn StateReader) -> Result<Option<Plan>> {
    let Some(epochs) = saved.parse_facts::<Facts>()?.epochs else { return Ok(None) };
    Ok(Some(Plan { orders: saved.read("plan_classes")?, squares: saved.read("plan_squares")?, epochs }))
}

impl Facts {
    fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers are JSON")
    }
}

fn tables_of<'a>(finished: &Finished) -> Vec<Table<'a>> {
    let (mut jobs, mut features, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for (&job, Learned { weights }) in finished {
        jobs.extend([job as u32, weights.features.len() as u32, weights.entries.len() as u32]);
        features.extend(weights.features.iter().flat_map(|&(feature, count)| [feature, count]));
        entries.extend_from_slice(&weights.entries);
    }
    vec![
        Table::owned("jobs", U32, &jobs),
        Table::owned("features", U32, &features),
        Table::owned("entries", U16, &entries),
    ]
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
