//! The few largest of many numbers, best first.

/// The candidates with the `count` largest numbers, the largest first, equal ones by their place. Most candidates are worse than those kept
/// so far: one comparison, which the processor foresees, and no move.
pub fn largest(numbers: &[f32], count: usize, candidates: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let better = |&a: &u32, &b: &u32| numbers[b as usize].total_cmp(&numbers[a as usize]).then(a.cmp(&b));
    if count == 0 {
        return Vec::new();
    }
    let room = count.saturating_mul(2).max(LEAST_ROOM);
    let (mut kept, mut worst) = (Vec::new(), f32::NEG_INFINITY);
    for place in candidates {
        if numbers[place as usize] < worst {
            continue;
        }
        kept.push(place);
        if kept.len() == room {
            worst = numbers[*kept.select_nth_unstable_by(count - 1, better).1 as usize];
            kept.truncate(count);
        }
    }
    if count < kept.len() {
        kept.select_nth_unstable_by(count, better);
        kept.truncate(count);
    }
    kept.sort_unstable_by(better);
    kept
}

/// So many are kept before the worst of them are dropped.
const LEAST_ROOM: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn they_are_the_first_of_all_in_order() {
        let mut random = Stream::of(&[7]);
        // Few different numbers, so that many are equal, and those that are hard to compare.
        let mut numbers: Vec<f32> = (0..1000).map(|_| random.below(300) as f32 - 150.0).collect();
        numbers.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN]);
        for step in [1, 3] {
            let places = || (0..numbers.len() as u32).rev().step_by(step);
            let mut order: Vec<u32> = places().collect();
            order.sort_by(|&a, &b| numbers[b as usize].total_cmp(&numbers[a as usize]).then(a.cmp(&b)));
            for count in [0, 1, 2, 5, 31, 32, 33, 64, 200, order.len() - 1, order.len(), 5000] {
                assert_eq!(
                    largest(&numbers, count, places()),
                    order[..count.min(order.len())],
                    "{count} of every {step}"
                );
            }
        }
    }
}
