//! The classes that a row visits, and what it leaves behind on its visit.

use super::Problem;
use crate::data::Row;
use crate::objective::Objective;
use crate::options::Options;
use crate::sampler::{Sampler, SamplerKind, Turn};
use crate::solve::all_classes::most_frequent;

/// How a row chooses the classes it visits.
pub(super) struct Visits {
    sampler: Sampler,
    /// C, in class order.
    merged: Vec<u32>,
    /// Whether the drawn classes share one logarithm.
    together: bool,
    /// How many remaining classes are drawn.
    sampled: usize,
    /// How many classes a row visits, about.
    pub width: usize,
    /// w̄, the classes that a drawn one stands for.
    pub stands_for: f64,
}

/// What one row of a batch leaves between the phases.
#[derive(Clone, Default)]
pub(super) struct Visit {
    pub row: usize,
    /// Where the weights of each of the row's features start: hashed once a visit, which made 297,000 updates/s of 226,000 with 10⁶ classes.
    pub starts: Vec<usize>,
    /// The labels, the classes of C, the sample.
    pub classes: Vec<u32>,
    /// How often each label counts.
    pub label_weights: Vec<f64>,
    /// How many of them belong to C.
    pub inside: usize,
    /// First the scores, then the derivatives, weighted and in units of the rate.
    pub derivatives: Vec<f64>,
    pub weights: Vec<f64>,
    /// log w_m of the classes inside the logarithm, where these are drawn.
    pub log_weights: Vec<f64>,
    pub excluded: Vec<u32>,
    pub scratch: Vec<f64>,
    pub bound: f64,
}

impl Visits {
    pub fn new(problem: &Problem<'_>, options: &Options) -> Self {
        let sampler = Sampler::new(options.sampler, problem, options.power);
        let all = problem.classes - 1;
        let together = options.objective == Objective::Merged && options.sampler == SamplerKind::Rivals;
        let merged = if together { Vec::new() } else { most_frequent(&problem.mass(), options) };
        let sampled = if options.objective.samples_classes() { options.classes.min(all) } else { all };
        let apart = if together { 0 } else { all.saturating_sub(merged.len()) };
        let stands_for = (apart as f64 / sampled as f64).max(1.0);
        let labels = problem.labels.total().div_ceil(problem.labels.len());
        let width = (labels + merged.len() + sampled).min(problem.classes);
        Visits { sampler, merged, together, sampled, width, stands_for }
    }

    /// Fills in the classes of a visit with their weights.
    pub fn choose(&self, row: Row<'_>, labels: &[u32], turn: Turn, visit: &mut Visit) {
        visit.classes.clear();
        visit.weights.clear();
        visit.log_weights.clear();
        visit.classes.extend_from_slice(labels);
        visit.classes.extend(self.merged.iter().filter(|class| !labels.contains(class)));
        visit.inside = visit.classes.len() - labels.len();
        visit.excluded.clone_from(&visit.classes);
        visit.excluded.sort_unstable();
        self.sampler.draw(row, turn, &visit.excluded, self.sampled, &mut visit.classes, &mut visit.weights);
        if self.together {
            visit.inside = visit.weights.len();
            visit.log_weights.extend(visit.weights.drain(..).map(f64::ln));
        }
    }
}
