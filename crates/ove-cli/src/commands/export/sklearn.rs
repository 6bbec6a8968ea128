//! A model of texts as a pickled `Pipeline` of scikit-learn: `TfidfVectorizer`, then `LogisticRegression`.
//!
//! Both compute what the model computes, from the same numbers: tf-idf rows of unit length, and a softmax of linear
//! scores. Where they cannot, the model is refused. One thing differs: a text without a known word has the prior of the
//! classes here, and the softmax of the biases there.

use std::fmt::Write;

use anyhow::{Result, bail};
use ove::text::{Text, TextOptions};
use ove::{Model, Scores};
use unicode_general_category::{GeneralCategory, get_general_category};

use super::pickle::*;

/// The pickle of a model.
pub fn pickled(model: &Model) -> Result<Vec<u8>> {
    let card = &model.card;
    let Some(text) = &card.text else {
        bail!("`--format sklearn` must be for a model of texts; for one of rows of numbers, see `--format onnx`");
    };
    if let Some(reason) = why_not(model, text.options()) {
        bail!("`--format sklearn` must be exact, which it is not for {reason}; see `--format onnx`");
    }
    let steps = list([
        &tuple([&self::text("vectorizer"), &vectorizer(text)]),
        &tuple([&self::text("classifier"), &classifier(model)]),
    ]);
    Ok(pickle(&call(&global("sklearn.pipeline", "Pipeline"), [&steps])))
}

/// What there is no exact form of.
fn why_not(model: &Model, options: &TextOptions) -> Option<&'static str> {
    match &model.scores {
        Scores::Trees(_) => return Some("trees, whose probabilities are no softmax of linear scores"),
        Scores::Factored(_) => return Some("factored scores"),
        _ if model.scores.linear().is_none_or(|linear| linear.is_hashed()) => return Some("hashed weights"),
        _ => {}
    }
    [
        (model.several_labels().is_some(), "rows with several labels, whose probabilities are no softmax"),
        (model.classes() < 2, "a single class"),
        (options.hash.is_some(), "hashed features"),
        (options.stem.is_some(), "stems"),
        (options.apart, "kinds of terms that are kept apart"),
        (options.chars.is_some() && options.ngrams > 0, "words together with n-grams of characters"),
    ]
    .into_iter()
    .find_map(|(holds, what)| holds.then_some(what))
}

fn vectorizer(of: &Text) -> Object {
    let options = of.options();
    let lengths = options.chars.map_or((1, options.ngrams), |chars| (chars.shortest, chars.longest));
    // The name of an n-gram of characters stands in quotation marks.
    let quotes = usize::from(options.chars.is_some());
    let terms = of.names().iter().map(|name| &name[quotes..name.len() - quotes]);
    let vocabulary = terms.zip(0..).map(|(term, feature)| (term, int(feature)));
    let mut arguments = vec![
        ("vocabulary", dict(vocabulary)),
        ("ngram_range", tuple([&int(lengths.0 as i64), &int(lengths.1 as i64)])),
        ("sublinear_tf", truth(options.sublinear_tf)),
        ("lowercase", truth(!options.tokens)),
    ];
    if options.chars.is_some() {
        arguments.push(("analyzer", text("char_wb")));
    } else if options.tokens {
        let split = call(&global("builtins", "getattr"), [&global("builtins", "str"), &text("split")]);
        arguments.extend([("tokenizer", split), ("token_pattern", none())]);
    } else {
        arguments.push(("token_pattern", text(&pattern_of_words())));
    }
    let made = call_named(&global("sklearn.feature_extraction.text", "TfidfVectorizer"), arguments);
    // Without idf, every term has the same weight.
    let idf = if of.idf().is_empty() { vec![1.0; of.len()] } else { of.idf().to_vec() };
    with_attributes(&made, [("idf_", array(&idf))])
}

/// A word is at least two letters, digits, underscores and combining marks, and starts with none of these. Python
/// leaves marks out of `\w`, so they are all listed.
fn pattern_of_words() -> String {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    let is_mark = |c: char| matches!(get_general_category(c), NonspacingMark | SpacingMark | EnclosingMark);
    let marks: Vec<u32> = ('\u{300}'..=char::MAX).filter(|&c| is_mark(c)).map(u32::from).collect();
    let mut pattern = String::from(r"\w[\w");
    for run in marks.chunk_by(|a, b| a + 1 == *b) {
        let _ = write!(pattern, r"\U{:08x}-\U{:08x}", run[0], run[run.len() - 1]);
    }
    pattern + "]+"
}

/// Classes in the order of their names, as scikit-learn has them; of two, the score of the second less that of the
/// first.
fn classifier(model: &Model) -> Object {
    let (linear, names) = (model.scores.linear().expect("linear scores"), &model.card.classes);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&class| &names[class]);
    let (features, classes, table) = (linear.features(), names.len(), linear.table());
    let of_class = |of: usize| (0..features).map(move |feature| f64::from(table[feature * classes + of]));
    let bias = |of: usize| f64::from(linear.bias()[of]);
    let (weights, biases): (Vec<f64>, Vec<f64>) = match order[..] {
        [a, b] => (of_class(b).zip(of_class(a)).map(|(b, a)| b - a).collect(), vec![bias(b) - bias(a)]),
        _ => (order.iter().flat_map(|&of| of_class(of)).collect(), order.iter().map(|&of| bias(of)).collect()),
    };
    let shape = tuple([&int(biases.len() as i64), &int(features as i64)]);
    let names: Vec<Object> = order.iter().map(|&class| text(&names[class])).collect();
    with_attributes(
        &call(&global("sklearn.linear_model", "LogisticRegression"), []),
        [
            ("classes_", call(&global("numpy", "array"), [&list(&names)])),
            ("coef_", call(&global("numpy", "reshape"), [&array(&weights), &shape])),
            ("intercept_", array(&biases)),
            ("n_features_in_", int(features as i64)),
        ],
    )
}

/// Numbers as an array of NumPy.
fn array<T: Copy + Into<f64>>(numbers: &[T]) -> Object {
    let raw: Vec<u8> = numbers.iter().flat_map(|&number| Into::<f64>::into(number).to_le_bytes()).collect();
    call(&global("numpy", "frombuffer"), [&bytes(&raw), &text("<f8")])
}
