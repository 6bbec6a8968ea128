//! Factored scores: their gradient, their bits, what they learn, and their files.

use std::fs;
use std::ops::ControlFlow;

use ove::bound::Objective;
use ove::model::WordVectors;
use ove::platform::random::Stream;
use ove::scores::Factored;
use ove::train::{Event, FitStart, Start, Training};
use ove::{Dataset, Error, Examples, Model, Row, Scores, evaluate, fit_with, with_threads};
use serde_json::{Value, json};

use crate::file_parts::{joined, parts};
use crate::fitted::{self, options, trained, with};

const FEATURES: usize = 5;
const CLASSES: usize = 4;
const RANK: usize = 3;

/// A few rows with some of the features, one or two labels each, and weights of their own.
fn tiny() -> Dataset {
    let mut random = Stream::of(&[8]);
    let mut data = Dataset::new(FEATURES, (0..CLASSES).map(|k| k.to_string()).collect());
    for n in 0..7u32 {
        data.weigh_row(0.5 + f64::from(n % 3));
        for feature in (0..FEATURES as u32).filter(|feature| (feature + n) % 3 != 0) {
            data.push_entry(feature, 2.0 * random.uniform() as f32 - 1.0);
        }
        match n % 3 {
            0 => data.end_row(&[n % 4]),
            _ => data.end_row(&[n % 4, (n + 2) % 4]),
        }
    }
    data
}

/// Vectors of features, vectors of classes, and biases.
type Numbers = [Vec<f64>; 3];

fn some_numbers() -> Numbers {
    let mut random = Stream::of(&[9]);
    let mut some = |count: usize| (0..count).map(|_| f64::from(2.0 * random.uniform() as f32 - 1.0)).collect();
    [some(FEATURES * RANK), some(CLASSES * RANK), some(CLASSES)]
}

fn scores_of(numbers: &Numbers) -> Scores {
    let narrow = |numbers: &[f64]| numbers.iter().map(|&x| x as f32).collect::<Vec<_>>();
    let [features, classes, bias] = numbers;
    Scores::Factored(Factored::new(RANK, narrow(features), narrow(classes), narrow(bias)))
}

fn numbers_of(scores: &Scores) -> Numbers {
    let Scores::Factored(factored) = scores else { panic!("{scores:?}") };
    let wide = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    [
        (0..factored.features() as u32).flat_map(|feature| wide(factored.feature(feature))).collect(),
        (0..factored.classes() as u32).flat_map(|class| wide(factored.class(class))).collect(),
        wide(factored.bias()),
    ]
}

/// The objective summed over all rows, by its definition: f_k = (Σ_d x_d u_d)·v_k + b_k.
fn objective_at(objective: Objective, numbers: &Numbers, data: &Dataset) -> f64 {
    let [features, classes, bias] = numbers;
    let of_row = |n: usize| {
        let (row, labels) = (data.rows().row(n), &data.labels[n]);
        let mut hidden = [0.0; RANK];
        for (&feature, &value) in row.indices.iter().zip(row.values) {
            for (h, u) in hidden.iter_mut().zip(&features[feature as usize * RANK..]) {
                *h += f64::from(value) * u;
            }
        }
        let score = |k: u32| {
            let vector = &classes[k as usize * RANK..][..RANK];
            bias[k as usize] + hidden.iter().zip(vector).map(|(h, v)| h * v).sum::<f64>()
        };
        let others = (0..CLASSES as u32).filter(|class| !labels.contains(class));
        let mut scores: Vec<f64> = labels.iter().copied().chain(others).map(score).collect();
        let (weights, ones) = (vec![data.row_weights[n]; labels.len()], vec![1.0; CLASSES - labels.len()]);
        // Softmax visits every class, which is all of C there.
        let (inside, ones) = if objective == Objective::Softmax { (ones.len(), &[][..]) } else { (0, &ones[..]) };
        objective.of_labels(&mut scores, &weights, inside, ones, &mut Vec::new())
    };
    (0..data.len()).map(of_row).sum()
}

