//! The second phase of a batch: ranges of cells, of which each thread moves its own.

use std::ops::Range;

use super::Problem;
use super::visits::Visit;
use crate::data::Row;
use crate::machine;
use crate::places::Places;
use crate::step::Cell;

/// Sends for the weights of one row that lie in a range of cells; `share` holds these.
pub(super) fn fetch<C: Cell>(visit: &Visit, places: Places, range: &Range<usize>, share: &[C]) {
    for start in &visit.starts[places.entries_within(&visit.starts, range)] {
        let start = start.wrapping_sub(range.start);
        let cells = visit.classes.iter().filter_map(|&class| share.get(start.wrapping_add(class as usize)));
        cells.for_each(machine::prefetch);
    }
}

/// Moves the weights of one row that lie in a range of cells; `share` holds these.
pub(super) fn scatter<C: Cell>(
    row: Row<'_>,
    visit: &Visit,
    places: Places,
    range: &Range<usize>,
    share: &mut [C],
    rule: C::Rule,
) {
    let entries = places.entries_within(&visit.starts, range);
    for (&start, &value) in visit.starts[entries.clone()].iter().zip(&row.values[entries]) {
        // Hashed weights may lie before the range or after it: then their place is beyond the share.
        let start = start.wrapping_sub(range.start);
        for (&class, &derivative) in visit.classes.iter().zip(&visit.derivatives) {
            if let Some(cell) = share.get_mut(start.wrapping_add(class as usize)) {
                cell.climb(derivative as f32 * value, rule);
            }
        }
    }
}

/// Cuts the cells into ranges that are touched about equally often: at a feature's start if they are dense, into equal parts if hashing
/// has spread them.
pub(super) fn balanced(problem: &Problem<'_>, places: Places, ranges: usize) -> Vec<Range<usize>> {
    let cells = places.cells();
    if ranges <= 1 || places.is_hashed() {
        return (0..ranges).map(|i| cells * i / ranges..cells * (i + 1) / ranges).collect();
    }
    let (features, classes) = (problem.rows.features(), problem.classes);
    let mut counts = vec![0usize; features];
    problem.rows.each(|row| row.indices.iter().for_each(|&feature| counts[feature as usize] += 1));
    let mut out = Vec::with_capacity(ranges);
    let (mut start, mut seen) = (0, 0);
    for (feature, count) in counts.into_iter().enumerate() {
        seen += count;
        if out.len() + 1 < ranges && seen * ranges >= problem.rows.entries() * (out.len() + 1) {
            out.push(start..(feature + 1) * classes);
            start = (feature + 1) * classes;
        }
    }
    out.push(start..cells);
    out
}
