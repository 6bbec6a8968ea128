//! L-BFGS with a diagonal start: minimises a smooth convex function whose coordinates differ much in curvature.
//!
//! Word counts make such functions: a frequent word has thousands of times the curvature of a rare one. The two-loop
//! recursion (Nocedal 1980) therefore starts from γ·diag(1/curvature) instead of γ·I. A step satisfies the weak Wolfe
//! conditions, found by doubling and bisection. All vector work is cut in pieces of fixed length, so that sums do not depend
//! on the number of threads.

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::math;

/// When to stop and how much to remember.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Stop when ‖∇‖ is at most this share of the first ‖∇‖.
    pub tolerance: f64,
    /// Stop after so many steps.
    pub iterations: usize,
}

/// Where the minimisation ended.
#[derive(Debug, Clone)]
pub struct Minimum {
    /// The point.
    pub x: Vec<f64>,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

/// One accepted point, for whoever watches.
#[derive(Debug, Clone, Copy)]
pub struct Iteration<'a> {
    /// The point.
    pub x: &'a [f64],
    /// From 1; the start has 0.
    pub number: usize,
    /// ‖∇‖ beside the first ‖∇‖.
    pub gradient: f64,
}

/// Pairs of steps and gradient changes that stand for the curvature. Six: on 20 newsgroups, ten took as many evaluations and a
/// third more time for the longer recursion.
const MEMORY: usize = 6;

/// Coordinates a piece of parallel work has.
const PIECE: usize = 1 << 14;

/// Minimises `f`, which fills the gradient and returns the value. `curvature` estimates the diagonal of the Hessian; only the
/// ratios of its (positive) entries matter.
pub fn minimise(
    mut x: Vec<f64>,
    curvature: &[f64],
    limits: Limits,
    mut f: impl FnMut(&[f64], &mut [f64]) -> f64,
    mut watch: impl FnMut(Iteration<'_>) -> ControlFlow<()>,
) -> Minimum {
    let mut gradient = vec![0.0; x.len()];
    let mut value = f(&x, &mut gradient);
    let first = norm(&gradient);
    let mut memory: Vec<Pair> = Vec::with_capacity(MEMORY);
    let mut trial = (vec![0.0; x.len()], vec![0.0; x.len()]);

    for number in 0..=limits.iterations {
        let relative = if first == 0.0 { 0.0 } else { norm(&gradient) / first };
        let stop = watch(Iteration { x: &x, number, gradient: relative }).is_break();
        if relative <= limits.tolerance {
            return Minimum { x, converged: true };
        }
        if stop || number == limits.iterations || !value.is_finite() {
            break;
        }
        let mut direction = descent(&gradient, &memory, curvature);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            // Rounding has spoilt the remembered curvature: start over from the diagonal.
            memory.clear();
            direction = descent(&gradient, &memory, curvature);
            slope = dot(&direction, &gradient);
        }
        let start = if memory.is_empty() { 1.0 / slope.abs().sqrt().max(1.0) } else { 1.0 };
        let Some(new_value) = line_search(&x, value, &direction, slope, start, &mut trial, &mut f) else {
            // No step lowers the value: its rounding errors are larger than what is left to gain.
            break;
        };
        let pair = Pair::new(&x, &gradient, &trial.0, &trial.1);
        std::mem::swap(&mut x, &mut trial.0);
        std::mem::swap(&mut gradient, &mut trial.1);
        value = new_value;
        if pair.curvature > 0.0 {
            if memory.len() == MEMORY {
                memory.remove(0);
            }
            memory.push(pair);
        }
    }
    Minimum { x, converged: false }
}

/// s = xₜ₊₁ − xₜ, y = ∇ₜ₊₁ − ∇ₜ and s·y.
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    curvature: f64,
}

impl Pair {
    fn new(x: &[f64], gradient: &[f64], new_x: &[f64], new_gradient: &[f64]) -> Self {
        let difference = |new: &[f64], old: &[f64]| -> Vec<f64> {
            let mut out = new.to_vec();
            add(&mut out, -1.0, old);
            out
        };
        let (s, y) = (difference(new_x, x), difference(new_gradient, gradient));
        let curvature = dot(&s, &y);
        Pair { s, y, curvature }
    }
}

/// −H∇ by the two-loop recursion.
fn descent(gradient: &[f64], memory: &[Pair], curvature: &[f64]) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.to_vec();
    let mut alphas = [0.0; MEMORY];
    for (pair, alpha) in memory.iter().zip(&mut alphas).rev() {
        *alpha = dot(&pair.s, &q) / pair.curvature;
        add(&mut q, -*alpha, &pair.y);
    }
    let gamma = memory.last().map_or(1.0, |pair| pair.curvature / weighted_square(&pair.y, curvature));
    pieces(&mut q).zip(curvature.par_chunks(PIECE)).for_each(|(q, curvature)| {
        for (q, curvature) in q.iter_mut().zip(curvature) {
            *q *= gamma / curvature;
        }
    });
    for (pair, alpha) in memory.iter().zip(&alphas) {
        let beta = dot(&pair.y, &q) / pair.curvature;
        add(&mut q, alpha - beta, &pair.s);
    }
    pieces(&mut q).for_each(|q| q.iter_mut().for_each(|q| *q = -*q));
    q
}

