//! Recommendations: the top items of users, of new users, similar items and users, and explanations.
//!
//! A recommender is factored scores whose features are the users and whose classes are the items. User vectors are
//! divided by the temperature, and both kinds have unit length if scores are cosines, so that scores are inner
//! products. To these is added what the items of a user say by themselves: see [`CoOccurrence`].

mod co_occurrence;
mod fold_in;
mod grow;
mod new_item;
mod table;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::{Model, Ranking};
use crate::data::Interactions;
use crate::error::{Error, Result};
use crate::options::RecommenderOptions;
use crate::platform::math::{product, products};
use crate::platform::top_k::Largest;
use crate::scores::{Factored, Scores};
use co_occurrence::Addends;
pub use co_occurrence::CoOccurrence;
use table::{Columns, Table, listed};

/// What makes factored scores a recommender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recommender {
    /// The settings of training.
    pub options: RecommenderOptions,
    /// The training interactions, without names: users and items are numbered as features and classes of the model.
    #[serde(skip)]
    pub seen: Interactions,
    /// Which items occur together; empty if the option `co_occurrence` is 0.
    #[serde(skip)]
    pub co_occurrence: Arc<CoOccurrence>,
}

impl Recommender {
    pub(crate) fn new(options: RecommenderOptions, data: &Interactions, co_occurrence: Arc<CoOccurrence>) -> Self {
        let (offsets, items, weights) = (data.offsets().to_vec(), data.items().to_vec(), data.weights().to_vec());
        Recommender { options, seen: Interactions::from_parts(offsets, items, weights), co_occurrence }
    }

    /// Counts which items occur together, if these options want it.
    pub(crate) fn count(options: &RecommenderOptions, data: &Interactions, items: usize) -> Arc<CoOccurrence> {
        if options.co_occurrence > 0.0 { Arc::new(CoOccurrence::of(data, items)) } else { Arc::default() }
    }
}

/// A user as scores need them: a vector, and the items that the user has, with their weights.
#[derive(Debug, Clone)]
pub struct User<'a> {
    /// The vector, divided by the temperature.
    pub vector: Cow<'a, [f32]>,
    /// The items, each once.
    pub items: Vec<(u32, f32)>,
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
    prepared: Arc<Prepared>,
}

/// What answers need beside the model, each made when it is first needed. A program that answers many requests keeps it
/// for as long as the model is the same: [`Model::recommender_with`].
#[derive(Default)]
pub struct Prepared {
    /// The item vectors as columns, for several users at once.
    columns: Columns,
    negatives: OnceLock<fold_in::Negatives>,
    others: OnceLock<new_item::Others>,
}

