//! C of the merged objective, where it is the same for all rows: the most frequent classes.

use crate::bound::Objective;

/// The classes of C, in class order: the heaviest if the objective is merged, and of equally heavy ones the first.
pub(crate) fn most_frequent(mass: &[f64], objective: Objective, merge: usize) -> Vec<u32> {
    if objective != Objective::Merged {
        return Vec::new();
    }
    let mut order: Vec<u32> = (0..mass.len() as u32).collect();
    order.sort_by(|&a, &b| mass[b as usize].total_cmp(&mass[a as usize]).then(a.cmp(&b)));
    order.truncate(merge);
    order.sort_unstable();
    order
}
