//! Linear scores in training: a table of cells, each a weight with the state of its step rule.
//!
//! The weights of a feature for all classes are adjacent ([`Layout`]), followed by the biases. In the second phase of a
//! batch each thread owns a range of cells and updates those of the visited rows, in row order.

use std::ops::Range;

use rayon::prelude::*;

use super::score_function::{Merged, ScoreFunction, mean};
use super::visit::Visit;
use crate::data::{Examples, Row, Rows};
use crate::error::Result;
use crate::platform::memory;
use crate::scores::layout::Layout;
use crate::scores::{Linear, Scores};
use crate::train::checkpoint::{F32, StateReader, Table};
use crate::train::optimizer::{Cell, Pace};

/// Linear scores in training.
pub(super) struct LinearLearner<C: Cell> {
    layout: Layout,
    /// The weights, then the biases, as in [`Linear`].
    table: Vec<C>,
    weights: Part<C>,
    bias: Part<C>,
    penalty_on_bias: bool,
    /// Ranges of cells that are updated about equally often, one per thread.
    ranges: Vec<Range<usize>>,
}

impl<C: Cell> LinearLearner<C> {
    pub fn new(layout: Layout, start: Option<&Linear>, penalty_on_bias: bool) -> Self {
        let (mut table, cells) = (Vec::new(), layout.cells() + layout.classes());
        memory::reserve(&mut table, cells);
        // In parallel: clearing new pages takes a quarter of a one-minute run with 7 GB.
        table.par_extend(rayon::iter::repeat_n(C::default(), cells));
        if let Some(linear) = start {
            table.par_iter_mut().zip(linear.table()).for_each(|(cell, &weight)| *cell = C::new(weight));
        }
        let (weights, bias) = (Part::at(Pace::default()), Part::at(Pace::default()));
        let ranges = std::iter::once(0..layout.cells()).collect();
        LinearLearner { layout, table, weights, bias, penalty_on_bias, ranges }
    }

    /// The weight of a cell at an index of the table.
    fn weight(&self, at: usize, cell: C) -> f32 {
        cell.weight(if at < self.layout.cells() { self.weights.rule } else { self.bias.rule })
    }
}

impl<C: Cell> ScoreFunction for LinearLearner<C> {
    /// The first cell of each of the row's features, hashed once per visit: 297,000 updates/s instead of 226,000 with
    /// 10⁶ classes.
    type Hidden = Vec<usize>;

    fn touched(&self, entries: f64, classes: f64) -> f64 {
        classes * (1.0 + entries)
    }

    fn share(&mut self, examples: &Examples<'_>, threads: usize) {
        self.ranges = balanced(examples, self.layout, threads);
    }

    fn locate(&self, row: Row<'_>, starts: &mut Vec<usize>) {
        starts.clear();
        starts.extend(row.indices.iter().map(|&feature| self.layout.start(feature)));
    }

    /// Prefetches the weights of the next row while this one is scored: five epochs on AmazonCat's shape with one row
    /// per batch take 41 s instead of 57 s; with batches of 256, together with [`prefetch_within`], there are 142,000
    /// updates/s instead of 107,000.
    fn prefetch(&self, _: Row<'_>, starts: &Vec<usize>, classes: &[u32]) {
        let (weights, bias) = self.table.split_at(self.layout.cells());
        classes.iter().for_each(|&class| memory::prefetch(&bias[class as usize]));
        for &start in starts {
            let weights = &weights[start..start + self.layout.classes()];
            classes.iter().for_each(|&class| memory::prefetch(&weights[class as usize]));
        }
    }

    fn scores(&self, row: Row<'_>, starts: &mut Vec<usize>, classes: &[u32], scores: &mut Vec<f64>) {
        let bias = &self.table[self.layout.cells()..];
        scores.clear();
        scores.extend(classes.iter().map(|&class| f64::from(bias[class as usize].weight(self.bias.rule))));
        for (&start, &value) in starts.iter().zip(row.values) {
            let weights = &self.table[start..start + self.layout.classes()];
            for (score, &class) in scores.iter_mut().zip(classes) {
                *score += f64::from(value * weights[class as usize].weight(self.weights.rule));
            }
        }
    }

    fn backward(&self, _: &mut Vec<usize>, _: &[u32], _: &[f64]) {}

    fn all_scores(&self, row: Row<'_>, scores: &mut [f32]) {
        let (weights, bias) = self.table.split_at(self.layout.cells());
        for (score, cell) in scores.iter_mut().zip(bias) {
            *score = cell.weight(self.bias.rule);
        }
        let known = row.below(self.layout.features());
        for (&feature, &value) in known.indices.iter().zip(known.values) {
            for (score, cell) in scores.iter_mut().zip(&weights[self.layout.of_feature(feature)]) {
                *score += value * cell.weight(self.weights.rule);
            }
        }
    }

    fn advance(&mut self, rate: f64, shrink: f64) {
        let (weights, bias) = self.table.split_at_mut(self.layout.cells());
        self.weights.advance(rate, shrink, weights);
        self.bias.advance(rate, if self.penalty_on_bias { shrink } else { 0.0 }, bias);
    }

