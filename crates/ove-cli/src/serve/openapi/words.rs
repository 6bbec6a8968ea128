//! The OpenAPI description of the server of word vectors.

use serde_json::{Value, json};

use super::{counted, document, gets, list, object, query};
use crate::serve::routes::MOST_LISTED;
use crate::serve::words::{ServedWords, TOP};

/// OpenAPI 3.1, with or without a token.
pub fn describe(served: &ServedWords, token: bool) -> Value {
    let word = json!({ "type": "string" });
    let number = json!({ "type": "number" });
    let place = json!({ "type": "array", "items": number, "minItems": 2, "maxItems": 2 });
    let found = object(
        &[
            ("words", list(&word)),
            ("scores", list(&json!({ "type": "number", "minimum": -1.00001, "maximum": 1.00001 }))),
            (
                "map",
                json!({
                    "type": "array",
                    "items": place,
                    "description": "Places in the plane, the first two principal components: of the words that were asked for, \
                                    and then of those that were found.",
                }),
            ),
        ],
        3,
    );
    let trained = object(
        &[
            ("options", json!({ "type": ["object", "null"] })),
            ("text_words", counted()),
            ("finished", json!({ "type": "boolean" })),
        ],
        3,
    );
    let model = object(
        &[
            ("name", json!({ "type": "string", "description": "The name of the file." })),
            ("words", counted()),
            ("rank", counted()),
            ("examples", list(&word)),
            ("trained", json!({ "oneOf": [trained, { "type": "null" }] })),
        ],
        5,
    );
    let examples = served.examples();
    let asks = |name: &str, what: &str, at: usize| {
        let mut parameter = query(name, what, word.clone());
        parameter["required"] = true.into();
        parameter["example"] = examples[at % examples.len()].into();
        parameter
    };
    let most = |name: &str, default: usize| {
        let schema = json!({ "type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": default });
        query(name, "Number of words.", schema)
    };
    let listed = object(&[("words", list(&word)), ("total", counted())], 2);
    let with_404 = |mut operation: Value| {
        operation["responses"]["404"] = super::error("There is no vector of such a word.");
        operation
    };
    let is_json = "application/json";
    let paths = json!({
        "/similar": { "get": with_404(gets(
            "similar",
            "The words whose vectors have the largest cosine with that of a word",
            json!([asks("word", "The word.", 0), most("top", TOP)]),
            is_json,
            found.clone(),
        )) },
        "/analogy": { "get": with_404(gets(
            "analogy",
            "The words to which c is as a is to b: those most similar to b − a + c",
            json!([
                asks("a", "The first word.", 0),
                asks("b", "What it is to the second.", 1),
                asks("c", "The word to which the answer is the same.", 2),
                most("top", TOP),
            ]),
            is_json,
            found,
        )) },
        "/words": { "get": gets(
            "words",
            "Words that start with a text, the most frequent first",
            json!([query("prefix", "The start of the words.", word.clone()), most("limit", 20)]),
            is_json,
            listed,
        ) },
        "/model": { "get": gets("model", "The words, and how their vectors were trained", json!([]), is_json, model) },
    });
    let what = format!("Vectors of {} words.", served.len());
    document(&what, "words", paths, token)
}
