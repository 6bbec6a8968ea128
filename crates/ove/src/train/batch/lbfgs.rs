//! Preconditioned L-BFGS for smooth convex functions whose coordinates differ greatly in curvature.
//!
//! Word counts give such functions: a frequent word has thousands of times the curvature of a rare one. The two-loop
//! recursion (Nocedal 1980) therefore starts from γ·B⁻¹ instead of γ·I, where B approximates the Hessian and is updated
//! every few steps. A step satisfies the weak Wolfe conditions, found by doubling and then by cubic interpolation.
//!
//! The cost is memory traffic, so the recursion runs on inner products and passes over all stored vectors four times in
//! total, not four times each. All work is split into pieces of fixed length, so that no sum depends on the number of
//! threads.

use rayon::prelude::*;

use crate::platform::math::{lanes, vectorised};

/// The stopping criteria.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Stops when ‖∇‖ relative to the first ‖∇‖ is at most this.
    pub tolerance: f64,
    /// Maximum number of steps.
    pub iterations: usize,
}

/// An accepted point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Iteration {
    /// From 1; the start has 0.
    pub number: usize,
    /// ‖∇‖ relative to the first ‖∇‖.
    pub gradient: f64,
}

/// The state that the next steps depend on.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// Number of steps so far.
    pub number: usize,
    pub x: Vec<f64>,
    pub value: f64,
    pub gradient: Vec<f64>,
    /// The reference for the tolerance: ‖∇‖ at the start, unless it is set to another value.
    pub first: f64,
    pub curvature: Vec<f64>,
    /// The oldest pair first.
    pub memory: Vec<Pair>,
}

impl State {
    /// The state before the first step.
    pub fn new(x: Vec<f64>, f: &mut impl Function) -> Self {
        let mut gradient = vec![0.0; x.len()];
        let value = f.evaluate(&x, &mut gradient);
        let (first, curvature) = (norm(&gradient), vec![1.0; f.numbers_of_curvature()]);
        State { number: 0, x, value, gradient, first, curvature, memory: Vec::with_capacity(MEMORY) }
    }
}

/// A minimisation that is advanced step by step.
pub(super) struct Lbfgs {
    pub state: State,
    limits: Limits,
    /// Whether the current point was reported.
    reported: bool,
    pub converged: bool,
    scratch: Option<Scratch>,
}

/// Buffers for the vectors of a step, allocated once: touching new pages costs as much as the computation.
struct Scratch {
    direction: Vec<f64>,
    divided: Vec<f64>,
    trial: Trial,
    spare: Option<Pair>,
}

/// The function to minimise.
pub(super) trait Function {
    /// Returns the value at `x` and computes the gradient.
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// Number of values that represent the curvature.
    fn numbers_of_curvature(&self) -> usize;

    /// Whether the curvature is to be updated before this step, from 0; it is before the first.
    fn is_due(&self, step: usize) -> bool;

    /// Computes the curvature at `x`: a positive definite matrix B close to the Hessian, in the representation of
    /// [`Function::divide`].
    fn curvature(&mut self, x: &[f64], curvature: &mut [f64]);

    /// Overwrites r with B⁻¹r.
    fn divide(&self, curvature: &[f64], r: &mut [f64]);
}

/// Number of stored pairs of steps and gradient changes. With 16, 20 newsgroups takes 5 % fewer evaluations and half as
/// much time again.
pub(super) const MEMORY: usize = 6;

/// Number of coordinates per piece of parallel work: a piece of every stored vector fits in the second-level cache.
const PIECE: usize = 1 << 12;

impl Lbfgs {
    /// Starts from a state; `reported` tells whether its point was already reported.
    pub fn new(state: State, limits: Limits, reported: bool) -> Self {
        Lbfgs { state, limits, reported, converged: false, scratch: None }
    }

