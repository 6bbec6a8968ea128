//! Embeddings: what they learn, same bits for any number of threads, resume, files, and input that is not text.

use std::fs;
use std::ops::ControlFlow;

use ove::bound::EmbeddingObjective;
use ove::io::vectors::{self, VectorFormat};
use ove::io::{Corpus, Sentences};
use ove::model::WordVectors;
use ove::options::EmbeddingOptions;
use ove::platform::random::Stream;
use ove::train::{EmbeddingEvent, EmbeddingTraining, Stop, fit_embedding};
use ove::{Error, Model, with_threads};
use serde_json::{Value, json};

/// Sentences about what lies in a row and a column of a table: the cell, a word of its row and one of its column, as a
/// capital goes with capitals and with its country.
fn table(rows: u64, columns: u64, sentences: usize) -> Vec<Vec<String>> {
    let mut random = Stream::of(&[5]);
    (0..sentences)
        .map(|_| {
            let (row, column) = (random.below(rows), random.below(columns));
            let cell = format!("cell{row}x{column}");
            let of_row = format!("row{row}.{}", random.below(4));
            let of_column = format!("column{column}.{}", random.below(4));
            let mut words = vec![cell, of_row, of_column];
            random.shuffle(&mut words);
            words
        })
        .collect()
}

fn corpus(sentences: &[Vec<String>]) -> Corpus {
    Corpus::Sentences(Sentences::of(sentences))
}

fn options(changes: Value) -> EmbeddingOptions {
    let mut settings = json!({ "rank": 16, "sample": 0.0, "min_count": 1, "learning_rate": 0.1 });
    changes.as_object().unwrap().iter().for_each(|(name, value)| settings[name] = value.clone());
    EmbeddingOptions::from_settings(&settings).unwrap()
}

