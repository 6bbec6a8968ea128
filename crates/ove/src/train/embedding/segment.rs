//! The work on consecutive positions of the text that share their negatives.
//!
//! Skip-gram: the vector of the word at a position predicts the words around it. CBOW: the mean of the vectors around
//! predicts the word. With H the hidden vectors of L positions and N the vectors of the negatives,
//!
//! ```text
//! scores of negatives      S = H·Nᵀ                          one product of matrices
//! scores of neighbours     s_ij = h_i·t_j                    for j in the window of i
//! gradients                ∂H = D·N + Σ_j d_ij t_j           ∂N = Dᵀ·H           ∂t_j = Σ_i d_ij h_i
//! ```
//!
//! where D and d are the derivatives of the objective. Gathering and the products read the tables of vectors and write
//! only to the segment; the gradients are added to the tables afterwards, by stripes.

use super::Settings;
use super::draws::Positions;
use super::vectors::{STRIPES, Stripe};
use crate::bound::candidates::Visit;
use crate::platform::math::lanes;
use crate::platform::matrix::{multiply, multiply_transposed, pack_rows, pack_rows_as_columns};
use crate::platform::random::Stream;
use crate::platform::simd::vectorised;
use std::ops::Range;

/// Positions per segment.
pub(super) const POSITIONS: usize = 32;

/// Key of random streams.
const NEGATIVES: u64 = u64::MAX - 21;

/// Rows of vectors that are gathered from one of the tables, and their gradients.
#[derive(Default)]
pub(super) struct Rows {
    pub vectors: Vec<f32>,
    pub gradients: Vec<f32>,
    /// For each stripe, rows of its table and the gradients that are added to them.
    pub visits: [Vec<(u32, u32)>; STRIPES],
    count: usize,
}

impl Rows {
    fn clear(&mut self, width: usize, most: usize) {
        self.vectors.resize(width * most, 0.0);
        self.gradients.resize(width * most, 0.0);
        self.visits.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }

    fn visit(&mut self, row: u32, slot: usize) {
        self.visits[row as usize % STRIPES].push((row, slot as u32));
    }

    /// Adds the gradients of a stripe to it.
    pub fn add_to(&self, number: usize, stripe: &mut Stripe<'_>) {
        stripe.add(&self.visits[number], &self.gradients);
    }

    /// Ends the block of a stripe.
    pub fn forget_in(&self, number: usize, stripe: &mut Stripe<'_>) {
        stripe.forget(&self.visits[number]);
    }
}

/// The memory of a segment, which is reused.
#[derive(Default)]
pub(super) struct Segment {
    /// Of the table of words: one row per position (skip-gram) or per position and neighbour (CBOW).
    pub inputs: Rows,
    /// Of the table of neighbours: as many rows as needed, and then those of the negatives.
    pub outputs: Rows,
    /// New values of log Z of words, in order.
    pub normalisers: Vec<(u32, f32)>,
    /// The objective summed over its pairs, and their number, if it was asked for.
    pub value: (f64, u64),
    hidden: Vec<f32>,
    d_hidden: Vec<f32>,
    scores: Vec<f32>,
    labels: Vec<f32>,
    panels: Vec<f32>,
}

/// One segment: where it is, and how its gradients are scaled.
#[derive(Clone)]
pub(super) struct Place {
    pub positions: Range<usize>,
    pub key: [u64; 4],
    pub rate: f32,
    /// Whether the objective is evaluated.
    pub measured: bool,
}