    /// Reports the initial point, then takes one step per call; `None` at the end.
    pub fn step(&mut self, f: &mut impl Function) -> Option<Iteration> {
        if !self.reported {
            self.reported = true;
            return Some(self.iteration());
        }
        self.converged = self.iteration().gradient <= self.limits.tolerance;
        if self.converged || self.state.number >= self.limits.iterations || !self.state.value.is_finite() {
            return None;
        }
        let length = self.state.x.len();
        let Scratch { direction, divided, trial, spare } = self.scratch.get_or_insert_with(|| Scratch {
            direction: vec![0.0; length],
            divided: vec![0.0; length],
            trial: Trial { x: vec![0.0; length], gradient: vec![0.0; length] },
            spare: None,
        });
        let State { number, x, value, gradient, curvature, memory, .. } = &mut self.state;
        if f.is_due(*number) {
            f.curvature(x, curvature);
        }
        let divide = |r: &mut [f64]| f.divide(curvature, r);
        let mut slope = descend(gradient, memory, divide, divided, direction);
        if slope >= 0.0 {
            // Rounding errors have made the pairs useless: restart from the curvature.
            memory.clear();
            slope = descend(gradient, memory, divide, divided, direction);
        }
        let start = if memory.is_empty() { 1.0 / slope.abs().sqrt().max(1.0) } else { 1.0 };
        // If no step decreases the value, rounding errors exceed the possible decrease.
        *value = line_search(x, *value, direction, slope, start, trial, f)?;
        let pair = Pair::new(spare.take(), x, gradient, trial);
        std::mem::swap(x, &mut trial.x);
        std::mem::swap(gradient, &mut trial.gradient);
        if pair.s_y > 0.0 {
            if memory.len() == MEMORY {
                *spare = Some(memory.remove(0));
            }
            memory.push(pair);
        }
        *number += 1;
        Some(self.iteration())
    }

    fn iteration(&self) -> Iteration {
        let State { first, gradient, number, .. } = &self.state;
        let relative = if *first == 0.0 { 0.0 } else { norm(gradient) / first };
        Iteration { number: *number, gradient: relative }
    }
}

/// A point on the line that is searched.
struct Trial {
    x: Vec<f64>,
    gradient: Vec<f64>,
}

/// s = xₜ₊₁ − xₜ and y = ∇ₜ₊₁ − ∇ₜ in 32 bits, which halves the memory traffic at the same number of steps.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub s: Vec<f32>,
    pub y: Vec<f32>,
    pub s_y: f64,
    /// s·∇ at the point where it was last computed.
    pub s_gradient: f64,
    /// s·y of this s with the y of each newer pair, the oldest of these first.
    pub s_younger: Vec<f64>,
}

impl Pair {
    /// Reuses the memory of a discarded pair, if there is one.
    fn new(spare: Option<Pair>, x: &[f64], gradient: &[f64], next: &Trial) -> Self {
        let (mut s, mut y) = spare.map_or_else(Default::default, |pair| (pair.s, pair.y));
        let difference = |new: &[f64], old: &[f64], out: &mut Vec<f32>| {
            new.par_iter().zip(old).with_min_len(PIECE).map(|(new, old)| (new - old) as f32).collect_into_vec(out);
        };
        difference(&next.x, x, &mut s);
        difference(&next.gradient, gradient, &mut y);
        let s_gradient = dot_mixed(&s, gradient);
        let s_y = dot_mixed(&s, &next.gradient) - s_gradient;
        Pair { s, y, s_y, s_gradient, s_younger: Vec::new() }
    }
}