/// A step that lowers the value enough and the slope enough (weak Wolfe), leaving point and gradient in `trial`.
fn line_search(
    x: &[f64],
    value: f64,
    direction: &[f64],
    slope: f64,
    start: f64,
    trial: &mut (Vec<f64>, Vec<f64>),
    f: &mut impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Option<f64> {
    let (mut low, mut high, mut step) = (0.0, f64::INFINITY, start);
    for _ in 0..40 {
        trial.0.copy_from_slice(x);
        add(&mut trial.0, step, direction);
        let new_value = f(&trial.0, &mut trial.1);
        // A value that is not a number fails this test too, and the step is halved.
        let lower = new_value <= value + 1e-4 * step * slope;
        if !lower {
            high = step;
        } else if dot(&trial.1, direction) < 0.9 * slope {
            low = step;
        } else {
            return Some(new_value);
        }
        step = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * step };
    }
    None
}

fn pieces(x: &mut [f64]) -> rayon::slice::ChunksMut<'_, f64> {
    x.par_chunks_mut(PIECE)
}

/// Sums in the order of the pieces, whoever computed them.
fn sum_of_pieces(a: &[f64], b: &[f64], piece: impl Fn(&[f64], &[f64]) -> f64 + Sync) -> f64 {
    if a.len() <= PIECE {
        return piece(a, b);
    }
    let sums: Vec<f64> = a.par_chunks(PIECE).zip(b.par_chunks(PIECE)).map(|(a, b)| piece(a, b)).collect();
    sums.iter().sum()
}

/// Σ aᵢ bᵢ.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_of_pieces(a, b, |a, b| math::vectorised(|| math::dot(a, b)))
}

/// Σ yᵢ² / curvatureᵢ.
fn weighted_square(y: &[f64], curvature: &[f64]) -> f64 {
    sum_of_pieces(y, curvature, |y, curvature| y.iter().zip(curvature).map(|(y, c)| y * y / c).sum())
}

/// y += a x.
pub(super) fn add(y: &mut [f64], a: f64, x: &[f64]) {
    pieces(y).zip(x.par_chunks(PIECE)).for_each(|(y, x)| math::vectorised(|| math::axpy(a, x, y)));
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { tolerance: 1e-10, iterations: 500 };

    /// Σ sᵢ/2 (xᵢ − i)², with sᵢ = 1, 10, … 10^decades, from 0; how many steps it takes.
    fn steps_on_a_quadratic(decades: i32, knows_curvature: bool) -> usize {
        let scales: Vec<f64> = (0..50).map(|i| 10f64.powi(i % (decades + 1))).collect();
        let f = |x: &[f64], gradient: &mut [f64]| {
            let mut value = 0.0;
            for i in 0..50 {
                let error = x[i] - i as f64;
                value += 0.5 * scales[i] * error * error;
                gradient[i] = scales[i] * error;
            }
            value
        };
        let curvature = if knows_curvature { scales.clone() } else { vec![1.0; 50] };
        let mut steps = 0;
        let minimum = minimise(vec![0.0; 50], &curvature, LIMITS, f, |iteration| {
            steps = iteration.number;
            ControlFlow::Continue(())
        });
        assert!(minimum.converged);
        assert!(minimum.x.iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-4), "{:?}", minimum.x);
        steps
    }

    #[test]
    fn finds_the_minimum_of_a_quadratic_and_profits_from_its_curvature() {
        assert!(steps_on_a_quadratic(2, false) > 10);
        assert!(steps_on_a_quadratic(8, true) < 5);
    }

    #[test]
    fn finds_the_minimum_of_rosenbrock() {
        let f = |x: &[f64], gradient: &mut [f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            gradient[0] = -2.0 * a - 400.0 * x[0] * b;
            gradient[1] = 200.0 * b;
            a * a + 100.0 * b * b
        };
        let minimum = minimise(vec![-1.2, 1.0], &[1.0, 1.0], LIMITS, f, |_| ControlFlow::Continue(()));
        assert!(minimum.converged && minimum.x.iter().all(|x| (x - 1.0).abs() < 1e-8), "{:?}", minimum.x);
    }

    #[test]
    fn stops_when_told() {
        let f = |x: &[f64], gradient: &mut [f64]| {
            gradient[0] = x[0].exp() - 1.0;
            x[0].exp() - x[0]
        };
        let mut seen = 0;
        let minimum = minimise(vec![3.0], &[1.0], LIMITS, f, |iteration| {
            seen = iteration.number;
            if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(!minimum.converged && seen == 2);
    }
}