impl Segment {
    /// Computes the gradients of the positions of a place.
    pub fn compute(&mut self, run: &Settings<'_>, text: &Positions, place: &Place) {
        let width = run.inputs.width;
        let own = place.positions.clone();
        let first = own.clone().map(|at| at - text.before[at] as usize).min().unwrap_or(own.start);
        let end = own.clone().map(|at| at + text.after[at] as usize + 1).max().unwrap_or(own.end);
        let around = first..end;
        let (inputs, targets) = if run.cbow { (around.clone(), own.clone()) } else { (own.clone(), around.clone()) };

        self.gather_inputs(run, &text.words[inputs]);
        self.gather_outputs(run, &text.words[targets], place.key);
        let length = own.len();
        self.hidden.resize(length * width, 0.0);
        self.d_hidden.resize(length * width, 0.0);
        if run.cbow {
            for (h, at) in self.hidden.chunks_exact_mut(width).zip(own.clone()) {
                h.fill(0.0);
                let scale = 1.0 / f32::from(text.before[at] + text.after[at]).max(1.0);
                for neighbour in neighbours(text, at) {
                    add_scaled(h, scale, &self.inputs.vectors[(neighbour - first) * width..]);
                }
            }
        } else {
            self.hidden.copy_from_slice(&self.inputs.vectors[..length * width]);
        }

        let negatives = run.draws;
        let noise = self.outputs.count - negatives;
        let (target_rows, noise_rows) = self.outputs.vectors.split_at(noise * width);
        let noise_rows = &noise_rows[..negatives * width];
        self.panels.resize(width * negatives.max(length.next_multiple_of(4)), 0.0);
        pack_rows_as_columns(noise_rows, width, &mut self.panels[..width * negatives]);
        self.scores.resize(length * negatives, 0.0);
        multiply(&self.hidden, width, width, &self.panels[..width * negatives], &mut self.scores);

        // The derivatives of all pairs, one position after the other.
        self.labels.clear();
        self.normalisers.clear();
        self.value = (0.0, 0);
        for (i, at) in own.clone().enumerate() {
            let from = self.labels.len();
            let h = &self.hidden[i * width..][..width];
            if !run.cbow {
                let neighbours = neighbours(text, at).map(|neighbour| neighbour - first);
                products(h, target_rows, neighbours, &mut self.labels);
            } else if text.before[at] + text.after[at] > 0 {
                products(h, target_rows, std::iter::once(i), &mut self.labels);
            }
            let labels = &mut self.labels[from..];
            let negatives = &mut self.scores[i * negatives..][..negatives];
            let word = text.words[at];
            let mut normaliser = run.normalisers.get(word as usize).copied().unwrap_or(f32::NAN);
            if place.measured {
                self.value.0 += run.objective.value(labels, negatives, f64::from(run.weight), normaliser);
                self.value.1 += labels.len() as u64;
            }
            run.objective.derivatives(Visit {
                labels,
                negatives,
                weight: run.weight,
                log_normaliser: &mut normaliser,
                rate: super::NORMALISER_RATE,
            });
            if !run.normalisers.is_empty() && from < self.labels.len() {
                self.normalisers.push((word, normaliser));
            }
        }
        // The rate is part of the derivatives, which are fewer than the numbers of the gradients.
        self.labels.iter_mut().chain(&mut self.scores).for_each(|derivative| *derivative *= place.rate);

        pack_rows(noise_rows, width, &mut self.panels[..width * negatives]);
        multiply(&self.scores, negatives, negatives, &self.panels[..width * negatives], &mut self.d_hidden);
        pack_rows(&self.hidden, width, &mut self.panels[..width * length]);
        let (d_targets, d_noise) = self.outputs.gradients.split_at_mut(noise * width);
        let d_noise = &mut d_noise[..negatives * width];
        multiply_transposed(&self.scores, negatives, 0, &self.panels[..width * length], length, d_noise);
        d_targets.fill(0.0);
        let mut labels = &self.labels[..];
        for (i, at) in own.clone().enumerate() {
            let pairs = if run.cbow {
                i..i + usize::from(text.before[at] + text.after[at] > 0)
            } else {
                at - text.before[at] as usize - first..at + text.after[at] as usize + 1 - first
            };
            let centre = if run.cbow { usize::MAX } else { at - first };
            let derivatives;
            (derivatives, labels) = labels.split_at(pairs.len() - usize::from(!run.cbow));
            let (h, d_h) = (&self.hidden[i * width..][..width], &mut self.d_hidden[i * width..][..width]);
            exchange(h, d_h, target_rows, d_targets, pairs.filter(|&j| j != centre), derivatives);
        }
        if run.cbow {
            // Each neighbour takes the step of the mean, so that the mean moves as one vector would.
            self.inputs.gradients.fill(0.0);
            for (i, at) in own.enumerate() {
                for neighbour in neighbours(text, at) {
                    let gradient = &mut self.inputs.gradients[(neighbour - first) * width..][..width];
                    add_scaled(gradient, 1.0, &self.d_hidden[i * width..]);
                }
            }
        } else {
            self.inputs.gradients[..length * width].copy_from_slice(&self.d_hidden);
        }
    }

    fn gather_inputs(&mut self, run: &Settings<'_>, words: &[u32]) {
        let (width, rows) = (run.inputs.width, &mut self.inputs);
        rows.clear(width, words.len());
        for (slot, &word) in words.iter().enumerate() {
            let vector = &mut rows.vectors[slot * width..][..width];
            match run.parts.of(word) {
                [] => vector.copy_from_slice(run.inputs.get(word)),
                parts => {
                    vector.fill(0.0);
                    let scale = 1.0 / parts.len() as f32;
                    parts.iter().for_each(|&part| add_scaled(vector, scale, run.inputs.get(part)));
                }
            }
            match run.parts.of(word) {
                [] => rows.visit(word, slot),
                parts => parts.iter().for_each(|&part| rows.visit(part, slot)),
            }
        }
        rows.count = words.len();
    }

    fn gather_outputs(&mut self, run: &Settings<'_>, words: &[u32], key: [u64; 4]) {
        let (width, rows) = (run.outputs.width, &mut self.outputs);
        let count = words.len() + run.draws;
        rows.clear(width, count);
        let mut random = Stream::of(&[key[0], NEGATIVES, key[1], key[2], key[3]]);
        let drawn = std::iter::repeat_with(|| run.noise.draw(&mut random)).take(run.draws);
        for (slot, word) in words.iter().copied().chain(drawn).enumerate() {
            rows.vectors[slot * width..][..width].copy_from_slice(run.outputs.get(word));
            rows.visit(word, slot);
        }
        rows.count = count;
    }
}

