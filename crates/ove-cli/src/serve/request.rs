//! What a request asks: texts or rows of features, and how many classes. Read by hand, so that an error says where it
//! is and what is allowed there.

use serde_json::{Map, Value};

use super::answer::Fault;
use super::served::{Keys, Served};

/// The most rows of one request.
pub const MOST_ROWS: usize = 1000;

/// The most classes that are named.
pub const MOST_CLASSES: usize = 1000;

/// The largest value of a feature.
pub const GREATEST: f64 = 1e9;

/// What is to be predicted.
#[derive(Clone)]
pub enum Input {
    /// Texts, for the model to make rows of.
    Texts(Vec<String>),
    /// Rows: features, rising, with their values.
    Rows(Vec<Vec<(u32, f32)>>),
}

impl Input {
    /// How many rows.
    pub fn len(&self) -> usize {
        match self {
            Input::Texts(texts) => texts.len(),
            Input::Rows(rows) => rows.len(),
        }
    }

    /// In pieces of at most so many rows.
    pub fn pieces(self, most: usize) -> Vec<Input> {
        fn cut<T>(mut rest: Vec<T>, most: usize, make: impl Fn(Vec<T>) -> Input) -> Vec<Input> {
            let mut pieces = Vec::with_capacity(rest.len().div_ceil(most));
            while rest.len() > most {
                let after = rest.split_off(most);
                pieces.push(make(std::mem::replace(&mut rest, after)));
            }
            pieces.push(make(rest));
            pieces
        }
        match self {
            Input::Texts(texts) => cut(texts, most, Input::Texts),
            Input::Rows(rows) => cut(rows, most, Input::Rows),
        }
    }
}

/// `POST /predict`.
pub struct Predict {
    /// The rows.
    pub input: Input,
    /// How many classes to name.
    pub top: usize,
}

/// `POST /explain`.
pub struct Explain {
    /// The class.
    pub class: u32,
    /// The row, if it is about one.
    pub input: Option<Input>,
    /// How many words to name for and against.
    pub top: usize,
}

impl Predict {
    /// Reads a request.
    pub fn read(value: &Value, served: &Served) -> Result<Self, Fault> {
        let object = object(value, &["text", "texts", "features", "top"])?;
        let input = input(object, served, true)?.ok_or_else(|| nothing_given(served, true))?;
        Ok(Predict { input, top: top(object, 5)? })
    }
}

impl Explain {
    /// Reads a request.
    pub fn read(value: &Value, served: &Served) -> Result<Self, Fault> {
        let object = object(value, &["class", "text", "features", "top"])?;
        let name = object.get("class").and_then(Value::as_str);
        let name = name.ok_or_else(|| Fault::unprocessable("class: it has to be given, as a string"))?;
        let class = served.class(name).ok_or_else(|| {
            let error = format!("class: the model has no `{name}`; GET /classes?prefix= lists those it has");
            Fault::new(axum::http::StatusCode::NOT_FOUND, error)
        })?;
        Ok(Explain { class, input: input(object, served, false)?, top: top(object, 10)? })
    }
}

fn object<'a>(value: &'a Value, allowed: &[&str]) -> Result<&'a Map<String, Value>, Fault> {
    let object = value.as_object().ok_or_else(|| Fault::unprocessable("the body has to be a JSON object"))?;
    match object.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(key) => Err(Fault::unprocessable(format!("`{key}` is unknown; allowed are {}", allowed.join(", ")))),
        None => Ok(object),
    }
}

fn top(object: &Map<String, Value>, usual: usize) -> Result<usize, Fault> {
    let Some(value) = object.get("top") else { return Ok(usual) };
    let whole = value.as_f64().filter(|top| top.fract() == 0.0 && (1.0..=MOST_CLASSES as f64).contains(top));
    let error = || Fault::unprocessable(format!("top is {value}, but it is a whole number from 1 to {MOST_CLASSES}"));
    whole.map(|top| top as usize).ok_or_else(error)
}

/// The one of `text`, `texts` and `features` that is given.
fn input(object: &Map<String, Value>, served: &Served, several: bool) -> Result<Option<Input>, Fault> {
    let given: Vec<&str> = ["text", "texts", "features"].into_iter().filter(|key| object.contains_key(*key)).collect();
    match given[..] {
        [] => Ok(None),
        [key] => of(key, &object[key], served, several).map(Some),
        _ => Err(Fault::unprocessable(format!("{} are given, but only one may be", given.join(" and ")))),
    }
}

