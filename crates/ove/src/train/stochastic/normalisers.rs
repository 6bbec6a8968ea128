//! The numbers u of the normalised bound: one per label of each row, kept from visit to visit.

use crate::bound::normalised::{Visited, update_labels};
use crate::data::Examples;
use crate::error::Result;
use crate::platform::elementary::{ln_1p, powf};
use crate::train::checkpoint::{F32, StateReader, Table};
use crate::train::stochastic::visit::Visit;

/// The rate of the running mean in epoch e, from 0, is (1 + e)^−POWER: the first visit starts from its own estimate.
const POWER: f64 = 0.9;

/// The name of the table in a checkpoint.
const TABLE: &str = "normalisers";

/// The numbers u of all rows.
pub(super) struct Normalisers<'a> {
    /// The start of each row's labels, and the end of the last.
    offsets: &'a [usize],
    us: Vec<f32>,
}

impl<'a> Normalisers<'a> {
    /// For scores of zero, where log(1 + G) is the logarithm of one more than the number of negatives.
    pub fn new(examples: &Examples<'a>) -> Self {
        let labels = examples.labels;
        let at_zero = |labels: &[u32]| {
            let u = ln_1p((examples.classes - labels.len()) as f64) as f32;
            std::iter::repeat_n(u, labels.len())
        };
        Normalisers { offsets: labels.offsets(), us: labels.iter().flat_map(at_zero).collect() }
    }

    /// Returns the value of a visit, at the kept numbers, and overwrites its scores with derivatives at the new ones,
    /// which [`Normalisers::keep`] takes over after the batch.
    pub fn visit<H>(&self, visit: &mut Visit<H>, epoch: usize) -> f64 {
        let own = &self.us[self.offsets[visit.row]..self.offsets[visit.row + 1]];
        visit.normalisers.clear();
        visit.normalisers.extend(own.iter().map(|&u| f64::from(u)));
        let rate = powf(1.0 + epoch as f64, -POWER);
        let Visit { derivatives, label_weights, inside, weights, normalisers, scratch, .. } = visit;
        update_labels(derivatives, &Visited { label_weights, inside: *inside, weights, rate }, normalisers, scratch)
    }

    /// Keeps the new numbers of the rows of a batch.
    pub fn keep<H>(&mut self, visits: &[Visit<H>]) {
        for visit in visits {
            let own = &mut self.us[self.offsets[visit.row]..self.offsets[visit.row + 1]];
            own.iter_mut().zip(&visit.normalisers).for_each(|(own, &u)| *own = u as f32);
        }
    }

    /// −u summed over the labels of a row: the estimate of their log probabilities.
    pub fn log_probability(&self, row: usize) -> f64 {
        -self.us[self.offsets[row]..self.offsets[row + 1]].iter().map(|&u| f64::from(u)).sum::<f64>()
    }

    pub fn table(&self) -> Table<'_> {
        Table::new(TABLE, F32, &self.us)
    }

    pub fn restore(&mut self, state: &dyn StateReader) -> Result<()> {
        state.read_into(TABLE, &mut self.us)
    }
}
