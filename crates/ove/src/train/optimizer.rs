//! The step rules, SGD and AdaGrad, with a lazy L2 penalty: only weights that are updated cost anything.
//!
//! A batch of b rows has the share λ b/N of the penalty. With R = Σ η λ b/N over the batches so far, a weight without
//! gradients has decayed by the factor e^{−R}, which cannot overshoot at any learning rate η:
//!
//! ```text
//! SGD        w ← w e^{−ΔR} + η g                        w = e^{−R} · cell, so that other weights need no update
//! AdaGrad    G ← G + g²,  w ← w e^{−ΔR/√G} + η g/√G     G = 1 initially; ΔR since the last update of w
//! ```

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

use crate::options::StepKind;
use crate::platform::elementary::exp;

/// The learning rate and accumulated decay that all weights of a table share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pace {
    rate: f64,
    /// R.
    shrinkage: f64,
}

impl Pace {
    /// Begins a batch with its learning rate and `shrink` = rate · λ · b/N.
    pub fn advance(&mut self, rate: f64, shrink: f64) {
        self.rate = rate;
        self.shrinkage += shrink;
    }

    /// Resets the decay, after every cell was rebased.
    pub fn rebase(&mut self) {
        self.shrinkage = 0.0;
    }
}

/// A weight together with the state of its step rule.
pub(super) trait Cell: Pod + Default + Send + Sync {
    /// The part of the pace that the cells need.
    type Rule: Copy + Send + Sync;

    /// A cell with an initial weight.
    fn new(weight: f32) -> Self;

    /// The rule at a pace.
    fn rule(pace: Pace) -> Self::Rule;

    /// The current weight, including the penalty of the batches since its last update.
    fn weight(self, rule: Self::Rule) -> f32;

    /// Takes a gradient ascent step.
    fn ascend(&mut self, gradient: f32, rule: Self::Rule);

    /// The sum of squared gradients, if the rule has one.
    fn squares(self) -> f32;

    /// A cell with a given current weight and sum of squares.
    fn with(weight: f32, squares: f32, rule: Self::Rule) -> Self;

    /// Whether the cells and the pace must be rebased to keep their precision.
    fn is_stale(rule: Self::Rule) -> bool;

    /// The cell after the pace is rebased.
    fn rebase(self, rule: Self::Rule) -> Self;
}

/// A weight under SGD, divided by e^{−R}.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct SgdCell(f32);

/// w = scale · cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct SgdRule {
    scale: f32,
    rate_over_scale: f32,
}

impl Cell for SgdCell {
    type Rule = SgdRule;

    fn new(weight: f32) -> Self {
        SgdCell(weight)
    }

    fn rule(pace: Pace) -> SgdRule {
        let scale = exp(-pace.shrinkage);
        SgdRule { scale: scale as f32, rate_over_scale: (pace.rate / scale) as f32 }
    }

    #[inline(always)]
    fn weight(self, rule: SgdRule) -> f32 {
        rule.scale * self.0
    }

    #[inline(always)]
    fn ascend(&mut self, gradient: f32, rule: SgdRule) {
        self.0 += rule.rate_over_scale * gradient;
    }

    fn squares(self) -> f32 {
        0.0
    }

    fn with(weight: f32, _: f32, rule: SgdRule) -> Self {
        SgdCell(weight / rule.scale)
    }

    fn is_stale(rule: SgdRule) -> bool {
        rule.scale < 1e-12
    }

    fn rebase(self, rule: SgdRule) -> Self {
        SgdCell(self.weight(rule))
    }
}

/// A weight under AdaGrad with its sum of squared gradients and the R of its last update, adjacent so that one cache
/// miss loads all three.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct AdagradCell {
    weight: f32,
    squares: f32,
    shrinkage: f32,
}

/// The learning rate and R.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdagradRule {
    rate: f32,
    shrinkage: f32,
}

/// Approximates e⁻ˣ for x ≥ 0: never negative, within 2 % for x below 1, and a few times cheaper than the exponential.
#[inline(always)]
fn decay(x: f32) -> f32 {
    1.0 / (1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0))))
}

impl AdagradCell {
    /// √G, which divides the learning rate. It is 1 initially, so the first step is at most that of SGD.
    #[inline(always)]
    fn root_of_squares(self) -> f32 {
        (1.0 + self.squares).sqrt()
    }
}

impl Cell for AdagradCell {
    type Rule = AdagradRule;

    fn new(weight: f32) -> Self {
        AdagradCell { weight, ..AdagradCell::default() }
    }

    fn rule(pace: Pace) -> AdagradRule {
        AdagradRule { rate: pace.rate as f32, shrinkage: pace.shrinkage as f32 }
    }

    #[inline(always)]
    fn weight(self, rule: AdagradRule) -> f32 {
        let missed = rule.shrinkage - self.shrinkage;
        if missed == 0.0 { self.weight } else { self.weight * decay(missed / self.root_of_squares()) }
    }

    #[inline(always)]
    fn ascend(&mut self, gradient: f32, rule: AdagradRule) {
        if gradient != 0.0 {
            let weight = self.weight(rule);
            self.squares += gradient * gradient;
            self.weight = weight + rule.rate * gradient / self.root_of_squares();
            self.shrinkage = rule.shrinkage;
        }
    }

    fn squares(self) -> f32 {
        self.squares
    }

