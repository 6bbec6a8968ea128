//! How near training comes to the speed of memory: updates per second on AmazonCat's shape (203,882 features, 2,919
//! classes), one row and five remaining classes per update on one thread, beside a bare loop that reads and writes the
//! same number of weights in the same table, and beside the exact softmax.
//!
//! ```sh
//! cargo run --release --example amazoncat -- 0.2    # the share of the set's rows
//! ```

use std::time::{Duration, Instant};

use ove::platform::memory;
use ove::platform::random::Stream;
use ove::synthetic::amazoncat::{AmazonCat, Part};
use ove::train::{Start, Training};
use ove::{Dataset, Examples, Objective, TrainOptions, with_threads};
use serde_json::json;

/// Remaining classes per update.
const SAMPLED: usize = 5;

/// Other work on the machine only ever slows a run down: the best of so many counts.
const RUNS: usize = 3;

/// The longest that the exact softmax may take.
const LIMIT: Duration = Duration::from_secs(20);

fn main() -> ove::Result<()> {
    let scale = std::env::args().nth(1).map_or(0.2, |scale| scale.parse().expect("a number"));
    let data = AmazonCat::new(0, scale)?.dataset(Part::Train);
    let (mut bare, mut one_vs_each) = (0f64, 0f64);
    for _ in 0..RUNS {
        bare = bare.max(bare_loop(&data));
        one_vs_each = one_vs_each.max(training(&data, Objective::OneVsEach)?);
    }
    let softmax = training(&data, Objective::Softmax)?;
    println!("updates per second on {} rows, {} features, {} classes", data.len(), data.features(), data.classes.len());
    println!("bare loop      {bare:>10.0}");
    println!("one-vs-each    {one_vs_each:>10.0}   {:.0} % of the bare loop", 100.0 * one_vs_each / bare);
    println!("exact softmax  {softmax:>10.0}   one-vs-each is {:.0} times as fast", one_vs_each / softmax);
    Ok(())
}

/// Reads and writes, in random order of rows, the weights of each row's features for as many random classes as an
/// update visits.
fn bare_loop(data: &Dataset) -> f64 {
    let classes = data.classes.len();
    let mut table: Vec<f32> = memory::zeroed(data.features() * classes);
    let mut random = Stream::of(&[0]);
    let mut order: Vec<usize> = (0..data.len()).collect();
    random.shuffle(&mut order);
    let start = Instant::now();
    for row in order.into_iter().map(|n| data.rows().row(n)) {
        let visited = [(); 1 + SAMPLED].map(|()| random.below(classes as u64) as usize);
        let mut sums = [0.0; 1 + SAMPLED];
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            let weights = &table[feature as usize * classes..][..classes];
            for (sum, &class) in sums.iter_mut().zip(&visited) {
                *sum += value * weights[class];
            }
        }
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            let weights = &mut table[feature as usize * classes..][..classes];
            for (sum, &class) in sums.iter().zip(&visited) {
                weights[class] += value * (1e-3 - 1e-6 * sum);
            }
        }
    }
    data.len() as f64 / start.elapsed().as_secs_f64()
}

/// Trains for an epoch, or until the limit; the clock starts once the table is there.
fn training(data: &Dataset, objective: Objective) -> ove::Result<f64> {
    let options = TrainOptions::from_settings(&json!({
        "objective": objective.name(), "negatives": SAMPLED, "batch": 1, "epochs": 1, "step": "sgd",
    }))?;
    // From within the pool, which would else be entered for every row.
    with_threads(1, || {
        let mut training = Training::new(Examples::of(data), &options, Start::default())?;
        training.step()?;
        let (start, mut rows) = (Instant::now(), 0);
        while start.elapsed() < LIMIT && training.step()?.is_some() {
            rows += 1;
        }
        Ok(f64::from(rows) / start.elapsed().as_secs_f64())
    })?
}
