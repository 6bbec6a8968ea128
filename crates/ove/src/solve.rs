//! Training: the sum over rows of the objective, less the penalty, maximised in the weights of a linear model.
//!
//! ```text
//! F(w) = Σ_n w_n Σ_{y ∈ Y_n} c_y log p̃(y | x_n)  −  λ/2 ‖w‖²            f_k(x) = w_k·x + b_k
//! ```
//!
//! Each label of a row is told from the classes that are not labels of it. The weights of rows and classes, w_n and c_y, are 1 if
//! not given.
//!
//! [`batch`] follows the gradient of the full sum. [`stochastic`] visits a few rows and a few of their remaining classes at a
//! time. [`forest`] trains trees over very many classes instead. All give the same bits for any number of threads.

pub(crate) mod all_classes;
pub mod batch;
pub mod forest;
mod label_weights;
pub mod lbfgs;
pub mod learning_rate;
pub mod stochastic;

use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;

use crate::checkpoint::{self, Identity, Save, Saved, Table};
use crate::data::{Dataset, Rows};
use crate::error::{Error, Result};
use crate::held_out::HeldOut;
use crate::labels::Labels;
use crate::linear::Linear;
use crate::model::TracePoint;
use crate::options::{ClassWeight, Options, Solver};
use crate::places::Places;

/// Rows with their classes.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The rows.
    pub rows: Rows<'a>,
    /// The classes of each row, at least one and below `classes`.
    pub labels: &'a Labels,
    /// How often each row counts; empty: once.
    pub row_weights: &'a [f64],
    /// K.
    pub classes: usize,
}

impl<'a> Problem<'a> {
    /// All rows of a data set, with its classes.
    pub fn of(data: &'a Dataset) -> Self {
        Problem { rows: data.rows(), labels: &data.labels, row_weights: &data.row_weights, classes: data.classes.len() }
    }
}

impl Problem<'_> {
    fn check(&self) -> Result<()> {
        let mismatch = |found: String, allowed: String| Err(Error::Mismatch { found, allowed });
        if self.rows.is_empty() {
            return mismatch("no rows".into(), "training needs at least one".into());
        }
        if self.labels.len() != self.rows.len() {
            return mismatch(
                format!("labels of {} rows for {} rows", self.labels.len(), self.rows.len()),
                "each row has its own".into(),
            );
        }
        if self.classes < 2 {
            return mismatch(format!("{} class", self.classes), "there have to be at least two to tell apart".into());
        }
        let is_known =
            |labels: &[u32]| !labels.is_empty() && labels.iter().all(|&label| (label as usize) < self.classes);
        if let Some(n) = self.labels.iter().position(|labels| !is_known(labels)) {
            return mismatch(format!("row {n} has no known class"), "training needs the class of every row".into());
        }
        let weights = self.row_weights;
        if !weights.is_empty() && weights.len() != self.rows.len() {
            return mismatch(
                format!("{} row weights for {} rows", weights.len(), self.rows.len()),
                "each row has one".into(),
            );
        }
        if let Some(n) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return mismatch(format!("row {n} has the weight {}", weights[n]), "weights are not negative".into());
        }
        Ok(())
    }

    /// Whether weights can share so many cells.
    fn check_cells(&self, cells: Option<usize>) -> Result<()> {
        match cells {
            Some(cells) if cells < self.classes => Err(Error::Mismatch {
                found: format!("{cells} cells for {} classes", self.classes),
                allowed: "each class has at least one".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Where the weights of a model for this problem are.
    fn places(&self, cells: Option<usize>) -> Places {
        let (features, classes) = (self.rows.features(), self.classes);
        cells.map_or(Places::dense(features, classes), |cells| Places::hashed(features, classes, cells))
    }

    /// Whether training can go on from these weights.
    fn check_start(&self, start: &Linear, cells: Option<usize>) -> Result<()> {
        let (found, needed) = (start.places(), self.places(cells));
        if found == needed {
            return Ok(());
        }
        let size = |places: Places| {
            format!("{} classes, {} features and {} cells", places.classes(), places.features(), places.cells())
        };
        Err(Error::Mismatch {
            found: format!("a start with {}", size(found)),
            allowed: format!("training needs {}", size(needed)),
        })
    }

    /// Whether these class weights can be meant for this problem.
    fn check_class_weight(&self, weight: &ClassWeight) -> Result<()> {
        match weight {
            ClassWeight::Listed(weights) if weights.len() != self.classes => Err(Error::Mismatch {
                found: format!("{} class weights for {} classes", weights.len(), self.classes),
                allowed: "each class has one".into(),
            }),
            _ => Ok(()),
        }
    }

    /// How many rows each class has.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.classes];
        for &label in self.labels.all() {
            counts[label as usize] += 1;
        }
        counts
    }

    /// How much the rows of each class weigh together.
    fn mass(&self) -> Vec<f64> {
        let mut mass = vec![0.0; self.classes];
        for (n, labels) in self.labels.iter().enumerate() {
            let weight = self.row_weights.get(n).copied().unwrap_or(1.0);
            labels.iter().for_each(|&label| mass[label as usize] += weight);
        }
        mass
    }
}

/// What training tells while it runs: after each batch of rows, or after each evaluation of the full sum.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// The share of the work that is done at the latest, from 0 to 1.
    pub done: f64,
    /// The epoch (or, for the batch solver, the iteration), from 1.
    pub epoch: usize,
    /// Epochs (or iterations) behind us, with the part of the current one.
    pub epochs: f64,
    /// Rows visited so far (batch solver: evaluations so far).
    pub updates: u64,
    /// The bound on the scale of all rows: exact, or this batch's unbiased estimate.
    pub bound: f64,
    /// The rate in use; 0 for the batch solver.
    pub learning_rate: f64,
    /// Makes the model as it is now; each call copies the whole table.
    pub snapshot: &'a dyn Fn() -> Linear,
    /// Writes the state of the run, from which [`train_with`] goes on.
    pub save: &'a Save<'a>,
}

/// Hears of progress and may end the training early.
pub type Watch<'a> = dyn FnMut(&Progress<'_>) -> ControlFlow<()> + Send + 'a;

