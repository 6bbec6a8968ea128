//! Held-out rows, which choose learning rate, epochs and temperature of a linear model.

use anyhow::Result;
use ove::options::Options;
use ove::solve::learning_rate;
use ove::{Dataset, HeldOut, Linear, Problem, held_out};

use super::interrupt;

/// Rows that are not trained on.
pub struct Rows {
    data: Dataset,
    classes: usize,
}

impl Rows {
    /// Draws from validation rows, whose classes are those of the training rows.
    pub fn given(valid: &Dataset, seed: u64) -> Option<Self> {
        let problem = Problem::of(valid);
        let drawn = held_out::draw_given(&problem, seed);
        (!drawn.is_empty()).then(|| Rows { data: held_out::copy(&problem, &drawn), classes: valid.classes.len() })
    }

    /// Draws from the training rows, where their weight becomes zero.
    pub fn split(data: &mut Dataset, seed: u64) -> Option<Self> {
        let problem = Problem::of(data);
        let drawn = held_out::draw(&problem, seed);
        if drawn.is_empty() {
            return None;
        }
        let rows = Rows { data: held_out::copy(&problem, &drawn), classes: data.classes.len() };
        data.row_weights = held_out::weights_without(&problem, &drawn).into_owned();
        Some(rows)
    }

    /// The rows themselves.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// A view for the solver.
    pub fn view(&self) -> HeldOut<'_> {
        HeldOut::of(&self.data, self.classes)
    }

    /// The learning rate that is best on them.
    pub fn learning_rate(&self, data: &Dataset, options: &Options) -> Result<f64> {
        Ok(learning_rate::choose(&Problem::of(data), options, &self.view(), &mut interrupt::flow)?)
    }

    /// The temperature that makes their labels most probable.
    pub fn temperature(&self, linear: &Linear, threads: usize) -> Result<f64> {
        Ok(self.view().judge(linear, threads)?.temperature)
    }
}
