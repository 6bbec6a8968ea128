//! The vector of a new item from its users, with the user vectors as they are.
//!
//! With Z_u = Σ_j e^{s_uj} over the items of the model, it maximises the part of the likelihood that knows the item,
//!
//! ```text
//! − Σ_{u∈U} w_u log(1 + Z_u e^{−s_u}) − Σ_{u∉U} n_u log(1 + e^{s_u} / Z_u)
//! ```
//!
//! where U are its users, and n_u is the weight of all interactions of a user: the item is a negative of each of them.
//! The second sum is over a fixed sample of users.

use rayon::prelude::*;

use super::Recommender;
use super::fold_in::{Negatives, maximise, to_unit};
use crate::options::RecommenderOptions;
use crate::platform::math::{add_scaled, exp_all, product, products};
use crate::platform::pool;
use crate::platform::random::Stream;
use crate::scores::Factored;

/// Maximum number of sampled users.
const USERS: usize = 1024;

/// Key of the random stream of the sample.
const KEY: u64 = u64::MAX - 15;

/// The sample of users.
pub(super) struct Others {
    users: Vec<u32>,
    vectors: Vec<f32>,
    /// log Z of each.
    log_sums: Vec<f32>,
    /// The weight of the interactions of each, times the number of users that it stands for.
    weights: Vec<f32>,
}

impl Others {
    pub fn new(factored: &Factored, recommender: &Recommender, negatives: &Negatives) -> Self {
        let seen = &recommender.seen;
        let mut users: Vec<u32> = (0..seen.len() as u32).filter(|&u| !seen.items_of(u as usize).is_empty()).collect();
        let all = users.len();
        Stream::of(&[recommender.options.seed, KEY]).shuffle(&mut users);
        users.truncate(USERS);
        users.sort_unstable();
        let factor = all as f32 / users.len().max(1) as f32;
        let log_sum = |&user: &u32| negatives.log_sum(factored.feature(user));
        Others {
            vectors: users.iter().flat_map(|&user| factored.feature(user)).copied().collect(),
            log_sums: pool::run(|| users.par_iter().map(log_sum).collect()),
            weights: users.iter().map(|&user| factor * seen.weights_of(user as usize).iter().sum::<f32>()).collect(),
            users,
        }
    }
}

/// The vector of an item with these users and weights.
pub(super) fn new_item(
    factored: &Factored,
    options: &RecommenderOptions,
    negatives: &Negatives,
    others: &Others,
    users: &[(u32, f32)],
) -> Vec<f32> {
    let mut start = vec![0.0; factored.rank()];
    for &(user, weight) in users {
        add_scaled(&mut start, weight, &to_unit(factored.feature(user)).0);
    }
    let log_sums: Vec<f32> = users.iter().map(|&(user, _)| negatives.log_sum(factored.feature(user))).collect();
    let is_own = |user: &u32| users.iter().any(|(own, _)| own == user);
    let own: Vec<bool> = others.users.iter().map(is_own).collect();
    maximise(start, options.normalize, |vector| {
        let mut gradient = vec![0.0; vector.len()];
        // The probability of the item beside all others, p = e^s / (e^s + Z).
        let mut ratios: Vec<f32> = users
            .iter()
            .zip(&log_sums)
            .map(|(&(user, _), log_sum)| log_sum - product(factored.feature(user), vector))
            .collect();
        exp_all(&mut ratios);
        for (&(user, weight), ratio) in users.iter().zip(&ratios) {
            add_scaled(&mut gradient, weight * (1.0 - 1.0 / (1.0 + ratio)), factored.feature(user));
        }
        let mut ratios = vec![0.0; others.users.len()];
        products(&others.vectors, vector, &mut ratios);
        ratios.iter_mut().zip(&others.log_sums).for_each(|(score, log_sum)| *score = log_sum - *score);
        exp_all(&mut ratios);
        for (n, user) in others.vectors.chunks_exact(vector.len()).enumerate() {
            if !own[n] {
                add_scaled(&mut gradient, -others.weights[n] / (1.0 + ratios[n]), user);
            }
        }
        gradient
    })
}
