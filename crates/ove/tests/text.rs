//! Texts to rows: the vocabulary, the weights, and the same rows however the work is cut.

use std::collections::{BTreeMap, BTreeSet};

use ove::Dataset;
use ove::text::{CharRange, Language, Names, Text, TextOptions};
use proptest::prelude::*;

const TEXTS: [&str; 4] = ["The cat sat on the mat.", "the dog sat", "", "Cat & dog: the END"];

fn names(text: &Text) -> Vec<&str> {
    text.names().iter().collect()
}

/// Each row as features and values.
fn rows(data: &Dataset) -> Vec<(Vec<u32>, Vec<f32>)> {
    data.rows().iter(0..data.len()).map(|row| (row.indices.to_vec(), row.values.to_vec())).collect()
}

fn words(min_df: u32) -> TextOptions {
    TextOptions { min_df, ..TextOptions::default() }
}

#[test]
fn frequent_terms_come_first_and_rare_ones_not_at_all() {
    let (text, data) = Text::fit(&words(2), &TEXTS).unwrap();
    assert_eq!(names(&text), ["the", "cat", "dog", "sat"]);
    assert_eq!((data.len(), data.features(), data.rows().entries()), (4, 4, 9));
    let (text, _) = Text::fit(&TextOptions { ngrams: 3, ..words(1) }, &TEXTS).unwrap();
    assert_eq!(names(&text)[..6], ["the", "cat", "dog", "sat", "cat dog", "cat dog the"]);
    assert!(names(&text).contains(&"sat on the"));
}

#[test]
fn weights_by_hand() {
    // The first row has `the` twice, `cat` and `sat`, of four texts with `the` in three and the others in two.
    let (rare, common) = ((5f64 / 3.0).ln() + 1.0, (5f64 / 4.0).ln() + 1.0);
    for (sublinear_tf, idf, expected) in [
        (false, true, [2.0 * common, rare, rare]),
        (true, true, [(1.0 + 2f64.ln()) * common, rare, rare]),
        (false, false, [2.0, 1.0, 1.0]),
    ] {
        let (_, data) = Text::fit(&TextOptions { sublinear_tf, idf, ..words(2) }, &TEXTS).unwrap();
        let row = data.rows().row(0);
        assert_eq!(row.indices, [0, 1, 3]);
        let length = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        for (found, expected) in row.values.iter().zip(expected) {
            assert!((f64::from(*found) - expected / length).abs() < 1e-7, "{:?}, {expected}", row.values);
        }
        assert!(data.rows().row(2).indices.is_empty());
    }
}

#[test]
fn terms_outside_the_vocabulary_are_absent() {
    let (text, _) =
        Text::fit(&TextOptions { ngrams: 2, ..words(2) }, &["big cat", "big cat", "dog cat", "dog"]).unwrap();
    assert_eq!(names(&text), ["cat", "big", "big cat", "dog"]);
    let data = text.rows(&["a new dog", "BIG new cat", "nothing", ""]);
    let features: Vec<Vec<u32>> = rows(&data).into_iter().map(|row| row.0).collect();
    assert_eq!(features, [vec![3], vec![0, 1], vec![], vec![]]);
    assert_eq!(data.features(), 4);
}

/// Alone, with words, hashed, from the names in a file, and grown by more texts.
#[test]
fn characters_are_terms_like_words() {
    let chars = Some(CharRange { shortest: 3, longest: 3 });
    let alone = TextOptions { ngrams: 0, chars, ..words(2) };
    let (text, data) = Text::fit(&alone, &["the cat", "a cat, the", "cats"]).unwrap();
    assert_eq!(names(&text), ["\" ca\"", "\"cat\"", "\" th\"", "\"he \"", "\"the\""]);
    assert_eq!(rows(&data)[2].0, [0, 1]);

    let both = TextOptions { chars, ..words(2) };
    let (text, data) = Text::fit(&both, &["the cat", "a cat, the", "cats"]).unwrap();
    assert_eq!(names(&text), ["\" ca\"", "\"cat\"", "\" th\"", "\"he \"", "\"the\"", "cat", "the"]);
    assert_eq!(rows(&text.rows(&["THE"]))[0].0, [2, 3, 4, 6]);
    let again = Text::new(both, text.names().clone(), text.idf().to_vec()).unwrap();
    assert_eq!(rows(&again.rows(&["the cat", "a cat, the", "cats"])), rows(&data));
    let more = text.extended(&["the dog", "dogs"]).unwrap();
    assert_eq!(names(&more)[7..], ["\" do\"", "\"dog\""]);

    let hashed = TextOptions { hash: Some(1 << 20), ..both };
    let (text, data) = Text::fit(&hashed, &["cat xcatx"]).unwrap();
    // The word, and the n-gram, which has its own feature: " ca", "cat" twice, "at ", " xc", "xca", "atx", "tx ".
    assert_eq!(data.rows().row(0).indices.len(), 9);
    assert_eq!(rows(&text.rows(&["cat xcatx"])), rows(&data));
}

