//! The candidates of each training row, its labels and its rivals, each with its current score; and the same class by
//! class.

use std::ops::Range;

use crate::bound::Objective;
use crate::error::Result;
use crate::platform::math::{log_sum_exp, softplus_sigmoid};
use crate::train::checkpoint::{F32, StateReader, Table, U32};

/// Bytes per candidate: class, score and weight; by class its slot, its row and its α.
const CANDIDATE_BYTES: u64 = 24;

/// The candidates of all rows, row by row. The place of a candidate is called its slot.
pub(super) struct Candidates {
    /// The end of the labels and the end of the rivals of each row.
    ends: Vec<[u32; 2]>,
    classes: Vec<u32>,
    /// w_k·x.
    pub scores: Vec<f32>,
    /// The weight of each label; 0 for rivals.
    pub weights: Vec<f32>,
}

/// The candidates, class by class, in order of their rows.
#[derive(Default)]
pub(super) struct ByClass {
    /// The first candidate of each class, and the end of the last.
    starts: Vec<usize>,
    /// The slot of each.
    pub slots: Vec<u32>,
    /// Its row, as a position in the list of training rows.
    rows: Vec<u32>,
    /// α of each.
    pub alphas: Vec<f32>,
}

/// The candidates of one class.
#[derive(Clone, Copy)]
pub(super) struct OfClass<'a> {
    pub slots: &'a [u32],
    pub rows: &'a [u32],
    pub alphas: &'a [f32],
}

impl Candidates {
    /// Without rows; `rows` are expected.
    pub fn new(rows: usize) -> Self {
        Candidates { ends: Vec::with_capacity(rows), classes: Vec::new(), scores: Vec::new(), weights: Vec::new() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that the candidates take in training.
    pub fn bytes(&self) -> u64 {
        self.classes.len() as u64 * CANDIDATE_BYTES
    }

    /// Adds a row with its labels, their weights, and the classes that were found for it, labels among them or not.
    pub fn push(&mut self, labels: &[u32], weights: &[f64], found: &[u32]) {
        self.classes.extend(labels);
        self.weights.extend(weights.iter().map(|&weight| weight as f32));
        let end = self.classes.len() as u32;
        self.classes.extend(found.iter().filter(|class| !labels.contains(class)));
        self.weights.resize(self.classes.len(), 0.0);
        self.scores.resize(self.classes.len(), 0.0);
        self.ends.push([end, self.classes.len() as u32]);
    }

    /// The candidates of a row, labels first.
    pub fn of_row(&self, n: usize) -> Range<usize> {
        let start = if n == 0 { 0 } else { self.ends[n - 1][1] };
        start as usize..self.ends[n][1] as usize
    }

    /// The labels of a row.
    pub fn labels(&self, n: usize) -> Range<usize> {
        self.of_row(n).start..self.ends[n][0] as usize
    }

    /// The rivals of a row.
    pub fn rivals(&self, n: usize) -> Range<usize> {
        self.ends[n][0] as usize..self.ends[n][1] as usize
    }

    /// The objective of a row.
    pub fn objective(&self, n: usize, objective: Objective) -> f64 {
        let rivals = self.scores[self.rivals(n)].iter().map(|&score| f64::from(score));
        let log_sum = log_sum_exp(rivals.clone());
        let of_label = |slot: usize| {
            let (label, weight) = (f64::from(self.scores[slot]), f64::from(self.weights[slot]));
            weight
                * match objective {
                    Objective::OneVsEach => rivals.clone().map(|rival| softplus_sigmoid(rival - label).0).sum::<f64>(),
                    _ => softplus_sigmoid(log_sum - label).0,
                }
        };
        -self.labels(n).map(of_label).sum::<f64>()
    }

    /// The tables of a checkpoint.
    pub fn tables<'a>(&'a self, by_class: &'a ByClass) -> Vec<Table<'a>> {
        vec![
            Table::new("candidate_ends", U32, &self.ends),
            Table::new("candidate_classes", U32, &self.classes),
            Table::new("candidate_scores", F32, &self.scores),
            Table::new("candidate_weights", F32, &self.weights),
            Table::new("candidate_alphas", F32, &by_class.alphas),
        ]
    }

    /// From the tables of a checkpoint.
    pub fn restore(saved: &dyn StateReader, rows: usize, classes: usize) -> Result<(Self, ByClass)> {
        let candidates = Candidates {
            ends: saved.read("candidate_ends")?,
            classes: saved.read("candidate_classes")?,
            scores: saved.read("candidate_scores")?,
            weights: saved.read("candidate_weights")?,
        };
        let count = candidates.classes.len();
        let lengths = [candidates.scores.len(), candidates.weights.len()];
        let fits = candidates.ends.len() == rows
            && candidates.ends.as_flattened().is_sorted()
            && candidates.ends.last().map_or(0, |ends| ends[1] as usize) == count
            && lengths == [count; 2]
            && candidates.classes.iter().all(|&class| (class as usize) < classes);
        if !fits {
            return Err(saved.unusable("its candidates do not match these rows".into()));
        }
        let mut by_class = ByClass::of(&candidates, classes);
        saved.read_into("candidate_alphas", &mut by_class.alphas)?;
        Ok((candidates, by_class))
    }
}

impl ByClass {
    pub fn of(candidates: &Candidates, classes: usize) -> Self {
        let mut starts = vec![0; classes + 1];
        candidates.classes.iter().for_each(|&class| starts[class as usize + 1] += 1);
        (0..classes).for_each(|class| starts[class + 1] += starts[class]);
        let mut next = starts.clone();
        let (mut slots, mut rows) = (vec![0; candidates.classes.len()], vec![0; candidates.classes.len()]);
        for n in 0..candidates.len() {
            for slot in candidates.of_row(n) {
                let at = &mut next[candidates.classes[slot] as usize];
                (slots[*at], rows[*at]) = (slot as u32, n as u32);
                *at += 1;
            }
        }
        let alphas = vec![0.0; slots.len()];
        ByClass { starts, slots, rows, alphas }
    }

    /// The places of the candidates of a class.
    pub fn range(&self, class: u32) -> Range<usize> {
        self.starts[class as usize]..self.starts[class as usize + 1]
    }

    /// The candidates of a class.
    pub fn of_one(&self, class: u32) -> OfClass<'_> {
        let range = self.range(class);
        OfClass { slots: &self.slots[range.clone()], rows: &self.rows[range.clone()], alphas: &self.alphas[range] }
    }
}