/// One step of SGD with a rate of 1 on all rows moves every number by its derivative: through h for the vectors of
/// classes, through v for those of features.
#[test]
fn a_step_is_the_gradient_by_finite_differences() {
    let (data, numbers) = (tiny(), some_numbers());
    for objective in [Objective::Softmax, Objective::OneVsEach, Objective::SampledSoftmax] {
        // All classes are visited, each for itself.
        let settings = json!({ "rank": RANK, "objective": objective.name(), "negatives": CLASSES - 1, "batch": 7 });
        let own = json!({ "step": "sgd", "learning_rate": 1.0, "epochs": 1, "schedule": 1.0, "l2": 0.0 });
        let (options, scores) = (options(with(&settings, own)), scores_of(&numbers));
        let start = Start { scores: Some(&scores), ..Start::default() };
        let mut training = Training::new(Examples::of(&data), &options, start).unwrap();
        let progress = training.step().unwrap().unwrap();
        let exact = objective_at(objective, &numbers, &data);
        assert!((progress.bound.unwrap() - exact).abs() < 1e-5 * exact.abs(), "{objective}: {progress:?} {exact}");
        let moved = numbers_of(&training.snapshot().unwrap());
        for table in 0..3 {
            for at in 0..numbers[table].len() {
                let nearby = |by: f64| {
                    let mut numbers = numbers.clone();
                    numbers[table][at] += by;
                    objective_at(objective, &numbers, &data)
                };
                let derivative = (nearby(1e-5) - nearby(-1e-5)) / 2e-5;
                let step = moved[table][at] - numbers[table][at];
                assert!((step - derivative).abs() < 2e-5, "{objective} {table} {at}: {step}, not {derivative}");
            }
        }
    }
}

/// λ/2·‖w‖² on the sum over all rows: an epoch takes e^{−λη} of every number, and with a rate so small that the rows
/// hardly pull, that is all.
#[test]
fn the_penalty_shrinks_vectors_and_perhaps_biases() {
    let (data, numbers) = (tiny(), some_numbers());
    for penalty_on_bias in [true, false] {
        let step = |l2: f64| {
            let settings = json!({ "rank": RANK, "objective": "softmax", "batch": 7, "step": "sgd", "l2": l2 });
            let own = json!({ "learning_rate": 1e-5, "epochs": 1, "penalty_on_bias": penalty_on_bias });
            let (options, scores) = (options(with(&settings, own)), scores_of(&numbers));
            let start = Start { scores: Some(&scores), ..Start::default() };
            let mut training = Training::new(Examples::of(&data), &options, start).unwrap();
            training.step().unwrap();
            numbers_of(&training.snapshot().unwrap())
        };
        let (with, without) = (step(200.0), step(0.0));
        for (table, numbers) in numbers.iter().enumerate() {
            let is_penalised = table < 2 || penalty_on_bias;
            for (at, number) in numbers.iter().enumerate() {
                let shrunk = without[table][at] - with[table][at];
                let expected = if is_penalised { 2e-3 * number } else { 0.0 };
                assert!((shrunk - expected).abs() < 3e-6, "{table} {at}: {shrunk}, not {expected}");
            }
        }
    }
}