#[test]
fn hashed_features_need_no_vocabulary() {
    let options = TextOptions { hash: Some(1000), ngrams: 2, ..TextOptions::default() };
    let (text, data) = Text::fit(&options, &TEXTS).unwrap();
    assert!(text.names().is_empty() && text.len() == 1000 && data.features() == 1000);
    assert_eq!(rows(&data), rows(&text.rows(&TEXTS)));
    assert_eq!(data.rows().row(1).indices.len(), 5);
}

#[test]
fn a_text_is_its_settings_names_and_weights() {
    let options = TextOptions { ngrams: 2, ..words(1) };
    let (text, data) = Text::fit(&options, &TEXTS).unwrap();
    let names = Names::from_lines(text.names().lines().to_owned());
    let again = Text::new(options, names, text.idf().to_vec()).unwrap();
    assert!(again == text);
    assert_eq!(rows(&data), rows(&again.rows(&TEXTS)));
    let error = Text::new(options, text.names().clone(), Vec::new()).unwrap_err().to_string();
    assert_eq!(error, "0 weights for 17 terms do not match the text settings, which need 17");
}

#[test]
fn settings_out_of_range() {
    for (options, message) in [
        (TextOptions { ngrams: 0, ..words(1) }, "`ngrams` must be at least 1, got 0"),
        (words(0), "`min-df` must be at least 1, got 0"),
        (TextOptions { hash: Some(0), ..words(1) }, "`hash` must be at least 1, got 0"),
        (words(4), "`min-df` must be at most the number of texts that some term occurs in, got 4"),
        (TextOptions { ngrams: 17, ..words(1) }, "`ngrams` must be at most 16, got 17"),
        (
            TextOptions { chars: Some(CharRange { shortest: 5, longest: 3 }), ..words(1) },
            "`chars` must be the shortest and the longest length, from 1 to 16, such as 3-5, got 5-3",
        ),
    ] {
        assert_eq!(Text::fit(&options, &TEXTS).unwrap_err().to_string(), message);
    }
}

/// In how many texts each word stands, the most frequent first, as long as it is at least `min_df`.
fn frequencies<'a>(texts: &[&'a str], min_df: usize) -> Vec<(&'a str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        for word in text.split_whitespace().collect::<BTreeSet<_>>() {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().filter(|&(_, count)| count >= min_df).collect();
    counts.sort_by_key(|&(word, count)| (std::cmp::Reverse(count), word));
    counts
}

/// Several chunks, whose terms are merged.
#[test]
fn large_sets_are_counted_whole_and_the_same_for_any_threads() {
    let mut stream = ove::platform::random::Stream::of(&[7]);
    let mut word = || {
        let bits = stream.below(15);
        format!("w{} ", stream.below(1 << bits))
    };
    let text = |_| (0..200).map(|_| word()).collect::<String>();
    let texts: Vec<String> = (0..12_000).map(text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let expected = frequencies(&texts, 30);
    let (text, _) = Text::fit(&words(30), &texts).unwrap();
    assert_eq!(names(&text), expected.iter().map(|&(word, _)| word).collect::<Vec<_>>());
    let idf = |&(_, count): &(&str, usize)| ((12_001.0 / (1.0 + count as f64)).ln() + 1.0) as f32;
    assert_eq!(text.idf(), expected.iter().map(idf).collect::<Vec<_>>());

    let options = TextOptions { ngrams: 2, ..words(3) };
    let with = |threads| ove::with_threads(threads, || Text::fit(&options, &texts).unwrap()).unwrap();
    let ((one, data), (two, again)) = (with(1), with(2));
    assert!(one == two && rows(&data) == rows(&again) && rows(&data) == rows(&one.rows(&texts)));
}

proptest! {
    #[test]
    fn together_is_one_by_one(
        texts in prop::collection::vec("[a-cé_\u{301}İΣ1 .\t]{0,30}|\\PC{0,20}", 1..8),
        ngrams in 1usize..4,
        chars in prop::option::of((1usize..4, 0usize..3)),
        hash in prop::option::of(1u32..50),
        tokens: bool,
        sublinear_tf: bool,
        idf: bool,
    ) {
        let chars = chars.map(|(shortest, more)| CharRange { shortest, longest: shortest + more });
        let stem = tokens.then_some(Language::Finnish);
        let options = TextOptions { ngrams, chars, stem, apart: false, tokens, min_df: 1, hash, sublinear_tf, idf };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let Ok((text, data)) = Text::fit(&options, &texts) else { return Ok(()) };
        for (n, one) in texts.iter().enumerate() {
            let alone = text.rows(&[one]);
            prop_assert_eq!(&rows(&alone)[0], &rows(&data)[n]);
        }
        // Every row is of unit length, and every feature of the vocabulary stands somewhere.
        for (_, values) in rows(&data).iter().filter(|(features, _)| !features.is_empty()) {
            prop_assert!((values.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5);
        }
        let used: BTreeSet<u32> = rows(&data).into_iter().flat_map(|row| row.0).collect();
        prop_assert!(hash.is_some() || used.len() == text.len());
    }
}