/// Computes −H∇ by the two-loop recursion and returns its slope.
///
/// The product of an s with a linear combination of ∇ and newer y is computed from the products of its terms. `divided`
/// is a buffer for B⁻¹y.
fn descend(
    gradient: &[f64],
    memory: &mut [Pair],
    divide: impl Fn(&mut [f64]),
    divided: &mut [f64],
    direction: &mut [f64],
) -> f64 {
    update_products(gradient, memory);
    let count = memory.len();
    let memory = &*memory;
    // Newer pairs first: αᵢ = sᵢ·(∇ − Σ_{j > i} αⱼ yⱼ) / sᵢ·yᵢ.
    let mut alphas = [0.0; MEMORY];
    for (i, pair) in memory.iter().enumerate().rev() {
        let newer: f64 = pair.s_younger.iter().zip(&alphas[i + 1..]).map(|(s_y, alpha)| s_y * alpha).sum();
        alphas[i] = (pair.s_gradient - newer) / pair.s_y;
    }
    let alphas = &alphas[..count];

    // r = B⁻¹(∇ − Σ αⱼ yⱼ), without γ, and the products y·r.
    sum_of_pieces(direction, |range, r| {
        let y: Vec<&[f32]> = memory.iter().map(|pair| &pair.y[range.clone()]).collect();
        start_direction(&gradient[range], &y, alphas, r);
        []
    });
    divide(direction);
    let products: [f64; MEMORY] = sum_of_pieces(direction, |range, r| {
        std::array::from_fn(|i| memory.get(i).map_or(0.0, |pair| dot_mixed_piece(&pair.y[range.clone()], r)))
    });
    let gamma = memory.last().map_or(1.0, |newest| {
        divided.par_iter_mut().zip(&newest.y).with_min_len(PIECE).for_each(|(divided, &y)| *divided = y.into());
        divide(divided);
        newest.s_y / dot_mixed(&newest.y, divided)
    });

    // Older pairs first: βᵢ = yᵢ·(r + Σ_{j < i} (αⱼ − βⱼ) sⱼ) / sᵢ·yᵢ.
    let mut steps = [0.0; MEMORY];
    for i in 0..count {
        let older: f64 = (0..i).map(|j| steps[j] * memory[j].s_younger[i - j - 1]).sum();
        let beta = (gamma * products[i] + older) / memory[i].s_y;
        steps[i] = alphas[i] - beta;
    }
    let slope = sum_of_pieces(direction, |range, direction| {
        let s: Vec<&[f32]> = memory.iter().map(|pair| &pair.s[range.clone()]).collect();
        [finish_direction(&gradient[range], &s, &steps, gamma, direction)]
    });
    slope[0]
}

/// Updates s·∇ of each pair. Its increase since the last update is s·y with the newest y.
fn update_products(gradient: &[f64], memory: &mut [Pair]) {
    let Some((newest, older)) = memory.split_last_mut() else { return };
    newest.s_gradient += newest.s_y;
    let products = |(piece, gradient): (usize, &[f64])| -> [f64; MEMORY] {
        let range = piece * PIECE..piece * PIECE + gradient.len();
        std::array::from_fn(|i| older.get(i).map_or(0.0, |pair| dot_mixed_piece(&pair.s[range.clone()], gradient)))
    };
    let parts: Vec<[f64; MEMORY]> = gradient.par_chunks(PIECE).enumerate().map(products).collect();
    for (i, pair) in older.iter_mut().enumerate() {
        let now: f64 = parts.iter().map(|part| part[i]).sum();
        pair.s_younger.push(now - pair.s_gradient);
        pair.s_gradient = now;
    }
}

vectorised! {
    /// One piece of ∇ − Σ αⱼ yⱼ.
    fn start_direction(gradient: &[f64], y: &[&[f32]], alphas: &[f64], r: &mut [f64]) {
        r.copy_from_slice(gradient);
        for (y, alpha) in y.iter().zip(alphas) {
            add_narrow(-alpha, y, r);
        }
    }
}

vectorised! {
    /// Overwrites one piece of r with −(γ r + Σ stepⱼ sⱼ); returns its product with ∇.
    fn finish_direction(gradient: &[f64], s: &[&[f32]], steps: &[f64], gamma: f64, direction: &mut [f64]) -> f64 {
        direction.iter_mut().for_each(|r| *r *= -gamma);
        for (s, step) in s.iter().zip(steps) {
            add_narrow(-step, s, direction);
        }
        lanes(direction, gradient, |d, g| d * g)
    }
}

/// A point of the line search: step, value and slope.
#[derive(Clone, Copy)]
struct Probe {
    step: f64,
    value: f64,
    slope: f64,
}

/// Finds a step that satisfies the weak Wolfe conditions; returns the value and leaves point and gradient in `trial`.
fn line_search(
    x: &[f64],
    value: f64,
    direction: &[f64],
    slope: f64,
    start: f64,
    trial: &mut Trial,
    f: &mut impl Function,
) -> Option<f64> {
    let (mut low, mut high, mut step) = (Probe { step: 0.0, value, slope }, None, start);
    for _ in 0..40 {
        trial.x.par_iter_mut().zip(x).zip(direction).with_min_len(PIECE).for_each(|((new, x), d)| *new = x + step * d);
        let new_value = f.evaluate(&trial.x, &mut trial.gradient);
        let probe = Probe { step, value: new_value, slope: dot(&trial.gradient, direction) };
        // NaN is not lower.
        let lower = probe.value <= value + 1e-4 * step * slope;
        if !lower {
            high = Some(probe);
        } else if probe.slope < 0.9 * slope {
            low = probe;
        } else {
            return Some(probe.value);
        }
        step = match high {
            Some(high) => between(low, high),
            None => 2.0 * step,
        };
    }
    None
}