    fn update(&mut self, rows: Rows<'_>, visits: &[Visit<Vec<usize>>]) {
        let (mut rest, bias) = self.table.split_at_mut(self.layout.cells());
        for visit in visits {
            for (&class, &derivative) in visit.classes.iter().zip(&visit.derivatives) {
                bias[class as usize].ascend(derivative as f32, self.bias.rule);
            }
        }
        let mut shares = Vec::with_capacity(self.ranges.len());
        for range in &self.ranges {
            let (share, tail) = rest.split_at_mut(range.len());
            shares.push((range, share));
            rest = tail;
        }
        let (layout, rule) = (self.layout, self.weights.rule);
        let work = |(range, share): (&Range<usize>, &mut [C])| {
            for (i, visit) in visits.iter().enumerate() {
                if let Some(next) = visits.get(i + 1) {
                    prefetch_within(next, layout, range, share);
                }
                update_within(rows.row(visit.row), visit, layout, range, share, rule);
            }
        };
        match shares.len() {
            1 => shares.into_iter().for_each(work),
            _ => shares.into_par_iter().for_each(work),
        }
    }

    fn paces(&self) -> [Pace; 2] {
        [self.weights.pace, self.bias.pace]
    }

    fn tables(&self) -> Vec<Table<'_>> {
        vec![Table::new("cells", F32, &self.table)]
    }

    fn restore(&mut self, state: &dyn StateReader, paces: [Pace; 2]) -> Result<()> {
        state.read_into("cells", &mut self.table)?;
        [self.weights, self.bias] = paces.map(Part::at);
        Ok(())
    }

    /// Parameter averaging; the sums of squares are averaged as well.
    fn merge(&mut self, others: &[Merged<'_>], own_share: f64) -> Result<()> {
        let cells = self.layout.cells();
        let (mut weights, mut squares) = (Vec::new(), Vec::new());
        for other in others {
            let [of_weights, of_bias] = other.paces.map(C::rule);
            let table: Vec<C> = other.table("cells", self.table.len())?;
            let weight = |(at, cell): (usize, &C)| cell.weight(if at < cells { of_weights } else { of_bias });
            weights.push((table.iter().enumerate().map(weight).collect(), other.share));
            squares.push((table.iter().map(|cell| cell.squares()).collect(), other.share));
        }
        let own = self.table.iter().enumerate().map(|(at, &cell)| self.weight(at, cell));
        let weights = mean(own, own_share, &weights);
        let squares = mean(self.table.iter().map(|cell| cell.squares()), own_share, &squares);
        let [of_weights, of_bias] = [self.weights.rule, self.bias.rule];
        for (at, (cell, (weight, squares))) in self.table.iter_mut().zip(weights.into_iter().zip(squares)).enumerate() {
            *cell = C::with(weight, squares, if at < cells { of_weights } else { of_bias });
        }
        Ok(())
    }

    fn snapshot(&self) -> Scores {
        let weights = self.table.par_iter().enumerate().map(|(at, &cell)| self.weight(at, cell));
        Scores::Linear(Linear::with_layout(self.layout, weights.collect::<Vec<_>>()))
    }

    /// Reuses the memory of the cells: a table that just fits leaves no room for a copy.
    fn freeze(mut self) -> Scores {
        let table = std::mem::take(&mut self.table);
        let weights = table.into_iter().enumerate().map(|(at, cell)| self.weight(at, cell));
        Scores::Linear(Linear::with_layout(self.layout, weights.collect::<Vec<_>>()))
    }
}

/// A part of the table with its own pace: the weights, or the biases.
struct Part<C: Cell> {
    pace: Pace,
    rule: C::Rule,
}

impl<C: Cell> Part<C> {
    fn at(pace: Pace) -> Self {
        Part { pace, rule: C::rule(pace) }
    }

    /// Begins a batch with its learning rate and its share of the penalty.
    fn advance(&mut self, rate: f64, shrink: f64, cells: &mut [C]) {
        self.pace.advance(rate, shrink);
        self.rule = C::rule(self.pace);
        if C::is_stale(self.rule) {
            cells.par_iter_mut().for_each(|cell| *cell = cell.rebase(self.rule));
            self.pace.rebase();
            self.rule = C::rule(self.pace);
        }
    }
}

/// Prefetches the weights of one row within a range of cells; `share` holds the range.
fn prefetch_within<C: Cell>(visit: &Visit<Vec<usize>>, layout: Layout, range: &Range<usize>, share: &[C]) {
    for start in &visit.hidden[layout.entries_within(&visit.hidden, range)] {
        let start = start.wrapping_sub(range.start);
        let cells = visit.classes.iter().filter_map(|&class| share.get(start.wrapping_add(class as usize)));
        cells.for_each(memory::prefetch);
    }
}

/// Updates the weights of one row within a range of cells; `share` holds the range.
fn update_within<C: Cell>(
    row: Row<'_>,
    visit: &Visit<Vec<usize>>,
    layout: Layout,
    range: &Range<usize>,
    share: &mut [C],
    rule: C::Rule,
) {
    let entries = layout.entries_within(&visit.hidden, range);
    for (&start, &value) in visit.hidden[entries.clone()].iter().zip(&row.values[entries]) {
        // Hashed weights may lie before or after the range: then their index is out of bounds.
        let start = start.wrapping_sub(range.start);
        for (&class, &derivative) in visit.classes.iter().zip(&visit.derivatives) {
            if let Some(cell) = share.get_mut(start.wrapping_add(class as usize)) {
                cell.ascend(derivative as f32 * value, rule);
            }
        }
    }
}

/// Partitions the cells into ranges that are updated about equally often: at the start of a feature if they are dense,
/// into equal parts if they are hashed.
fn balanced(examples: &Examples<'_>, layout: Layout, ranges: usize) -> Vec<Range<usize>> {
    let cells = layout.cells();
    if ranges <= 1 || layout.is_hashed() {
        return (0..ranges).map(|i| cells * i / ranges..cells * (i + 1) / ranges).collect();
    }
    let classes = layout.classes();
    super::score_function::feature_ranges(examples, ranges)
        .into_iter()
        .map(|features| features.start * classes..features.end * classes)
        .collect()
}
