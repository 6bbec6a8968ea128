//! The work of a run in parts, which other processes can do.
//!
//! A part reads only the rows and the state of the run that it is a part of, and gives the same bits wherever and
//! however often it is done. Any number of processes may thus share a run, and a process that was killed only has its
//! part done again:
//!
//! ```text
//! run  →  parts, state in a file  →  each part: rows + state → a file  →  run.restore(each file)  →  the next parts …
//! ```
//!
//! Parts of trees are blocks of children of their nodes, then rows that are searched for rivals.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::error::{Error, Result};

/// What the parts of a run do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Train the weights of nodes.
    Nodes,
    /// Search training rows for the rivals of their labels.
    Rivals,
}

/// A part of the work of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it does.
    pub stage: Stage,
    /// Of which jobs, or of which training rows.
    pub range: Range<usize>,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Nodes => "nodes",
            Stage::Rivals => "rivals",
        })
    }
}

impl FromStr for Stage {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "nodes" => Ok(Stage::Nodes),
            "rivals" => Ok(Stage::Rivals),
            other => Err(Error::setting("stage", "be nodes or rivals", other)),
        }
    }
}

/// Cuts a list into at most `count` ranges of about the same work.
pub(super) fn cut(work: &[usize], count: usize) -> Vec<Range<usize>> {
    let total: usize = work.iter().sum();
    let (mut ranges, mut start, mut passed) = (Vec::new(), 0, 0);
    for (at, own) in work.iter().enumerate() {
        passed += own;
        let is_last = at + 1 == work.len();
        // Work may be so large that its product with the count needs more than 64 bits.
        if is_last || passed as u128 * count as u128 >= total as u128 * (ranges.len() as u128 + 1) {
            ranges.push(start..at + 1);
            start = at + 1;
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_and_have_about_the_same_work() {
        let work = [50, 1, 1, 1, 47, 20, 20, 20, 20, 20];
        for count in 1..12 {
            let ranges = cut(&work, count);
            assert!(ranges.len() <= count, "{count}: {ranges:?}");
            assert_eq!(ranges.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
            let most = ranges.iter().map(|range| work[range.clone()].iter().sum::<usize>()).max();
            assert!(most <= Some(200 / count + 50), "{count}: {ranges:?}");
        }
        assert_eq!(cut(&[], 3), []);
        assert_eq!(cut(&[0, 0], 3), [0..1, 1..2]);
    }
}