    fn with(weight: f32, squares: f32, rule: AdagradRule) -> Self {
        AdagradCell { weight, squares, shrinkage: rule.shrinkage }
    }

    fn is_stale(_: AdagradRule) -> bool {
        false
    }

    fn rebase(self, _: AdagradRule) -> Self {
        self
    }
}

/// The state of the step rule of a whole vector: one sum of mean squared gradients, and the R of the last update.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct VectorState {
    squares: f32,
    shrinkage: f32,
}

/// The step rule of vectors at a pace.
#[derive(Debug, Clone, Copy)]
pub(super) struct VectorRule {
    rate: f32,
    shrinkage: f32,
    is_adagrad: bool,
}

impl VectorRule {
    pub fn new(step: StepKind, pace: Pace) -> Self {
        let is_adagrad = step == StepKind::Adagrad;
        VectorRule { rate: pace.rate as f32, shrinkage: pace.shrinkage as f32, is_adagrad }
    }
}

impl VectorState {
    /// √G as for a single weight, with squares averaged over the vector.
    #[inline(always)]
    fn root_of_squares(self, rule: VectorRule) -> f32 {
        if rule.is_adagrad { (1.0 + self.squares).sqrt() } else { 1.0 }
    }

    /// The decay factor of the batches since the last update.
    #[inline(always)]
    pub fn factor(self, rule: VectorRule) -> f32 {
        let missed = rule.shrinkage - self.shrinkage;
        if missed == 0.0 { 1.0 } else { decay(missed / self.root_of_squares(rule)) }
    }

    pub fn squares(self) -> f32 {
        self.squares
    }

    /// The state of an up-to-date vector with a given sum of squares.
    pub fn with(squares: f32, rule: VectorRule) -> Self {
        VectorState { squares, shrinkage: rule.shrinkage }
    }

    /// Records a gradient with this mean square; returns the factors of the vector and of the gradient.
    #[inline(always)]
    pub fn ascend(&mut self, square: f32, rule: VectorRule) -> (f32, f32) {
        let factor = self.factor(rule);
        self.squares += square;
        self.shrinkage = rule.shrinkage;
        (factor, rule.rate / self.root_of_squares(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHRINK: f64 = 0.05;

    /// A weight updated in only a few batches and read at the end, and the same with every batch applied in turn.
    fn lazy_and_eager<C: Cell>(eager: impl Fn(&mut f64, &mut f64, f64)) -> (f64, f64) {
        let gradients = [0.7, 0.0, 0.0, -0.2, 0.0, 0.4, 0.0, 0.0, 0.0];
        let (mut cell, mut pace) = (C::default(), Pace::default());
        let (mut weight, mut squares) = (0.0, 0.0);
        for gradient in gradients {
            pace.advance(0.1, SHRINK);
            if gradient != 0.0 {
                cell.ascend(gradient as f32, C::rule(pace));
            }
            eager(&mut weight, &mut squares, gradient);
        }
        (f64::from(cell.weight(C::rule(pace))), weight)
    }

    #[test]
    fn lazy_sgd_shrinks_like_a_sweep_over_the_table() {
        let (lazy, eager) = lazy_and_eager::<SgdCell>(|w, _, g| *w = *w * (-SHRINK).exp() + 0.1 * g);
        assert!((lazy - eager).abs() < 1e-7, "{lazy} {eager}");
    }

    #[test]
    fn lazy_adagrad_shrinks_like_a_sweep_over_the_table() {
        let (lazy, eager) = lazy_and_eager::<AdagradCell>(|w, squares, g: f64| {
            *w *= (-SHRINK / f64::sqrt(1.0 + *squares)).exp();
            *squares += g * g;
            *w += 0.1 * g / f64::sqrt(1.0 + *squares);
        });
        assert!((lazy - eager).abs() < 1e-6, "{lazy} {eager}");
    }

    #[test]
    fn rebasing_keeps_the_weight() {
        let (mut cell, mut pace) = (SgdCell::default(), Pace::default());
        for _ in 0..200 {
            pace.advance(0.1, 0.2);
            cell.ascend(1.0, SgdCell::rule(pace));
        }
        let rule = SgdCell::rule(pace);
        assert!(SgdCell::is_stale(rule));
        let before = cell.weight(rule);
        pace.rebase();
        let after = cell.rebase(rule).weight(SgdCell::rule(pace));
        assert!((before - after).abs() < 1e-6 * before.abs(), "{before} {after}");
    }

    /// A vector with one number takes the steps of a single weight.
    #[test]
    fn a_vector_of_one_number_moves_like_a_cell() {
        let (mut cell, mut state, mut weight, mut pace) =
            (AdagradCell::default(), VectorState::default(), 0.0f32, Pace::default());
        for gradient in [0.7f32, 0.0, -0.2, 0.0, 0.4] {
            pace.advance(0.1, SHRINK);
            if gradient != 0.0 {
                cell.ascend(gradient, AdagradCell::rule(pace));
                let (factor, step) = state.ascend(gradient * gradient, VectorRule::new(StepKind::Adagrad, pace));
                weight = weight * factor + step * gradient;
            }
        }
        let now = weight * state.factor(VectorRule::new(StepKind::Adagrad, pace));
        assert!((now - cell.weight(AdagradCell::rule(pace))).abs() < 1e-7, "{now}");
    }
}
