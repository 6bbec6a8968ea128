//! Recommendations: the top items of users, of new users, similar items and users, and explanations.
//!
//! A recommender is factored scores whose features are the users and whose classes are the items. User vectors are
//! divided by the temperature, and both kinds have unit length if scores are cosines, so that scores are inner products.

mod fold_in;

use std::collections::HashMap;
use std::sync::OnceLock;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Model, Ranking};
use crate::data::Interactions;
use crate::error::{Error, Result};
use crate::options::RecommenderOptions;
use crate::platform::math::{product, products};
use crate::platform::matrix::{PANEL, multiply, pack_rows_as_columns};
use crate::platform::pool;
use crate::platform::top_k::Largest;
use crate::scores::{Factored, Scores};

/// Users whose scores a task computes at a time.
const USERS: usize = 16;

/// Items whose scores a task computes at a time, so that they stay in the second-level cache.
const ITEMS: usize = 2048;

/// What makes factored scores a recommender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recommender {
    /// The settings of training.
    pub options: RecommenderOptions,
    /// The training interactions, without names: users and items are numbered as features and classes of the model.
    #[serde(skip)]
    pub seen: Interactions,
}

impl Recommender {
    pub(crate) fn new(options: RecommenderOptions, data: &Interactions) -> Self {
        let (offsets, items, weights) = (data.offsets().to_vec(), data.items().to_vec(), data.weights().to_vec());
        Recommender { options, seen: Interactions::from_parts(offsets, items, weights) }
    }
}

/// A recommended item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recommendation {
    /// The item.
    pub item: u32,
    /// Its score.
    pub score: f32,
}

/// A recommender that is ready to answer, made by [`Model::recommender`].
pub struct Recommending<'a> {
    model: &'a Model,
    factored: &'a Factored,
    recommender: &'a Recommender,
    /// The item vectors as columns, made when several users are asked for.
    columns: OnceLock<Vec<f32>>,
    negatives: OnceLock<fold_in::Negatives>,
}

impl Model {
    /// The recommender that this model is.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if it is another kind of model.
    pub fn recommender(&self) -> Result<Recommending<'_>> {
        match (&self.scores, &self.card.recommender) {
            (Scores::Factored(factored), Some(recommender)) => {
                let (columns, negatives) = Default::default();
                Ok(Recommending { model: self, factored, recommender, columns, negatives })
            }
            _ => Err(Error::Mismatch(
                "the model is not a recommender; train one with `ove train --format interactions`".into(),
            )),
        }
    }
}