/// AdaGrad with a penalty, in double precision and without laziness: every batch first takes its part of every vector,
/// e^{−λη/√(1+G)}, and then adds η g / √(1+G), where G sums the mean squared gradients of the vector so far.
#[test]
fn lazy_adagrad_of_vectors_is_that_of_a_plain_loop() {
    const ROW: [f64; FEATURES] = [0.5, -2.0, 1.5, 0.0, 1.0];
    const LABEL: usize = 2;
    let (rate, l2, epochs) = (0.3, 0.05, 6);
    let mut data = Dataset::new(FEATURES, (0..CLASSES).map(|k| k.to_string()).collect());
    ROW.iter().zip(0..).filter(|(x, _)| **x != 0.0).for_each(|(&x, feature)| data.push_entry(feature, x as f32));
    data.end_row(&[LABEL as u32]);
    let settings = json!({ "rank": RANK, "objective": "softmax", "batch": 1, "l2": l2, "epochs": epochs });
    let options = options(with(&settings, json!({ "learning_rate": rate, "schedule": 1.0 })));
    let start = scores_of(&some_numbers());
    let mut training =
        Training::new(Examples::of(&data), &options, Start { scores: Some(&start), ..Start::default() }).unwrap();
    while training.step().unwrap().is_some() {}
    let found = numbers_of(&training.snapshot().unwrap());

    let lengths = [RANK, RANK, 1];
    let mut numbers = some_numbers();
    let mut squares = [vec![0.0; FEATURES], vec![0.0; CLASSES], vec![0.0; CLASSES]];
    for _ in 0..epochs {
        for ((table, squares), length) in numbers.iter_mut().zip(&squares).zip(lengths) {
            for (vector, g) in table.chunks_mut(length).zip(squares) {
                vector.iter_mut().for_each(|x| *x *= f64::exp(-l2 * rate / f64::sqrt(1.0 + g)));
            }
        }
        let [features, classes, bias] = &numbers;
        let hidden: Vec<f64> =
            (0..RANK).map(|r| (0..FEATURES).map(|d| ROW[d] * features[d * RANK + r]).sum()).collect();
        let score = |k: usize| bias[k] + (0..RANK).map(|r| hidden[r] * classes[k * RANK + r]).sum::<f64>();
        let exps: Vec<f64> = (0..CLASSES).map(|k| score(k).exp()).collect();
        let derivative = |k: usize| f64::from(k == LABEL) - exps[k] / exps.iter().sum::<f64>();
        let back: Vec<f64> =
            (0..RANK).map(|r| (0..CLASSES).map(|k| derivative(k) * classes[k * RANK + r]).sum()).collect();
        let gradients = [
            ROW.iter().flat_map(|x| back.iter().map(move |q| x * q)).collect::<Vec<f64>>(),
            (0..CLASSES).flat_map(|k| hidden.iter().map(move |h| derivative(k) * h)).collect(),
            (0..CLASSES).map(derivative).collect(),
        ];
        for (((table, squares), length), gradients) in numbers.iter_mut().zip(&mut squares).zip(lengths).zip(&gradients)
        {
            for ((vector, g), gradient) in table.chunks_mut(length).zip(squares).zip(gradients.chunks(length)) {
                *g += gradient.iter().map(|x| x * x).sum::<f64>() / length as f64;
                vector.iter_mut().zip(gradient).for_each(|(x, gradient)| *x += rate * gradient / f64::sqrt(1.0 + *g));
            }
        }
    }
    for (table, (found, expected)) in found.iter().zip(&numbers).enumerate() {
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() < 1e-5, "{table} {at}: {found}, not {expected}");
        }
    }
}

/// Classes are directions in a plane, and each feature leans towards one: a table of rank 2, with hundreds of classes.
fn low_rank(rows: usize, seed: u64) -> Dataset {
    const SIZES: (usize, usize) = (60, 120);
    let mut random = Stream::of(&[seed, 4]);
    let turn = std::f64::consts::TAU;
    let mut data = Dataset::new(SIZES.0, (0..SIZES.1).map(|k| format!("{k}")).collect());
    for _ in 0..rows {
        let class = random.below(SIZES.1 as u64) as usize;
        let angle = turn * class as f64 / SIZES.1 as f64;
        for feature in 0..SIZES.0 {
            let lean = (angle - turn * feature as f64 / SIZES.0 as f64).cos();
            if lean > 0.3 && random.uniform() < 0.6 {
                data.push_entry(feature as u32, lean as f32);
            }
        }
        data.end_row(&[class as u32]);
    }
    data
}

#[test]
fn few_numbers_per_class_learn_what_has_low_rank() {
    let (train, test) = (low_rank(6000, 0), low_rank(1000, 1));
    let settings = json!({ "rank": 4, "epochs": 10, "learning_rate": 0.5, "negatives": 20 });
    let model = fitted::model(&train, settings);
    // A linear model would have 60 × 120.
    assert_eq!(model.weight_count(), 4 * (60 + 120) + 120);
    let found = evaluate(&model, test.rows(), &test.labels).unwrap();
    // Neighbours are hard to tell apart; of 120 classes, a guess is 4.8 in nats.
    assert!(found.nlpd < 3.0 && found.precision_at_5 * 5.0 > 0.5, "{found:?}");
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let data = low_rank(1500, 0);
    let kinds = [
        json!({}),
        json!({ "step": "sgd", "l2": 0.5 }),
        json!({ "objective": "one-vs-each", "sampler": "rivals", "l2": 0.5 }),
        json!({ "objective": "merged", "sampler": "systematic" }),
        json!({ "objective": "softmax", "class_weight": "balanced" }),
        json!({ "batch": 1, "epochs": 1 }),
    ];
    for changes in kinds {
        let settings = with(&json!({ "rank": 24, "epochs": 2, "batch": 64 }), changes);
        let run = |threads| with_threads(threads, || trained(&data, settings.clone())).unwrap();
        let one = run(1);
        assert!(numbers_of(&one.scores)[1].iter().any(|&x| x != 0.0), "{settings} moved nothing");
        for threads in [2, 3, 7] {
            let other = run(threads);
            assert!(other.scores == one.scores && other.trace == one.trace, "{threads} threads: {settings}");
        }
    }
    let with = |seed: u64| trained(&data, json!({ "rank": 4, "epochs": 1, "seed": seed })).scores;
    assert!(with(4) == with(4) && with(4) != with(5));
}

