//! What an update costs with a hundred times as many classes: updates per second for K = 10⁴ and K = 10⁶, with the same
//! number of features and of sampled classes, in tables of at most the given number of gigabytes.
//!
//! ```sh
//! cargo run --release --example many_classes -- 8
//! ```

use std::time::Instant;

use ove::synthetic::{Sparse, sparse};
use ove::train::{Start, Training};
use ove::{Dataset, Examples, TrainOptions, with_threads};
use serde_json::json;

const FEATURES: usize = 100_000;

/// Other work on the machine only ever slows a run down: the best of so many counts.
const RUNS: usize = 7;

fn main() -> ove::Result<()> {
    let gigabytes = std::env::args().nth(1).map_or(8.0, |number| number.parse().expect("a number"));
    // Under SGD a cell has four bytes.
    let budget = (gigabytes * 1e9 / 4.0) as usize;
    let data = |classes| sparse(Sparse { rows: 200_000, features: FEATURES, classes, entries: 20, signal: 0.5 }, 0, 0);
    let sets = [10_000, 1_000_000].map(data);
    for batch in [1, 256] {
        let mut best = [0f64; 2];
        for _ in 0..RUNS {
            for (best, data) in best.iter_mut().zip(&sets) {
                *best = best.max(updates_per_second(data, batch, budget)?);
            }
        }
        let [few, many] = best;
        println!(
            "{batch:>3} rows per batch: {few:.0} updates/s for 10⁴ classes, {many:.0} for 10⁶, {:.2} times the cost",
            few / many
        );
    }
    Ok(())
}

/// Over an epoch, from the first batch on, when the table is there.
fn updates_per_second(data: &Dataset, batch: usize, budget: usize) -> ove::Result<f64> {
    let cells = (FEATURES * data.classes.len() > budget).then_some(budget);
    let settings = json!({ "cells": cells, "batch": batch, "epochs": 1, "step": "sgd" });
    let options = TrainOptions::from_settings(&settings)?;
    // From within the pool, which would else be entered for every row.
    with_threads(0, || {
        let mut training = Training::new(Examples::of(data), &options, Start::default())?;
        let before = training.step()?.map_or(0, |progress| progress.updates);
        let (start, mut updates) = (Instant::now(), before);
        while let Some(progress) = training.step()? {
            updates = progress.updates;
        }
        Ok((updates - before) as f64 / start.elapsed().as_secs_f64())
    })?
}