/// The outcome of training.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The weights.
    pub linear: Linear,
    /// The curve of the bound.
    pub trace: Vec<TracePoint>,
    /// Whether training ran to its end: all epochs, or held-out rows that no longer gain, or the tolerance reached within the allowed iterations.
    pub finished: bool,
    /// Rows visited (batch solver: evaluations times rows).
    pub updates: u64,
}

/// Where a run begins: with weights of zero, with those of an earlier fit, or where a checkpoint was written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Begin<'a> {
    /// The weights of an earlier fit, which has to have as many classes, features and cells. The steps start afresh.
    pub start: Option<&'a Linear>,
    /// The state of a run that began with the same weights, on the same data, with the same options. It ends in the bits in which that
    /// run would have ended.
    pub saved: Option<&'a Saved>,
    /// Rows on which the stochastic solver stops: when several epochs in a row have not made their labels more probable.
    pub held_out: Option<HeldOut<'a>>,
}

impl Begin<'_> {
    /// Refuses a checkpoint of other data or options.
    fn check(&self, problem: &Problem<'_>, options: &impl Serialize) -> Result<()> {
        self.saved.map_or(Ok(()), |saved| saved.check(&Identity::new(problem, options, self)))
    }

    /// Writes the state of a run that began here.
    fn save(
        &self,
        path: &Path,
        (problem, options): (&Problem<'_>, &impl Serialize),
        facts: &impl Serialize,
        tables: &[Table<'_>],
    ) -> Result<()> {
        checkpoint::write(path, &Identity::new(problem, options, self), facts, tables)
    }
}

/// Trains a linear model. `watch` is called on one of the training threads and may stop the run; what was reached is
/// returned.
pub fn train(problem: &Problem<'_>, options: &Options, watch: &mut Watch<'_>) -> Result<Fit> {
    train_with(Begin::default(), problem, options, watch)
}

/// Goes on from the weights of an earlier fit.
pub fn train_from(start: &Linear, problem: &Problem<'_>, options: &Options, watch: &mut Watch<'_>) -> Result<Fit> {
    train_with(Begin { start: Some(start), ..Begin::default() }, problem, options, watch)
}

/// Trains from wherever a run begins.
pub fn train_with(begin: Begin<'_>, problem: &Problem<'_>, options: &Options, watch: &mut Watch<'_>) -> Result<Fit> {
    options.check()?;
    problem.check()?;
    problem.check_class_weight(&options.class_weight)?;
    problem.check_cells(options.cells)?;
    if let Some(linear) = begin.start {
        problem.check_start(linear, options.cells)?;
    }
    begin.check(problem, options)?;
    in_pool(options.threads, || match options.solver {
        Solver::Batch => batch::train(begin, problem, options, watch),
        Solver::Stochastic => stochastic::train(begin, problem, options, watch),
    })
}

/// Runs `work` with this many threads, 0 for one a core, or for those of the pool that this is called in.
pub(crate) fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    if threads == 0 && rayon::current_thread_index().is_some() {
        return work();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| Error::Option {
        name: "threads",
        found: threads.to_string(),
        allowed: format!("the system must be able to start them ({error})"),
    })?;
    pool.install(work)
}
