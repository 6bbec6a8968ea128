//! Trees on different kinds of terms, and the effort that chooses them.

use std::ops::ControlFlow;

use ove::data::{Kind, View};
use ove::options::{Effort, ScoreOptions, TreeOptions};
use ove::text::{Language, Text, TextOptions};
use ove::train::{Event, FitStart};
use ove::{Dataset, Error, Labels, Model, Scores, TrainOptions, evaluate, fit_with, with_threads};
use serde_json::{Value, json};

use crate::fitted::options;

const TOPICS: [&str; 4] = ["garden", "engine", "painter", "harbour"];

/// Texts of a topic, whose word occurs in several forms, among words that say nothing; the first of two labels is the
/// topic.
fn texts(rows: usize) -> (Vec<String>, Vec<u32>) {
    let mut random = ove::platform::random::Stream::of(&[17]);
    let endings = ["", "s", "ing", "ed"];
    let text = |topic: &u32| {
        let word = TOPICS[*topic as usize];
        let ending = endings[random.below(4) as usize];
        let mut other = || 7919 * (1 + random.below(300));
        format!("the {word}{ending} of {} and {}", other(), other())
    };
    let topics: Vec<u32> = (0..rows as u32).map(|n| n % 4).collect();
    (topics.iter().map(text).collect(), topics)
}

fn rows_of(rows: usize, options: &TextOptions) -> (Text, Dataset) {
    let (texts, topics) = texts(rows);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (text, mut data) = Text::fit(options, &texts).unwrap();
    data.classes = TOPICS.map(str::to_owned).to_vec();
    data.labels = Labels::single(topics);
    (text, data)
}

fn fitted(rows: usize, settings: Value) -> (Model, Vec<TrainOptions>) {
    let given = options(settings);
    let (text, data) = rows_of(rows, &given.text());
    let mut compared = Vec::new();
    let mut watch = |event: Event<'_>| {
        if let Event::Compared(all) = event {
            compared = all.iter().map(|one| one.options.clone()).collect();
        }
        ControlFlow::Continue(())
    };
    let start = FitStart { text: Some(text), ..FitStart::default() };
    (fit_with(&data, &given, start, &mut watch).unwrap(), compared)
}

fn trees_of(options: &TrainOptions) -> &TreeOptions {
    let Some(ScoreOptions::Trees(trees)) = &options.scores else { panic!("trees") };
    trees
}

/// Texts in which all kinds are scaled to the same length.
#[test]
fn each_kind_of_terms_has_the_same_length() {
    let (text, data) = rows_of(200, &options(json!({ "effort": "best" })).text());
    assert_eq!((text.options().stem, text.options().ngrams), (Some(Language::English), 2), "the language is found");
    assert!(text.options().chars.is_some() && text.options().apart);
    for row in data.rows().iter(0..200) {
        for &kind in Kind::ALL {
            let own = row.indices.iter().zip(row.values).filter(|(d, _)| text.kinds()[**d as usize] == kind);
            let square: f32 = own.map(|(_, value)| value * value).sum();
            assert!((square - 0.25).abs() < 1e-5, "{kind}: {square}");
        }
    }
    let long = "the history of a city and its people ".repeat(20);
    let (text, _) = Text::fit(text.options(), &[&long, &long]).unwrap();
    assert!(text.kinds().contains(&Kind::Chars), "what is given stays");
    let best = options(json!({ "effort": "best" })).text();
    let (text, _) = Text::fit(&best, &[&long, &long]).unwrap();
    assert!(!text.kinds().contains(&Kind::Chars), "not for long texts");
    let (text, _) = Text::fit(&TextOptions { hash: Some(50), ..best }, &[&long, &long]).unwrap();
    assert!(text.kinds().is_empty() && !text.options().apart, "hashed terms have no kinds");
}

#[test]
fn a_tree_has_weights_for_its_view_alone() {
    for kind in [Kind::Words, Kind::Stems] {
        let settings = json!({ "trees": 1, "epochs": 3, "rivals": 0, "views": [kind.name()] });
        let (text, data) =
            rows_of(400, &TextOptions { stem: Some(Language::English), ..options(settings.clone()).text() });
        let start = || FitStart { text: Some(text.clone()), ..FitStart::default() };
        let train =
            || fit_with(&data, &options(settings.clone()), start(), &mut |_| ControlFlow::Continue(())).unwrap();
        let model = with_threads(1, train).unwrap();
        let mut count = 0;
        for class in 0..4 {
            for (feature, _) in model.weights_of(class) {
                assert_eq!(text.kinds()[feature as usize], kind);
                count += 1;
            }
        }
        assert!(count >= 4 && evaluate(&model, data.rows(), &data.labels).unwrap().error < 0.02);
        assert_eq!(with_threads(3, train).unwrap(), model);
        assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap(), model);
        assert_eq!(trees_of(&model.card.options).views, [View::of(&[kind])]);
    }
}

#[test]
fn the_best_effort_compares_views_and_trains_a_larger_forest() {
    let (model, compared) = fitted(600, json!({ "effort": "best" }));
    let views: Vec<usize> = compared.iter().map(|options| trees_of(options).views.len()).collect();
    assert_eq!(views, [3, 3, 0, 3]);
    let trees = trees_of(&model.card.options);
    assert_eq!((trees.trees, trees.rivals, model.card.options.effort), (9, 20, Effort::Best));
    let Scores::Trees(_) = &model.scores else { panic!("trees") };
    // With settings of trees, nothing is compared, and trees have views.
    let (model, compared) = fitted(600, json!({ "effort": "best", "trees": 2, "epochs": 2 }));
    assert!(compared.is_empty() && trees_of(&model.card.options).views.len() == 3);
    assert_eq!(trees_of(&model.card.options).trees, 2);
}

#[test]
fn the_fast_effort_compares_nothing() {
    let (model, compared) = fitted(600, json!({ "effort": "fast" }));
    assert!(compared.is_empty());
    assert_eq!((trees_of(&model.card.options).trees, trees_of(&model.card.options).rivals), (3, 0));
    assert!(!fitted(600, json!({})).1.is_empty());
}

#[test]
fn settings_that_nothing_uses_are_refused() {
    let refused = |settings| TrainOptions::from_settings(&settings).unwrap_err().to_string();
    let of_trees = "is a setting of trees, which linear scores do not use";
    assert_eq!(refused(json!({ "effort": "best", "scores": "linear" })), format!("`effort` {of_trees}"));
    assert_eq!(refused(json!({ "views": ["words"], "scores": "linear" })), format!("`views` {of_trees}"));
    assert_eq!(refused(json!({ "effort": "most" })), "`effort` must be one of fast, default, best, got `most`");
    let unknown = refused(json!({ "views": ["words+verbs"] }));
    assert_eq!(unknown, "`views` must be one of words, ngrams, stems, chars, got `verbs`");
    let (_, data) = rows_of(100, &TextOptions::default());
    let given = options(json!({ "views": ["words"] }));
    let found = fit_with(&data, &given, FitStart::default(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(&found, Error::Setting { .. }), "{found}");
    assert_eq!(
        found.to_string(),
        "`views` must be left out for rows whose features are not terms of a vocabulary, got words"
    );
}