#[test]
fn contributions_of_features_sum_to_the_score_without_its_bias() {
    let data = tiny();
    let model = fitted::model(&data, json!({ "rank": RANK, "epochs": 20, "learning_rate": 0.5 }));
    let scores = model.scores(data.rows());
    for n in 0..data.len() {
        for class in 0..CLASSES as u32 {
            let reasons = model.explain(data.rows().row(n), class);
            assert_eq!(reasons.len(), data.rows().row(n).indices.len());
            let sum: f32 = reasons.iter().map(|(_, reason)| reason).sum();
            let score = scores[n * CLASSES + class as usize] as f32 - model.bias(class).unwrap();
            assert!((sum - score).abs() < 1e-5, "row {n}, class {class}: {sum}, not {score}");
            let weights = model.weights_of(class);
            for (&(feature, reason), &value) in reasons.iter().zip(data.rows().row(n).values) {
                let weight = weights.iter().find(|(of, _)| *of == feature).map_or(0.0, |(_, weight)| *weight);
                assert!((reason - weight * value).abs() < 1e-6);
            }
        }
    }
    // A feature that the model does not know has nothing to say.
    let unknown = Row { indices: &[1, 99], values: &[1.0, 1.0] };
    assert_eq!(model.explain(unknown, 0).len(), 1);
}

/// A model whose numbers are none of those that training begins with.
fn saved_model() -> (Model, Vec<u8>) {
    let model = fitted::model(&tiny(), json!({ "rank": RANK, "epochs": 3, "learning_rate": 0.5 }));
    let bytes = model.to_bytes();
    (model, bytes)
}

