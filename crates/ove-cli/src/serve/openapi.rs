//! The OpenAPI description of the server for its model: whether it accepts texts, and the names of its features.

pub mod recommend;
pub mod words;

use serde_json::{Value, json};

use super::annif;
use super::body::MOST_BYTES;
use super::request::{GREATEST, MOST_CLASSES, MOST_ROWS};
use super::routes::MOST_LISTED;
use super::served::{Keys, Served};

/// OpenAPI 3.1, with or without a token.
pub fn describe(served: &Served, token: bool) -> Value {
    let class = json!({ "type": "string", "description": "The label of a class, as in the training data." });
    let word = json!({ "type": "string", "description": "The name of a feature, or its number." });
    let number = json!({ "type": "number" });
    let count = counted();
    let weighed = object(&[("feature", word.clone()), ("index", count.clone()), ("weight", number.clone())], 3);
    let product = object(&[("feature", word), ("index", count.clone()), ("product", number.clone())], 3);
    let name = json!({ "type": "string", "description": "The display name of the class." });
    let of_class = object(&[("class", class.clone()), ("count", count.clone()), ("name", name.clone())], 2);
    let prediction = object(
        &[
            ("labels", list(&class)),
            ("probabilities", list(&json!({ "type": "number", "minimum": 0, "maximum": 1.000001 }))),
            (
                "known",
                described(
                    &count,
                    "How many features of the row the model knows; with 0, the classes do not depend on it.",
                ),
            ),
            ("names", list(&name)),
        ],
        3,
    );
    let explanation = object(
        &[
            ("class", class.clone()),
            ("count", count.clone()),
            ("rows", count.clone()),
            ("general", object(&[("for", list(&weighed)), ("against", list(&weighed))], 2)),
            ("rivals", list(&of_class)),
            ("bias", number),
            ("name", name),
            ("row", object(&[("for", list(&product)), ("against", list(&product))], 2)),
        ],
        5,
    );
    let model = object(
        &[
            ("name", json!({ "type": "string", "description": "The name of the model file." })),
            ("examples", list(&json!({ "type": "string", "description": "A training text." }))),
            ("classes", count.clone()),
            ("features", count.clone()),
            ("rows", count.clone()),
            ("finished", json!({ "type": "boolean" })),
            ("takes_texts", json!({ "type": "boolean" })),
            ("options", json!({ "type": "object" })),
            ("trace", json!({ "type": "array", "items": { "type": "object" } })),
            ("held_out", json!({ "type": "array", "items": { "type": "object" } })),
            ("evaluation", json!({ "type": ["object", "null"] })),
        ],
        11,
    );
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": 20 });
    let listed = object(&[("classes", list(&of_class)), ("total", count)], 2);
    let mut paths = json!({
        "/predict": { "post": posts(
            "predict",
            "The most probable classes of one or many rows",
            (predict(served), predict_examples(served)),
            &object(&[("predictions", list(&prediction))], 1),
            &[],
        ) },
        "/explain": { "post": posts(
            "explain",
            "The contribution w·x of each feature to the score of a class",
            (explain(served, &class), explain_examples(served)),
            &explanation,
            &[("404", "The model has no such class.")],
        ) },
        "/model": { "get": gets("model", "The model's size, settings and training", json!([]), "application/json", model) },
        "/classes": { "get": gets(
            "classes",
            "Classes whose label or name has a text in it, the most frequent first",
            json!([
                query("search", "Any part of the label or name, case-insensitive.", json!({ "type": "string" })),
                query("prefix", "Its start, case-insensitive.", json!({ "type": "string" })),
                query("limit", "Maximum number of classes.", limit),
            ]),
            "application/json",
            listed,
        ) },
    });
    for (path, operations) in served.project.iter().flat_map(|project| annif::described(project, error)) {
        paths[path] = operations;
    }
    let classes = served.model.classes();
    let what = format!("A softmax model with {classes} classes. Bodies may have at most {MOST_BYTES} bytes.");
    document(&what, "model", paths, token)
}

/// A description with the paths that every server has.
fn document(what: &str, serves: &str, mut paths: Value, token: bool) -> Value {
    let up = object(
        &[
            ("status", json!({ "const": "ok" })),
            ("serves", json!({ "const": serves })),
            ("token", json!({ "type": "boolean", "description": "Whether other requests need a token." })),
        ],
        3,
    );
    let text = json!({ "type": "string" });
    paths["/health"] =
        json!({ "get": open(gets("health", "Whether the server is up", json!([]), "application/json", up)) });
    paths["/metrics"] = json!({ "get": gets("metrics", "Prometheus metrics", json!([]), "text/plain", text) });
    json!({
        "openapi": "3.1.0",
        "info": { "title": "ove", "version": env!("CARGO_PKG_VERSION"), "description": what },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Error": object(&[("error", json!({ "type": "string" }))], 1) },
        },
        "security": if token { json!([{ "token": [] }]) } else { json!([]) },
    })
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// A number of things.
fn counted() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn query(name: &str, what: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "query", "description": what, "schema": schema })
}

