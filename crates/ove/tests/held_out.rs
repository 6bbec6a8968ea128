//! Rows that training does not see: they end a run that only memorises, they prefer a rate that suits the data, and
//! they fit the temperature.

use std::ops::ControlFlow;

use ove::platform::random::Stream;
use ove::scores::{Linear, probabilities};
use ove::train::checkpoint::Saved;
use ove::train::{Event, FitStart, Start, Trained, Training};
use ove::{Dataset, Error, Examples, Model, evaluate, fit_with};
use serde_json::{Value, json};

use crate::fitted::{options, with};

const FEATURES: usize = 6;
const CLASSES: usize = 8;

/// A model with weights between −2 and 2.
fn truth() -> Linear {
    let mut random = Stream::of(&[5]);
    Linear::new(CLASSES, (0..(FEATURES + 1) * CLASSES).map(|_| 4.0 * random.uniform() as f32 - 2.0).collect())
}

/// Rows between −scale and scale, whose classes are drawn from the probabilities of the truth; or, without it, from
/// nothing.
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

/// Goes on to the end, or as long as the run is before this epoch.
fn run_until(training: &mut Training<'_>, epochs: f64) {
    while let Some(progress) = training.step().unwrap() {
        if progress.epochs >= epochs {
            break;
        }
    }
}

/// Labels that have nothing to do with the rows: every epoch makes held-out rows less probable.
#[test]
fn a_run_that_only_memorises_is_ended() {
    let (rows, others) = (data(300, 1.0, None, 0), data(300, 1.0, None, 1));
    for scores in ["linear", "factored"] {
        let options = options(json!({ "scores": scores, "epochs": 60, "batch": 10, "learning_rate": 0.5 }));
        let validation = Some(Examples::of(&others));
        let start = || Training::new(Examples::of(&rows), &options, Start { validation, ..Start::default() }).unwrap();
        let to_the_end = |mut training: Training<'_>| -> Trained {
            run_until(&mut training, f64::INFINITY);
            training.finish().unwrap()
        };
        let ended = to_the_end(start());
        assert!(ended.finished && ended.updates < 30 * 300, "{scores}: {} updates", ended.updates);

        // A run that is stopped on the way ends at the same place, in the same bits.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let mut stopped = start();
        run_until(&mut stopped, 2.5);
        stopped.save(&path).unwrap();
        let mut resumed = start();
        resumed.restore(&Saved::open(&path).unwrap()).unwrap();
        let resumed = to_the_end(resumed);
        assert_eq!((resumed.updates, resumed.scores), (ended.updates, ended.scores));

        // Other held-out rows may end it elsewhere.
        let mut without = Training::new(Examples::of(&rows), &options, Start::default()).unwrap();
        let refused = without.restore(&Saved::open(&path).unwrap()).unwrap_err().to_string();
        assert!(refused.starts_with("the validation rows are not those"), "{refused}");
    }
}

/// A fit that is given rows for validation, and the rate that these chose, if they did.
fn fit_by(rows: &Dataset, others: &Dataset, settings: Value) -> (Result<Model, Error>, Option<f64>) {
    let mut chosen = None;
    let start = FitStart { tune_on: Some(others), ..FitStart::default() };
    let model = fit_with(rows, &options(settings), start, &mut |event| {
        if let Event::Chosen(found) = event {
            chosen = Some(found.learning_rate);
        }
        ControlFlow::Continue(())
    });
    (model, chosen)
}

#[test]
fn the_rate_suits_the_scale_of_the_data() {
    let truth = truth();
    let chosen = |scale: f32| {
        let (rows, others) = (data(3000, scale, Some(&truth), 0), data(1000, scale, Some(&truth), 1));
        let rate = fit_by(&rows, &others, json!({ "scores": "linear" })).1.expect("a rate is chosen");
        let nlpd = |rate: f64| {
            let settings = json!({ "scores": "linear", "learning_rate": rate, "calibrate": true });
            // A rate that leads astray is worse than any other.
            fit_by(&rows, &others, settings)
                .0
                .map_or(f64::INFINITY, |model| evaluate(&model, others.rows(), &others.labels).unwrap().nlpd)
        };
        for other in [rate / 10.0, rate * 10.0] {
            assert!(nlpd(rate) < nlpd(other), "scale {scale}: {rate} {other}");
        }
        rate
    };
    let (small, large) = (chosen(0.1), chosen(10.0));
    assert!(small > 3.0 * large, "{small} {large}");
}

/// Whatever is given is not chosen, and what rows held out of training say is not said of rows that were trained on.
#[test]
fn a_temperature_is_fitted_on_rows_that_training_did_not_see() {
    let truth = truth();
    let (rows, others) = (data(2000, 1.0, Some(&truth), 0), data(4000, 1.0, Some(&truth), 1));
    let given = json!({ "scores": "linear", "epochs": 30, "learning_rate": 0.2 });
    let fit = |changes: Value| {
        let (mut held_out, mut is_chosen) = (None, false);
        let settings = options(with(&given, changes));
        let model = ove::fit(&rows, &settings, |event| {
            match event {
                Event::Calibrated { rows, .. } => held_out = Some(rows),
                Event::Chosen(_) | Event::Choosing => is_chosen = true,
                _ => {}
            }
            ControlFlow::Continue(())
        });
        assert!(!is_chosen);
        (model.unwrap(), held_out)
    };
    let (plain, none) = fit(json!({}));
    assert_eq!((plain.card.temperature, none, plain.card.rows), (None, None, 2000));
    let (model, held_out) = fit(json!({ "calibrate": true }));
    assert_eq!((held_out, model.card.rows, model.card.counts.iter().sum::<u64>()), (Some(100), 1900, 1900));
    assert!(model.is_calibrated() && !plain.is_calibrated());
    let temperature = model.card.temperature.unwrap();
    assert!((0.3..3.0).contains(&temperature), "{temperature}");
    // The model's scores are divided by it: with these undone, it is as sure as it was.
    let table = model.scores.linear().unwrap().table().iter().map(|weight| weight * temperature as f32).collect();
    let raw = Model { scores: ove::Scores::Linear(Linear::new(CLASSES, table)), ..model.clone() };
    let of = |model: &Model| evaluate(model, others.rows(), &others.labels).unwrap();
    assert!((of(&model).ece_uncalibrated.unwrap() - of(&raw).ece).abs() < 1e-4);
    assert_eq!(of(&plain).ece_uncalibrated, None);
}

/// Rows that are names of classes teach, but nothing is measured on them, and they do not count as rows.
#[test]
fn names_of_classes_are_not_held_out() {
    for scores in ["linear", "trees"] {
        let mut rows = data(2000, 1.0, Some(&truth()), 0);
        rows.name_rows = 500;
        let mut seen = Vec::new();
        let options = options(json!({ "scores": scores }));
        let mut watch = |event: Event<'_>| {
            if let Event::HeldOut(held_out) = event {
                seen = held_out.ids().collect();
            }
            ControlFlow::Continue(())
        };
        let model = fit_with(&rows, &options, FitStart::default(), &mut watch).unwrap();
        assert!(scores == "trees" || (seen.len() == 100 && seen.iter().all(|&id| id < 1500)), "{seen:?}");
        assert!(model.card.rows <= 1500 && model.card.rows >= 1400);
        assert_eq!(model.card.counts.iter().sum::<u64>(), model.card.rows);
    }
}
