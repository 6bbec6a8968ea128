//! Explains a class: the words of a text that contribute most to its score, its largest weights, and its nearest
//! rivals.

use ove::{Dataset, Prediction};
use serde_json::{Value, json};

use super::request::Explain;
use super::served::Served;
use super::work::rows;

/// How many rivals are named.
const RIVALS: usize = 5;

/// Number of highest-weighted words that find its rivals.
const WORDS: usize = 50;

/// The explanation.
pub fn explain(served: &Served, asked: &Explain) -> Value {
    let (class, model) = (asked.class, &served.model);
    let weights = falling(model.weights_of(class));
    let mut answer = json!({
        "class": served.label(class),
        "count": model.card.counts[class as usize],
        "rows": model.card.rows,
        "general": sides(served, &weights, asked.top, "weight"),
        "rivals": rivals(served, class, &weights),
    });
    if let Some(bias) = model.bias(class) {
        answer["bias"] = bias.into();
    }
    if let Some(name) = served.name(class) {
        answer["name"] = name.into();
    }
    if let Some(input) = &asked.input {
        let data = rows(&[input], served);
        let products = falling(model.explain(data.rows().row(0), class));
        answer["row"] = sides(served, &products, asked.top, "product");
    }
    answer
}

/// The largest first; equal ones by feature.
fn falling(mut weights: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
    weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    weights
}

/// The first positive and the last negative entries of a list in falling order.
fn sides(served: &Served, falling: &[(u32, f32)], count: usize, what: &str) -> Value {
    let name = |d: u32| served.model.card.feature_name(d as usize).map_or_else(|| d.to_string(), str::to_owned);
    let shown = |&(d, number): &(u32, f32)| json!({ "feature": name(d), "index": d, what: number });
    let speak_for = falling.iter().take(count).take_while(|(_, number)| *number > 0.0);
    let against = falling.iter().rev().take(count).take_while(|(_, number)| *number < 0.0);
    json!({ "for": speak_for.map(shown).collect::<Vec<_>>(), "against": against.map(shown).collect::<Vec<_>>() })
}

/// The classes that a row of the words that speak most for this class, each as much as it does, would be taken for instead.
fn rivals(served: &Served, class: u32, falling: &[(u32, f32)]) -> Vec<Value> {
    let mut words: Vec<(u32, f32)> = falling.iter().copied().take(WORDS).take_while(|&(_, w)| w > 0.0).collect();
    let length = words.iter().map(|(_, w)| w * w).sum::<f32>().sqrt();
    if length == 0.0 {
        return Vec::new();
    }
    words.sort_unstable_by_key(|&(feature, _)| feature);
    let mut data = Dataset::new(served.model.features(), Vec::new());
    words.iter().for_each(|&(feature, w)| data.push_entry(feature, w / length));
    data.end_row(&[]);
    let top = served.model.top_k(data.rows(), RIVALS + 1).remove(0);
    let rivals = top.iter().filter(|prediction| prediction.class != class).take(RIVALS);
    rivals.map(|&Prediction { class, .. }| described(served, class)).collect()
}

/// A class with how often it occurs.
pub fn described(served: &Served, class: u32) -> Value {
    let mut value = json!({ "class": served.label(class), "count": served.model.card.counts[class as usize] });
    if let Some(name) = served.name(class) {
        value["name"] = name.into();
    }
    value
}