/// An object whose first `required` properties are required.
fn object(properties: &[(&str, Value)], required: usize) -> Value {
    let names: Vec<&str> = properties.iter().take(required).map(|(name, _)| *name).collect();
    let properties: serde_json::Map<_, _> =
        properties.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    json!({ "type": "object", "required": names, "properties": properties, "additionalProperties": false })
}

/// A row of features.
fn row(served: &Served) -> Value {
    let value = json!({ "type": "number", "minimum": -GREATEST, "maximum": GREATEST });
    match served.keys() {
        Keys::Names => json!({
            "type": "object",
            "description": "Values by feature name. Unknown names are ignored.",
            "additionalProperties": value,
        }),
        Keys::Numbers => json!({
            "type": "object",
            "description": "Values by feature number. Numbers beyond the model's features are ignored.",
            "patternProperties": { "^(0|[1-9][0-9]{0,8})$": value },
            "additionalProperties": false,
        }),
    }
}

fn top(default: usize) -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": MOST_CLASSES, "default": default })
}

fn predict(served: &Served) -> Value {
    let rows = json!({ "type": "array", "items": row(served), "minItems": 1, "maxItems": MOST_ROWS });
    let features = json!({ "oneOf": [row(served), rows] });
    let texts = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": MOST_ROWS });
    let threshold = json!({
        "type": "number", "minimum": 0, "maximum": 1,
        "description": "Name the classes from this probability on, in place of `top`.",
    });
    // `top` and `threshold` exclude each other.
    let form = |field: &str, value: Value| {
        [("top", top(5)), ("threshold", threshold.clone())].map(|(name, of)| {
            let required = if name == "top" { 1 } else { 2 };
            object(&[(field, value.clone()), (name, of)], required)
        })
    };
    let mut forms = form("features", features).to_vec();
    if served.takes_texts() {
        forms.extend(form("text", json!({ "type": "string" })));
        forms.extend(form("texts", texts));
    }
    json!({ "oneOf": forms })
}

fn explain(served: &Served, class: &Value) -> Value {
    let form = |more: &[(&str, Value)]| {
        let mut properties = vec![("class", class.clone())];
        properties.extend_from_slice(more);
        properties.push(("top", top(10)));
        let required = properties.len() - 1;
        object(&properties, required)
    };
    let mut forms = vec![form(&[]), form(&[("features", row(served))])];
    if served.takes_texts() {
        forms.push(form(&[("text", json!({ "type": "string" }))]));
    }
    json!({ "oneOf": forms })
}

/// A row that the model takes, as the fields of a body: one of its training texts, or its first feature.
fn example(served: &Served) -> (&'static str, Value) {
    let card = &served.model.card;
    match card.examples.first() {
        _ if !served.takes_texts() => {
            let feature = card.feature_name(0).unwrap_or("0");
            ("features", json!({ feature: 1.0 }))
        }
        Some(text) => ("text", json!(text)),
        None => ("text", json!("Timber in the city")),
    }
}

fn predict_examples(served: &Served) -> Value {
    let (field, row) = example(served);
    let (many, rows) = if field == "text" { ("texts", json!([row, row])) } else { ("features", json!([row, row])) };
    json!({
        "one": { "summary": "The three most probable classes of a row", "value": { field: row, "top": 3 } },
        "many": { "summary": "Those of several rows", "value": { many: rows, "top": 3 } },
    })
}

fn explain_examples(served: &Served) -> Value {
    let (field, row) = example(served);
    let class = served.label(0);
    json!({
        "row": { "summary": "What speaks for a class in a row", "value": { "class": class, field: row } },
        "class": { "summary": "What speaks for it in general", "value": { "class": class } },
    })
}

fn described(schema: &Value, what: &str) -> Value {
    let mut schema = schema.clone();
    schema["description"] = what.into();
    schema
}

fn error(what: &str) -> Value {
    json!({ "description": what, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } } })
}

fn posts(id: &str, summary: &str, (body, examples): (Value, Value), answer: &Value, more: &[(&str, &str)]) -> Value {
    let mut responses = json!({
        "200": { "description": "Done.", "content": { "application/json": { "schema": answer } } },
        "400": error("The body is not JSON."),
        "401": error("The token is missing or wrong."),
        "408": error("The body took too long to arrive."),
        "413": error("The body is too long."),
        "415": error("The content type is not application/json."),
        "421": error("The host is not this server."),
        "422": error("The body is JSON but does not match the schema."),
        "503": error("Too many requests are waiting, or their bodies are too long together."),
    });
    for (status, what) in more {
        responses[*status] = error(what);
    }
    json!({
        "operationId": id,
        "summary": summary,
        "requestBody": { "required": true, "content": { "application/json": { "schema": body, "examples": examples } } },
        "responses": responses,
    })
}

fn gets(id: &str, summary: &str, parameters: Value, kind: &str, answer: Value) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": { "description": "Done.", "content": { kind: { "schema": answer } } },
            "400": error("A parameter is invalid."),
            "401": error("The token is missing or wrong."),
            "421": error("The host is not this server."),
            "503": error("Too many requests are waiting."),
        },
    })
}

/// An operation that needs no token.
fn open(mut operation: Value) -> Value {
    operation["security"] = json!([]);
    operation
}
