//! Explains a class: the features of a row that contribute most to its score, its largest weights, and similar classes.

use ove::{Dataset, Prediction};
use serde_json::{Value, json};

use super::request::Explain;
use super::served::Served;
use super::work::rows;

/// Maximum number of rivals.
const RIVALS: usize = 5;

/// Number of features with the largest weights that define the rivals.
const WORDS: usize = 50;

/// The explanation.
pub fn explain(served: &Served, asked: &Explain) -> Value {
    let (class, model) = (asked.class, &served.model);
    let weights = model.largest_weights(class, asked.top.max(WORDS));
    let mut answer = json!({
        "class": served.label(class),
        "count": model.card.counts[class as usize],
        "rows": model.card.rows,
        "general": sides(served, &weights.positive, &weights.negative, asked.top, "weight"),
        "rivals": rivals(served, class, &weights.positive),
    });
    if let Some(bias) = model.bias(class) {
        answer["bias"] = bias.into();
    }
    if let Some(name) = served.name(class) {
        answer["name"] = name.into();
    }
    if let Some(input) = &asked.input {
        let data = rows(&[input], served);
        let products = model.explain(data.rows().row(0), class);
        let [positive, negative] = [1.0, -1.0].map(|sign| side(&products, sign));
        answer["row"] = sides(served, &positive, &negative, asked.top, "product");
    }
    answer
}

/// The entries of this sign, the largest magnitude first, ties by feature.
fn side(entries: &[(u32, f32)], sign: f32) -> Vec<(u32, f32)> {
    let mut side: Vec<_> = entries.iter().copied().filter(|(_, number)| number * sign > 0.0).collect();
    side.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    side
}

/// The first positive and negative entries of sorted lists.
fn sides(served: &Served, positive: &[(u32, f32)], negative: &[(u32, f32)], count: usize, what: &str) -> Value {
    let name = |d: u32| served.model.card.feature_name(d as usize).map_or_else(|| d.to_string(), str::to_owned);
    let shown = |&(d, number): &(u32, f32)| json!({ "feature": name(d), "index": d, what: number });
    let first = |side: &[(u32, f32)]| side.iter().take(count).map(shown).collect::<Vec<_>>();
    json!({ "for": first(positive), "against": first(negative) })
}

/// The rivals of a class: the top classes of a row with its largest weights as values, except the class itself.
fn rivals(served: &Served, class: u32, positive: &[(u32, f32)]) -> Vec<Value> {
    let mut words: Vec<(u32, f32)> = positive.iter().copied().take(WORDS).collect();
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

/// A class with its number of training rows.
pub fn described(served: &Served, class: u32) -> Value {
    let mut value = json!({ "class": served.label(class), "count": served.model.card.counts[class as usize] });
    if let Some(name) = served.name(class) {
        value["name"] = name.into();
    }
    value
}
