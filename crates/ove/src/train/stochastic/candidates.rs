//! The candidates of a row: its labels and sampled negatives, with importance weights.

use super::visit::Visit;
use crate::bound::Objective;
use crate::data::{Examples, Row};
use crate::options::{BoundOptions, StochasticOptions};
use crate::sample::{DrawKey, Sampler, SamplerKind, most_frequent};

/// With the objective merged and the sampler rivals, the share of drawn classes that form C; the others are drawn from
/// outside C.
const MERGED_RIVALS: (usize, usize) = (2, 3);

/// Draws the candidates of a row.
pub(super) struct Candidates {
    sampler: Sampler,
    /// Draws C per row, if the rivals are merged.
    rivals: Option<Sampler>,
    /// C, in class order, if it is the same for all rows.
    merged: Vec<u32>,
    /// Number of classes that are drawn into C, and outside it.
    drawn: [usize; 2],
    /// Approximate number of candidates per row.
    pub width: usize,
    /// w̄, the mean importance weight of a drawn class.
    pub mean_weight: f64,
    /// Number of classes in C.
    pub in_c: usize,
}

impl Candidates {
    pub fn new(examples: &Examples<'_>, bound: &BoundOptions, options: &StochasticOptions) -> Self {
        let (objective, all) = (bound.objective, examples.classes - 1);
        let merges_rivals = objective == Objective::Merged && options.sampler == SamplerKind::Rivals;
        let drawn = match objective.samples_classes() {
            false => [0, all],
            true if merges_rivals => {
                let inside = (options.classes * MERGED_RIVALS.0 / MERGED_RIVALS.1).clamp(1, all);
                [inside, (options.classes - inside.min(options.classes - 1)).min(all)]
            }
            true => [0, options.classes.min(all)],
        };
        let sampler = |kind| Sampler::new(kind, examples, options.power);
        let (sampler, rivals) = match merges_rivals {
            true => (sampler(SamplerKind::Systematic), Some(sampler(SamplerKind::Rivals))),
            false => (sampler(options.sampler), None),
        };
        let merged = match merges_rivals {
            true => Vec::new(),
            false => most_frequent(&examples.mass(), objective, bound.merge),
        };
        let in_c = merged.len() + drawn[0];
        // Inside a logarithm, derivatives are between −1 and 1 for any weights.
        let outside = if objective.is_sampled() { 0 } else { all.saturating_sub(in_c) };
        let mean_weight = (outside as f64 / drawn[1] as f64).max(1.0);
        let labels = examples.ids().map(|id| examples.labels[id].len()).sum::<usize>().div_ceil(examples.len());
        let width = (labels + in_c + drawn[1]).min(examples.classes);
        Candidates { sampler, rivals, merged, drawn, width, mean_weight, in_c }
    }

    /// Draws the candidates of a visit with their weights.
    pub fn draw<H>(&self, row: Row<'_>, labels: &[u32], key: DrawKey, visit: &mut Visit<H>) {
        visit.classes.clear();
        visit.weights.clear();
        visit.classes.extend_from_slice(labels);
        visit.classes.extend(self.merged.iter().filter(|class| !labels.contains(class)));
        if let Some(rivals) = &self.rivals {
            self.merge_rivals(rivals, row, labels, key, visit);
        }
        visit.inside = visit.classes.len() - labels.len();
        visit.excluded.clone_from(&visit.classes);
        visit.excluded.sort_unstable();
        self.sampler.draw(row, key, &visit.excluded, self.drawn[1], &mut visit.classes, &mut visit.weights);
    }

    /// Draws C from the rivals, without duplicates: eq. 6 holds for every C, however it is drawn.
    fn merge_rivals<H>(&self, rivals: &Sampler, row: Row<'_>, labels: &[u32], key: DrawKey, visit: &mut Visit<H>) {
        visit.excluded.clear();
        visit.excluded.extend_from_slice(labels);
        visit.excluded.sort_unstable();
        rivals.draw(row, key, &visit.excluded, self.drawn[0], &mut visit.classes, &mut visit.weights);
        visit.weights.clear();
        visit.classes[labels.len()..].sort_unstable();
        let mut last = None;
        visit.classes.retain({
            let mut at = 0;
            move |&class| {
                at += 1;
                let is_new = at <= labels.len() || last != Some(class);
                last = (at > labels.len()).then_some(class);
                is_new
            }
        });
    }
}
