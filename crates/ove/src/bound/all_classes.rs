//! An objective over all classes of a row, in class order, for the batch solver.

use super::objective::Objective;

/// An objective that visits every class, with its set C.
#[derive(Debug, Clone)]
pub(crate) struct AllClasses {
    objective: Objective,
    /// All classes, those of C first and in class order.
    order: Vec<u32>,
    /// Number of classes in C.
    inside: usize,
    /// The weights of all classes: 1.
    ones: Vec<f64>,
}

/// Buffers, reused from row to row.
#[derive(Default)]
pub(crate) struct Scratch {
    visited: Vec<f64>,
    several: Vec<f64>,
}

impl AllClasses {
    /// From the number of classes and C, in class order.
    pub fn new(objective: Objective, merged: &[u32], classes: usize) -> Self {
        let rest = (0..classes as u32).filter(|class| merged.binary_search(class).is_err());
        AllClasses {
            objective,
            order: merged.iter().copied().chain(rest).collect(),
            inside: merged.len(),
            ones: vec![1.0; classes],
        }
    }

    /// Returns the value for a row and overwrites its scores, in class order, with derivatives.
    pub fn value_and_gradient(
        &self,
        labels: &[u32],
        label_weights: &[f64],
        scores: &mut [f64],
        scratch: &mut Scratch,
    ) -> f64 {
        match *labels {
            // With one label, a comparison per class is faster than a search.
            [own] => self.visit(labels, |class| *class != own, label_weights, scores, scratch),
            _ => self.visit(labels, |class| !labels.contains(class), label_weights, scores, scratch),
        }
    }

    fn visit(
        &self,
        labels: &[u32],
        is_other: impl Fn(&u32) -> bool,
        label_weights: &[f64],
        scores: &mut [f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let classes = || labels.iter().chain(self.order.iter().filter(|class| is_other(class)));
        scratch.visited.resize(scores.len(), 0.0);
        for (visited, &class) in scratch.visited.iter_mut().zip(classes()) {
            *visited = scores[class as usize];
        }
        let inside = self.order[..self.inside].iter().filter(|class| is_other(class)).count();
        let ones = &self.ones[labels.len() + inside..];
        let value = self.objective.of_labels(&mut scratch.visited, label_weights, inside, ones, &mut scratch.several);
        for (visited, &class) in scratch.visited.iter().zip(classes()) {
            scores[class as usize] = *visited;
        }
        value
    }
}