impl<'a> Recommending<'a> {
    /// The model.
    pub fn model(&self) -> &'a Model {
        self.model
    }

    /// The items that users had in training.
    pub fn seen(&self) -> &'a Interactions {
        &self.recommender.seen
    }

    /// The settings of training.
    pub fn options(&self) -> &'a RecommenderOptions {
        &self.recommender.options
    }

    /// The vector of a user, whose inner products with item vectors are the scores.
    pub fn user(&self, user: u32) -> &'a [f32] {
        self.factored.feature(user)
    }

    /// The vector of an item.
    pub fn item(&self, item: u32) -> &'a [f32] {
        self.factored.class(item)
    }

    /// The top items per user vector, best first; `excluded` are lists of items in increasing order that are left out.
    ///
    /// # Panics
    /// If a vector is not of the rank of the model.
    pub fn top(&self, vectors: &[&[f32]], excluded: &[&[u32]], count: usize) -> Vec<Vec<Recommendation>> {
        let rank = self.factored.rank();
        assert!(vectors.len() == excluded.len() && vectors.iter().all(|vector| vector.len() == rank));
        if vectors.len() < PANEL / 4 {
            let tops = vectors.iter().zip(excluded).map(|(vector, excluded)| {
                let mut scores = vec![0.0; self.factored.classes()];
                products(self.factored.classes_table(), vector, &mut scores);
                let mut largest = Largest::new(count);
                exclude(&mut scores, 0, excluded);
                largest.offer(&scores, 0);
                listed(largest)
            });
            return tops.collect();
        }
        let columns = self.columns.get_or_init(|| {
            let table = self.factored.classes_table();
            let mut columns = vec![0.0; self.factored.classes().div_ceil(PANEL) * PANEL * rank];
            pack_rows_as_columns(table, rank, &mut columns);
            columns
        });
        let of_users = |(vectors, excluded): (&[&[f32]], &[&[u32]])| -> Vec<Vec<Recommendation>> {
            let hidden: Vec<f32> = vectors.concat();
            let mut largest = vec![Largest::new(count); vectors.len()];
            let mut scores = vec![0.0; vectors.len() * ITEMS];
            for (block, columns) in columns.chunks(ITEMS * rank).enumerate() {
                let (first, width) = (block * ITEMS, columns.len() / rank);
                let own = width.min(self.factored.classes() - first);
                let scores = &mut scores[..vectors.len() * width];
                multiply(&hidden, rank, rank, columns, scores);
                for ((scores, largest), excluded) in scores.chunks_mut(width).zip(&mut largest).zip(excluded) {
                    exclude(&mut scores[..own], first as u32, excluded);
                    largest.offer(&scores[..own], first as u32);
                }
            }
            largest.into_iter().map(listed).collect()
        };
        pool::run(|| vectors.par_chunks(USERS).zip(excluded.par_chunks(USERS)).flat_map_iter(of_users).collect())
    }

    /// The scores of all items for a user vector.
    pub fn scores(&self, vector: &[f32]) -> Vec<f32> {
        let mut scores = vec![0.0; self.factored.classes()];
        products(self.factored.classes_table(), vector, &mut scores);
        scores
    }

    /// The top items of users of the training data, without the items that they had there.
    pub fn recommend(&self, users: &[u32], count: usize) -> Vec<Vec<Recommendation>> {
        let vectors: Vec<&[f32]> = users.iter().map(|&user| self.user(user)).collect();
        let seen: Vec<&[u32]> = users.iter().map(|&user| self.seen().items_of(user as usize)).collect();
        self.top(&vectors, &seen, count)
    }

    /// The items that are most similar to an item, itself first: by the cosine of their vectors.
    pub fn similar_items(&self, item: u32, count: usize) -> Vec<Recommendation> {
        most_similar(self.factored.classes_table(), self.item(item), count)
    }

    /// The users that are most similar to a user, the user first.
    pub fn similar_users(&self, user: u32, count: usize) -> Vec<Recommendation> {
        most_similar(self.factored.features_table(), self.user(user), count)
    }

    /// Measures the recommendations of lengths `lengths` for users against the test items of each; the items in `seen`
    /// are not recommended. Users and items are numbered as in the model.
    pub fn measure(&self, test: &Interactions, seen: &Interactions, lengths: &[usize]) -> Ranking {
        let users: Vec<u32> = (0..test.len() as u32).filter(|&user| !test.items_of(user as usize).is_empty()).collect();
        let vectors: Vec<&[f32]> = users.iter().map(|&user| self.user(user)).collect();
        let excluded: Vec<&[u32]> = users.iter().map(|&user| seen.items_of(user as usize)).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let tops = self.top(&vectors, &excluded, longest);
        let lists: Vec<Vec<u32>> = tops.into_iter().map(|top| top.into_iter().map(|one| one.item).collect()).collect();
        let pairs = lists.iter().zip(&users).map(|(list, &user)| (&list[..], test.items_of(user as usize)));
        Ranking::measure(pairs, self.factored.classes(), lengths)
    }

    /// The number of a user.
    pub fn user_number(&self, name: &str) -> Option<u32> {
        self.model.card.feature_names.iter().position(|user| user == name).map(|user| user as u32)
    }

    /// The numbers of items by name.
    pub fn item_numbers(&self) -> HashMap<&'a str, u32> {
        self.model.card.classes.iter().map(String::as_str).zip(0..).collect()
    }

    /// The vector of a user who was not in training, from the items and their weights: the vector that maximises the
    /// objective of training for these items, with the item vectors as they are.
    ///
    /// It takes less than a millisecond.
    pub fn fold_in(&self, items: &[(u32, f32)]) -> Vec<f32> {
        let negatives = self.negatives.get_or_init(|| fold_in::Negatives::new(self.factored, self.options()));
        fold_in::fold_in(self.factored, self.options(), negatives, items)
    }

    /// How much each of a user's items speaks for an item, the strongest first.
    ///
    /// Where the objective is at its maximum, the user vector is a sum over the items and the negatives, so a score is
    /// a sum too: this is the part of each item.
    pub fn explain(&self, items: &[(u32, f32)], item: u32) -> Vec<Recommendation> {
        let negatives = self.negatives.get_or_init(|| fold_in::Negatives::new(self.factored, self.options()));
        let shares = fold_in::shares(self.factored, self.options(), negatives, items);
        let part = |(&(other, _), share): (&(u32, f32), f32)| Recommendation {
            item: other,
            score: share * product(self.item(other), self.item(item)),
        };
        let mut reasons: Vec<Recommendation> = items.iter().zip(shares).map(part).collect();
        reasons.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.item.cmp(&b.item)));
        reasons
    }
}

fn listed(largest: Largest) -> Vec<Recommendation> {
    largest.finish().into_iter().map(|(score, item)| Recommendation { item, score }).collect()
}

/// Sets the scores of items to −∞; `first` is the item of the first score.
fn exclude(scores: &mut [f32], first: u32, excluded: &[u32]) {
    let from = excluded.partition_point(|&item| item < first);
    for &item in &excluded[from..] {
        match scores.get_mut((item - first) as usize) {
            Some(score) => *score = f32::NEG_INFINITY,
            None => return,
        }
    }
}

fn most_similar(table: &[f32], vector: &[f32], count: usize) -> Vec<Recommendation> {
    let mut scores = vec![0.0; table.len() / vector.len()];
    products(table, vector, &mut scores);
    let length = |vector: &[f32]| product(vector, vector).sqrt().max(f32::MIN_POSITIVE);
    let own = length(vector);
    scores.iter_mut().zip(table.chunks_exact(vector.len())).for_each(|(score, other)| *score /= own * length(other));
    let mut largest = Largest::new(count);
    largest.offer(&scores, 0);
    listed(largest)
}