#[test]
fn a_file_gives_the_same_vectors_back() {
    let (data, folder) = (tiny(), tempfile::tempdir().unwrap());
    let (model, bytes) = saved_model();
    let path = folder.path().join("model");
    model.save(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
    for again in [Model::load(&path).unwrap(), Model::map(&path).unwrap(), Model::from_bytes(&bytes).unwrap()] {
        assert_eq!(again, model);
        assert_eq!(again.top_k(data.rows(), 3), model.top_k(data.rows(), 3));
        assert_eq!(again.to_bytes(), bytes);
    }
    // As NumPy and Torch see them.
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let shape = |name: &str| file.tensor(name).unwrap().shape().to_vec();
    assert_eq!(shape("feature_vectors"), [FEATURES, RANK]);
    assert_eq!(shape("class_vectors"), [CLASSES, RANK]);
    assert_eq!(shape("bias"), [CLASSES]);
    assert_eq!(file.len(), 3);
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let (_, bytes) = saved_model();
    let (header, data) = parts(&bytes);
    let reason = |change: &dyn Fn(&mut Value)| {
        let mut changed = header.clone();
        change(&mut changed);
        let error = Model::from_bytes(&joined(&changed, data)).unwrap_err();
        assert!(matches!(error, Error::ModelFile { .. }), "{error}");
        error.to_string().split_once("not a usable model: ").expect("a reason").1.to_owned()
    };
    let card = |change: &dyn Fn(&mut Value)| {
        reason(&|header| {
            let entry = &mut header["__metadata__"]["ove"];
            let mut card = serde_json::from_str(entry.as_str().unwrap()).unwrap();
            change(&mut card);
            *entry = card.to_string().into();
        })
    };
    let shape = |name: &str, shape: Value| reason(&|header| header[name]["shape"] = shape.clone());
    assert_eq!(shape("feature_vectors", json!([3, 5])), "feature_vectors [3, 5] for 4 classes and rank 3");
    assert_eq!(shape("feature_vectors", json!([15])), "feature_vectors [15] for 4 classes and rank 3");
    assert_eq!(shape("feature_vectors", json!([5, 3, 1])), "feature_vectors [5, 3, 1] for 4 classes and rank 3");
    assert_eq!(shape("class_vectors", json!([3, 4])), "class_vectors [3, 4] for 4 classes and rank 3");
    assert_eq!(shape("class_vectors", json!([2, 6])), "class_vectors [2, 6] for 4 classes and rank 3");
    assert_eq!(shape("bias", json!([2, 2])), "bias [2, 2] for 4 classes and rank 3");
    assert_eq!(shape("bias", json!([4, 1])), "bias [4, 1] for 4 classes and rank 3");
    let rank = |rank: Value| card(&|card| card["options"]["scores"]["rank"] = rank.clone());
    assert_eq!(rank(json!(0)), "vectors of length 0");
    assert_eq!(rank(json!(5)), "feature_vectors [5, 3] for 4 classes and rank 5");
    assert_eq!(rank(json!(u64::MAX)), format!("feature_vectors [5, 3] for 4 classes and rank {}", u64::MAX));
    assert!(rank(json!(-1)).starts_with("metadata `ove`: "), "{}", rank(json!(-1)));
    let classes = |count: usize| {
        let names: Vec<String> = (0..count).map(|k| k.to_string()).collect();
        card(&|card| (card["classes"], card["counts"]) = (json!(names), json!(vec![1; count])))
    };
    assert_eq!(classes(5), "class_vectors [4, 3] for 5 classes and rank 3");
    for name in ["feature_vectors", "class_vectors", "bias"] {
        let missing = reason(&|header| {
            let tensor = header.as_object_mut().unwrap().remove(name).unwrap();
            header["other"] = tensor;
        });
        assert_eq!(missing, format!("tensor `{name}` not found"));
        let narrow = reason(&|header| header[name]["dtype"] = "I32".into());
        assert_eq!(narrow, "weights of type I32 instead of F32");
    }
    for length in 0..bytes.len() {
        assert!(matches!(Model::from_bytes(&bytes[..length]), Err(Error::ModelFile { .. })), "cut at {length}");
    }
}

#[test]
fn a_number_that_is_not_finite_is_refused() {
    let (_, bytes) = saved_model();
    let (header, data) = parts(&bytes);
    let folder = tempfile::tempdir().unwrap();
    for at in (0..data.len()).step_by(4) {
        let mut changed = data.to_vec();
        changed[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        let path = folder.path().join("model");
        fs::write(&path, joined(&header, &changed)).unwrap();
        let error = Model::load(&path).unwrap_err().to_string();
        assert!(error.contains("not a usable model: the weight NaN at "), "{error}");
    }
}

fn grow(model: &Model, data: &Dataset, settings: Value) -> Model {
    let start = FitStart { from: Some(model), ..FitStart::default() };
    let options = model.card.options.clone().with_settings(&settings).unwrap();
    fit_with(data, &options, start, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_model_goes_on_with_new_rows_features_and_classes() {
    let old = low_rank(3000, 0);
    let first = fitted::model(&old, json!({ "rank": 8, "epochs": 5, "learning_rate": 0.1, "negatives": 20 }));
    // Rows of old classes, and of two new ones that are told by two new features.
    let mut new = Dataset::new(62, old.classes.iter().cloned().chain(["north".into(), "south".into()]).collect());
    for n in 0..1500 {
        let row = old.rows().row(n);
        if n % 3 > 0 {
            new.push_entry(59 + (n % 3) as u32, 1.0);
            new.end_row(&[119 + (n % 3) as u32]);
        } else {
            row.indices.iter().zip(row.values).for_each(|(&d, &x)| new.push_entry(d, x));
            new.end_row(&old.labels[n]);
        }
    }
    // One small step: what was learnt is still there, and what is new is near zero.
    let grown = grow(&first, &new, json!({ "epochs": 1, "learning_rate": 1e-6 }));
    assert_eq!((grown.features(), grown.classes(), grown.card.rows), (62, 122, 4500));
    let (a, b) = (numbers_of(&first.scores), numbers_of(&grown.scores));
    for (a, b) in a.iter().zip(&b) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3), "{a:?} {b:?}");
        assert!(b[a.len()..].iter().all(|new| new.abs() < 1e-3));
    }
    assert_eq!(grown.card.counts[..120], {
        let counts = Examples::of(&new).counts();
        first.card.counts.iter().zip(counts).map(|(a, b)| a + b).collect::<Vec<_>>()
    });
    // More steps learn the new ones, though their vectors began at zero.
    let learnt = grow(&first, &new, json!({ "epochs": 10, "learning_rate": 0.1 }));
    let best = learnt.top_k(new.rows(), 1);
    let of_new = (0..1500).filter(|n| n % 3 > 0);
    let hits = of_new.clone().filter(|&n| best[n][0].class == new.labels[n][0]).count();
    assert!(hits as f64 > 0.95 * of_new.count() as f64, "{hits}");

    let fewer = Dataset::new(10, old.classes.clone());
    let start = FitStart { from: Some(&first), ..FitStart::default() };
    let mut few = fewer;
    few.push_entry(0, 1.0);
    few.end_row(&[0]);
    let refused = fit_with(&few, &first.card.options, start, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(refused.to_string(), "the data has 10 features and 120 classes, fewer than the model's 60 and 120");
}

#[test]
fn vectors_have_nothing_to_prune() {
    let (mut model, bytes) = saved_model();
    let refused = model.prune(0.1).unwrap_err().to_string();
    assert_eq!(refused, "`prune` must be left out for factored scores, got 0.1");
    assert_eq!(model.to_bytes(), bytes);
}

/// Six texts of two classes, and vectors of two of their words.
fn words() -> (Dataset, ove::text::Text, WordVectors) {
    let texts = ["red rose here", "red poppy", "red tulip", "blue sky", "blue sea here", "blue lake"];
    let (text, rows) =
        ove::text::Text::fit(&ove::text::TextOptions { min_df: 1, ..Default::default() }, &texts).unwrap();
    let mut data = Dataset::new(rows.features(), ["warm", "cold"].map(str::to_owned).to_vec());
    for n in 0..texts.len() {
        let row = rows.rows().row(n);
        row.indices.iter().zip(row.values).for_each(|(&feature, &value)| data.push_entry(feature, value));
        data.end_row(&[(n / 3) as u32]);
    }
    let names = ["sea", "unseen", "red"].map(str::to_owned).to_vec();
    (data, text, WordVectors::new(names, 3, vec![0.0, 3.0, -4.0, 1.0, 1.0, 1.0, 2.0, 0.0, 0.0]).unwrap())
}

/// A feature that is one of the words starts at its vector, without the mean of all and at the length that random
/// vectors have; the others start as without vectors.
#[test]
fn features_start_at_vectors_of_words() {
    let (data, text, vectors) = words();
    // So small a rate leaves the vectors where they start.
    let options = options(json!({ "rank": 3, "epochs": 1, "learning_rate": 1e-9, "schedule": 1.0 }));
    let fitted = |vectors: Option<&WordVectors>| {
        let mut seen = None;
        let start = FitStart { vectors, text: Some(text.clone()), ..FitStart::default() };
        let model = fit_with(&data, &options, start, &mut |event| {
            if let Event::Vectors { known, features } = event {
                seen = Some((known, features));
            }
            ControlFlow::Continue(())
        });
        (model.unwrap(), seen)
    };
    let ((with, seen), (without, unseen)) = (fitted(Some(&vectors)), fitted(None));
    assert_eq!((seen, unseen), (Some((2, data.features())), None));
    let (Scores::Factored(with), Scores::Factored(without)) = (&with.scores, &without.scores) else { panic!() };
    let mut others = 0;
    for feature in 0..data.features() {
        let expected = match text.names().get(feature).unwrap() {
            // At length one, these are (0, 0.6, −0.8) and (1, 0, 0), with the mean (0.5, 0.3, −0.4).
            "sea" => [-0.5, 0.3, -0.4].map(|x: f32| x * (2f32 / 3.0).sqrt()).to_vec(),
            "red" => [0.5, -0.3, 0.4].map(|x: f32| x * (2f32 / 3.0).sqrt()).to_vec(),
            _ => {
                others += 1;
                without.feature(feature as u32).to_vec()
            }
        };
        let found = with.feature(feature as u32);
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} {expected:?}");
    }
    assert_eq!(others, data.features() - 2);
}

#[test]
fn vectors_of_words_that_do_not_fit_are_refused() {
    let (data, text, vectors) = words();
    let error = |settings, vectors: &WordVectors, text| {
        let start = FitStart { vectors: Some(vectors), text, ..FitStart::default() };
        let fitted = fit_with(&data, &options(settings), start, &mut |_| ControlFlow::Continue(()));
        fitted.unwrap_err().to_string()
    };
    let text = Some(text);
    let rank = error(json!({ "rank": 4 }), &vectors, text.clone());
    assert_eq!(rank, "`rank` must be 3, as for the vectors of words, got 4");
    let linear = error(json!({ "scores": "linear" }), &vectors, text.clone());
    assert_eq!(linear, "vectors of words are the start of factored scores, and of no others");
    let unnamed = error(json!({ "rank": 3 }), &vectors, None);
    assert!(unnamed.ends_with("features have no names"), "{unnamed}");
    let other = WordVectors::new(vec!["elsewhere".into()], 3, vec![1.0; 3]).unwrap();
    let unknown = error(json!({ "rank": 3 }), &other, text);
    assert!(unknown.contains("features are other words, such as `"), "{unknown}");
}