fn of(key: &str, value: &Value, served: &Served, several: bool) -> Result<Input, Fault> {
    if key != "features" && !served.takes_texts() {
        return Err(Fault::unprocessable(format!("{key}: the model was not trained on texts; give it features")));
    }
    let string = |value: &Value| value.as_str().map(str::to_owned);
    match (key, value) {
        ("text", value) => {
            let text = string(value).ok_or_else(|| Fault::unprocessable("text has to be a string"))?;
            Ok(Input::Texts(vec![text]))
        }
        ("texts", Value::Array(texts)) => {
            check_count(key, texts.len())?;
            let texts: Option<Vec<String>> = texts.iter().map(string).collect();
            texts.map(Input::Texts).ok_or_else(|| Fault::unprocessable("texts has to be an array of strings"))
        }
        ("texts", _) => Err(Fault::unprocessable("texts has to be an array of strings")),
        (_, Value::Object(entries)) => Ok(Input::Rows(vec![row("features", entries, served)?])),
        (_, Value::Array(rows)) if several => {
            check_count(key, rows.len())?;
            let row = |(n, value): (usize, &Value)| match value {
                Value::Object(entries) => row(&format!("features[{n}]"), entries, served),
                _ => Err(Fault::unprocessable(format!("features[{n}] has to be an object of features and values"))),
            };
            Ok(Input::Rows(rows.iter().enumerate().map(row).collect::<Result<_, _>>()?))
        }
        _ => Err(Fault::unprocessable("features has to be an object of features and values")),
    }
}

fn check_count(key: &str, count: usize) -> Result<(), Fault> {
    match count {
        1..=MOST_ROWS => Ok(()),
        _ => Err(Fault::unprocessable(format!("{key}: {count} rows, but there may be 1 to {MOST_ROWS}"))),
    }
}

/// A row of features, rising.
fn row(at: &str, entries: &Map<String, Value>, served: &Served) -> Result<Vec<(u32, f32)>, Fault> {
    let keys = served.keys();
    let mut row = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let number = value.as_f64().filter(|value| value.abs() <= GREATEST);
        let number = number.ok_or_else(|| {
            Fault::unprocessable(format!("{at}: `{key}` is {value}, but a value is a number from -1e9 to 1e9"))
        })?;
        let feature = match keys {
            Keys::Names => served.feature(key),
            Keys::Numbers => Some(feature_number(key).ok_or_else(|| {
                Fault::unprocessable(format!("{at}: `{key}`, but the features of this model are numbers from 0"))
            })?),
        };
        row.extend(feature.map(|feature| (feature, number as f32)));
    }
    row.sort_unstable_by_key(|&(feature, _)| feature);
    Ok(row)
}

/// Without sign or leading zeros, so that no feature has two names.
fn feature_number(key: &str) -> Option<u32> {
    let plain = key.bytes().all(|byte| byte.is_ascii_digit()) && (key.len() == 1 || !key.starts_with('0'));
    if plain && key.len() <= 9 { key.parse().ok() } else { None }
}

fn nothing_given(served: &Served, several: bool) -> Fault {
    let names = match (served.takes_texts(), several) {
        (true, true) => "text, texts or features",
        (true, false) => "text or features",
        (false, _) => "features",
    };
    Fault::unprocessable(format!("{names} has to be given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_features_have_one_form() {
        for (key, number) in [("0", Some(0)), ("17", Some(17)), ("999999999", Some(999_999_999))] {
            assert_eq!(feature_number(key), number);
        }
        for key in ["", "07", "+7", "-1", "1e3", "٣", "1000000000", "seven"] {
            assert_eq!(feature_number(key), None, "{key}");
        }
    }

    #[test]
    fn pieces_keep_the_order() {
        let texts = |numbers: std::ops::Range<usize>| Input::Texts(numbers.map(|n| n.to_string()).collect());
        let lengths: Vec<usize> = texts(0..7).pieces(3).iter().map(Input::len).collect();
        assert_eq!(lengths, [3, 3, 1]);
        assert_eq!(texts(0..3).pieces(3).len(), 1);
        let Input::Texts(last) = texts(0..7).pieces(3).pop().unwrap() else { unreachable!() };
        assert_eq!(last, ["6"]);
    }
}