/// The minimum of the cubic through two probes, kept away from both; their middle if the cubic has none.
fn between(low: Probe, high: Probe) -> f64 {
    let width = high.step - low.step;
    let d1 = low.slope + high.slope - 3.0 * (high.value - low.value) / width;
    let d2 = (d1 * d1 - low.slope * high.slope).sqrt();
    let share = 1.0 - (high.slope + d2 - d1) / (high.slope - low.slope + 2.0 * d2);
    low.step + width * if share.is_finite() { share.clamp(0.1, 0.9) } else { 0.5 }
}

/// y += a x.
#[inline(always)]
fn add_narrow(a: f64, x: &[f32], y: &mut [f64]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += a * f64::from(x);
    }
}

/// Runs `piece` on the pieces of a vector in parallel and sums the results in order.
fn sum_of_pieces<const N: usize>(
    x: &mut [f64],
    piece: impl Fn(std::ops::Range<usize>, &mut [f64]) -> [f64; N] + Sync,
) -> [f64; N] {
    let of_piece = |(number, x): (usize, &mut [f64])| piece(number * PIECE..number * PIECE + x.len(), x);
    let parts: Vec<[f64; N]> = x.par_chunks_mut(PIECE).enumerate().map(of_piece).collect();
    let mut sums = [0.0; N];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sums
}

/// Σ aᵢ bᵢ, with the pieces summed in order.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let parts: Vec<f64> = a.par_chunks(PIECE).zip(b.par_chunks(PIECE)).map(|(a, b)| dot_piece(a, b)).collect();
    parts.iter().sum()
}

fn dot_mixed(a: &[f32], b: &[f64]) -> f64 {
    let parts: Vec<f64> = a.par_chunks(PIECE).zip(b.par_chunks(PIECE)).map(|(a, b)| dot_mixed_piece(a, b)).collect();
    parts.iter().sum()
}

vectorised! {
    fn dot_piece(a: &[f64], b: &[f64]) -> f64 {
        lanes(a, b, |a, b| a * b)
    }
}

