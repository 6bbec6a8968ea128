//! Interactions of users with items: which items each user chose, and how strongly.

use std::collections::HashMap;

use super::skipped::Skipped;
use crate::platform::random::Stream;

/// Interactions in CSR form: the items of user `u` are `items[offsets[u]..offsets[u + 1]]`, in increasing order.
///
/// ```
/// use ove::data::Interactions;
///
/// let mut data = Interactions::new(vec!["Tea".into(), "Milk".into()]);
/// data.push("Ann", vec![(1, 1.0), (0, 2.0), (1, 3.0)]);
/// assert_eq!(data.items_of(0), [0, 1]);
/// assert_eq!(data.weights_of(0), [2.0, 4.0]); // several interactions with an item add up
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Interactions {
    offsets: Vec<usize>,
    items: Vec<u32>,
    weights: Vec<f32>,
    /// The name of each user.
    pub users: Vec<String>,
    /// The name of each item.
    pub item_names: Vec<String>,
    /// The lines of the file that were skipped.
    pub skipped: Skipped,
}

impl Default for Interactions {
    fn default() -> Self {
        let (items, weights, users, item_names, skipped) = Default::default();
        Interactions { offsets: vec![0], items, weights, users, item_names, skipped }
    }
}

impl Interactions {
    /// No users yet, and these items.
    pub fn new(item_names: Vec<String>) -> Self {
        Interactions { item_names, ..Interactions::default() }
    }

    /// Adds a user with items and weights in any order; the weights of an item that occurs several times add up.
    pub fn push(&mut self, user: impl Into<String>, mut chosen: Vec<(u32, f32)>) {
        chosen.sort_by_key(|&(item, _)| item);
        let start = self.items.len();
        for (item, weight) in chosen {
            match self.items[start..].last() {
                Some(&last) if last == item => *self.weights.last_mut().expect("as many as items") += weight,
                _ => {
                    self.items.push(item);
                    self.weights.push(weight);
                }
            }
        }
        self.offsets.push(self.items.len());
        self.users.push(user.into());
    }

    /// Number of users.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no user.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of items.
    pub fn item_count(&self) -> usize {
        self.item_names.len()
    }

    /// Number of pairs of a user and an item.
    pub fn pairs(&self) -> usize {
        self.items.len()
    }

    /// The items of a user, in increasing order.
    pub fn items_of(&self, user: usize) -> &[u32] {
        &self.items[self.offsets[user]..self.offsets[user + 1]]
    }

    /// The weight of each item of a user.
    pub fn weights_of(&self, user: usize) -> &[f32] {
        &self.weights[self.offsets[user]..self.offsets[user + 1]]
    }

    /// Whether all weights are 1.
    pub fn is_unweighted(&self) -> bool {
        self.weights.iter().all(|&weight| weight == 1.0)
    }

    /// Number of users of each item.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.item_count()];
        self.items.iter().for_each(|&item| counts[item as usize] += 1);
        counts
    }

    pub(crate) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    pub(crate) fn items(&self) -> &[u32] {
        &self.items
    }

    pub(crate) fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// From the parts of a model file; the caller has checked them.
    pub(crate) fn from_parts(offsets: Vec<usize>, items: Vec<u32>, weights: Vec<f32>) -> Self {
        debug_assert!(items.len() == weights.len());
        Interactions { offsets, items, weights, ..Interactions::default() }
    }

    /// Splits off about this share of the pairs of each user; a user keeps at least one pair.
    ///
    /// Both parts have all users and items, in the same order.
    pub fn split(&self, share: f64, seed: u64) -> (Interactions, Interactions) {
        let mut parts = [Interactions::new(self.item_names.clone()), Interactions::new(self.item_names.clone())];
        for user in 0..self.len() {
            let mut random = Stream::of(&[seed, SPLIT, user as u64]);
            let pairs = self.items_of(user).iter().copied().zip(self.weights_of(user).iter().copied());
            let mut order: Vec<(u32, f32)> = pairs.collect();
            random.shuffle(&mut order);
            // The fraction is left to chance, so that the expected share is right for short lists too.
            let wanted = share * order.len() as f64;
            let count = wanted.floor() as usize + usize::from(random.uniform() < wanted.fract());
            let kept = order.split_off(count.min(order.len().saturating_sub(1)));
            parts[0].push(self.users[user].clone(), kept);
            parts[1].push(self.users[user].clone(), order);
        }
        let [kept, held_out] = parts;
        (kept, held_out)
    }

    /// The same interactions with the users and items numbered as in these lists; others are left out.
    pub fn numbered_as(&self, users: &[String], item_names: &[String]) -> Interactions {
        let index = |names: &[String]| -> HashMap<String, u32> { names.iter().cloned().zip(0..).collect() };
        let (own, items) = (index(&self.users), index(item_names));
        let new: Vec<Option<u32>> = self.item_names.iter().map(|name| items.get(name).copied()).collect();
        let mut out = Interactions::new(item_names.to_vec());
        for name in users {
            let chosen = own.get(name).map(|&user| {
                let pairs = self.items_of(user as usize).iter().zip(self.weights_of(user as usize));
                pairs.filter_map(|(&item, &weight)| Some((new[item as usize]?, weight))).collect()
            });
            out.push(name.clone(), chosen.unwrap_or_default());
        }
        out
    }
}

/// Key of the random streams of a split.
const SPLIT: u64 = u64::MAX - 7;

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Interactions {
        let mut data = Interactions::new((0..50).map(|item| item.to_string()).collect());
        for user in 0..40u32 {
            data.push(user.to_string(), (0..=user).map(|item| (item, 1.0 + item as f32)).collect());
        }
        data
    }

    #[test]
    fn a_split_has_every_pair_once() {
        let data = data();
        let (kept, held_out) = data.split(0.25, 3);
        for user in 0..data.len() {
            let (a, b) = (kept.items_of(user), held_out.items_of(user));
            let mut both = [a, b].concat();
            both.sort_unstable();
            assert!(both == data.items_of(user) && !a.is_empty(), "{user}");
            assert!(a.iter().zip(kept.weights_of(user)).all(|(&item, &weight)| weight == 1.0 + item as f32));
        }
        let share = held_out.pairs() as f64 / data.pairs() as f64;
        assert!((share - 0.25).abs() < 0.02, "{share}");
        assert_ne!(data.split(0.25, 4).1, held_out);
    }

    #[test]
    fn names_decide_the_numbers() {
        let mut data = Interactions::new(["a", "b", "c"].map(String::from).to_vec());
        data.push("x", vec![(0, 1.0), (2, 5.0)]);
        data.push("y", vec![(1, 1.0)]);
        let other = data.numbered_as(&["z", "x"].map(String::from), &["c", "a"].map(String::from));
        assert_eq!(
            (other.items_of(0), other.items_of(1), other.weights_of(1)),
            (&[][..], &[0, 1][..], &[5.0, 1.0][..])
        );
    }
}