fn trained(corpus: Corpus, options: &EmbeddingOptions) -> Model {
    fit_embedding(corpus, options, None, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Analogies between the cells of a table: a1 is to b1 as a2 is to b2.
fn questions(rows: usize, columns: usize) -> String {
    let mut text = String::from(": cells\n");
    for (row, other) in (0..rows).flat_map(|row| (0..rows).map(move |other| (row, other))).filter(|(a, b)| a != b) {
        for (column, next) in (0..columns).map(|column| (column, (column + 1) % columns)) {
            let line = format!("cell{row}x{column} cell{other}x{column} cell{row}x{next} CELL{other}x{next}\n");
            text.push_str(&line);
        }
    }
    text
}

#[test]
fn analogies_hold_where_the_text_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("questions.txt");
    fs::write(&path, questions(2, 12)).unwrap();
    let sentences = table(2, 12, 3000);
    for objective in EmbeddingObjective::ALL {
        let model = trained(corpus(&sentences), &options(json!({ "objective": objective.name(), "epochs": 20 })));
        let vectors = model.word_vectors().unwrap();
        let found = vectors.analogies(&path, None).unwrap();
        let total = found.total();
        assert_eq!((total.covered, total.questions, found.syntactic().questions), (24, 24, 0));
        assert!(total.accuracy() > 0.8, "{objective}: {total:?}");
        // A cell and what it is seen with have other neighbours; the cells of a column have the same.
        let near = vectors.similarity("cell0x3", "cell1x3").unwrap();
        let far = vectors.similarity("cell0x3", "cell1x7").unwrap();
        assert!(near > far, "{objective}: {near} {far}");
    }
}

#[test]
fn two_topics_are_two_groups() {
    let mut random = Stream::of(&[9]);
    let sentence = |random: &mut Stream| {
        let topic = if random.below(2) == 0 { "sea" } else { "sky" };
        (0..8).map(|_| format!("{topic}{}", random.below(30))).collect::<Vec<_>>()
    };
    let sentences: Vec<Vec<String>> = (0..1500).map(|_| sentence(&mut random)).collect();
    for changes in [json!({}), json!({ "cbow": true }), json!({ "subwords": [3, 4], "buckets": 500 })] {
        let vectors = trained(corpus(&sentences), &options(changes.clone())).word_vectors().unwrap();
        for word in ["sea3", "sky7"] {
            let found = vectors.most_similar(&[word], &[], 10).unwrap();
            let own = found.iter().filter(|one| vectors.words()[one.word as usize].starts_with(&word[..3])).count();
            assert!(own >= 9, "{changes}: {own} of 10 are of the topic of {word}");
            assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }
        // Without n-grams an unknown word has no vector; with them it has that of its n-grams.
        assert_eq!(vectors.get("sea99").is_some(), changes["subwords"].is_array(), "{changes}");
        if let Ok(score) = vectors.similarity("sea99", "sea3") {
            assert!(score > vectors.similarity("sea99", "sky3").unwrap());
        }
    }
}

fn kinds() -> [EmbeddingOptions; 5] {
    [
        json!({ "sample": 0.01 }),
        json!({ "objective": "normalised", "negatives": 7 }),
        json!({ "objective": "one-vs-each", "cbow": true }),
        json!({ "objective": "negative-sampling", "subwords": [3, 5], "buckets": 100 }),
        json!({ "rank": 5, "window": 1, "seed": 3 }),
    ]
    .map(|mut changes| {
        changes["epochs"] = 2.into();
        options(changes)
    })
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let sentences = table(3, 20, 3000);
    for options in kinds() {
        let of = |threads| with_threads(threads, || trained(corpus(&sentences), &options).to_bytes()).unwrap();
        let one = of(1);
        assert!([2, 3, 7].into_iter().all(|threads| of(threads) == one), "{options:?}");
    }
}

/// Pieces of a file are cut at blanks, and steps are pieces.
fn file_of(folder: &tempfile::TempDir, words: usize) -> Corpus {
    let mut random = Stream::of(&[11]);
    let text: String =
        (0..words).map(|n| format!("w{}{}", random.below(40), if n % 50 == 49 { "\n" } else { " " })).collect();
    let path = folder.path().join("text.txt");
    fs::write(&path, text).unwrap();
    Corpus::File(path)
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = file_of(&folder, 100_000);
    for options in
        [&kinds()[1], &kinds()[2], &kinds()[3]].map(|kind| EmbeddingOptions::from_settings(&small(kind)).unwrap())
    {
        let mut whole = EmbeddingTraining::new(corpus.clone(), &options).unwrap();
        let (mut steps, mut state) = (0, None);
        while whole.step().unwrap().is_some() {
            steps += 1;
            if steps == 3 {
                state = Some(whole.state());
            }
        }
        assert!(steps == 4, "{steps} steps");
        let mut resumed = EmbeddingTraining::new(corpus.clone(), &options).unwrap();
        resumed.restore(&state.unwrap()).unwrap();
        while resumed.step().unwrap().is_some() {}
        assert!(resumed.finish().unwrap().to_bytes() == whole.finish().unwrap().to_bytes(), "{options:?}");
    }
}

/// The settings, for a run on many words.
fn small(options: &EmbeddingOptions) -> Value {
    let mut settings = serde_json::to_value(options).unwrap();
    settings["rank"] = 4.into();
    settings
}

#[test]
fn a_state_belongs_to_its_text_and_settings() {
    let sentences = table(2, 5, 300);
    let start =
        |sentences: &[Vec<String>], changes| EmbeddingTraining::new(corpus(sentences), &options(changes)).unwrap();
    let state = start(&sentences, json!({})).state();
    let error = |mut other: EmbeddingTraining| other.restore(&state).unwrap_err().to_string();
    assert_eq!(error(start(&sentences, json!({ "window": 2 }))), "`window` is 2; the checkpoint was written with 5");
    assert!(error(start(&sentences[1..], json!({}))).contains("rows"));
}

#[test]
fn stopping_keeps_or_discards() {
    let sentences = table(2, 5, 300);
    let stopped = |stop| {
        fit_embedding(corpus(&sentences), &options(json!({})), None, &mut |event| match event {
            EmbeddingEvent::Step { .. } => ControlFlow::Break(stop),
            _ => ControlFlow::Continue(()),
        })
    };
    assert!(!stopped(Stop::Keep).unwrap().card.finished);
    assert!(matches!(stopped(Stop::Discard), Err(Error::Stopped)));
}

#[test]
fn a_model_file_keeps_the_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.model");
    for options in kinds() {
        let model = trained(corpus(&table(2, 6, 500)), &options);
        model.save(&path).unwrap();
        let read = Model::load(&path).unwrap();
        assert_eq!(read, model);
        assert_eq!(WordVectors::open(&path).unwrap().vectors(), model.word_vectors().unwrap().vectors());
    }
    // The file of a model without the list of n-grams that its vectors need.
    let mut model = trained(corpus(&table(2, 6, 500)), &kinds()[3]);
    model.card.embedding.as_mut().unwrap().buckets.pop();
    let error = Model::from_bytes(&model.to_bytes()).unwrap_err().to_string();
    assert!(error.contains("n-grams"), "{error}");
}