/// The positions around one that are its neighbours.
fn neighbours(text: &Positions, at: usize) -> impl Iterator<Item = usize> {
    let (before, after) = (text.before[at] as usize, text.after[at] as usize);
    (at - before..at).chain(at + 1..at + 1 + after)
}

vectorised! {
    /// Appends the inner products of a vector with rows.
    fn products(vector: &[f32], rows: &[f32], chosen: impl Iterator<Item = usize>, out: &mut Vec<f32>) {
        let width = vector.len();
        for row in chosen {
            out.push(lanes(vector, &rows[row * width..][..width], |a, b| a * b));
        }
    }
}

vectorised! {
    /// Adds to the gradient of a vector, and to those of the rows that it met, what the derivative of each pair says.
    fn exchange(vector: &[f32], gradient: &mut [f32], rows: &[f32], gradients: &mut [f32], chosen: impl Iterator<Item = usize>, derivatives: &[f32]) {
        let width = vector.len();
        let vector = vector.as_chunks::<16>().0;
        let gradient = gradient.as_chunks_mut::<16>().0;
        for (row, &d) in chosen.zip(derivatives) {
            let rows = rows[row * width..][..width].as_chunks::<16>().0;
            let gradients = gradients[row * width..][..width].as_chunks_mut::<16>().0;
            for (((g, h), t), d_t) in gradient.iter_mut().zip(vector).zip(rows).zip(gradients) {
                for i in 0..16 {
                    g[i] += d * t[i];
                    d_t[i] += d * h[i];
                }
            }
        }
    }
}

vectorised! {
    fn add_scaled(out: &mut [f32], scale: f32, row: &[f32]) {
        for (out, x) in out.iter_mut().zip(row) {
            *out += scale * x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Noise, Parts, Vectors};
    use super::*;
    use crate::bound::EmbeddingObjective;
    use crate::options::EmbeddingOptions;
    use crate::platform::matrix::PANEL;
    use crate::text::WordCounts;

    const WORDS: usize = 9;
    const COUNTS: [u64; WORDS] = [9, 8, 7, 6, 5, 4, 3, 2, 1];

    /// The tables of words and of neighbours. They have fewer rows than stripes, so that the rows are in order.
    fn tables() -> [Vectors; 2] {
        let mut random = Stream::of(&[4]);
        [0, 1].map(|_| {
            let mut table = Vectors::zero(WORDS, PANEL);
            table.numbers[..WORDS * PANEL].iter_mut().for_each(|x| *x = 0.5 * random.normal() as f32);
            table
        })
    }

    /// Sentences of three words, each of which has two neighbours.
    fn text() -> Positions {
        let mut random = Stream::of(&[6]);
        let mut text = Positions::default();
        for (before, after) in [(0, 2), (1, 1), (2, 0)].repeat(8) {
            text.words.push(random.below(WORDS as u64) as u32);
            text.before.push(before);
            text.after.push(after);
        }
        text
    }

    fn computed([inputs, outputs]: &[Vectors; 2], objective: EmbeddingObjective, cbow: bool) -> Segment {
        let words = WordCounts::new((0..WORDS).map(|n| n.to_string()).collect(), COUNTS.to_vec());
        let run = Settings {
            inputs,
            outputs,
            normalisers: &[f32::NAN; WORDS],
            parts: &Parts::new(&words, &EmbeddingOptions::default()),
            noise: &Noise::new(&COUNTS),
            objective,
            cbow,
            draws: PANEL,
            weight: 5.0 / PANEL as f32,
        };
        let mut segment = Segment::default();
        // The first and the last sentence are cut: neighbours lie outside of the positions.
        segment.compute(&run, &text(), &Place { positions: 4..20, key: [1, 2, 3, 4], rate: 1.0, measured: true });
        segment
    }

    /// The gradient of every row that the segment visits, beside finite differences of the objective that it reports.
    #[test]
    fn gradients_are_those_of_the_objective() {
        for (objective, cbow) in EmbeddingObjective::ALL.iter().flat_map(|&one| [(one, false), (one, true)]) {
            let mut tables = tables();
            let segment = computed(&tables, objective, cbow);
            for (number, rows) in [&segment.inputs, &segment.outputs].into_iter().enumerate() {
                // With CBOW each of two neighbours takes the step of their mean.
                let scale = if cbow && number == 0 { 2.0 } else { 1.0 };
                for at in (0..WORDS * PANEL).step_by(7) {
                    let visits = rows.visits.iter().flatten().filter(|&&(row, _)| row as usize == at / PANEL);
                    let found: f32 = visits.map(|&(_, slot)| rows.gradients[slot as usize * PANEL + at % PANEL]).sum();
                    let h = 1e-2;
                    let mut moved = |by: f32| {
                        tables[number].numbers[at] += by;
                        let value = computed(&tables, objective, cbow).value.0;
                        tables[number].numbers[at] -= by;
                        value
                    };
                    let expected = scale * (moved(h) - moved(-h)) / f64::from(2.0 * h);
                    assert!(
                        (f64::from(found) - expected).abs() < 5e-3 * (1.0 + expected.abs()),
                        "{objective}, CBOW {cbow}, table {number}, {at}: {found} {expected}"
                    );
                }
            }
        }
    }
}
