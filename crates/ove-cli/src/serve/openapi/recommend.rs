//! The OpenAPI description of the server of a recommender.

use serde_json::{Value, json};

use super::{counted, document, error, gets, list, object, posts, query, top};
use crate::serve::body::MOST_BYTES;
use crate::serve::recommend::{MOST_ITEMS, REASONS, ServedRecommender, TOP};
use crate::serve::routes::MOST_LISTED;

/// OpenAPI 3.1, with or without a token.
pub fn describe(served: &ServedRecommender, token: bool) -> Value {
    let text = json!({ "type": "string" });
    let item = ("item", json!({ "type": "string", "description": "The name of an item, as in the interactions." }));
    let name = ("name", json!({ "type": "string", "description": "The display name of the item." }));
    let score = ("score", json!({ "type": "number" }));
    let count = ("count", counted());
    let scored = object(&[item.clone(), score.clone(), name.clone()], 2);
    let mut reasons = list(&scored);
    reasons["maxItems"] = REASONS.into();
    reasons["description"] = "The user's items that add most to the score, and how much.".into();
    let recommended = object(&[item.clone(), score, ("because", reasons), name.clone()], 3);
    let recommendations =
        object(&[("items", list(&recommended)), ("has", list(&object(&[item.clone(), name.clone()], 1)))], 2);
    let similar = object(&[item.clone(), count.clone(), ("similar", list(&scored)), name.clone()], 3);
    let users = list(&object(&[("user", text.clone()), count.clone()], 2));
    let items = list(&object(&[item, count, name], 2));
    let model = object(
        &[
            ("name", json!({ "type": "string", "description": "The name of the model file." })),
            ("users", counted()),
            ("items", counted()),
            ("interactions", counted()),
            ("rank", counted()),
            ("finished", json!({ "type": "boolean" })),
            ("options", json!({ "type": "object" })),
            ("examples", list(&text)),
        ],
        8,
    );
    let listed = |what: &str, of: Value| object(&[(what, of), ("total", counted())], 2);
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": 20 });
    let search = |what: &str| {
        json!([
            query(
                "search",
                &format!("Any part of the name, case-insensitive; without it, all {what} are found."),
                text.clone()
            ),
            query("limit", &format!("Maximum number of {what}."), limit.clone()),
        ])
    };
    let mut of_item = query("item", "The item.", text.clone());
    of_item["required"] = true.into();
    of_item["example"] = served.first_item().into();
    let number = json!({ "type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": TOP });
    let mut of_similar = gets(
        "similar",
        "The items whose vectors have the largest cosine with that of an item",
        json!([of_item, query("top", "Number of items.", number)]),
        "application/json",
        similar,
    );
    of_similar["responses"]["404"] = error("The model has no such item.");
    let paths = json!({
        "/recommend": { "post": posts(
            "recommend",
            "The top items of a user, or of somebody with these items",
            (body(&text), examples(served)),
            &recommendations,
            &[("404", "The model has no such user or item.")],
        ) },
        "/similar": { "get": of_similar },
        "/users": { "get": gets(
            "users",
            "Users, and how many items each has",
            search("users"),
            "application/json",
            listed("users", users),
        ) },
        "/items": { "get": gets(
            "items",
            "Items, the most frequent first, and how many users each has",
            search("items"),
            "application/json",
            listed("items", items),
        ) },
        "/model": { "get": gets("model", "The size and the settings", json!([]), "application/json", model) },
    });
    let [users, items] = served.counts();
    let what = format!("A recommender of {items} items for {users} users. Bodies may have at most {MOST_BYTES} bytes.");
    document(&what, "recommender", paths, token)
}

fn body(text: &Value) -> Value {
    let seen = json!({ "type": "boolean", "default": true, "description": "Whether to leave out the items that the user has." });
    let items = json!({ "type": "array", "items": text, "minItems": 1, "maxItems": MOST_ITEMS });
    let form = |field: &str, value: &Value| {
        object(&[(field, value.clone()), ("top", top(TOP)), ("exclude_seen", seen.clone())], 1)
    };
    json!({ "oneOf": [form("user", text), form("items", &items)] })
}

fn examples(served: &ServedRecommender) -> Value {
    json!({
        "user": { "summary": "Recommendations to a user", "value": { "user": served.examples()[0], "top": 3 } },
        "items": { "summary": "To somebody with these items", "value": { "items": [served.first_item()], "top": 3 } },
    })
}
