//! An objective over all classes of a row, in class order: what the full sum and the evaluation visit.

use crate::objective::Objective;
use crate::options::Options;

/// An objective that visits every class, with its set C.
#[derive(Debug, Clone)]
pub(crate) struct AllClasses {
    objective: Objective,
    /// All classes, those of C first and in class order.
    order: Vec<u32>,
    /// How many of `order` belong to C.
    inside: usize,
    /// Every class stands for itself.
    ones: Vec<f64>,
}

impl AllClasses {
    /// For classes that weigh this much in the training rows. C holds the heaviest if the objective is merged.
    pub fn new(options: &Options, mass: &[f64]) -> Self {
        let merged = match options.objective {
            Objective::Merged => most_frequent(mass, options.merge),
            _ => Vec::new(),
        };
        let rest = (0..mass.len() as u32).filter(|class| merged.binary_search(class).is_err());
        AllClasses {
            objective: options.objective,
            order: merged.iter().copied().chain(rest).collect(),
            inside: merged.len(),
            ones: vec![1.0; mass.len()],
        }
    }

    /// The value for a row of class `own`; its scores, in class order, become derivatives. `visited` is scratch of the same length.
    pub fn value_and_gradient(&self, own: u32, scores: &mut [f64], visited: &mut [f64]) -> f64 {
        let others = || self.order.iter().filter(|&&class| class != own);
        visited[0] = scores[own as usize];
        for (visited, &class) in visited[1..].iter_mut().zip(others()) {
            *visited = scores[class as usize];
        }
        let inside = self.inside - usize::from(self.order[..self.inside].binary_search(&own).is_ok());
        let outside = visited.len() - 1 - inside;
        let value = self.objective.value_and_gradient(visited, inside, &self.ones[..outside]);
        scores[own as usize] = visited[0];
        for (visited, &class) in visited[1..].iter().zip(others()) {
            scores[class as usize] = *visited;
        }
        value
    }
}

/// The `count` heaviest classes, in class order; of equally heavy ones the first.
pub(crate) fn most_frequent(mass: &[f64], count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..mass.len() as u32).collect();
    order.sort_by(|&a, &b| mass[b as usize].total_cmp(&mass[a as usize]).then(a.cmp(&b)));
    order.truncate(count);
    order.sort_unstable();
    order
}
