//! The candidates of a row: its labels and sampled negatives, with importance weights.

use super::visit::Visit;
use crate::bound::Objective;
use crate::data::{Examples, Row};
use crate::options::{BoundOptions, StochasticOptions};
use crate::sample::{DrawKey, Sampler, SamplerKind, most_frequent};

/// With the sampler rivals, the share of drawn classes that are rivals of the row, each once; the others are drawn from
/// the rest. The rivals form C. One-vs-each, whose C is empty, has a term of weight 1 for each: given the rivals, the
/// others estimate what is left of the sum without bias. With importance weights in place of this, one large term of an
/// unlikely rival undoes what many steps have learned.
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
    /// Whether C is the rivals of the row in a sum of pairs, without a common logarithm.
    in_pairs: bool,
}

impl Candidates {
    pub fn new(examples: &Examples<'_>, bound: &BoundOptions, options: &StochasticOptions) -> Self {
        let (objective, all) = (bound.objective, examples.classes - 1);
        let in_pairs = objective == Objective::OneVsEach && options.sampler == SamplerKind::Rivals;
        let merges_rivals = in_pairs || objective.has_inside() && options.sampler == SamplerKind::Rivals;
        let drawn = match objective.samples_classes() {
            false => [0, all],
            true if merges_rivals => {
                let inside = (options.negatives * MERGED_RIVALS.0 / MERGED_RIVALS.1).clamp(1, all);
                [inside, (options.negatives - inside.min(options.negatives - 1)).min(all)]
            }
            true => [0, options.negatives.min(all)],
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
        let outside = if objective == Objective::SampledSoftmax { 0 } else { all.saturating_sub(in_c) };
        let mean_weight = (outside as f64 / drawn[1] as f64).max(1.0);
        let labels = examples.ids().map(|id| examples.labels[id].len()).sum::<usize>().div_ceil(examples.len());
        let width = (labels + in_c + drawn[1]).min(examples.classes);
        Candidates { sampler, rivals, merged, drawn, width, mean_weight, in_c, in_pairs }
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
        let in_c = visit.classes.len() - labels.len();
        visit.inside = if self.in_pairs { 0 } else { in_c };
        visit.weights.resize(in_c - visit.inside, 1.0);
        visit.excluded.clone_from(&visit.classes);
        visit.excluded.sort_unstable();
        self.sampler.draw(row, key, &visit.excluded, self.drawn[1], &mut visit.classes, &mut visit.weights);
    }

    /// Draws C from the rivals, without duplicates: eq. 6 holds for every C, however it is drawn.
    fn merge_rivals<H>(&self, rivals: &Sampler, row: Row<'_>, labels: &[u32], key: DrawKey, visit: &mut Visit<H>) {
        visit.excluded.clear();
        visit.excluded.extend_from_slice(labels);
        visit.excluded.sort_unstable();
        // With random numbers other than those of the classes outside C, which then depend on C only by being outside.
        let key = DrawKey { seed: !key.seed, ..key };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::options::{FactoredOptions, LinearOptions};

    const CLASSES: usize = 12;

    /// Each class has a feature that it shares with the next one.
    fn data() -> Dataset {
        let mut data = Dataset::new(CLASSES + 1, (0..CLASSES).map(|k| k.to_string()).collect());
        for n in 0..60 {
            let class = n % CLASSES as u32;
            data.push_entry(class, 1.0);
            data.push_entry(class + 1, 0.5);
            data.end_row(&[class]);
        }
        data
    }

    fn candidates(data: &Dataset, objective: Objective, sampler: SamplerKind, classes: usize) -> Candidates {
        let bound = BoundOptions { objective, merge: 3, ..LinearOptions::default().bound };
        let options = StochasticOptions { sampler, negatives: classes, ..FactoredOptions::default().stochastic };
        Candidates::new(&Examples::of(data), &bound, &options)
    }

    fn choose(candidates: &Candidates, data: &Dataset, row: usize, seed: u64) -> Visit<()> {
        let mut visit = Visit::default();
        let key = DrawKey { seed, row: row as u64, epoch: seed % 3 };
        candidates.draw(data.rows().row(row), &data.labels[row], key, &mut visit);
        visit
    }

    #[test]
    fn a_row_visits_its_labels_then_c_then_classes_outside() {
        let data = data();
        for &objective in Objective::ALL {
            for &sampler in SamplerKind::ALL {
                let candidates = candidates(&data, objective, sampler, 6);
                // Eleven negatives: three, or two thirds of six, are in C, and the rest of six are drawn.
                let mean_weight = match (objective, sampler) {
                    (Objective::OneVsEach, SamplerKind::Rivals) => 7.0 / 2.0,
                    (Objective::OneVsEach, _) => 11.0 / 6.0,
                    (Objective::Normalised, SamplerKind::Rivals) => 7.0 / 2.0,
                    (Objective::Normalised, _) => 11.0 / 6.0,
                    (Objective::Merged, SamplerKind::Rivals) => 7.0 / 2.0,
                    (Objective::Merged, _) => 8.0 / 6.0,
                    _ => 1.0,
                };
                assert_eq!(candidates.mean_weight, mean_weight, "{objective} {sampler}");
                for seed in 0..200 {
                    let visit = choose(&candidates, &data, 5, seed);
                    assert_eq!(visit.classes[0], 5);
                    assert_eq!(visit.classes.len(), 1 + visit.inside + visit.weights.len());
                    let (inside, outside) = visit.classes[1..].split_at(visit.inside);
                    assert!(inside.is_sorted_by(|a, b| a < b), "{inside:?}");
                    assert!(outside.iter().all(|class| *class != 5 && !inside.contains(class)), "{:?}", visit.classes);
                    assert!(visit.inside == 0 || objective.has_inside());
                    assert!(visit.inside <= candidates.in_c);
                    let all_once = outside.len() == CLASSES - 1 && visit.weights.iter().all(|&weight| weight == 1.0);
                    assert!(objective.samples_classes() || all_once, "{objective}");
                }
            }
        }
    }

    /// A row of the last class has every feature, and each of the others is that of one more class.
    fn all_features() -> Dataset {
        let mut data = Dataset::new(CLASSES, (0..CLASSES).map(|k| k.to_string()).collect());
        (0..CLASSES as u32).for_each(|feature| data.push_entry(feature, 1.0));
        data.end_row(&[OWN as u32]);
        for n in 0..60 * CLASSES as u32 {
            data.push_entry(n % CLASSES as u32, 1.0);
            data.end_row(&[n % CLASSES as u32]);
        }
        data
    }

    const OWN: usize = CLASSES - 1;

    /// Eq. 6 with the rivals as C is a bound for any C, and its estimate is unbiased given C: the classes outside
    /// it are drawn by numbers of their own. Tested by the mean of w_m − 1 for each class m outside C where a class c
    /// is in C, which is zero, and would not be if the draw of C said anything about that of m.
    #[test]
    fn what_is_drawn_outside_c_does_not_depend_on_c() {
        let data = all_features();
        let candidates = candidates(&data, Objective::Merged, SamplerKind::Rivals, 6);
        let (mut sums, mut squares) = ([[0.0; CLASSES]; CLASSES], [[0.0; CLASSES]; CLASSES]);
        for seed in 0..60_000 {
            let visit = choose(&candidates, &data, 0, seed);
            let (inside, outside) = visit.classes[1..].split_at(visit.inside);
            let mut weights = [0.0; CLASSES];
            outside.iter().zip(&visit.weights).for_each(|(&class, weight)| weights[class as usize] += weight);
            for m in (0..OWN).filter(|&m| !inside.contains(&(m as u32))) {
                for &c in inside {
                    sums[c as usize][m] += weights[m] - 1.0;
                    squares[c as usize][m] += (weights[m] - 1.0).powi(2);
                }
            }
        }
        for c in 0..OWN {
            for m in 0..OWN {
                let error = f64::sqrt(squares[c][m]);
                assert!(sums[c][m].abs() <= 5.0 * error, "class {m} where {c} is in C: {} ± {error}", sums[c][m]);
            }
        }
    }
}