#[test]
fn forms_of_others_are_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    let words = ["the", "naïve", "日本", "1,5"].map(str::to_owned).to_vec();
    let numbers: Vec<f32> = (0..12).map(|n| (n as f32 - 5.5) / 3.0).chain([0.0, -0.0, 1e-30, 1e30]).collect();
    let expected = WordVectors::new(words, 4, numbers.clone()).unwrap();
    for format in VectorFormat::ALL {
        expected.export(&path, *format).unwrap();
        let found = WordVectors::open(&path).unwrap();
        assert_eq!((found.words(), found.rank()), (expected.words(), 4), "{format}");
        assert!(found.vectors().iter().map(|x| x.to_bits()).eq(numbers.iter().map(|x| x.to_bits())), "{format}");
    }
    let blank = vectors::write(&path, VectorFormat::Glove, &["a b".to_owned()], 1, &[1.0]).unwrap_err();
    assert_eq!(blank.to_string(), "the word `a b` is empty or contains a blank, which glove cannot hold");
    for (content, message) in [
        (&b""[..], "vectors:1:1: expected words and their vectors, found an empty file"),
        (b"the 1 2\nof 1\n", "vectors:2:1: expected a word and 2 numbers, found 1 numbers"),
        (b"the 1 nan\n", "vectors:1:1: expected a finite number, found `nan`"),
        (b"3 2\nthe 1 2\nof 1 2\n", "vectors:3:1: the first line says 3 words; the file has 2"),
        (b"2 1\nthe \x00\x00\x80\x3fof \x00\x00", "vectors:3:1: the file ends within word 2 of 2"),
        (b"0 0\n", "vectors:1:1: expected words and numbers per word, found 0 and 0"),
        (b"the 1\nthe 2\n", "the word `the` is there twice"),
        (b"\xff\xfe\x00", "vectors:1:1: expected UTF-8"),
    ] {
        fs::write(&path, content).unwrap();
        let error = WordVectors::open(&path).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}, not {message}");
    }
}

#[test]
fn what_is_not_text_is_refused_and_what_is_odd_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    let fit = |content: &[u8], changes| {
        fs::write(&path, content).unwrap();
        let corpus = Corpus::File(path.clone());
        fit_embedding(corpus, &options(changes), None, &mut |_| ControlFlow::Continue(()))
    };
    for content in [&b""[..], b" \n\n\t ", b"\n"] {
        let error = fit(content, json!({})).unwrap_err().to_string();
        assert_eq!(error, "no word of the text occurs `min-count` = 1 times; lower it, or give a longer text");
    }
    let error = fit(b"a b\nc \xff d", json!({})).unwrap_err().to_string();
    assert!(error.ends_with("text:2:3: expected UTF-8, found byte 0xff"), "{error}");
    // One word; no pair at all; a line of a megabyte; a word of half a megabyte; other ends of lines; no end of line.
    let long = "never ending line of words ".repeat(40_000);
    let word = format!("{} a b {}", "x".repeat(500_000), "a b ".repeat(10));
    for content in ["word", "a\nb\nc", &long, &word, "a b\r\nb a\r\n", "a b a b"] {
        let model = fit(content.as_bytes(), json!({ "epochs": 1, "rank": 3 })).unwrap();
        assert!(model.classes() > 0);
    }
    // Nothing that repeats two words for ever makes numbers overflow.
    let model = fit("a b ".repeat(5_000).as_bytes(), json!({ "learning_rate": 0.5 })).unwrap();
    assert!(model.word_vectors().unwrap().vectors().iter().all(|x| x.is_finite()));
    let missing = Corpus::File(folder.path().join("none"));
    assert!(matches!(EmbeddingTraining::new(missing, &options(json!({}))), Err(Error::File { .. })));
}

#[test]
fn settings_are_checked() {
    for (settings, message) in [
        (json!({ "window": 0 }), "`window` must be at least 1, got 0"),
        (json!({ "window": 101 }), "`window` must be at most 100, got 101"),
        (json!({ "sample": -1.0 }), "`sample` must be a number of at least 0, got -1"),
        (json!({ "windows": 3 }), "`windows` is not a setting of embeddings"),
        (
            json!({ "objective": "softmax" }),
            "`objective` must be one of one-vs-each, sampled-softmax, normalised, negative-sampling, got `softmax`",
        ),
    ] {
        let error = EmbeddingOptions::from_settings(&settings).unwrap_err().to_string();
        assert_eq!(error, message);
    }
    let small = EmbeddingOptions::from_settings(&json!({ "memory": "1MB", "min_count": 1 })).unwrap();
    let Err(error) = EmbeddingTraining::new(corpus(&table(30, 30, 5000)), &small) else { panic!("1 MB is not enough") };
    assert!(error.to_string().contains("`memory` allows"), "{error}");
}

/// Before the first step all scores are zero: the objective is that of equal chances.
#[test]
fn the_objective_is_reported_per_neighbour() {
    let sentences = table(2, 8, 400);
    let mut training = EmbeddingTraining::new(corpus(&sentences), &options(json!({ "learning_rate": 1e-9 }))).unwrap();
    let progress = training.step().unwrap().unwrap();
    let found = progress.bound.unwrap() / training.tokens() as f64;
    assert!((found + 6f64.ln()).abs() < 1e-4, "{found}");
}
