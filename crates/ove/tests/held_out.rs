//! Rows that training does not see: the temperature they find is the right one, they end a run that only memorises, and they prefer a rate
//! that suits the data.

use std::ops::ControlFlow;

use ove::platform::random::Stream;
use ove::scores::linear::probabilities;
use ove::train::checkpoint::Saved;
use ove::train::held_out::{copy, draw};
use ove::train::{Begin, learning_rate, train_with};
use ove::{Dataset, HeldOut, Linear, Options, Problem, Progress, train};

const FEATURES: usize = 6;
const CLASSES: usize = 8;

fn problem(data: &Dataset) -> Problem<'_> {
    Problem { rows: data.rows(), labels: &data.labels, row_weights: &data.row_weights, classes: CLASSES }
}

/// A model with weights between −2 and 2.
fn truth() -> Linear {
    let mut random = Stream::of(&[5]);
    Linear::new(CLASSES, (0..(FEATURES + 1) * CLASSES).map(|_| 4.0 * random.uniform() as f32 - 2.0).collect())
}

/// Rows between −scale and scale, whose classes are drawn from the probabilities of the truth; or, without it, from nothing.
fn data(rows: usize, scale: f32, truth: Option<&Linear>, seed: u64) -> Dataset {
    let mut random = Stream::of(&[seed, 3]);
    let mut data = Dataset::new(FEATURES, (0..CLASSES).map(|k| k.to_string()).collect());
    let mut scores = vec![0.0; CLASSES];
    for n in 0..rows {
        let values: Vec<f32> = (0..FEATURES).map(|_| 2.0 * random.uniform() as f32 - 1.0).collect();
        values.iter().zip(0..).for_each(|(value, feature)| data.push_entry(feature, scale * value));
        let drawn = random.uniform();
        let label = truth.map_or(random.below(CLASSES as u64) as usize, |truth| {
            let indices: Vec<u32> = (0..FEATURES as u32).collect();
            truth.scores(ove::Row { indices: &indices, values: &values }, &mut scores);
            let shares = probabilities(&scores);
            let mut sum = 0.0;
            let is_it = |p: &f64| {
                sum += p;
                drawn < sum
            };
            shares.iter().position(is_it).unwrap_or(n % CLASSES)
        });
        data.end_row(&[label as u32]);
    }
    data
}

#[test]
fn the_temperature_undoes_a_factor() {
    let truth = truth();
    let rows = data(20_000, 1.0, Some(&truth), 0);
    let held_out = HeldOut::of(&rows, CLASSES);
    let right = held_out.judge(&truth, 0).unwrap();
    assert!((right.temperature - 1.0).abs() < 0.03, "{right:?}");
    for factor in [0.2, 3.0, 20.0] {
        let mut scaled = truth.clone();
        scaled.scale(factor);
        let found = held_out.judge(&scaled, 0).unwrap();
        assert!((found.temperature / f64::from(factor) / right.temperature - 1.0).abs() < 1e-3, "{factor}: {found:?}");
        assert!((found.nlpd - right.nlpd).abs() < 1e-5, "{factor}: {found:?}");
        assert_eq!(held_out.judge(&scaled, 1).unwrap(), held_out.judge(&scaled, 3).unwrap());
    }
    // By hand: −log p of the labels under the truth.
    let mut scores = vec![0.0; CLASSES];
    let of_row = |n: usize| {
        truth.scores(rows.rows().row(n), &mut scores);
        -probabilities(&scores)[rows.labels[n][0] as usize].ln()
    };
    let nlpd = (0..rows.len()).map(of_row).sum::<f64>() / rows.len() as f64;
    assert!(right.nlpd <= nlpd && nlpd - right.nlpd < 1e-3, "{nlpd} {right:?}");
}

#[test]
fn some_rows_are_drawn_once() {
    let rows = data(2000, 1.0, None, 0);
    let drawn = draw(&problem(&rows), 7);
    assert_eq!(drawn.len(), 100);
    assert!(drawn.is_sorted_by(|a, b| a < b) && drawn != draw(&problem(&rows), 8));
    let copied = copy(&problem(&rows), &drawn);
    for (n, &from) in drawn.iter().enumerate() {
        assert_eq!(copied.rows().row(n).values, rows.rows().row(from as usize).values);
        assert_eq!(copied.labels[n], rows.labels[from as usize]);
    }
    assert!(draw(&problem(&data(900, 1.0, None, 0)), 7).is_empty(), "45 rows tell nothing");
}

/// Labels that have nothing to do with the rows: every epoch makes held-out rows less probable.
#[test]
fn a_run_that_only_memorises_is_ended() {
    let (rows, others) = (data(300, 1.0, None, 0), data(300, 1.0, None, 1));
    let held_out = Some(HeldOut::of(&others, CLASSES));
    let options = Options { epochs: 60, batch: 10, learning_rate: 0.5, ..Options::default() };
    let go_on = &mut |_: &Progress<'_>| ControlFlow::Continue(());
    let fit = train_with(Begin { held_out, ..Begin::default() }, &problem(&rows), &options, go_on).unwrap();
    assert!(fit.finished && fit.updates < 30 * 300, "{} updates", fit.updates);

    // A run that is stopped on the way ends at the same place, in the same bits.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut stop = |progress: &Progress<'_>| {
        if progress.epochs < 2.5 {
            return ControlFlow::Continue(());
        }
        (progress.save)(&path).unwrap();
        ControlFlow::Break(())
    };
    train_with(Begin { held_out, ..Begin::default() }, &problem(&rows), &options, &mut stop).unwrap();
    let saved = Saved::open(&path).unwrap();
    let begin = Begin { saved: Some(&saved), held_out, ..Begin::default() };
    let resumed = train_with(begin, &problem(&rows), &options, go_on).unwrap();
    assert_eq!((resumed.updates, resumed.linear), (fit.updates, fit.linear));
}

#[test]
fn the_rate_suits_the_scale_of_the_data() {
    let truth = truth();
    let chosen = |scale: f32| {
        let (rows, others) = (data(3000, scale, Some(&truth), 0), data(1000, scale, Some(&truth), 1));
        let held_out = HeldOut::of(&others, CLASSES);
        let options = Options::default();
        let rate =
            learning_rate::choose(&problem(&rows), &options, &held_out, &mut || ControlFlow::Continue(())).unwrap();
        let nlpd = |learning_rate| {
            let options = Options { learning_rate, ..options.clone() };
            let fit = train(&problem(&rows), &options, &mut |_| ControlFlow::Continue(()));
            // A rate that leads astray is worse than any other.
            fit.map_or(f64::INFINITY, |fit| held_out.judge(&fit.linear, 0).unwrap().nlpd)
        };
        for other in [rate / 10.0, rate * 10.0] {
            assert!(nlpd(rate) < nlpd(other), "scale {scale}: {rate} {other}");
        }
        rate
    };
    let (small, large) = (chosen(0.1), chosen(10.0));
    assert!(small > 3.0 * large, "{small} {large}");
}
