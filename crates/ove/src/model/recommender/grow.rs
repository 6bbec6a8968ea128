//! New users and items in a recommender, without training it again.

use rayon::prelude::*;

use super::Recommending;
use crate::data::Interactions;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::platform::pool;
use crate::scores::{Factored, Scores};

impl Model {
    /// Gives users the vectors that [`Recommending::fold_in`] finds, and these interactions in place of those of
    /// training: user `users[n]` has the items of row n, under the name of the row. A number that the model does not
    /// have must be the next one.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the model is not a recommender, for other items than those of the model, or for a number
    /// that leaves a gap.
    pub fn fold_in_users(&mut self, users: &[u32], data: &Interactions) -> Result<()> {
        let recommending = self.recommender()?;
        let (count, rank) = (recommending.factored.features(), recommending.factored.rank());
        check("items", data.item_count(), recommending.factored.classes())?;
        let count = count_with("user", count, users)?;
        let vectors: Vec<Vec<f32>> =
            pool::run(|| (0..users.len()).into_par_iter().map(|n| recommending.fold_in(&weighted(data, n))).collect());
        let features = with_rows(recommending.factored.features_table(), count, users, &vectors);
        let mut rows = rows_of(&recommending, count);
        for (n, &user) in users.iter().enumerate() {
            rows[user as usize] = weighted(data, n);
        }
        let Scores::Factored(old) = &self.scores else { unreachable!("recommenders have factored scores") };
        let (classes, bias) = (old.classes_table().to_vec(), old.bias().to_vec());
        self.scores = Scores::Factored(Factored::new(rank, features, classes, bias));
        name(&mut self.card.feature_names, count, users, &data.users);
        self.set_seen(rows);
        Ok(())
    }

    /// Gives items the vectors that [`Recommending::fold_in_item`] finds, and these interactions in place of those of
    /// training: item `items[n]` has the users of row n as `data` has items, under the name of the row. A number that
    /// the model does not have must be the next one. Which items occur together is counted again.
    ///
    /// # Errors
    /// As [`Model::fold_in_users`].
    pub fn fold_in_items(&mut self, items: &[u32], data: &Interactions) -> Result<()> {
        let recommending = self.recommender()?;
        let (count, rank) = (recommending.factored.classes(), recommending.factored.rank());
        check("users", data.item_count(), recommending.factored.features())?;
        let count = count_with("item", count, items)?;
        let vectors: Vec<Vec<f32>> = pool::run(|| {
            (0..items.len()).into_par_iter().map(|n| recommending.fold_in_item(&weighted(data, n))).collect()
        });
        let classes = with_rows(recommending.factored.classes_table(), count, items, &vectors);
        let mut rows = rows_of(&recommending, recommending.factored.features());
        let given: std::collections::HashSet<u32> = items.iter().copied().collect();
        rows.iter_mut().for_each(|row| row.retain(|(item, _)| !given.contains(item)));
        for (n, &item) in items.iter().enumerate() {
            weighted(data, n).into_iter().for_each(|(user, weight)| rows[user as usize].push((item, weight)));
        }
        let Scores::Factored(old) = &self.scores else { unreachable!("recommenders have factored scores") };
        let mut bias = old.bias().to_vec();
        bias.resize(count, 0.0);
        self.scores = Scores::Factored(Factored::new(rank, old.features_table().to_vec(), classes, bias));
        name(&mut self.card.classes, count, items, &data.users);
        self.set_seen(rows);
        if let Some(recommender) = &mut self.card.recommender {
            let counted = || super::Recommender::count(&recommender.options, &recommender.seen, count);
            recommender.co_occurrence = pool::run(counted);
        }
        Ok(())
    }

    fn set_seen(&mut self, rows: Vec<Vec<(u32, f32)>>) {
        let mut seen = Interactions::new(self.card.classes.clone());
        rows.into_iter().for_each(|row| seen.push(String::new(), row));
        (self.card.counts, self.card.rows) = (seen.counts(), seen.len() as u64);
        if let Some(recommender) = &mut self.card.recommender {
            let co_occurrence = recommender.co_occurrence.clone();
            *recommender = super::Recommender::new(recommender.options.clone(), &seen, co_occurrence);
        }
    }
}

fn weighted(data: &Interactions, row: usize) -> Vec<(u32, f32)> {
    data.items_of(row).iter().copied().zip(data.weights_of(row).iter().copied()).collect()
}

/// The interactions of each of `count` users.
fn rows_of(recommending: &Recommending<'_>, count: usize) -> Vec<Vec<(u32, f32)>> {
    let seen = recommending.seen();
    let mut rows: Vec<_> = (0..seen.len()).map(|user| weighted(seen, user)).collect();
    rows.resize(count, Vec::new());
    rows
}

fn check(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Mismatch(format!("the interactions have {found} {what}, the model has {expected}")))
}

/// The number of vectors with those of these numbers.
fn count_with(what: &str, mut count: usize, numbers: &[u32]) -> Result<usize> {
    for &number in numbers {
        if number as usize > count {
            return Err(Error::Mismatch(format!("a new {what} must have the next number, {count}, got {number}")));
        }
        count += usize::from(number as usize == count);
    }
    Ok(count)
}

/// The table with these vectors in place of, or after, its own.
fn with_rows(table: &[f32], count: usize, numbers: &[u32], vectors: &[Vec<f32>]) -> Vec<f32> {
    let rank = vectors.first().map_or(0, Vec::len);
    let mut table = table.to_vec();
    if rank > 0 {
        table.resize(count * rank, 0.0);
    }
    for (&number, vector) in numbers.iter().zip(vectors) {
        table[number as usize * rank..][..rank].copy_from_slice(vector);
    }
    table
}

/// Names the new ones, if there are names.
fn name(names: &mut Vec<String>, count: usize, numbers: &[u32], given: &[String]) {
    let known = names.len();
    names.resize(count, String::new());
    for (&number, given) in numbers.iter().zip(given) {
        if number as usize >= known {
            names[number as usize].clone_from(given);
        }
    }
}