impl Model {
    /// The recommender that this model is.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if it is another kind of model.
    pub fn recommender(&self) -> Result<Recommending<'_>> {
        self.recommender_with(Arc::default())
    }

    /// The recommender that this model is, with what earlier answers of the same model have prepared.
    ///
    /// # Errors
    /// As [`Model::recommender`].
    pub fn recommender_with(&self, prepared: Arc<Prepared>) -> Result<Recommending<'_>> {
        match (&self.scores, &self.card.recommender) {
            (Scores::Factored(factored), Some(recommender)) => {
                Ok(Recommending { model: self, factored, recommender, prepared })
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

    /// A user of the training data.
    pub fn user(&self, user: u32) -> User<'a> {
        let (items, weights) = (self.seen().items_of(user as usize), self.seen().weights_of(user as usize));
        let items = items.iter().copied().zip(weights.iter().copied()).collect();
        User { vector: Cow::Borrowed(self.user_vector(user)), items }
    }

    /// A user who was not in training, with these items and weights. It takes less than a millisecond.
    pub fn new_user(&self, items: &[(u32, f32)]) -> User<'static> {
        User { vector: Cow::Owned(self.fold_in(items)), items: items.to_vec() }
    }

    /// The vector of a user.
    pub fn user_vector(&self, user: u32) -> &'a [f32] {
        self.factored.feature(user)
    }

    /// The vector of an item.
    pub fn item(&self, item: u32) -> &'a [f32] {
        self.factored.class(item)
    }

    /// The top items per user, best first; `excluded` are lists of items in increasing order that are left out.
    ///
    /// # Panics
    /// If a vector is not of the rank of the model.
    pub fn top(&self, users: &[User<'_>], excluded: &[&[u32]], count: usize) -> Vec<Vec<Recommendation>> {
        let table = Table { rows: self.factored.classes_table(), columns: &self.prepared.columns };
        let vectors: Vec<&[f32]> = users.iter().map(|user| &*user.vector).collect();
        table.top(&vectors, excluded, count, &|user| self.addends(&users[user].items))
    }

    /// As [`Recommending::top`], with only these items, which must be in increasing order.
    ///
    /// # Panics
    /// If a vector is not of the rank of the model, or the model has not all of the items.
    pub fn top_among(
        &self,
        items: &[u32],
        users: &[User<'_>],
        excluded: &[&[u32]],
        count: usize,
    ) -> Vec<Vec<Recommendation>> {
        let rows: Vec<f32> = items.iter().flat_map(|&item| self.item(item)).copied().collect();
        let places = |excluded: &&[u32]| -> Vec<u32> {
            excluded.iter().filter_map(|item| items.binary_search(item).ok()).map(|place| place as u32).collect()
        };
        let excluded: Vec<Vec<u32>> = excluded.iter().map(places).collect();
        let excluded: Vec<&[u32]> = excluded.iter().map(|places| &places[..]).collect();
        let vectors: Vec<&[f32]> = users.iter().map(|user| &*user.vector).collect();
        let addends = |user: usize| {
            let all = self.addends(&users[user].items).into_iter();
            all.map(|addends| addends.among(items)).collect::<Vec<Addends<'_>>>()
        };
        let mut tops = Table { rows: &rows, columns: &Columns::default() }.top(&vectors, &excluded, count, &addends);
        tops.iter_mut().flatten().for_each(|one| one.item = items[one.item as usize]);
        tops
    }

    /// The scores of all items for a user.
    pub fn scores(&self, user: &User<'_>) -> Vec<f32> {
        let mut scores = vec![0.0; self.factored.classes()];
        products(self.factored.classes_table(), &user.vector, &mut scores);
        self.addends(&user.items).iter_mut().for_each(|addends| addends.add(0, &mut scores));
        scores
    }

    /// The factor of co-occurrence in the scores.
    fn factor(&self) -> f32 {
        (self.options().co_occurrence / self.options().temperature) as f32
    }

    /// What each of a user's items adds to the scores of others by co-occurrence.
    fn addends(&self, items: &[(u32, f32)]) -> Vec<Addends<'_>> {
        match self.options().co_occurrence > 0.0 {
            true => self.recommender.co_occurrence.addends(items, self.factor()),
            false => Vec::new(),
        }
    }

    /// The top items of users of the training data, without the items that they had there.
    pub fn recommend(&self, users: &[u32], count: usize) -> Vec<Vec<Recommendation>> {
        let seen: Vec<&[u32]> = users.iter().map(|&user| self.seen().items_of(user as usize)).collect();
        let users: Vec<User<'_>> = users.iter().map(|&user| self.user(user)).collect();
        self.top(&users, &seen, count)
    }

    /// The items that are most similar to an item, itself first: by the cosine of their vectors.
    pub fn similar_items(&self, item: u32, count: usize) -> Vec<Recommendation> {
        self.items_like(self.item(item), count)
    }

    /// The users that are most similar to a user, the user first.
    pub fn similar_users(&self, user: u32, count: usize) -> Vec<Recommendation> {
        self.users_like(self.user_vector(user), count)
    }

    /// The items whose vectors have the largest cosines with this one.
    pub fn items_like(&self, vector: &[f32], count: usize) -> Vec<Recommendation> {
        most_similar(self.factored.classes_table(), vector, count)
    }

    /// The users whose vectors have the largest cosines with this one.
    pub fn users_like(&self, vector: &[f32], count: usize) -> Vec<Recommendation> {
        most_similar(self.factored.features_table(), vector, count)
    }

    /// Measures the recommendations of lengths `lengths` for users against the test items of each; the items in `seen`
    /// are not recommended. Users and items are numbered as in the model.
    pub fn measure(&self, test: &Interactions, seen: &Interactions, lengths: &[usize]) -> Ranking {
        let users: Vec<u32> = (0..test.len() as u32).filter(|&user| !test.items_of(user as usize).is_empty()).collect();
        let known: Vec<User<'_>> = users.iter().map(|&user| self.user(user)).collect();
        let excluded: Vec<&[u32]> = users.iter().map(|&user| seen.items_of(user as usize)).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let tops = self.top(&known, &excluded, longest);
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
        let negatives = self.prepared.negatives.get_or_init(|| fold_in::Negatives::new(self.factored, self.options()));
        fold_in::fold_in(self.factored, self.options(), negatives, items)
    }

    /// The vector of an item that was not in training, from the users who chose it and the weights of their
    /// interactions: the vector that maximises the objective of training, with the user vectors as they are.
    pub fn fold_in_item(&self, users: &[(u32, f32)]) -> Vec<f32> {
        let negatives = || fold_in::Negatives::new(self.factored, self.options());
        let others = || {
            let negatives = self.prepared.negatives.get_or_init(negatives);
            new_item::Others::new(self.factored, self.recommender, negatives)
        };
        let others = self.prepared.others.get_or_init(others);
        let negatives = self.prepared.negatives.get_or_init(negatives);
        new_item::new_item(self.factored, self.options(), negatives, others, users)
    }

    /// How much each of a user's items speaks for an item, the strongest first.
    ///
    /// Where the objective is at its maximum, the user vector is a sum over the items and the negatives, so a score is
    /// a sum too: this is the part of each item, with its part by co-occurrence.
    pub fn explain(&self, items: &[(u32, f32)], item: u32) -> Vec<Recommendation> {
        self.explain_with(&self.shares(items), items, item)
    }

    /// The factor of each item's vector in the vector of a user with these items: what explanations are made of.
    pub fn shares(&self, items: &[(u32, f32)]) -> Vec<f32> {
        let negatives = self.prepared.negatives.get_or_init(|| fold_in::Negatives::new(self.factored, self.options()));
        fold_in::shares(self.factored, self.options(), negatives, items)
    }

    /// As [`Recommending::explain`], from [`Recommending::shares`], for several explanations of the same user.
    pub fn explain_with(&self, shares: &[f32], items: &[(u32, f32)], item: u32) -> Vec<Recommendation> {
        let part = |((other, own), share): ((u32, f32), &f32)| {
            let counted = self.recommender.co_occurrence.weight(other, item);
            let score = share * product(self.item(other), self.item(item)) + self.factor() * own * counted;
            Recommendation { item: other, score }
        };
        let mut reasons: Vec<Recommendation> = co_occurrence::parts(items).zip(shares).map(part).collect();
        reasons.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.item.cmp(&b.item)));
        reasons
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