vectorised! {
    fn dot_mixed_piece(a: &[f32], b: &[f64]) -> f64 {
        lanes(a, b, |a, b| f64::from(a) * b)
    }
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { tolerance: 1e-9, iterations: 500 };

    /// Σ sᵢ/2 (xᵢ − i)², with sᵢ = 1, 10, … 10^decades.
    struct Quadratic {
        scales: Vec<f64>,
        knows_curvature: bool,
    }

    impl Function for Quadratic {
        fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            let mut value = 0.0;
            for i in 0..x.len() {
                let error = x[i] - i as f64;
                value += 0.5 * self.scales[i] * error * error;
                gradient[i] = self.scales[i] * error;
            }
            value
        }

        fn numbers_of_curvature(&self) -> usize {
            self.scales.len()
        }

        fn is_due(&self, step: usize) -> bool {
            step == 0
        }

        fn curvature(&mut self, _: &[f64], curvature: &mut [f64]) {
            if self.knows_curvature {
                curvature.copy_from_slice(&self.scales);
            }
        }

        fn divide(&self, curvature: &[f64], r: &mut [f64]) {
            r.iter_mut().zip(curvature).for_each(|(r, curvature)| *r /= curvature);
        }
    }

    fn minimise(start: Vec<f64>, function: &mut impl Function) -> Lbfgs {
        let mut minimum = Lbfgs::new(State::new(start, function), LIMITS, false);
        while minimum.step(function).is_some() {}
        minimum
    }

    fn steps_on_a_quadratic(decades: i32, knows_curvature: bool) -> usize {
        let scales = (0..50).map(|i| 10f64.powi(i % (decades + 1))).collect();
        let mut function = Quadratic { scales, knows_curvature };
        let minimum = minimise(vec![0.0; 50], &mut function);
        assert!(minimum.converged);
        let x = &minimum.state.x;
        assert!(x.iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-4), "{x:?}");
        minimum.state.number
    }

    #[test]
    fn finds_the_minimum_of_a_quadratic_and_profits_from_its_curvature() {
        assert!(steps_on_a_quadratic(2, false) > 10);
        assert!(steps_on_a_quadratic(8, true) < 10);
    }

    struct Rosenbrock;

    impl Function for Rosenbrock {
        fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            gradient[0] = -2.0 * a - 400.0 * x[0] * b;
            gradient[1] = 200.0 * b;
            a * a + 100.0 * b * b
        }

        fn numbers_of_curvature(&self) -> usize {
            0
        }

        fn is_due(&self, _: usize) -> bool {
            false
        }

        fn curvature(&mut self, _: &[f64], _: &mut [f64]) {}

        fn divide(&self, _: &[f64], _: &mut [f64]) {}
    }

    /// Compares the recursion on products with the textbook recursion on vectors.
    #[test]
    fn directions_match_the_textbook() {
        let mut random = crate::platform::random::Stream::of(&[5]);
        let n = 3 * PIECE + 17;
        let mut vector = || -> Vec<f64> { (0..n).map(|_| random.normal()).collect() };
        let curvature: Vec<f64> = vector().iter().map(|x| x.abs() + 0.1).collect();
        let (mut x, mut gradient) = (vector(), vector());
        let divide = |r: &mut [f64]| r.iter_mut().zip(&curvature).for_each(|(r, c)| *r /= c);
        let (mut memory, mut divided, mut direction) = (Vec::<Pair>::new(), vec![0.0; n], vec![0.0; n]);
        for _ in 0..5 {
            descend(&gradient, &mut memory, divide, &mut divided, &mut direction);
            let mut next = Trial { x: vector(), gradient: vector() };
            // Make s·y positive, as a convex function does.
            for i in 0..n {
                next.gradient[i] = gradient[i] + (next.x[i] - x[i]) * curvature[i] + 0.1 * next.gradient[i];
            }
            memory.push(Pair::new(memory.first().cloned(), &x, &gradient, &next));
            (x, gradient) = (next.x, next.gradient);
        }
        let slope = descend(&gradient, &mut memory, divide, &mut divided, &mut direction);

        let wide = |v: &[f32]| -> Vec<f64> { v.iter().map(|&v| f64::from(v)).collect() };
        let mut q = gradient.clone();
        let mut alphas = vec![0.0; memory.len()];
        for (pair, alpha) in memory.iter().zip(&mut alphas).rev() {
            *alpha = dot_mixed(&pair.s, &q) / pair.s_y;
            add_narrow(-*alpha, &pair.y, &mut q);
        }
        let y = wide(&memory.last().unwrap().y);
        let gamma = memory.last().unwrap().s_y / y.iter().zip(&curvature).map(|(y, c)| y * y / c).sum::<f64>();
        q.iter_mut().zip(&curvature).for_each(|(q, c)| *q *= gamma / c);
        for (pair, alpha) in memory.iter().zip(&alphas) {
            let beta = dot_mixed(&pair.y, &q) / pair.s_y;
            add_narrow(alpha - beta, &pair.s, &mut q);
        }
        let size = norm(&q);
        let error = direction.iter().zip(&q).map(|(d, q)| (d + q).abs()).fold(0.0, f64::max);
        assert!(error < 1e-6 * size, "off by {error} of {size}");
        assert!((slope - dot(&direction, &gradient)).abs() < 1e-9 * slope.abs());
    }

    #[test]
    fn finds_the_minimum_of_rosenbrock() {
        let minimum = minimise(vec![-1.2, 1.0], &mut Rosenbrock);
        let x = &minimum.state.x;
        assert!(minimum.converged && x.iter().all(|x| (x - 1.0).abs() < 1e-7), "{x:?}");
    }

    #[test]
    fn a_resumed_run_ends_in_the_same_bits() {
        let whole = minimise(vec![-1.2, 1.0], &mut Rosenbrock);
        let mut half = Lbfgs::new(State::new(vec![-1.2, 1.0], &mut Rosenbrock), LIMITS, false);
        (0..5).for_each(|_| assert!(half.step(&mut Rosenbrock).is_some()));
        let mut again = Lbfgs::new(half.state, LIMITS, true);
        while again.step(&mut Rosenbrock).is_some() {}
        assert_eq!(again.state.x, whole.state.x);
    }
}
